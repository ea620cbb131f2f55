"""Models of the requests and answers of the typed memory.

Candidates and records have the fields of their dataclasses; requests have the time arguments of the memory's methods.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, Union

from pydantic import AfterValidator, BaseModel, Discriminator, Field, Tag, create_model

from scrubjay._native import Scope
from scrubjay.adapters._dataclass_models import LEAVES_OF_ANSWERS, answer_of, list_of, request_of
from scrubjay.adapters.service import models
from scrubjay.adapters.service.models import Request
from scrubjay.adapters.service.search_models import Ranked
from scrubjay.memory import Memory
from scrubjay.memory.intake.distillation import Distilled
from scrubjay.memory.ledger.changes import ChangeEvent
from scrubjay.memory.ledger.trace import TraceEvent
from scrubjay.memory.model.answers import Rejection, Why
from scrubjay.memory.model.candidates import (
    EpisodeCandidate,
    FactCandidate,
    Outcome,
    PolicyCandidate,
    PreferenceCandidate,
    Provenance,
)
from scrubjay.memory.model.names import RecordKind
from scrubjay.memory.model.records import Episode, Fact, Known, Policy, Preference

TIMES = ("as_of", "known_at")
"""Time arguments of the memory's methods (valid time, transaction time), added to the requests of these methods."""

_Run = Annotated[str, Field(min_length=1, max_length=500, description="name of the run (conversation, job)")]
_By = Annotated[str | None, Field(max_length=256, description="actor to record; by default the token's name")]
_Reason = Annotated[str, Field(min_length=1, max_length=1000)]
_K = Annotated[int, Field(ge=1, le=models.MAX_K)]
_Topic = Annotated[str, Field(min_length=1, max_length=500)]
_Question = Annotated[str, Field(max_length=20_000)]
_Found = Annotated[list[Literal["fact", "episode", "note"]], Field(min_length=1, max_length=3)]
_Status = Literal["provisional", "active", "planned", "ended", "superseded", "revoked"]
_Tokens = Annotated[int, Field(ge=1, le=10_000_000)]
_Scope = (models.ScopeIn | None, None)


def _request(name: str, said: str, method: Callable[..., Any] | None = None, **fields: Any) -> Any:
    """Create the model of a request, with a scope and the time arguments of a memory's method."""
    parameters = () if method is None else inspect.signature(method).parameters
    times = {time: (models.Time | None, None) for time in TIMES if time in parameters}
    return create_model(name, __base__=Request, __doc__=said, **{"scope": _Scope, **fields, **times})


# ---------------------------------------------------------------------- candidates

_TAKEN: dict[Any, Any] = {
    str: Annotated[str, Field(max_length=200_000)],
    int: int,
    float: models.Number,
    bool: bool,
    datetime: models.Time,
    timedelta: Annotated[float, Field(allow_inf_nan=False, description="seconds")],
    Mapping: models.Object,
    Any: Annotated[Any, AfterValidator(models.encodable)],
}
_GIVEN = {**LEAVES_OF_ANSWERS, Scope: models.ScopeOut}


def _taken_of(candidate: type[Any], name: str, **options: Any) -> Any:
    return request_of(candidate, name, Request, _TAKEN, **options)


def _given_of(record: type[Any]) -> Any:
    return answer_of(record, _GIVEN, _known)


_CANDIDATES: dict[str, type[Any]] = {
    "fact": FactCandidate,
    "preference": PreferenceCandidate,
    "episode": EpisodeCandidate,
    "policy": PolicyCandidate,
}
_MODELS: dict[str, Any] = {
    kind: _taken_of(candidate, f"{kind.title()}In", kind=kind, kind_required=kind == "policy")
    for kind, candidate in _CANDIDATES.items()
}


def _kind_of(given: Any) -> str:
    """Return the kind of a candidate by the gate's rules (see :func:`scrubjay.memory.model.checking.classify`)."""
    if isinstance(given, str):
        return "text"
    if isinstance(given, BaseModel):
        return str(getattr(given, "kind", "fact"))
    fields = given if isinstance(given, Mapping) else {}
    kind = fields.get("kind")
    if isinstance(kind, str) and kind in _MODELS:
        return kind
    return "episode" if "summary" in fields else "preference" if "key" in fields else "fact"


