"""What all sections of params.yaml have in common, and sections that are made of others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from clearsched.errors import ClearschedError


class Section(BaseModel):
    """A section: immutable, no unknown keys, no silent conversion (the text "3" is not the number 3)."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


S = TypeVar("S", bound=Section)


def one_of(names: Iterable[str]) -> Any:
    """The type of a value that is one of `names`."""
    return Literal[tuple(names)]


def derived(base: type[S], fields: Mapping[str, Any]) -> type[S]:
    """A section like `base`, with its name and its heading, in which `fields` stand in place of its own or after them.

    A field is a section's model, whose default is all its defaults, or what pydantic takes: (type, default or Field).
    """
    made: dict[str, Any] = {
        name: (field, field()) if isinstance(field, type) and issubclass(field, Section) else field
        for name, field in fields.items()
    }
    model: type[S] = create_model(
        base.__name__, __base__=base, __doc__=base.__doc__, __module__=base.__module__, **made
    )
    return model


def with_defaults(base: type[S], values: Mapping[str, Any], where: str) -> type[S]:
    """A section like `base` with other defaults, given as in params.yaml.

    Raises:
        ClearschedError: a key that the section does not have, or a value that it does not allow.
    """
    fields: dict[str, Any] = {}
    for name, value in values.items():
        if name not in base.model_fields:
            raise ClearschedError(f"{where}.{name}: unknown key: known are {', '.join(base.model_fields)}")
        known = base.model_fields[name]
        inner: Any = known.annotation
        if isinstance(value, Mapping) and isinstance(inner, type) and issubclass(inner, Section):
            fields[name] = with_defaults(inner, value, f"{where}.{name}")
            continue
        try:
            checked = base.model_validate_json(json.dumps({name: value}))
        except ValidationError as error:
            raise ClearschedError(f"{where}.{name}: {value!r} is no default: {error.errors()[0]['msg']}") from None
        fields[name] = (Annotated[known.annotation, known], getattr(checked, name))
    return derived(base, fields)
