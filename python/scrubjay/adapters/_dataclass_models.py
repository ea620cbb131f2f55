"""Pydantic models of requests and answers, derived from dataclasses.

A field added to a dataclass appears in the interface too; its docstring there describes it.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, Union

from pydantic import Field, create_model

_MAX_ITEMS = 1000
_ARGUMENT = re.compile(r"^    (\w+(?:, \w+)*): (.*)$")


def request_of(
    candidate: type[Any],
    name: str,
    base: Any,
    leaves: Mapping[Any, Any],
    *,
    kind: str | None = None,
    kind_required: bool = False,
    without: Sequence[str] = (),
    optional: bool = False,
) -> Any:
    """Return the model of a request with the fields of a dataclass.

    Args:
        candidate: the dataclass; the first paragraph of its docstring is the model's description.
        name: the name of the model.
        base: the model that it inherits from.
        leaves: maps str, int, float, bool, datetime, timedelta, Mapping and Any to their types in a request.
        kind: the value of an additional field `kind`, which is mandatory if `kind_required`.
        without: names of fields to leave out.
        optional: make all fields optional.
    """
    hints, descriptions = typing.get_type_hints(candidate), _documented(candidate)
    fields: dict[str, Any] = {}
    if kind is not None:
        fields["kind"] = (Literal[kind], ... if kind_required else kind)
    for field in dataclasses.fields(candidate):
        if field.name in without:
            continue
        needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        hint = _mapped(hints[field.name], leaves, _bounded_list)
        needed = needed and not optional
        fields[field.name] = (
            Annotated[hint if needed else hint | None, Field(description=descriptions.get(field.name))],
            ... if needed else None,
        )
    return create_model(name, __base__=base, __doc__=_first_paragraph(candidate), **fields)


def answer_of(record: type[Any], leaves: Mapping[Any, Any], known: dict[Any, Any]) -> Any:
    """Return the model of a dataclass as :func:`scrubjay.memory.exchange.json_types.plain` converts it.

    Args:
        record: the dataclass.
        leaves: as for :func:`request_of`, with an entry for Scope.
        known: models made so far, by dataclass; new ones are added.
    """
    if record not in known:
        hints = typing.get_type_hints(record)
        fields: dict[str, Any] = {}
        kind = getattr(record, "kind", None)
        if isinstance(kind, str):
            fields["kind"] = (Literal[kind], ...)
        for field in dataclasses.fields(record):
            hint = _mapped(hints[field.name], leaves, list_of, lambda part: answer_of(part, leaves, known))
            if field.name == "value_json":
                fields["value"] = (leaves[Any], ...)
            else:
                fields[field.name] = (hint, ...)
        known[record] = create_model(record.__name__, __doc__=_first_paragraph(record), **fields)
    return known[record]


def list_of(item: Any) -> Any:
    """Return the type of a list whose item type is known only at run time."""
    return types.GenericAlias(list, (item,))


def _bounded_list(item: Any) -> Any:
    return Annotated[list_of(item), Field(max_length=_MAX_ITEMS)]


def _mapped(
    hint: Any,
    leaves: Mapping[Any, Any],
    make_list: Callable[[Any], Any],
    nested: Callable[[Any], Any] | None = None,
) -> Any:
    """Return the type of a field in a request or an answer; Any for an unknown type."""
    if hint is type(None):
        return None
    if hint in leaves:
        return leaves[hint]
    if nested is not None and dataclasses.is_dataclass(hint):
        return nested(hint)
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        mapped = (_mapped(part, leaves, make_list, nested) for part in parts)
        return Union[tuple(dict.fromkeys(mapped))]  # noqa: UP007 - of a tuple
    if origin is Literal:
        return hint
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return leaves[Mapping]
    if isinstance(origin, type) and issubclass(origin, Sequence):
        items = (_mapped(part, leaves, make_list, nested) for part in parts if part is not Ellipsis)
        return make_list(Union[tuple(dict.fromkeys(items))])  # noqa: UP007 - of a tuple
    return leaves[Any]


def _first_paragraph(cls: type[Any]) -> str:
    return " ".join((inspect.getdoc(cls) or "").partition("\n\n")[0].split())


def _documented(cls: type[Any]) -> dict[str, str]:
    """Return the description of each field from the Args or Attributes section of a dataclass docstring."""
    descriptions: dict[str, str] = {}
    names: list[str] = []
    is_inside = False
    for line in (inspect.getdoc(cls) or "").splitlines():
        if line in ("Args:", "Attributes:"):
            is_inside = True
        elif is_inside and line and not line.startswith("    "):
            is_inside = False
        elif is_inside:
            begins = _ARGUMENT.match(line)
            if begins is not None:
                names = begins[1].split(", ")
                descriptions.update({name: begins[2].strip() for name in names})
            else:
                descriptions.update({name: f"{descriptions[name]} {line.strip()}".strip() for name in names})
    return descriptions


LEAVES_OF_ANSWERS: dict[Any, Any] = {
    str: str,
    int: int,
    float: float,
    bool: bool,
    datetime: str,
    timedelta: float,
    Mapping: dict[str, Any],
    Any: Any,
}
"""The types of the values in the answers of every server."""