_Text = Annotated[str, Field(max_length=200_000, description="a fact as a sentence")]
_tagged = [Annotated[_Text, Tag("text")], *(Annotated[_MODELS[kind], Tag(kind)] for kind in _MODELS)]
Candidate: Any = Annotated[Union[tuple(_tagged)], Discriminator(_kind_of)]  # noqa: UP007 - of a tuple
_Candidates = Annotated[list[Candidate], Field(min_length=1, max_length=models.MAX_BATCH)]
_Whence: Any = _taken_of(Provenance, "SourceIn", without=("policy_version",))
_Source: Any = Annotated[
    Union[_Run, _Whence],  # noqa: UP007 - of a value
    Field(description="the run it comes from: its name, or a full provenance"),
]

_changes: dict[str, Any] = {}
for _candidate in (FactCandidate, EpisodeCandidate, PreferenceCandidate):
    _made = _taken_of(_candidate, "Any", optional=True)
    _changes.update(
        {name: (field.annotation, None) for name, field in _made.model_fields.items() if name not in ("key",)}
    )


def candidate_of(given: Any) -> Any:
    """Return a candidate of a request in the gate's form: a str, or a mapping without null values."""
    return given if isinstance(given, str) else given.model_dump(exclude_none=True)


# ---------------------------------------------------------------------- requests


class TurnIn(Request):
    """One turn of a conversation."""

    role: models.Name
    content: models.Text


class EventIn(Request):
    """One event of a run: "user", "model", "tool" or any other kind."""

    kind: Annotated[str, Field(pattern="^[a-z][a-z0-9_]{0,63}$")]
    content: models.Text
    author: models.Name | None = None
    data: models.Object | None = None
    at: models.Time | None = None


_Relevance = Literal["none", "low", "standard", "high"]
_Without = (
    Annotated[
        list[Annotated[str, Field(min_length=1, max_length=500)]] | None,
        Field(max_length=100, description="classes of sensitivity to exclude"),
    ],
    None,
)
_RECALLED: dict[str, Any] = {
    "kinds": (_Found | None, None),
    "k": (_K, 20),
    "task_type": (models.Name | None, None),
    "filter": (models.Filter | None, None),
    "relevance": (
        Annotated[_Relevance | None, Field(description="minimum relevance of each hit")],
        None,
    ),
    "query": (Ranked | None, None),
    "without": _Without,
}
_ASSEMBLED: dict[str, Any] = {
    **_RECALLED,
    "budget_tokens": (_Tokens, 2000),
    "item_tokens": (_Tokens, 200),
    "turn_tokens": (Annotated[int, Field(ge=0, le=10_000_000)], 300),
    "floor": (
        Annotated[
            _Relevance,
            Field(
                description="minimum relevance of the best record for any to be included; none: no minimum"
            ),
        ],
        "standard",
    ),
    "edges": (Annotated[bool, Field(description="place the most relevant records first and last")], False),
}
_Retention = Literal["short", "standard", "long", "permanent"]

