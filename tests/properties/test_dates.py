"""Dates in a question move only what they should. Compared with the twin, bit for bit."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scrubjay import Dates, Index, Query, Scope
from scrubjay.documents import payload
from tests.data import strategies as draw
from tests.data.engines import Kit
from tests.data.replay import Pair
from tests.reference import dates as twin
from tests.reference import judge
from tests.reference.fusion import Options
from tests.reference.query import Asked

HOME = ("acme", "jane", None)
NOW = datetime(2024, 4, 15, 9, tzinfo=timezone.utc)
SCOPE = Scope("acme", user="jane")

said = st.sampled_from(
    """in on last this the of de may march May August märz mai 8 8th 31 29 2023 2024 1899 2023-05-08 8.5.2023
    31/1/2023 5/8/2023 2024-02 summer winter yesterday today week month year weekend days weeks years ago two a 3 monday
    night most recent latest current february during past jay oak , . - / x
    before since between from to and quarter quarters half h1 third second 5th 31st Fridays fortnight over early mid end
    Easter christmas Halloween thanksgiving pfingsten silvester new eve ' s morning will not did years
    year\u2019s""".split()
)
questions = st.lists(said, max_size=10).flatmap(
    lambda words: st.sampled_from([" ", " ", " ", "", "-", "."]).map(lambda gap: gap.join(words))
)
moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(timezone.utc))
near = st.integers(-900 * 86400, 40 * 86400).map(lambda seconds: NOW + timedelta(seconds=seconds))
documents = st.lists(
    st.tuples(
        st.one_of(st.none(), near, moments),
        st.one_of(
            st.none(),
            near.map(payload.microseconds),
            near,
            near.map(lambda at: at.date().isoformat()),
            st.sampled_from(["2023", "2023-13-01", True, 0.5, ["2023-05-08"]]),
        ),
        st.sampled_from(["jay", "jay oak", "jay 8 May 2023", "jay 2023-05-08 plan", "oak"]),
        draw.some_exact_vectors,
    ),
    max_size=8,
)


@given(
    documents, questions, draw.exact_vectors, st.one_of(near, moments), st.sampled_from([0.0, 1.0, 4.0]),
    st.sampled_from(["auto", "rrf", "boost"]), st.booleans(), st.booleans(), st.sampled_from([None, 1, 3]),
    st.sampled_from(["hybrid", "hybrid", "lexical"]),
)  # fmt: skip
@example(
    [(NOW, None, "jay", None), (NOW - timedelta(300), None, "jay", None)],
    "jay latest", np.ones(4, np.float32), NOW, 4.0, "auto", False, False, None, "hybrid",
)  # fmt: skip
@example(
    [(NOW - timedelta(130), None, "jay", None), (NOW, None, "jay oak", None)],
    "last year", np.ones(4, np.float32), NOW, 4.0, "auto", False, False, None, "hybrid",
)  # fmt: skip
@example(
    [(NOW, NOW - timedelta(17), "jay 2024-03", None), (NOW - timedelta(3), None, "jay oak", None)],
    "in 2024-03 since May", np.ones(4, np.float32), NOW, 4.0, "auto", False, False, 1, "lexical",
)  # fmt: skip
def test_dates_move_what_their_twin_says(
    kit: Kit, rows: list[tuple[Any, Any, str, Any]], question: str, vector: NDArray[np.float32], now: datetime,
    weight: float, method: str, with_vector: bool, adjusted: bool, chunk_docs: int | None, mode: str,
) -> None:  # fmt: skip
    pair = Pair(kit, chunk_docs=chunk_docs, dim=draw.DIM, metric="ip").apply([])
    scope = pair.scope(HOME)
    for id, (created, begin, text, own) in enumerate(rows):
        encoded = payload.encode(None if begin is None else {"valid_from": begin}, created)
        pair.both(
            lambda engine, id=id, text=text, own=own, encoded=encoded: engine.upsert(
                id, text, scope=scope, vector=own, payload=encoded
            )
        )
    ranking = Options(
        method, dates=weight, dates_now_us=payload.microseconds(now), coverage=0.5 if adjusted else 0.0
    )
    asked: dict[str, Any] = {
        "scope": scope, "k": 20, "query": Asked(ranking, mode), "explain": True,
        "vector": vector if with_vector and mode == "hybrid" else None,
    }  # fmt: skip
    text = "jay " + question
    judge.same_result(pair.engine.search(text, **asked), pair.model.search(text, **asked), explain=True)


@pytest.mark.parametrize(
    ("question", "first", "end"),
    [
        ("on 8 May 2023", "2023-05-08", "2023-05-10"),
        ("the 8th of May, 2023", "2023-05-08", "2023-05-10"),
        ("May 8th, 2023", "2023-05-08", "2023-05-10"),
        ("on 2023-05-08?", "2023-05-08", "2023-05-10"),
        ("am 8.5.2023", "2023-05-08", "2023-05-10"),
        ("on 31/1/2023", "2023-01-31", "2023-02-02"),
        ("on May 8", "2023-05-08", "2023-05-10"),
        ("on the 8th of April", "2024-04-08", "2024-04-10"),
        ("on February 29", "2024-02-29", "2024-03-02"),
        ("in May 2023", "2023-05-01", "2023-06-01"),
        ("im März 2023", "2023-03-01", "2023-04-01"),
        ("en août 2023", "2023-08-01", "2023-09-01"),
        ("en marzo de 2023", "2023-03-01", "2023-04-01"),
        ("last March", "2024-03-01", "2024-04-01"),
        ("last April", "2023-04-01", "2023-05-01"),
        ("in April", "2024-04-01", "2024-05-01"),
        ("in 2023", "2023-01-01", "2024-01-01"),
        ("last summer", "2023-06-01", "2023-09-01"),
        ("in winter 2022", "2022-12-01", "2023-03-01"),
        ("yesterday", "2024-04-14", "2024-04-15"),
        ("today", "2024-04-15", "2024-04-16"),
        ("the day before yesterday", "2024-04-13", "2024-04-14"),
        ("vorgestern", "2024-04-13", "2024-04-14"),
        ("on Monday", "2024-04-08", "2024-04-10"),
        ("on Friday about the plan", "2024-04-12", "2024-04-14"),
        ("Nov 2", "2023-11-02", "2023-11-04"),
        ("2nd November", "2023-11-02", "2023-11-04"),
        ("November 2", "2023-11-02", "2023-11-04"),
        ("the 3rd of May", "2023-05-03", "2023-05-05"),
        ("in the last 7 days", "2024-04-08", "2024-04-16"),
        ("over the past two weeks", "2024-04-01", "2024-04-16"),
        ("in the last few days", "2024-04-10", "2024-04-16"),
        ("a few days ago", "2024-04-10", "2024-04-14"),
        ("a couple of weeks ago", "2024-03-22", "2024-04-05"),
        ("several months ago", "2023-07-01", "2024-02-01"),
        ("08/2023", "2023-08-01", "2023-09-01"),
        ("in 8/2023", "2023-08-01", "2023-09-01"),
        ("Q3 2023", "2023-07-01", "2023-10-01"),
        ("2023 Q4", "2023-10-01", "2024-01-01"),
        ("in 2023-Q1", "2023-01-01", "2023-04-01"),
        ("in Q3", "2023-07-01", "2023-10-01"),
        ("last Q2", "2023-04-01", "2023-07-01"),
        ("since last Monday", "2024-04-08", "2024-04-16"),
        ("since March", "2024-03-01", "2024-04-16"),
        ("after 8 May 2023", "2023-05-09", "2101-01-01"),
        ("after 2023", "2024-01-01", "2101-01-01"),
        ("the week before 9 June 2023", "2023-06-09", "2023-06-11"),
        ("on Friday before 10.01.2024", "2024-01-10", "2024-01-12"),
        ("not in May but in March", "2024-03-01", "2024-04-01"),
        ("not last week but on 2024-04-02", "2024-04-02", "2024-04-04"),
        ("last Monday", "2024-04-08", "2024-04-10"),
        ("last week", "2024-04-08", "2024-04-15"),
        ("last weekend", "2024-04-13", "2024-04-15"),
        ("two weeks ago", "2024-03-29", "2024-04-05"),
        ("3 months ago", "2024-01-01", "2024-02-01"),
        ("last year", "2023-01-01", "2024-01-01"),
        ("the week before last", "2024-04-01", "2024-04-08"),
        ("the week before last week", "2024-04-01", "2024-04-08"),
        ("the weekend before last", "2024-04-06", "2024-04-08"),
        ("the month before last", "2024-02-01", "2024-03-01"),
        ("the year before last", "2022-01-01", "2023-01-01"),
        ("the Friday before last", "2024-04-05", "2024-04-07"),
        ("the night before last", "2024-04-13", "2024-04-14"),
        ("two Fridays ago", "2024-04-05", "2024-04-07"),
        ("a fortnight ago", "2024-03-29", "2024-04-05"),
        ("on the 5th", "2024-04-05", "2024-04-07"),
        ("on the 20th at noon", "2024-03-20", "2024-03-22"),
        ("on the 31st", "2024-03-31", "2024-04-02"),
        ("on the 2nd of last month", "2024-03-02", "2024-03-04"),
        ("since the 5th of last month", "2024-03-05", "2024-04-16"),
        ("last quarter", "2024-01-01", "2024-04-01"),
        ("this quarter", "2024-04-01", "2024-07-01"),
        ("two quarters ago", "2023-10-01", "2024-01-01"),
        ("over the last two quarters", "2023-10-14", "2024-04-16"),
        ("in the third quarter of 2023", "2023-07-01", "2023-10-01"),
        ("since the last quarter of 2023", "2023-10-01", "2024-04-16"),
        ("in the second half of last year", "2023-07-01", "2024-01-01"),
        ("in H1 2023", "2023-01-01", "2023-07-01"),
        ("since Easter", "2024-03-29", "2024-04-16"),
        ("at Easter 2023", "2023-04-07", "2023-04-11"),
        ("over Christmas", "2023-12-24", "2023-12-27"),
        ("over the Christmas break", "2023-12-24", "2023-12-27"),
        ("an Weihnachten", "2023-12-24", "2023-12-27"),
        ("Pfingsten 2023", "2023-05-27", "2023-05-30"),
        ("last Halloween", "2023-10-31", "2023-11-02"),
        ("on Thanksgiving", "2023-11-23", "2023-11-27"),
        ("on New Year's Eve", "2023-12-31", "2024-01-02"),
        ("New Year's Eve 2022", "2022-12-31", "2023-01-02"),
        ("Silvester 2022", "2022-12-31", "2023-01-02"),
        ("over New Year 2023", "2022-12-31", "2023-01-02"),
        ("in early 2024", "2024-01-01", "2024-05-01"),
        ("since mid-2023", "2023-05-01", "2024-04-16"),
        ("at the end of 2022", "2022-09-01", "2023-01-01"),
        ("at the end of March", "2024-03-01", "2024-04-01"),
        ("between March and May 2023", "2023-03-01", "2023-06-01"),
        ("between November and February", "2023-11-01", "2024-03-01"),
        ("from November 2022 to February", "2022-11-01", "2023-03-01"),
        ("from 2019 to 2021", "2019-01-01", "2022-01-01"),
        ("in the past year", "2023-04-15", "2024-04-16"),
        ("over the last month", "2024-03-15", "2024-04-16"),
        ("this morning", "2024-04-15", "2024-04-16"),
        ("in the second week of November", "2023-11-08", "2023-11-15"),
        ("since the last week of March", "2024-03-25", "2024-04-16"),
        ("on the first weekend of May 2023", "2023-05-06", "2023-05-08"),
        ("on the last weekend of April 2023", "2023-04-29", "2023-05-01"),
        ("on New years eve", "2023-12-31", "2024-01-02"),
        ("on New Year\u2019s Eve", "2023-12-31", "2024-01-02"),
    ],
)
def test_a_question_names_days(question: str, first: str, end: str) -> None:
    """(Without the engine and with it: the memory of the first day comes first, the one before it does not.)"""
    found = twin.find_dates("What was it " + question, payload.microseconds(NOW))
    spans = [(twin.EPOCH + timedelta(one.start), twin.EPOCH + timedelta(one.end)) for one in found.windows]
    assert [tuple(map(str, span)) for span in spans] == [(first, end)]
    index = Index()
    day = datetime.fromisoformat(first).replace(tzinfo=timezone.utc)
    last = datetime.fromisoformat(end).replace(tzinfo=timezone.utc) - timedelta(microseconds=1)
    for id, moment in {
        "before": day - timedelta(1),
        "first": day,
        "last": last,
        "late": last + timedelta(30),
    }.items():
        index.upsert(id, "it was green", scope=SCOPE, created_at=moment)
    hits = index.search("What was green " + question, scope=SCOPE, query=Query(dates=Dates(now=NOW)))
    assert {hit.id for hit in hits[:2]} == {"first", "last"}


@pytest.mark.parametrize(
    ("question", "end"),
    [
        ("before 2025", "2025-01-01"),
        ("before May 2023", "2023-05-01"),
        ("before last March", "2024-03-01"),
        ("before 8 May 2023", "2023-05-10"),
    ],
)
def test_before_a_date_is_an_open_window(question: str, end: str) -> None:
    found = twin.find_dates("What was it " + question, payload.microseconds(NOW))
    assert [(one.start, twin.EPOCH + timedelta(one.end)) for one in found.windows] == [
        (twin.days(1900, 1), date.fromisoformat(end))
    ]


@pytest.mark.parametrize(
    ("year", "day"),
    [(1900, "04-15"), (1954, "04-18"), (1981, "04-19"), (2000, "04-23"), (2008, "03-23"), (2038, "04-25")],
)
def test_easter_is_the_sunday_of_the_calendar(year: int, day: str) -> None:
    """(Known ones, the exceptions of the epact and the earliest and latest ones among them.)"""
    assert twin.easter(year) == twin.days(year, *map(int, day.split("-")))


def test_yesterday_is_not_today() -> None:
    index = Index()
    for id, hours in {"today": 1, "yesterday": 24, "the day before": 48}.items():
        index.upsert(id, "it was green", scope=SCOPE, created_at=NOW - timedelta(hours=hours))
    query = Query(dates=Dates(now=NOW))

    def gains(when: str) -> dict[Any, float]:
        hits = index.search("What was green " + when, scope=SCOPE, query=query, explain=True)
        return {hit.id: hit.parts.dates for hit in hits}

    told = gains("yesterday")
    assert told["yesterday"] == 2 * told["today"] > 0 == told["the day before"]
    assert {id for id, gain in gains("the day before yesterday").items() if gain > 0} == {"the day before"}
    assert {id for id, gain in gains("today").items() if gain > 0} == {"today"}


@pytest.mark.parametrize(
    "question",
    [
        "error 2023",
        "version 2023.1",
        "5/8/2023",
        "May I go?",
        "march on",
        "by 8 May",
        "until April 9",
        "the fall of Rome",
        "TS-2023",
        "2023",
        "What will be on Tuesday?",
        "on Tuesdays",
        "on Tuesday and Thursday",
        "on Tuesday mornings",
        "films for April 6-7 and April 8",
        "by Nov 2",
        "step 2 may fail",
        "not in May",
        "5/2/08/2023",
        "the last 7 apples",
        "the last 7 days of school",
        "before noon",
        "on the 5th floor",
        "before the 3rd reminder",
        "What will it be on the 20th?",
        "half of it",
        "a quarter past nine",
        "the third quarter",
        "the last quarter of the game",
        "Christmas songs",
        "Easter eggs",
        "What do we eat on Thanksgiving?",
        "Which films does Ada like during Halloween?",
        "What will we do over Christmas?",
        "good morning",
        "the new year plan",
        "a late 2013 laptop",
        "by the end of 2025",
        "between 1900 and 2000 calories",
        "the last week of school",
        "apples before last oak",
        "How long has Ada had her rather old but still current car, and what does she do with it on Sundays?",
        "What is the current " + "very " * 20 + "long plan?",
    ],
)
def test_dates_as_content_are_left_alone(question: str) -> None:
    found = twin.find_dates(question, payload.microseconds(NOW))
    assert not found.windows and not found.latest
    index = Index()
    for id, moment in enumerate([datetime(2023, 5, 8), datetime(2024, 4, 14), datetime(2020, 1, 1)]):
        index.upsert(
            id, f"{question} {'green ' * id}", scope=SCOPE, created_at=moment.replace(tzinfo=timezone.utc)
        )
    plain = index.search(question, scope=SCOPE, query=Query(dates=False))
    asked = index.search(question, scope=SCOPE, query=Query(dates=Dates(now=NOW)))
    assert list(asked.ids) == list(plain.ids) and list(asked.scores) == list(plain.scores)


@pytest.mark.parametrize(
    ("question", "first", "counts"),
    [
        ("last year", "2023-11-25", True),
        ("last year", "2023-11-26", False),
        ("in March", "2024-03-28", True),
        ("in March", "2024-03-29", False),
        ("on 8 April", "2024-04-09", True),
        ("before 2024", "2023-12-31", True),
        ("since 2014", "2023-12-01", True),
        ("in the last 7 days", "2024-04-15", True),
    ],
)
def test_a_period_that_was_nearly_over_when_the_memories_began_does_not_count(
    question: str, first: str, counts: bool
) -> None:
    index = Index()
    began = datetime.fromisoformat(first).replace(tzinfo=timezone.utc)
    index.upsert("first", "it was green", scope=SCOPE, created_at=began)
    index.upsert("later", "it was green, said somebody", scope=SCOPE, created_at=NOW)

    def gain() -> float:
        query = Query(dates=Dates(now=NOW))
        hits = index.search(f"What was green {question}?", scope=SCOPE, query=query, explain=True)
        return next(hit.parts.dates for hit in hits if hit.id == "first")

    assert (gain() > 0) is counts
    index.upsert("before the period", "it was green", scope=SCOPE, created_at="2010-01-02")
    assert gain() > 0


def test_a_text_that_contains_the_date_counts_though_the_period_was_nearly_over() -> None:
    index = Index()
    index.upsert("named", "it was green in 2023", scope=SCOPE, created_at=NOW)
    index.upsert("first", "it was green", scope=SCOPE, created_at="2023-12-30")
    hits = index.search(
        "What was green in 2023?", scope=SCOPE, query=Query(dates=Dates(now=NOW)), explain=True
    )
    gains = {hit.id: hit.parts.dates for hit in hits}
    assert gains["named"] > 0 == gains["first"]


def test_a_text_that_contains_the_date_ranks_before_one_created_then() -> None:
    index = Index()
    index.upsert("deadline", "the form is due on 8 May 2023", scope=SCOPE, created_at="2023-01-02")
    index.upsert("that day", "the form is blue", scope=SCOPE, created_at="2023-05-08")
    assert index.search("what form is due on 8 May 2023", scope=SCOPE)[0].id == "deadline"


def test_valid_from_takes_precedence_over_created_at() -> None:
    index = Index()
    day = datetime(2023, 3, 5, tzinfo=timezone.utc)
    index.upsert("told", "she lives in Ghent", scope=SCOPE, created_at="2024-01-01")
    query = Query(dates=Dates(now=NOW))
    for began in (payload.microseconds(day), day, day.date(), "2023-03-05T10:00:00+01:00"):
        index.upsert(
            "held",
            "she lives in Bruges",
            scope=SCOPE,
            created_at="2024-01-01",
            metadata={"valid_from": began},
        )
        assert index.search("where does she live in March 2023", scope=SCOPE, query=query)[0].id == "held"


def test_the_newest_state_comes_first() -> None:
    index = Index()
    for month in (1, 5, 3):
        index.upsert(f"m{month}", "the host is cheap", scope=SCOPE, created_at=f"2024-0{month}-01")
    index.upsert("newer", "we had cheap soup", scope=SCOPE, created_at="2024-06-01")
    hits = index.search("which is our latest host", scope=SCOPE)
    assert list(hits.ids)[:3] == ["m5", "m3", "m1"]
    plain = index.search("which is our latest host", scope=SCOPE, query=Query(dates=False))
    assert plain[0].id == "m1"


def test_options_of_dates() -> None:
    assert Query() == Query(dates=True) and Query(dates=False).dates is None
    assert Query.from_dict(Query(dates=False).to_dict()) == Query(dates=False) != Query()
    assert repr(Query()) == "Query()" and "dates=None" in repr(Query(dates=False))
    with pytest.raises(TypeError, match="dates: expected Dates or a bool, got str 'x'"):
        Query(dates="x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="weight: expected a finite number >= 0"):
        Dates(-1.0)
    with pytest.raises((TypeError, ValueError), match="now"):
        Dates(now="yesterday")
