"""The tools for a tenant's policies and a user's preferences, over Memory."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from scrubjay._native import Scope
from scrubjay.adapters._typed import LazyMemory
from scrubjay.adapters.mcp.tools import MAX_TEXT, Arguments, AsOf, KnownAt, bounded
from scrubjay.memory import Preference, Provenance
from scrubjay.memory.exchange.json_types import plain
from scrubjay.memory.model.content import MAX_NAME_CHARS, checked_str

_Key = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_NAME_CHARS,
        description='what the preference is about, such as "language"; each has one preference',
    ),
]

_Value = Annotated[Any, Field(description="for programs: any JSON value, or the text")]


class GetKnown(Arguments):
    """Arguments of get_policies_and_preferences."""

    as_of: AsOf = None
    known_at: KnownAt = None


class SetPreference(Arguments):
    """Arguments of set_preference."""

    key: _Key
    text: Annotated[
        str | None, Field(min_length=1, max_length=MAX_TEXT, description="the preference, in a sentence")
    ] = None
    value: Annotated[
        Any,
        Field(
            description="for programs, any JSON value such as 25 or true; it becomes the text if there is "
            "none"
        ),
    ] = None


class DeletePreference(Arguments):
    """Arguments of delete_preference."""

    key: _Key


class OnePolicy(BaseModel):
    """One policy in force, in the form of the tools."""

    id: str
    key: str
    version: int
    text: str
    value: _Value


class OnePreference(BaseModel):
    """One preference in force, in the form of the tools."""

    id: str
    key: str
    text: str
    value: _Value
    source: Annotated[str, Field(description="user_stated, inferred or admin_set")]
    confidence: float


class Known(BaseModel):
    """The result of get_policies_and_preferences."""

    policies: Annotated[list[OnePolicy], Field(description="all rules of the tenant in force")]
    preferences: Annotated[list[OnePreference], Field(description="all preferences of the user")]


class KnownTools:
    """The policies and preferences in force for one scope, in the file of an index.

    The first preference creates Memory's tables in the file; until then the result is empty.

    Args:
        memory: the memory in that file.
        scope: the scope of the server.
    """

    def __init__(self, memory: LazyMemory, scope: Scope) -> None:
        self._memory, self._scope = memory, scope

    def get(self, given: GetKnown) -> dict[str, Any]:
        """Return all policies in force and all preferences, each by key."""
        memory = self._memory.find()
        if memory is None:
            return {"policies": [], "preferences": []}
        known = memory.known(self._scope, as_of=given.as_of, known_at=given.known_at)
        return {
            "policies": [
                {
                    "id": one.id,
                    "key": one.key,
                    "version": one.version,
                    "text": one.text,
                    "value": plain(one.value),
                }
                for one in known.policies
            ],
            "preferences": [_shown(one) for one in known.preferences],
        }

    def set(self, given: SetPreference) -> dict[str, Any]:
        """Set the user's preference for a key, replacing the previous one.

        Raises:
            ValueError: the key or the text is blank, both text and value are missing, or the value is too long.
        """
        for name, text in (("key", given.key), ("text", given.text)):
            if text is not None and not checked_str(text, name):  # checked before any write
                raise ValueError(f"{name}: expected some text, got only spaces")
        if given.text is None and given.value is None:
            raise ValueError("text, value: expected at least one of them")
        bounded("value", given.value)
        memory = self._memory.make()
        outcome = memory.prefer(
            given.key, given.text or "", value=given.value, scope=self._scope, provenance=Provenance("mcp")
        )
        if outcome.id is None:
            raise ValueError(outcome.reason)
        record = memory.get(outcome.id, scope=self._scope, hidden=True)
        if not isinstance(record, Preference):
            raise ValueError(f"key: {given.key[:80]!r} was deleted concurrently")
        return _shown(record)

    def delete(self, given: DeletePreference) -> dict[str, Any]:
        """Delete the preference for a key.

        Raises:
            ValueError: the user has no preference for this key.
        """
        key, memory = checked_str(given.key, "key"), self._memory.find()
        for preference in () if memory is None else memory.known(self._scope).preferences:
            if (
                preference.key == key
                and memory is not None
                and memory.delete(preference.id, scope=self._scope, by="mcp")
            ):
                return {"deleted": 1}
        raise ValueError(f"key: expected the key of one of the user's preferences, got {given.key[:80]!r}")


def _shown(one: Preference) -> dict[str, Any]:
    return {
        "id": one.id,
        "key": one.key,
        "text": one.text,
        "value": plain(one.value),
        "source": one.source,
        "confidence": one.confidence,
    }