REQUESTS: dict[str, Any] = {
    "propose": _request(
        "ProposeIn",
        "Candidates for the gate, in one transaction: texts (facts), or facts, preferences, episodes, policies.",
        candidates=(_Candidates, ...),
        source=(_Source, ...),
    ),
    "known": _request("KnownIn", "Whose policies and preferences.", Memory.known, without=_Without),
    "recall": _request(
        "RecallIn",
        "A question for facts, episodes and notes.",
        Memory.recall,
        text=(_Question, ...),
        **{**_RECALLED, "k": (_K, 10)},
    ),
    "assemble": _request(
        "AssembleIn",
        "A question, and how long its prompt may become.",
        Memory.recall,
        text=(_Question, ...),
        turns=(Annotated[list[TurnIn], Field(max_length=1000)], []),
        **_ASSEMBLED,
    ),
    "list": _request(
        "ListRecordsIn",
        "Which records to list, kind by kind, oldest first.",
        Memory.list,
        kinds=(Annotated[list[RecordKind], Field(min_length=1, max_length=4)] | None, None),
        hidden=(Annotated[bool, Field(description="include records that are not in force")], False),
        statuses=(
            Annotated[
                list[_Status] | None,
                Field(
                    min_length=1,
                    max_length=6,
                    description="only these statuses, in force or not; with a time, only records that were in "
                    "force then",
                ),
            ],
            None,
        ),
        exact=(bool, False),
        subject=(_Topic | None, None),
        run=(_Run | None, None),
        without=_Without,
        limit=(_K, 10),
        cursor=(Annotated[str | None, Field(max_length=2000)], None),
    ),
    "overview": _request(
        "OverviewIn",
        "The scope to summarise.",
        limit=(
            Annotated[int, Field(ge=1, le=models.MAX_K, description="maximum length of each list of times")],
            100,
        ),
    ),
    "history": _request(
        "HistoryIn",
        "The subject and predicate of a history.",
        Memory.history,
        subject=(_Topic, ...),
        predicate=(_Topic, ...),
    ),
    "rejections": _request(
        "RejectionsIn", "Candidates that the gate rejected, newest first.", limit=(_K, 10)
    ),
    "changes": _request(
        "ChangesIn",
        "Changes after a cursor, oldest first.",
        since=(Annotated[int, Field(ge=0, le=2**62 - 1, description="the last cursor seen")], 0),
        within=(Annotated[bool, Field(description="include all users and agents within the scope")], False),
        limit=(_K, 100),
    ),
    "forget": _request(
        "ForgetIn",
        "The scope to erase, with every kind of memory: a tenant alone includes all its users and agents.",
        scope=(models.ScopeIn, ...),
        reason=(_Reason, "forget"),
        by=(_By, None),
        names=(Annotated[bool, Field(description="also replace the names in records that are kept")], False),
    ),
    "update": _request(
        "ChangeIn", "Changes of a record; missing fields are unchanged.", by=(_By, None), **_changes
    ),
    "confirm": _request(
        "ConfirmIn", "The confirmation of a policy, or of a fact of the tenant.", by=(_By, None)
    ),
    "revoke": _request("RevokeIn", "The revocation of a record.", reason=(_Reason, ...), by=(_By, None)),
    "feedback": _request("FeedbackIn", "Whether a fact or episode was useful.", used=(bool, True)),
    "record": _request(
        "RecordIn",
        "Events of a run, all or none.",
        run=(_Run, ...),
        events=(Annotated[list[EventIn], Field(min_length=1, max_length=models.MAX_BATCH)], ...),
        retention=(_Retention, "standard"),
    ),
    "retract": _request(
        "RetractIn",
        "The retraction of an event of a run.",
        run=(_Run, ...),
        seq=(Annotated[int, Field(ge=1, le=2**62 - 1)], ...),
        why=(Annotated[str, Field(max_length=1000)], ""),
    ),
    "prompt": _request(
        "SessionPromptIn",
        "A prompt for a run, by default for the user's last message.",
        Memory.recall,
        run=(_Run, ...),
        text=(_Question | None, None),
        **_ASSEMBLED,
    ),
    "run": _request("RunIn", "A run.", run=(_Run, ...)),
    "replay": _request(
        "ReplayIn",
        "A run whose prompts are rebuilt, in pages.",
        run=(_Run, ...),
        after=(
            Annotated[int, Field(ge=0, le=2**62 - 1, description="number of the event after which to begin")],
            0,
        ),
        limit=(_K, 10),
    ),
    "runs": _request("RunsIn", "The exact scope of the runs."),
    "distil": _request(
        "DistilIn",
        "A run, and candidates from it; without candidates the service's extractor reads the run.",
        run=(_Run, ...),
        candidates=(_Candidates | None, None),
    ),
}
"""Models of requests by name."""

# ---------------------------------------------------------------------- answers

_known: dict[Any, Any] = {}
_Outcome = _given_of(Outcome)
_Record: Any = Annotated[
    Union[tuple(_given_of(record) for record in (Policy, Preference, Fact, Episode))],  # noqa: UP007
    Field(discriminator="kind"),
]
_Event = _given_of(TraceEvent)


class RecalledOut(BaseModel):
    """One fact, episode or note of a search."""

    id: str
    kind: str
    text: str
    score: Annotated[float, Field(description="comparable within one answer only")]
    relevance: Annotated[str, Field(description="tier of relevance: high, standard, low or none")]
    tier: Annotated[str, Field(description="the same as relevance")]
    identifier: Annotated[bool, Field(description="whether it contains a rare identifier of the question")]
    passage: Annotated[
        list[int] | None,
        Field(
            description="range of the passage nearest to the question by meaning; null: the text was "
            "embedded whole"
        ),
    ]
    metadata: dict[str, Any]
    created_at: str | None
    scope: models.ScopeOut


