"""Validation of a proposal without the file: its kind, its scope, its texts.

An invalid *call* (a wrong type, a missing scope) raises. An invalid *candidate*, which may come from a model, is
rejected with a reason.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any, TypeVar

from scrubjay._native import Scope
from scrubjay.base.arguments import is_integer
from scrubjay.documents import payload
from scrubjay.documents.entities import names as entity_names
from scrubjay.memory.model.candidates import (
    SOURCES,
    Candidate,
    EpisodeCandidate,
    FactCandidate,
    PolicyCandidate,
    PreferenceCandidate,
    Provenance,
)
from scrubjay.memory.model.content import MAX_CHARS, MAX_NAME_CHARS, checked_str, normalised, number_in
from scrubjay.memory.model.decoding import moment_of
from scrubjay.memory.model.documents import RESERVED
from scrubjay.memory.model.names import MIN_FACT_CONFIDENCE, MIN_PREFERENCE_CONFIDENCE, RELATIONS
from scrubjay.memory.model.refusal import Refusal
from scrubjay.memory.model.values import MAX_VALUE_BYTES, kept_detail

_T = TypeVar("_T")

CANDIDATES: dict[str, type[Any]] = {
    "fact": FactCandidate,
    "preference": PreferenceCandidate,
    "episode": EpisodeCandidate,
    "policy": PolicyCandidate,
}
_KIND_OF = {candidate: kind for kind, candidate in CANDIDATES.items()}
_PLAIN = {*CANDIDATES.values(), Provenance}  # their subclasses may have constructors of their own
_LONG = {"content", "text", "summary", "evidence"}
_NEEDED = {"content", "text", "summary", "key", "outcome"}
_SHORT = {"key", "subject", "predicate", "source", "outcome", "task_type", "type", "title", "sensitivity"}


def classify(candidate: Candidate | Mapping[str, Any] | str) -> tuple[str, Candidate]:
    """Return the kind and the typed candidate of a proposal.

    A str is a fact. A mapping has the fields of one of the candidates and perhaps its `kind`; without `kind`, a mapping
    with a `summary` is an episode, with a `key` a preference, otherwise a fact: a policy needs its `kind`.

    Raises:
        TypeError, ValueError: it is none of these, or has unknown fields.

    >>> classify({"key": "tone", "text": "brief"})[0]
    'preference'
    """
    if isinstance(candidate, str):
        return "fact", FactCandidate(candidate)
    if isinstance(candidate, Mapping):
        values = dict(candidate)
        kind = values.pop("kind", None)
        if kind is None:
            kind = "episode" if "summary" in values else "preference" if "key" in values else "fact"
        if not isinstance(kind, str) or kind not in CANDIDATES:
            raise ValueError(f"kind: expected one of {sorted(CANDIDATES)}, got {kind!r}")
        names = [field.name for field in fields(CANDIDATES[kind])]
        unknown = sorted(str(name) for name in values if name not in names)
        if unknown:
            raise ValueError(f"{unknown[0]}: unknown field of a {kind}, expected {', '.join(names)}")
        try:
            return kind, CANDIDATES[kind](**values)
        except TypeError:
            raise ValueError(
                f"candidate: {kind}: expected more than {sorted(values)} of {', '.join(names)}"
            ) from None
    found = _KIND_OF.get(type(candidate))
    if found is None:
        raise TypeError(
            f"candidate: expected a candidate, a mapping or a str, got {type(candidate).__name__}"
        )
    return found, candidate


def content_of(kind: str, candidate: Any) -> str:
    """Return the text of a candidate."""
    return str(
        candidate.content if kind == "fact" else candidate.summary if kind == "episode" else candidate.text
    )


def checked_source(source: Any) -> Provenance:
    """Return a provenance whose texts can be stored.

    Raises:
        TypeError, ValueError: it is not a valid provenance, or names no run.
    """
    if isinstance(source, str):
        return _source_of_run(source)
    if not isinstance(source, Provenance):
        raise TypeError(f"source: expected a Provenance or the name of a run, got {type(source).__name__}")
    named = {}
    for name in ("run", "author", "place"):
        value = checked_str(getattr(source, name), f"source.{name}", optional=name != "run")
        if len(value) > MAX_NAME_CHARS:
            raise ValueError(f"source.{name}: expected at most {MAX_NAME_CHARS} characters, got {len(value)}")
        named[name] = value or None
    moment_of(source.at, "source.at")
    for name in ("turn", "policy_version"):
        number = getattr(source, name)
        if number is not None and not is_integer(number):
            raise TypeError(f"source.{name}: expected an int, got {type(number).__name__}")
        if number is not None and not 0 <= number < 2**63:
            raise ValueError(f"source.{name}: expected 0 or more, below 2**63, got {number}")
    return with_values(
        source, {"run": named["run"] or "", "author": named["author"], "place": named["place"]}
    )


@lru_cache(maxsize=256)  # the proposals of a batch name one run
def _source_of_run(run: str) -> Provenance:
    return checked_source(Provenance(run))


def with_values(given: _T, values: Mapping[str, Any]) -> _T:
    """Return a candidate or provenance with these field values: the same object if nothing changes."""
    if all(getattr(given, name) is value for name, value in values.items()):
        return given
    if type(given) not in _PLAIN:
        return replace(given, **values)  # type: ignore[type-var]
    copied = object.__new__(type(given))  # as the dataclass constructor does field by field, but faster
    object.__setattr__(copied, "__dict__", {**vars(given), **values})
    return copied


@lru_cache(maxsize=64)
def _texts_of(candidate: Any) -> tuple[tuple[str, int, int], ...]:
    """Return the text fields of a class of candidates: name, minimum and maximum length in characters."""
    return tuple(
        (field.name, int(field.name in _NEEDED), MAX_CHARS if field.name in _LONG else MAX_NAME_CHARS)
        for field in fields(candidate)
        if field.name in _LONG | _SHORT
    )


def verify(kind: str, candidate: Any, source: Provenance) -> Any:
    """Return the candidate with its texts in the stored form.

    Raises:
        Refusal: it must be rejected; the message is the reason.
        TypeError, ValueError: a field has a wrong type.
    """
    made_as: Any = type(candidate)
    texts: dict[str, Any] = {}
    unfit = ""  # raised after the loop, because a TypeError takes precedence
    for name, least, most in _texts_of(made_as):
        text = checked_str(getattr(candidate, name), name, optional=name == "evidence")
        if not least <= len(text) <= most and not unfit:
            wanted = f"at most {most:,} characters, got {len(text):,}" if text else "some text, got none"
            unfit = f"{name}: expected {wanted}"
        texts[name] = text
    if unfit:
        raise Refusal(unfit)
    if not source.run:
        raise Refusal("source.run: every record needs the run that it comes from")
    if kind == "fact":
        if candidate.value is not None and not isinstance(candidate.value, str):
            texts["value"] = payload.checked_value(candidate.value, "value")
        _verify_statement(candidate)
        texts["confidence"] = _confident(candidate, MIN_FACT_CONFIDENCE, "a fact")
    elif kind == "preference":
        texts["confidence"] = _confident(candidate, MIN_PREFERENCE_CONFIDENCE, "a preference")
        if texts["source"] not in SOURCES:
            raise Refusal(f"source: expected one of {', '.join(SOURCES)}, got {texts['source']!r}")
    elif kind == "episode":
        encoded_list(candidate.steps, "steps")
        encoded_artifacts(candidate.artifacts)
        payload.to_utc(candidate.completed_at, "completed_at")
    if kind in ("policy", "preference"):
        detail = kept_detail(value=candidate.value) or b""
        if len(detail) > MAX_VALUE_BYTES:
            raise Refusal(f"value: expected at most {MAX_VALUE_BYTES:,} bytes of JSON, got {len(detail):,}")
    if kind in ("fact", "episode"):
        encoded(candidate.metadata)
    return with_values(candidate, texts)


def _verify_statement(candidate: FactCandidate) -> None:
    if candidate.single is not None and not isinstance(candidate.single, bool):
        raise TypeError(f"single: expected a bool or None, got {type(candidate.single).__name__}")
    if not isinstance(candidate.relation, str):
        raise TypeError(f"relation: expected a str, got {type(candidate.relation).__name__}")
    if candidate.relation not in RELATIONS:
        raise Refusal(f"relation: expected one of {', '.join(RELATIONS)}, got {candidate.relation!r}")
    for name in ("replaces", "entities"):
        texts = getattr(candidate, name)
        if texts.__class__ is tuple and not texts:  # nearly always
            continue
        if isinstance(texts, (str, bytes)) or not isinstance(texts, Sequence):
            raise TypeError(f"{name}: expected a sequence of str, got {type(texts).__name__}")
        for i, text in enumerate(texts):
            if len(checked_str(text, f"{name}[{i}]")) > MAX_NAME_CHARS:
                raise Refusal(f"{name}: expected at most {MAX_NAME_CHARS} characters each, got {len(text):,}")
    if candidate.importance is not None and math.isnan(number_in(candidate.importance, "importance")):
        raise Refusal(f"importance: expected 0 to 1, got {candidate.importance!r}")
    encoded_detail(candidate)


def encoded_detail(candidate: FactCandidate) -> bytes | None:
    """Return the stored form of a fact's value, entities, importance and sensitivity; None if it has none of them.

    Raises:
        TypeError, ValueError: the value is not JSON.
        Refusal: it is too long.
    """
    if (
        candidate.value is None
        and candidate.importance is None
        and not (candidate.entities or candidate.sensitivity)
    ):
        return None
    detail = {
        "value": candidate.value.strip() if isinstance(candidate.value, str) else candidate.value,
        "entities": entity_names(candidate.entities) if candidate.entities else None,
        "importance": candidate.importance,
        "sensitivity": candidate.sensitivity or None,
    }
    detail = {name: value for name, value in detail.items() if value is not None}
    if not detail:
        return None
    for name, value in detail.items():
        try:
            detail[name] = payload.checked_metadata({name: value})[name]
        except (TypeError, ValueError) as error:
            raise type(error)(str(error).replace("metadata", "candidate")) from None
    try:
        data = json.dumps(detail, separators=(",", ":")).encode()
    except RecursionError:
        raise ValueError("value: expected less nesting") from None
    if len(data) > 4 * MAX_CHARS:
        raise Refusal(f"value: expected at most {4 * MAX_CHARS:,} bytes, got {len(data):,}")
    return data


def _confident(candidate: Any, least: float, kind: str) -> float:
    confidence = number_in(candidate.confidence, "confidence")
    if math.isnan(confidence):
        raise Refusal(f"confidence: expected 0 to 1, got {candidate.confidence!r}")
    if confidence < least:
        raise Refusal(f"confidence: {kind} needs {least}, got {confidence:g}")
    return candidate.confidence if candidate.confidence.__class__ is float else confidence


def encoded(metadata: Mapping[str, Any] | None) -> bytes | None:
    """Return the stored form of metadata.

    Raises:
        TypeError, ValueError: it contains values that JSON cannot express, or a name reserved for the record's columns.
    """
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):
        raise TypeError(f"metadata: expected a mapping of str to JSON values, got {type(metadata).__name__}")
    if not metadata:
        return None
    for name in RESERVED:
        if name in metadata:
            raise ValueError(f"metadata: expected other names than {', '.join(RESERVED)}, got {name!r}")
    checked = payload.decode(payload.encode(metadata, None))[0]
    return json.dumps(checked, separators=(",", ":")).encode()


def encoded_list(items: Any, name: str) -> bytes:
    """Return the stored form of steps.

    Raises:
        TypeError: not a sequence of str.
        Refusal: they are too long.
    """
    if isinstance(items, (str, bytes)) or not isinstance(items, Sequence):
        raise TypeError(f"{name}: expected a sequence of str, got {type(items).__name__}")
    return _encoded([checked_str(item, f"{name}[{i}]") for i, item in enumerate(items)], name)


def encoded_artifacts(artifacts: Any) -> bytes:
    """Return the stored form of artifacts: one JSON object, or a list of texts and objects.

    Raises:
        TypeError, ValueError: they are neither.
        Refusal: they are too long.
    """
    if isinstance(artifacts, Mapping):
        return _encoded(payload.checked_value(artifacts, "artifacts"), "artifacts")
    if isinstance(artifacts, (str, bytes)) or not isinstance(artifacts, Sequence):
        raise TypeError(
            f"artifacts: expected a mapping, or a sequence of str and mappings, got {type(artifacts).__name__}"
        )
    names = [f"artifacts[{i}]" for i in range(len(artifacts))]
    return _encoded(
        [
            payload.checked_value(artifact, name)
            if isinstance(artifact, Mapping)
            else checked_str(artifact, name)
            for artifact, name in zip(artifacts, names, strict=True)
        ],
        "artifacts",
    )


def _encoded(value: Any, name: str) -> bytes:
    data = json.dumps(value).encode()
    if len(data) > 4 * MAX_CHARS:
        raise Refusal(f"{name}: expected at most {4 * MAX_CHARS:,} bytes, got {len(data):,}")
    return data


_name = lru_cache(maxsize=1024)(normalised)  # there are few distinct tenants and subjects


def resolve(kind: str, candidate: Any, scope: Scope) -> tuple[Scope, bool]:
    """Return the narrowest scope that fits, and whether the statement is about the tenant itself.

    A preference belongs to the user, under any agent, or to the tenant in whose scope it is proposed; a policy to the
    tenant. A fact or an episode stays where it was proposed. Only a fact about the tenant leaves a user's or agent's
    scope, once independent runs have observed it (which the gate decides from the file).

    Raises:
        Refusal: the record would have no owner.
    """
    if kind == "policy":
        return Scope(scope.tenant), False
    if kind == "preference":
        if scope.user is None and scope.agent is not None:
            raise Refusal("scope: a preference belongs to a user or a tenant, and the scope is an agent's")
        return Scope(scope.tenant, scope.user), False
    nobodys = scope.user is None and scope.agent is None
    if kind == "episode":
        return scope, False
    about_tenant = _name(candidate.subject) == _name(scope.tenant)
    if nobodys and not about_tenant:
        raise Refusal(
            "scope: only a fact whose subject is the tenant itself can be the tenant's; name the user or agent"
        )
    return scope, about_tenant
