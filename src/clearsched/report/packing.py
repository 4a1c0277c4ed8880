"""Large data inside a page: JSON of few digits, compressed, as text that HTML takes as it is."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import numpy as np

from clearsched.errors import ClearschedError

DIGITS = 5
"""That count, of a number that is shown."""


def columns(values: np.ndarray, digits: int = DIGITS) -> list[Any]:
    """Numbers as JSON has them, with few digits; null for what is no finite number."""
    if values.dtype.kind in "iub":
        listed: list[Any] = values.astype(np.int64).tolist()
        return listed
    given = values.astype(np.float64)
    finite = np.isfinite(given)
    size = np.abs(np.where(finite & (given != 0), given, 1.0))
    places = np.clip(digits - 1 - np.floor(np.log10(size)), -22, 22)  # powers of ten up to 22 are exact
    scale = 10.0 ** np.abs(places)
    told = np.where(places >= 0, np.rint(given * scale) / scale, np.rint(given / scale) * scale)
    return [value if known else None for value, known in zip(told.tolist(), finite.tolist(), strict=True)]


def compact(value: Any) -> str:
    """JSON without spaces, in ASCII."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def pack(value: Any) -> str:
    """A JSON value, compressed and in base64: no letter of it means anything to HTML. Equal values, equal text."""
    return base64.b64encode(gzip.compress(compact(value).encode("ascii"), 9, mtime=0)).decode("ascii")


def unpack(text: str) -> Any:
    """The value that `pack` was given.

    Raises:
        ClearschedError: it is no such text.
    """
    try:
        return json.loads(gzip.decompress(base64.b64decode(text, validate=True)))
    except (ValueError, OSError, EOFError) as error:
        raise ClearschedError(f"report: broken data ({error}); collect them again") from None
