"""Writes a drawn history to an engine and its model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tests.data.engines import Kit
from tests.data.strategies import Compact, Delete, Erase, Put, Step
from tests.reference.model import ModelEngine


class Pair:
    """An engine and the model, written in lock step; every call must have the same outcome in both.

    A small `chunk_docs` lets few documents span several chunks of the native engine; `vector_plan` fixes its method of
    finding the nearest vectors.
    """

    def __init__(
        self, kit: Kit, chunk_docs: int | None = None, vector_plan: str = "auto", **options: Any
    ) -> None:
        self.kit = kit
        layout: dict[str, Any] = {"vector_plan": vector_plan} if kit.is_native else {}
        if kit.is_native and chunk_docs is not None:
            layout["chunk_docs"] = chunk_docs
        self.engine = kit.Engine(**options, **layout)
        self.model = ModelEngine(**options)

    def scope(self, key: tuple[str, str | None, str | None]) -> Any:
        return self.kit.Scope(*key)

    def entries(self, picks: Sequence[tuple[int, bool]], unknown: Any = None) -> list[Any]:
        """Return a ranking of the documents at some places, visible or not: each as a pair (scope, id) or as an id.

        Places after the last document are left out, or become `unknown`.
        """
        keys = self.model.live_keys()
        found = []
        for place, as_pair in picks:
            if place < len(keys):
                home, id = keys[place]
                found.append((self.scope(home), id) if as_pair else id)
            elif unknown is not None:
                found.append((self.scope(("acme", None, None)), unknown) if as_pair else unknown)
        return found

    def both(self, call: Callable[[Any], Any]) -> Any:
        """Run `call` on both engines; require the same return value or the same kind of error."""
        expected, given = outcome(call, self.model), outcome(call, self.engine)
        assert given == expected, f"expected {expected}, got {given}"
        return given

    def apply(self, steps: Iterable[Step]) -> Pair:
        for step in steps:
            self.step(step)
        return self

    def step(self, step: Step) -> None:
        match step:
            case Put(id, text, key, vector):
                self.both(lambda engine: engine.upsert(id, text, scope=self.scope(key), vector=vector))
            case Delete(id, key):
                self.both(lambda engine: engine.delete(id, scope=self.scope(key)))
            case Erase(key, exact):
                self.both(lambda engine: engine.erase(self.scope(key), exact=exact))
            case Compact():
                self.engine.compact()


def outcome(call: Callable[[Any], Any], engine: Any) -> tuple[str, Any]:
    try:
        return "returned", call(engine)
    except Exception as error:  # noqa: BLE001 - every error is an outcome
        return "raised", error_kind(error)


def error_kind(error: BaseException) -> str:
    """Return the name of the error's type in the contract: CorruptIndexError, or the built-in family."""
    for ancestor in type(error).__mro__:
        if ancestor.__name__ == "CorruptIndexError":
            return ancestor.__name__
    for family in (ValueError, TypeError, KeyError):
        if isinstance(error, family):
            return family.__name__
    return type(error).__name__