class BlockOut(BaseModel):
    """A part of a prompt, with the ids of its records."""

    name: str
    text: str
    ids: list[str]


class ReplayedOut(BaseModel):
    """A prompt rebuilt from the trace, with its recorded values."""

    seq: Annotated[int, Field(description="number of the prompt's event in its run")]
    turn: int
    at: Annotated[str, Field(description="time of the prompt")]
    faithful: Annotated[
        bool,
        Field(
            description="whether the rebuilt prompt is byte for byte the same; false after a change "
            "of the token count, or if retention deleted one of its turns"
        ),
    ]
    recorded_sha256: Annotated[str, Field(description="hash of the prompt that was given to the model")]
    sha256: Annotated[
        str | None, Field(description="hash of the rebuilt prompt; null: it exceeds the budget now")
    ]
    text: str | None
    blocks: list[BlockOut]
    trace: Annotated[
        dict[str, Any], Field(description="retrieved and omitted records, as recorded at the time")
    ]


def _answer(name: str, said: str, **fields: Any) -> Any:
    return create_model(name, __doc__=said, **{field: (hint, ...) for field, hint in fields.items()})


ANSWERS: dict[str, Any] = {
    "outcomes": _answer("Outcomes", "The outcome of each candidate.", outcomes=list_of(_Outcome)),
    "outcome": _Outcome,
    "known": _given_of(Known),
    "recalled": _answer(
        "Recalled",
        "The hits, best first.",
        hits=list[RecalledOut],
        relevance=Annotated[str, Field(description="relevance of the best hit; none: nothing fits")],
        mode=str,
        degraded=list[str],
    ),
    "assembled": _answer(
        "Assembled",
        "A prompt and its trace.",
        text=str,
        prefix=Annotated[str, Field(description="unchanged as long as policies and preferences are")],
        sha256=str,
        blocks=list[BlockOut],
        trace=dict[str, Any],
    ),
    "records": _answer(
        "Records",
        "A page of records, and the cursor of the next one; null at the end.",
        records=list[_Record],
        next_cursor=str | None,
    ),
    "overview": _answer(
        "Overview",
        "Counts of a memory, and the times of changes.",
        counts=Annotated[
            dict[str, dict[str, int]],
            Field(description="number of records by kind and status, for all statuses"),
        ],
        in_force=Annotated[
            dict[str, int],
            Field(
                description="number of records in force by kind; for policies and preferences as in `known`"
            ),
        ],
        runs=Annotated[int, Field(description="number of runs of exactly this scope")],
        changed=Annotated[
            list[str],
            Field(description="times at which a statement began or ceased to hold: the newest, ascending"),
        ],
        learned=Annotated[
            list[str],
            Field(description="times at which the memory was told something: the newest, ascending"),
        ],
    ),
    "record": _answer("OneRecord", "A record.", record=_Record),
    "history": _answer("History", "The statements, oldest first.", facts=list_of(_given_of(Fact))),
    "why": _answer("WhyRecord", "The provenance of a record.", why=_given_of(Why), text=str),
    "rejections": _answer("Rejections", "The rejected candidates.", rejections=list_of(_given_of(Rejection))),
    "changes": _answer(
        "MemoryChanges",
        "The changes, and the cursor to continue from.",
        changes=list_of(_given_of(ChangeEvent)),
        cursor=int,
    ),
    "forgotten": _answer("Forgotten", "The number of erased rows of each kind.", counts=dict[str, int]),
    "events": _answer("Events", "Events of a run in order.", run=str, events=list_of(_Event)),
    "replayed": _answer(
        "Replayed",
        "Rebuilt prompts of a run, and the event after which the next page begins; null at the end.",
        run=str,
        prompts=list[ReplayedOut],
        next_after=int | None,
    ),
    "run": _answer("Run", "A run.", run=str, events=int, turns=int),
    "runs": _answer("Runs", "Names of runs, oldest first.", runs=list[str]),
    "distilled": _answer(
        "Distilled",
        "The outcomes of a run's candidates.",
        run=str,
        outcomes=list_of(_answer("DistilledOne", "One candidate.", kind=str, status=str, id=str | None)),
        **{
            field.name: {"int": int, "bool": bool}[str(field.type)]
            for field in dataclasses.fields(Distilled)
            if field.name not in ("run_id", "outcomes")
        },
    ),
}
"""Models of answers by name."""
