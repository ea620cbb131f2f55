"""Models of requests and answers made from dataclasses: a field that a record gains is in the interface, too."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, Union

from pydantic import AfterValidator, Field, create_model

from scrubjay._native import Scope
from scrubjay.adapters.service import models

__all__ = ["Value", "answer_of", "list_of", "request_of"]

Value = Annotated[Any, AfterValidator(models.encodable), Field(description="any JSON value")]
"""Any JSON value that can be kept."""

_Made = Callable[[Any], Any]


def request_of(
    candidate: type[Any],
    name: str,
    *,
    kind: str | None = None,
    kind_required: bool = False,
    without: Sequence[str] = (),
    optional: bool = False,
) -> Any:
    """Return the model of a request with the fields of a dataclass.

    Args:
        candidate: the dataclass; its first line of documentation is the model's.
        name: of the model.
        kind: the value of a further field `kind`, which must be given if `kind_required`.
        without: fields that are left out.
        optional: no field must be given.
    """
    hints = typing.get_type_hints(candidate)
    fields: dict[str, Any] = {}
    if kind is not None:
        fields["kind"] = (Literal[kind], ... if kind_required else kind)
    for field in dataclasses.fields(candidate):
        if field.name in without:
            continue
        needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        taken = _taken(hints[field.name])
        fields[field.name] = (taken, ...) if needed and not optional else (taken | None, None)
    return create_model(name, __base__=models.Request, __doc__=_first_line(candidate), **fields)


def answer_of(record: type[Any], known: dict[Any, Any]) -> Any:
    """Return the model of what :func:`scrubjay.memory.plain.plain` makes of a dataclass.

    Args:
        record: the dataclass.
        known: the models that were made; further ones are added.
    """
    if record not in known:
        hints = typing.get_type_hints(record)
        fields: dict[str, Any] = {}
        kind = getattr(record, "kind", None)
        if isinstance(kind, str):
            fields["kind"] = (Literal[kind], ...)
        for field in dataclasses.fields(record):
            fields[field.name] = (_given(hints[field.name], known), ...)
        known[record] = create_model(record.__name__, __doc__=_first_line(record), **fields)
    return known[record]


def list_of(item: Any) -> Any:
    """Return the type of a list of a type that is made at run time."""
    return types.GenericAlias(list, (item,))


def _bounded_list(item: Any) -> Any:
    return Annotated[list_of(item), Field(max_length=1000)]


def _taken(hint: Any) -> Any:
    """The type of a field of a request: strict JSON, with bounds."""
    return _mapped(hint, _TAKEN, _taken, list_of=_bounded_list)


def _given(hint: Any, known: dict[Any, Any]) -> Any:
    """The type of a field of an answer."""
    if dataclasses.is_dataclass(hint):
        return answer_of(typing.cast(type[Any], hint), known)
    return _mapped(hint, _GIVEN, lambda part: _given(part, known), list_of=list_of)


def _mapped(hint: Any, leaves: Mapping[Any, Any], part: _Made, *, list_of: _Made) -> Any:
    if hint in leaves:
        return leaves[hint]
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return Union[tuple(dict.fromkeys(map(part, parts)))]  # noqa: UP007 - of a tuple
    if origin is Literal:
        return hint
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return leaves[Mapping]
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return list_of(part(parts[0]))
    return leaves[Any]


_Text = Annotated[str, Field(max_length=200_000)]
_TAKEN: dict[Any, Any] = {
    str: _Text,
    int: int,
    float: models.Number,
    bool: bool,
    type(None): None,
    datetime: models.Time,
    timedelta: models.Number,
    Mapping: models.Object,
    Any: Value,
}
_GIVEN: dict[Any, Any] = {
    str: str,
    int: int,
    float: float,
    bool: bool,
    type(None): None,
    datetime: str,
    timedelta: float,
    Scope: models.ScopeOut,
    Mapping: dict[str, Any],
    Any: Any,
}


def _first_line(cls: type[Any]) -> str:
    text = (cls.__doc__ or "").strip()
    return " ".join(text.partition("\n\n")[0].split())
