"""Strategies for properties of filters: few fields, few values of every type, and all operators."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.data import strategies as draw
from tests.data.replay import Pair

FIELDS = ["category", "n", "tags", "when", "owner", "mixed", "created_at", "$odd", "a.b", "é"]
ASKABLE = [field for field in FIELDS if not field.startswith("$")]
TEXTS = ["keys", "infra", "", "KEYS", "é", "z\u0000", "\ud800", "🙂", "\uffff", "2026-03-01", 'quote"\\\n']
TIMES = [
    "2026-03-01T09:30:00+00:00", "2026-03-01T10:30:00+01:00", "2026-03-01", "2026-03-01 09:30",
    "2024-02-29T23:59:59.5Z", "2023-02-29", "0001-01-01T00:00:00+23:59", "2026-03-01T09:30:00.000001Z",
    "1969-12-31T23:59:59.999999",
]  # fmt: skip
INTEGERS = [0, 1, -1, 7, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1]
REALS = [0.0, -0.0, 0.5, 1.0, -1.0, 7.5, 2.0**53, 2.0**63, -(2.0**63), 1e300, -1e300, 5e-324, -5e-324]
MOMENTS = [
    datetime(2026, 3, 1, 9, 30, tzinfo=timezone.utc), datetime(2026, 3, 1), datetime(1, 1, 1), datetime(9999, 12, 31),
    datetime(2026, 3, 1, 9, 30, 0, 1), datetime(2026, 3, 1, 10, 30, tzinfo=timezone(timedelta(hours=1))),
    datetime(2024, 2, 29, 23, 59, 59, 500000), datetime(1969, 12, 31, 23, 59, 59, 999999),
    date(2026, 3, 1), date(1, 1, 1), date(9999, 12, 31),
]  # fmt: skip

texts = st.one_of(st.sampled_from(TEXTS), st.sampled_from(TEXTS + TIMES), st.text(max_size=3))
integers = st.one_of(st.sampled_from(INTEGERS), st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))
reals = st.one_of(
    st.sampled_from(REALS), st.floats(-3, 3, width=16), st.floats(allow_nan=False, allow_infinity=False)
)
few = st.sampled_from(["keys", "infra", 1, 2, 1.0, True, False, "2026-03-01"])

values = draw.weighted(
    (6, few), (2, texts), (2, integers), (2, reals), (1, st.booleans()), (1, st.none()),
    (3, st.lists(st.one_of(texts, few), max_size=4)), (1, st.just({"nested": 1})), (1, st.just(2**70)),
    (1, st.sampled_from(MOMENTS)),
)  # fmt: skip
metadata = st.one_of(
    st.none(), st.dictionaries(st.sampled_from(FIELDS[:6]), values, max_size=5),
    st.dictionaries(st.sampled_from(FIELDS), values, max_size=3),
    st.dictionaries(st.text(max_size=3), values, max_size=2),
)  # fmt: skip
created_at = draw.weighted((3, st.none()), (1, st.sampled_from(MOMENTS)), (1, st.sampled_from(TIMES[:4])))

_operands = draw.weighted(
    (8, few), (2, texts), (2, integers), (2, reals), (2, st.sampled_from(MOMENTS)),
    (1, st.sampled_from([float("inf"), float("-inf"), np.int32(1), np.float32(0.5), np.float64(1.0), np.bool_(True)])),
)  # fmt: skip
_times = st.one_of(
    st.sampled_from(MOMENTS), st.sampled_from(TIMES[:2] + TIMES[7:]), st.sampled_from([0, 1.5, -86400.25])
)
_lists = draw.weighted(
    (8, st.lists(_operands, max_size=4)), (1, st.lists(_operands, min_size=9, max_size=30))
)


@st.composite
def _operators(draw_from: st.DrawFn, field: str, depth: int = 0) -> dict[str, Any]:
    one = _times if field == "created_at" else _operands
    several = st.lists(_times, max_size=3) if field == "created_at" else _lists
    ordered = one.filter(lambda operand: not isinstance(operand, (bool, np.bool_)))
    choices = {
        "$eq": one, "$ne": one, "$gt": ordered, "$gte": ordered, "$lt": ordered, "$lte": ordered, "$in": several,
        "$nin": several, "$exists": st.booleans(), "$contains": texts,
    }  # fmt: skip
    if depth == 0:
        choices["$not"] = _operators(field, 1)
    names = draw_from(st.lists(st.sampled_from(list(choices)), min_size=1, max_size=2, unique=True))
    return {name: draw_from(choices[name]) for name in names}


@st.composite
def _field_filters(draw_from: st.DrawFn) -> dict[str, Any]:
    fields = draw_from(st.lists(st.sampled_from([*ASKABLE, "unknown"]), min_size=1, max_size=2, unique=True))
    shorthand = {field: _times if field == "created_at" else _operands for field in fields}
    return {field: draw_from(st.one_of(shorthand[field], _operators(field))) for field in fields}


@st.composite
def _filters(draw_from: st.DrawFn, depth: int) -> dict[str, Any]:
    """Draw fields, nested filters of at most `depth` levels, or both."""
    form = draw_from(st.integers(0, 9)) if depth > 0 else 0
    filter = draw_from(_field_filters()) if form < 7 else {}
    inner = _filters(depth - 1)
    if form >= 5:
        several = st.lists(inner, max_size=3)
        key, strategy = draw_from(st.sampled_from([("$or", several), ("$and", several), ("$not", inner)]))
        filter[key] = draw_from(strategy)
    return filter


filters = st.one_of(_filters(3), _filters(0), st.just({}))
"""Valid filters."""

_wrong_operands = st.sampled_from(
    [
        None,
        b"keys",
        object(),
        1j,
        float("nan"),
        2**64,
        -(2**63) - 1,
        {"$eq": 1},
        [1],
        (1,),
        {1},
        np.array([1, 2]),
    ]
)
_wrong_lists = st.sampled_from(["ab", 1, None, {"a": 1}, [None]])
_wrong_branches = st.sampled_from([{}, {"a": 1}, "a", 1, None, [1], [[]]])
wrong_filters = st.one_of(
    st.sampled_from(
        [[], "x", 1, [("a", 1)], {1: 2}, {"$nor": []}, {"a": {}}, {"a": {"x": 1}}, {"a": {1: 1}}]
    ),
    st.builds(
        lambda op, operand: {"a": {op: operand}},
        st.sampled_from(["$eq", "$ne", "$gt", "$lte"]),
        _wrong_operands,
    ),
    st.builds(lambda op, operand: {"a": {op: operand}}, st.sampled_from(["$in", "$nin"]), _wrong_lists),
    st.builds(lambda op, operand: {op: operand}, st.sampled_from(["$and", "$or"]), _wrong_branches),
    st.sampled_from([{"a": {"$exists": 1}}, {"a": {"$contains": 1}}, {"a": {"$contains": ["x"]}}]),
    st.sampled_from([{"a": {"$not": 1}}, {"$not": 1}, {"a": {"$gt": True}}, {"created_at": float("inf")}]),
    st.sampled_from([{"created_at": "yesterday"}, {"created_at": {"$in": ["x"]}}]),
)
"""Invalid filters."""

DIM = draw.DIM


ids = draw.weighted((3, st.integers(0, 8)), (1, st.integers(0, 40)))
"""Few ids, so that many are in several scopes at once."""


@dataclass(frozen=True)
class Written:
    id: int
    text: str
    scope: tuple[str, str | None, str | None]
    vector: Any
    payload: bytes | None


@st.composite
def _written(draw_from: st.DrawFn) -> Written:
    from scrubjay.documents import payload

    return Written(
        draw_from(ids), draw_from(draw.short_texts), draw_from(draw.scope_keys),
        draw_from(draw.some_exact_vectors), payload.encode(draw_from(metadata), draw_from(created_at)),
    )  # fmt: skip


@st.composite
def _several(draw_from: st.DrawFn) -> list[Written]:
    """Draw many rows with the same attributes, so that columns are dense and chunks have several words."""
    one = draw_from(_written())
    n, first = draw_from(st.integers(2, 80)), draw_from(st.sampled_from([0, 100]))
    return [Written(first + i, one.text, one.scope, one.vector, one.payload) for i in range(n)]


histories = st.lists(
    draw.weighted(
        (12, _written()),
        (2, _several()),
        (2, st.builds(draw.Delete, ids, draw.scope_keys)),
        (1, st.just("compact")),
        (1, st.just("image")),
    ),
    max_size=40,
)


def replay(pair: Pair, history: list[Any]) -> Pair:
    """Write a drawn history to both engines."""
    for step in history:
        if isinstance(step, Written):
            _write(pair, step)
        elif isinstance(step, list):
            for written in step:
                _write(pair, written)
        elif isinstance(step, draw.Delete):
            pair.step(step)
        elif step == "compact":
            pair.engine.compact()
        elif pair.kit.is_native:
            _through_images(pair)
    return pair


def _write(pair: Pair, written: Written) -> None:
    pair.both(
        lambda engine: engine.upsert(
            written.id,
            written.text,
            scope=pair.scope(written.scope),
            vector=written.vector,
            payload=written.payload,
        )
    )


def _through_images(pair: Pair) -> None:
    """Erase every partition from the engine, and load it again from its images."""
    for key in dict.fromkeys(home for home, _ in pair.model.live_keys()):
        scope = pair.scope(key)
        images = pair.engine.save_partition(scope)
        pair.engine.erase(scope, exact=True)
        pair.engine.load_partition(scope, images)
