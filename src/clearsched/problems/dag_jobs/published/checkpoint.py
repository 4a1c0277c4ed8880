"""A checkpoint of torch that a stranger wrote: its numbers, and nothing that it would like to run.

`torch.save` writes a zip file whose index is a pickle. torch's own restricted unpickler (`weights_only`) builds plain
containers and tensors from it and refuses everything else; what it may build is bounded before by the size of the file.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

import torch
from torch import Tensor

from clearsched.errors import ClearschedError

ROOM = 1_000_000
"""Bytes that a checkpoint may have beside its numbers: names, alignment, the index."""

Shapes = Mapping[str, tuple[int, ...]]


def read_weights(data: bytes, shapes: Shapes, where: object) -> dict[str, Tensor]:
    """The tensors of a checkpoint, float32, by name.

    Args:
        data: the file's bytes.
        shapes: the tensors that it must hold, and no others.
        where: the file's name, for errors.

    Raises:
        ClearschedError: too large, no checkpoint of torch, one that asks for more than tensors, or other tensors.
    """
    _check_size(data, shapes, where)
    try:
        found = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except Exception as error:  # whatever a spoiled or hostile file leads to
        reason = str(error).strip().partition("\n")[0][:120] or type(error).__name__
        raise ClearschedError(f"{where}: holds something other than weights, or is damaged: {reason}") from None
    _check_shapes(found, shapes, where)
    weights = {name: found[name].detach().clone() for name in shapes}
    for name, tensor in weights.items():
        if not torch.isfinite(tensor).all():
            raise ClearschedError(f"{where}: {name} holds numbers that are not finite")
    return weights


def _check_size(data: bytes, shapes: Shapes, where: object) -> None:
    """Before torch looks at it: a zip file, its members stored as they are, with no more than the numbers need."""
    most = ROOM + 4 * sum(torch.Size(shape).numel() for shape in shapes.values())
    if len(data) > most:
        raise ClearschedError(f"{where}: {len(data):,} bytes: the network has {most - ROOM:,} bytes of weights")
    try:
        members = zipfile.ZipFile(io.BytesIO(data)).infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError) as error:
        # zipfile lets through: names that are no text (ValueError), versions to come (NotImplementedError), and up to
        # Python 3.11.3 a directory that claims to begin before the file (OverflowError).
        raise ClearschedError(f"{where}: no checkpoint of torch: {error}") from None
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ClearschedError(f"{where}: no checkpoint of torch: its members are compressed")
    if sum(member.file_size for member in members) > most:
        raise ClearschedError(f"{where}: no checkpoint of torch: its members claim more bytes than it has")


def _check_shapes(found: object, shapes: Shapes, where: object) -> None:
    if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
        raise ClearschedError(f"{where}: no weights by name: save the network's state_dict()")
    strange = sorted({*found} ^ {*shapes})
    if strange:
        what = "lacks" if strange[0] in shapes else "also holds"
        more = f" and {len(strange) - 1} more" if len(strange) > 1 else ""
        raise ClearschedError(f"{where}: weights of another network: {what} {strange[0][:80]}{more}")
    for name, shape in shapes.items():
        tensor = found[name]
        if not isinstance(tensor, Tensor) or tensor.is_sparse or tensor.dtype != torch.float32:
            told = tensor.dtype if isinstance(tensor, Tensor) else type(tensor).__name__
            raise ClearschedError(f"{where}: {name} is {told}: float32 numbers expected")
        if tuple(tensor.shape) != shape:
            raise ClearschedError(
                f"{where}: weights of another network: {name} has the shape {tuple(tensor.shape)}, not {shape}"
            )
