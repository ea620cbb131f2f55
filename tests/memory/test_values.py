"""Values beside texts: they come back as written, are checked, compared, sealed, and found by key and field."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scrubjay
from scrubjay import Scope
from scrubjay.memory import (
    Episode,
    EpisodeCandidate,
    FactCandidate,
    Known,
    Memory,
    PolicyCandidate,
    PreferenceCandidate,
)
from scrubjay.memory.model.values import MAX_VALUE_BYTES
from tests.data.keys import provider
from tests.memory.setting import ACME, CODER, DAY, JANE, JANES_CODER, JOE, Clock, open_memory, row_count

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
VALUES = [
    {"max_auto_approve_usd": 500},
    {"allowed_regions": ["us-east-1"], "nested": {"b": 1, "a": [None, 1.5]}},
    25,
    2.5,
    0,
    True,
    False,
    [],
    {},
    ["risk-free"],
    "json",
    "  spaces ",
    "ÄÖ 😀 \nline",
]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.scrubjay", clock) as memory:
        yield memory


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_of_any_json_type_comes_back(memory: Memory, value: Any) -> None:
    memory.policy("rule", value=value, tenant="acme", by="boss", type="guardrail")
    memory.prefer("wish", value=value, scope=JANE, type="format")
    known = memory.known(JANE)
    text = value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    for one, sort in ((known.policy("rule"), "guardrail"), (known.preference("wish"), "format")):
        assert (one.value, type(one.value), one.text, one.type) == (value, type(value), text, sort)
        assert memory.get(one.id, scope=JANE) == one
    prompt = memory.assemble("?", JANE).text
    assert f"- rule: {text}\n".replace("\nline", "\n  line") in prompt, "the text is what a prompt shows"


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (datetime(2026, 3, 1, tzinfo=timezone.utc), "2026-03-01T00:00:00+00:00"),
        ({"days": np.arange(2), "of": (1, "x")}, {"days": [0, 1], "of": [1, "x"]}),
    ],
    ids=repr,
)
def test_a_value_that_json_can_express_is_stored_as_json(memory: Memory, given: Any, stored: Any) -> None:
    memory.prefer("wish", value=given, scope=JANE)
    assert memory.known(JANE).preference("wish").value == stored
    said = [
        memory.propose(FactCandidate("Jane is Jim's boss", "Jane", "is", value=value), JANE, source="run")
        for value in (given, stored)
    ]
    assert [one.status for one in said] == ["written", "deduplicated"]
    assert memory.get(str(said[0].id), JANE).value == stored  # type: ignore[union-attr]


def test_a_value_that_json_cannot_express_is_named(memory: Memory) -> None:
    for value, error in (({"a"}, TypeError), (float("nan"), ValueError), ({"a": b"x"}, TypeError)):
        with pytest.raises(error, match=r"^value.*: expected a"):
            memory.propose(FactCandidate("Jane is tall", "Jane", "is", value=value), JANE, source="run")


def test_a_duration_may_be_a_number_of_numpy(memory: Memory, clock: Clock) -> None:
    done = memory.propose(FactCandidate("Jane is away", ttl=np.float32(DAY / 1e6)), JANE, source="run")
    assert memory.get(str(done.id), JANE) is not None
    clock.now += DAY + 1
    assert memory.get(str(done.id), JANE) is None


def test_the_second_argument_may_be_the_value(memory: Memory) -> None:
    memory.policy("refund_threshold", {"max_auto_approve_usd": 500}, tenant="acme", by="legal")
    memory.prefer("page_size", 25, scope=JANE)
    memory.add(["a"], scope=JANE, kind="preference", key="tags")
    known = memory.known(JANE)
    assert known["refund_threshold"].value["max_auto_approve_usd"] == 500
    assert (known["page_size"].value, known["page_size"].text) == (25, "25")
    assert (known["tags"].value, known["tags"].text) == (["a"], '["a"]')


def test_a_text_beside_a_value_is_what_is_shown(memory: Memory) -> None:
    value = {"max_auto_approve_usd": 500}
    memory.policy("refunds", "Approve up to 500 USD.", value=value, tenant="acme", by="legal")
    memory.prefer("tone", "Answer briefly.", value={"verbosity": "terse"}, scope=JANE)
    memory.prefer("plain", "Only words.", scope=JANE)
    known = memory.known(JANE)
    assert known["refunds"].value == value and known["plain"].value == "Only words."
    prompt = memory.assemble("?", JANE).text
    assert "- refunds: Approve up to 500 USD.\n" in prompt and "terse" not in prompt


def test_lookup_by_key_and_field(memory: Memory) -> None:
    memory.policy("both", {"a": 1}, tenant="acme", by="boss")
    memory.prefer("both", {"a": 2}, scope=JANE)
    memory.prefer("wish", 3, scope=JANE)
    known = memory.known(JANE)
    assert known["both"].value["a"] == 1, "a rule goes before a wish"
    assert known.preference("both").value["a"] == 2 and known["wish"].value == 3
    assert "wish" in known and "both" in known and "other" not in known
    assert [(one.kind, one.key) for one in known] == [
        ("policy", "both"),
        ("preference", "both"),
        ("preference", "wish"),
    ]
    assert len(known) == 3
    for look in (known.__getitem__, known.policy, known.preference):
        with pytest.raises(KeyError, match="'refund threshold'"):
            look("refund threshold")
    with pytest.raises(KeyError, match="'wish'"):
        known.policy("wish")
    assert len(Known((), ())) == 0 and "x" not in Known((), ())


def test_mutating_a_returned_value_changes_no_other_answer(memory: Memory) -> None:
    given = {"list": [1]}
    memory.prefer("wish", given, scope=JANE)
    given["list"].append(2)
    memory.known(JANE)["wish"].value["list"].append(3)
    assert memory.known(JANE)["wish"].value == {"list": [1]}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"value": 1}, {"value": 2}),
        ({"value": 1}, {"value": 1.0}),
        ({"text": "x", "value": 1}, {"text": "x", "value": True}),
        ({"text": "x", "value": 1}, {"text": "x"}),
        ({"text": "x"}, {"text": "x", "value": {"a": 1}}),
        ({"text": "x", "value": {"a": 1}}, {"text": "y", "value": {"a": 1}}),
        ({"text": "x", "type": "a"}, {"text": "x", "type": "b"}),
    ],
    ids=repr,
)
def test_another_value_or_type_is_another_preference(
    memory: Memory, first: dict[str, Any], second: dict[str, Any]
) -> None:
    memory.prefer("wish", scope=JANE, **first)
    memory.policy("rule", tenant="acme", by="boss", **first)
    assert memory.prefer("wish", scope=JANE, **first).status == "deduplicated"
    assert memory.policy("rule", tenant="acme", by="boss", **first).status == "deduplicated"
    assert memory.prefer("wish", scope=JANE, **second).status == "superseded"
    assert memory.policy("rule", tenant="acme", by="boss", **second).status == "written"
    assert [one.version for one in memory.policies("acme")] == [1, 2]
    inferred = PreferenceCandidate("wish", **{"text": "", **first}, source="inferred")
    assert memory.propose(inferred, scope=JANE, source="r").status == "rejected"
    inferred = PreferenceCandidate("wish", **{"text": "", **second}, source="inferred")
    assert memory.propose(inferred, scope=JANE, source="r").status == "deduplicated"


def test_the_order_of_keys_makes_no_difference(memory: Memory) -> None:
    memory.prefer("wish", "x", value={"a": 1, "b": 2}, scope=JANE)
    assert memory.prefer("wish", "x", value={"b": 2, "a": 1}, scope=JANE).status == "deduplicated"
    assert memory.prefer("tone", "json", scope=JANE).status == "written"
    assert memory.prefer("tone", value="json", scope=JANE).status == "deduplicated", "a text is its own value"


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (object(), TypeError, "value: expected a JSON value"),
        ({"a": {1: 2}}, TypeError, r"value\['a'\]: expected str keys"),
        ({"a": b"x"}, TypeError, r"value\['a'\]: expected a JSON value"),
        (float("nan"), ValueError, "value: expected a finite number"),
        ([[float("inf")]], ValueError, r"value\[0\]\[0\]: expected a finite number"),
        (10**5000, ValueError, "value: "),
    ],
    ids=["object", "keys", "bytes", "nan", "inf", "int"],
)
def test_values_that_are_not_json_are_refused(
    memory: Memory, value: Any, error: type[Exception], message: str
) -> None:
    for call in (
        lambda: memory.prefer("wish", value=value, scope=JANE),
        lambda: memory.policy("rule", value=value, tenant="acme", by="x"),
        lambda: memory.propose(PreferenceCandidate("wish", value=value), scope=JANE, source="r"),
        lambda: memory.propose({"kind": "policy", "key": "k", "value": value}, scope=JANE, source="r"),
    ):
        with pytest.raises(error, match=message):
            call()
    for call in (
        lambda: memory.prefer("wish", b"x", scope=JANE),  # type: ignore[arg-type]
        lambda: memory.prefer("wish", None, scope=JANE),
        lambda: memory.prefer("wish", "x", scope=JANE, type=5),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match=r"(text|type): expected a str"):
            call()
    assert row_count(memory, "memory_preference") + row_count(memory, "memory_rejection") == 0


def test_missing_and_too_long_values_are_rejected(memory: Memory) -> None:
    outcome = memory.prefer("wish", scope=JANE)
    assert outcome.status == "rejected" and "text: expected some text" in outcome.reason
    outcome = memory.prefer("wish", "short", value=["x" * MAX_VALUE_BYTES], scope=JANE)
    assert outcome.status == "rejected" and "value: expected at most 80,000 bytes" in outcome.reason
    outcome = memory.prefer("wish", ["x" * 20_000], scope=JANE)
    assert outcome.status == "rejected" and "text: expected at most 20,000 characters" in outcome.reason
    outcome = memory.prefer("wish", 1, scope=JANE, type="x" * 501)
    assert outcome.status == "rejected" and "type: expected at most 500" in outcome.reason
    assert memory.rejections(JANE)[0].content == "1", "what was refused is said, with a value, too"


# ---------------------------------------------------------------------- validators


def under_1000(value: Any) -> None:
    if not isinstance(value, dict) or value.get("usd", 0) >= 1000:
        raise ValueError("expected {usd: less than 1000}")


def test_a_value_that_does_not_fit_is_rejected_with_the_reason(tmp_path: Path) -> None:
    checks = {"refunds": under_1000, "size": lambda value: value < 100, "text": lambda value: value == "yes"}
    with open_memory(tmp_path / "m.scrubjay", validate=checks) as memory:
        assert memory.policy("refunds", {"usd": 500}, tenant="acme", by="boss").active
        with pytest.raises(ValueError, match=r"value: expected \{usd: less than 1000\}"):
            memory.policy("refunds", {"usd": 5000}, tenant="acme", by="boss")
        with pytest.raises(ValueError, match=r"value: expected \{usd: less than 1000\}"):
            memory.admin.global_policy("refunds", {"usd": 5000}, by="boss")
        assert memory.prefer("size", 99, scope=JANE).status == "written"
        refused = memory.prefer("size", 100, scope=JANE)
        assert (refused.status, refused.reason) == ("rejected", "value: 100 is refused for 'size'")
        refused = memory.prefer("size", "many", scope=JANE)
        assert refused.reason.startswith("value: TypeError: "), "a validator that fails refuses"
        assert memory.prefer("text", "no", scope=JANE).status == "rejected", "a text is its own value"
        assert memory.prefer("text", "yes", scope=JANE).status == "written"
        assert memory.prefer("unchecked", {"usd": 5000}, scope=JANE).status == "written"
        (size,) = [one for one in memory.list(JANE, kinds=["preference"]) if one.key == "size"]
        with pytest.raises(ValueError, match="value: 100 is refused"):
            memory.update(size.id, scope=JANE, value=100)
        assert memory.known(JANE)["size"].value == 99
        assert [one.reason for one in memory.rejections(ACME)] == ["value: expected {usd: less than 1000}"]
        assert memory.policies(None) == []


def test_a_json_schema_is_a_validator_where_jsonschema_is_installed(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = {"type": "object", "required": ["min_confidence"]}
    validate = {"fact_retrieval": jsonschema.Draft202012Validator(schema).validate}
    with open_memory(tmp_path / "m.scrubjay", validate=validate) as memory:
        with pytest.raises(ValueError, match="'min_confidence' is a required property"):
            memory.policy("fact_retrieval", {"confidence": 0.8}, tenant="acme", by="x")
        assert memory.policy("fact_retrieval", {"min_confidence": 0.8}, tenant="acme", by="x").active


@pytest.mark.parametrize("validate", [5, {"k": 5}, {5: print}], ids=repr)
def test_validators_are_functions_by_key(tmp_path: Path, validate: Any) -> None:
    with pytest.raises(TypeError, match="validate"):
        open_memory(tmp_path / "m.scrubjay", validate=validate)


def test_a_validator_gets_a_copy(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.scrubjay", validate={"k": lambda value: value.clear()}) as memory:
        memory.prefer("k", {"a": 1}, scope=JANE)
        assert memory.known(JANE)["k"].value == {"a": 1}


# ---------------------------------------------------------------------- update


def test_an_update_keeps_text_and_value_together(memory: Memory) -> None:
    def after(first: dict[str, Any], **changes: Any) -> tuple[str, Any]:
        memory.prefer("wish", scope=JANE, source="admin_set", **first)
        record = memory.update(memory.known(JANE)["wish"].id, scope=JANE, **changes)
        assert memory.known(JANE)["wish"] == record
        return record.text, record.value  # type: ignore[union-attr]

    assert after({"value": 25}, value=30) == ("30", 30), "a text that was made of the value follows it"
    assert after({"value": 25}, text="thirty") == ("thirty", "thirty")
    assert after({"value": 25}, confidence=0.9) == ("25", 25)
    assert after({"text": "words", "value": 25}, value=30) == ("words", 30), "words that were given stay"
    assert after({"text": "words", "value": 25}, text="others") == ("others", 25)
    assert after({"text": "words", "value": 25}, value=None) == ("words", "words")
    assert after({"text": "words"}, value=30) == ("30", 30), "the text was the value"
    assert after({"text": "words"}, value=30, text="thirty") == ("thirty", 30)
    memory.update(memory.known(JANE)["wish"].id, scope=JANE, type="format")
    assert memory.known(JANE).preference("wish").type == "format"
    with pytest.raises(TypeError, match="value: expected a JSON value"):
        memory.update(memory.known(JANE)["wish"].id, scope=JANE, value=object())


# ---------------------------------------------------------------------- tenant-wide


def test_a_tenants_preference_applies_unless_the_user_has_one(memory: Memory, clock: Clock) -> None:
    def told(scope: Scope) -> dict[str, Any]:
        return {one.key: one.value for one in memory.known(scope).preferences}

    memory.prefer("lang", "en", scope=ACME)
    memory.prefer("size", 10, scope=ACME)
    own = memory.prefer("size", 25, scope=JANE, ttl=60)
    assert told(JANE) == told(JANES_CODER) == {"lang": "en", "size": 25}
    assert told(JOE) == told(ACME) == told(CODER) == {"lang": "en", "size": 10}
    assert told(Scope("globex", user="jane")) == {}
    assert memory.known(JOE) is memory.known(JOE)
    clock.now += 60_000_000
    assert told(JANE) == {"lang": "en", "size": 10}, "the tenant's holds again when the user's ends"
    memory.prefer("size", 12, scope=ACME)
    assert told(JANE) == told(JOE) == {"lang": "en", "size": 12}, "caches notice"
    memory.prefer("size", 30, scope=JANE)
    memory.revoke(memory.known(JANE)["size"].id, reason="x", scope=JANE)
    assert told(JANE)["size"] == 12 and own.id is not None


def test_a_tenants_preference_is_changed_by_the_tenants_scope_only(memory: Memory) -> None:
    id = str(memory.prefer("size", 10, scope=ACME).id)
    for scope in (JANE, CODER, JANES_CODER, Scope("globex")):
        assert memory.delete(id, scope=scope) is False
        with pytest.raises(KeyError):
            memory.revoke(id, reason="x", scope=scope)
        with pytest.raises(KeyError):
            memory.update(id, scope=scope, value=1)
    found = memory.get(id, scope=JANE)
    assert found is not None and found.scope == ACME and memory.get(id, scope=Scope("globex")) is None
    assert [one.id for one in memory.list(JANE, kinds=["preference"])] == [id]
    assert memory.list(JANE, kinds=["preference"], exact=True) == []
    assert [one.id for one in memory.list(ACME, kinds=["preference"], exact=True)] == [id]
    memory.update(id, scope=ACME, value=11)
    memory.forget(JANE)
    assert memory.known(JANE)["size"].value == 11, "a user's erasure leaves what is the tenant's"
    memory.forget(tenant="acme")
    assert memory.admin.verify_erased(ACME).clean and len(memory.known(JANE)) == 0


def test_a_tenants_episode_is_recalled_by_all_of_its_users(memory: Memory) -> None:
    outcome = memory.propose(EpisodeCandidate("Rotated the keys", "success"), scope=ACME, source="r")
    assert outcome.status == "written" and outcome.active
    for scope in (ACME, JANE, JOE, CODER, JANES_CODER):
        assert memory.recall("keys", scope).ids == [outcome.id]
    assert memory.recall("keys", Scope("globex", user="jane")).ids == []
    assert memory.delete(str(outcome.id), scope=JANE) is False
    memory.forget(JANE)
    assert memory.recall("keys", JOE).ids == [outcome.id] and memory.admin.check() == []
    memory.forget(tenant="acme")
    assert memory.admin.verify_erased(ACME).clean and memory.admin.check() == []


# ---------------------------------------------------------------------- episodes


def test_an_episode_has_title_time_and_objects(memory: Memory) -> None:
    done = "2026-03-01T09:30:00+01:00"
    candidate = EpisodeCandidate(
        "User rotated the webhook secret but kept the old one in an env var.",
        "resolved",
        "support_case",
        ["Compared dashboard secret to env var"],
        {"ticket": "T-17", "files": ["a.pdf"]},
        title="Stripe webhook signature mismatch",
        completed_at=done,
    )
    id = str(memory.propose(candidate, scope=JANE, source="r").id)
    episode = memory.get(id, scope=JANE)
    assert isinstance(episode, Episode)
    at = datetime(2026, 3, 1, 8, 30, tzinfo=timezone.utc)
    assert (episode.title, episode.completed_at) == ("Stripe webhook signature mismatch", at)
    assert episode.artifacts == {"ticket": "T-17", "files": ["a.pdf"]}
    assert memory.recall("webhook secret", JANE)[0].hit.created_at == at, "recency goes by it"
    changed = memory.update(
        id, scope=JANE, artifacts=["b.pdf", {"pr": 7}], title="Webhook", completed_at=None
    )
    assert isinstance(changed, Episode)
    assert (changed.artifacts, changed.title, changed.completed_at) == (("b.pdf", {"pr": 7}), "Webhook", None)
    again = memory.update(id, scope=JANE, outcome="closed")
    assert isinstance(again, Episode) and (again.artifacts, again.title) == (changed.artifacts, "Webhook")
    assert memory.recall("webhook secret", JANE)[0].hit.created_at == episode.created_at
    assert memory.admin.check() == []


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"artifacts": "a.pdf"}, TypeError, "artifacts: expected a mapping, or a sequence"),
        ({"artifacts": [5]}, TypeError, r"artifacts\[0\]: expected a str"),
        ({"artifacts": {"a": object()}}, TypeError, r"artifacts\['a'\]: expected a JSON value"),
        ({"artifacts": [{1: 2}]}, TypeError, r"artifacts\[0\]: expected str keys"),
        ({"title": 5}, TypeError, "title: expected a str"),
        ({"completed_at": "yesterday"}, ValueError, "completed_at: expected an ISO 8601 time"),
        ({"completed_at": []}, TypeError, "completed_at: expected a datetime"),
    ],
    ids=repr,
)
def test_invalid_episode_fields_are_refused(
    memory: Memory, fields: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        memory.propose(EpisodeCandidate("x", "success", **fields), scope=JANE, source="r")
    id = str(memory.propose(EpisodeCandidate("y", "success"), scope=JANE, source="r").id)
    with pytest.raises(error, match=message):
        memory.update(id, scope=JANE, **fields)
    long = EpisodeCandidate("z", "success", artifacts={"a": "x" * 80_000})
    assert "artifacts: expected at most" in memory.propose(long, scope=JANE, source="r").reason


# ---------------------------------------------------------------------- the file


def test_values_of_an_encrypted_tenant_are_not_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.scrubjay"
    told = "sekret value", "sekret sort", "sekret title", "sekret artifact"
    with open_memory(path, keys=provider) as memory:
        memory.prefer("k", "shown", value={"x": told[0]}, type=told[1], scope=JANE)
        memory.policy("k", "shown", value={"x": told[0]}, type=told[1], tenant="acme", by="x")
        done = EpisodeCandidate("Did it", "success", title=told[2], artifacts={"x": told[3]})
        id = str(memory.propose(done, scope=JANE, source="r").id)
        memory.update(memory.known(JANE).preference("k").id, scope=JANE, value={"y": told[0]})
        assert memory.known(JANE).preference("k").value == {"y": told[0]}
        assert memory.get(id, scope=JANE).title == told[2]  # type: ignore[union-attr]
        assert memory.index.admin.check().clean and memory.documents.admin.check().clean
    found = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert [text for text in told if text.encode() in found] == []
    with open_memory(path, keys=provider) as memory:
        assert memory.known(JANE).policy("k").value == {"x": told[0]}


def test_values_are_sealed_when_a_tenant_gets_a_key_later(tmp_path: Path) -> None:
    path = tmp_path / "m.scrubjay"
    with open_memory(path) as memory:
        memory.prefer("k", {"x": "sekret"}, scope=JANE)
        memory.admin.global_policy("g", {"x": "public"}, by="ops")
    with open_memory(path, keys=provider) as memory:
        memory.index.admin.encrypt("acme")
        memory.admin.compact()
        assert memory.known(JANE)["k"].value == {"x": "sekret"}
        assert memory.known(JANE)["g"].value == {"x": "public"}
        assert memory.index.admin.check().clean
    found = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"sekret" not in found and b"public" in found


@pytest.mark.parametrize("detail", ["[]", "x", '{"type": 5}', '{"value":', "\udcff"])
@pytest.mark.parametrize("kind", ["preference", "episode", "policy"])
def test_a_changed_detail_is_damage(tmp_path: Path, kind: str, detail: str) -> None:
    if kind == "episode":
        detail = detail.replace("type", "title")
    with open_memory(tmp_path / "m.scrubjay") as memory:
        memory.prefer("k", 1, scope=JANE)
        memory.policy("p", 1, tenant="acme", by="x")
        id = memory.propose(EpisodeCandidate("x", "success", title="t"), scope=JANE, source="r").id
        with memory._parts.context.store.writing("testing") as transaction:
            execute = transaction.connection.execute
            execute("DROP TRIGGER memory_policy_fixed")
            execute(f"UPDATE memory_{kind} SET detail = ?", (detail.encode("utf-8", "surrogateescape"),))
        with pytest.raises(scrubjay.CorruptIndexError, match=r"its |in the clear"):
            memory.get(str(id), scope=JANE) if kind == "episode" else memory.known(JANE)


@pytest.mark.parametrize("name", ["memory-1.scrubjay", "memory-1-encrypted.scrubjay"])
def test_a_memory_of_format_1_opens_and_takes_values(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    shutil.copy(GOLDEN / name, path)
    clock = Clock(1_767_225_600_000_000 + 100 * DAY)
    keys = provider if "encrypted" in name else None
    for _ in range(2):
        with open_memory(path, clock, keys=keys) as memory:
            known = memory.known(JANE)
            rule, wish = known.policy("refunds"), known.preference("tone")
            assert (rule.value, rule.text, rule.type) == ("Never promise refunds.",) * 2 + ("",)
            assert (wish.value, wish.type, rule.mandatory) == ("Answer briefly.", "", False)
            (episode,) = memory.list(JANE, kinds=["episode"])
            assert isinstance(episode, Episode)
            assert (episode.title, episode.completed_at, episode.artifacts) == ("", None, ("ticket.pdf",))
            assert [one.version for one in memory.policies("acme")] == [1, 2]
            assert memory.admin.check() == []
            assert memory.index.admin.check().clean and memory.documents.admin.check().clean
            with memory._parts.context.reading() as connection:
                (version,) = connection.execute(
                    "SELECT value FROM memory_meta WHERE name = 'format'"
                ).fetchone()
            assert version == 3
    with open_memory(path, clock, keys=keys) as memory:
        assert memory.prefer("tone", "Answer briefly.", scope=JANE).status == "deduplicated"
        assert memory.prefer("tone", {"verbosity": "terse"}, scope=JANE).status == "superseded"
        memory.policy("refunds", {"max": 5}, tenant="acme", by="legal")
        memory.update(episode.id, scope=JANE, title="Riga", completed_at=0)
        memory.prefer("size", 10, scope=ACME)
        memory.propose(EpisodeCandidate("Moved", "success"), scope=ACME, source="r")
        known = memory.known(JANE)
        assert (known["tone"].value, known["refunds"].value) == ({"verbosity": "terse"}, {"max": 5})
        assert memory.admin.check() == []
        assert memory.index.admin.check().clean and memory.documents.admin.check().clean


# ---------------------------------------------------------------------- properties


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False),
        st.text(),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=12,
)  # fmt: skip


@given(values=st.lists(JSON, min_size=1, max_size=8))
@settings(max_examples=max(10, settings().max_examples // 4))
def test_every_json_value_comes_back_as_the_file_has_it(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any]
) -> None:
    path = tmp_path_factory.getbasetemp() / "values.scrubjay"
    with open_memory(path, keys=provider) as memory:
        memory.forget(tenant="acme")
        for n, value in enumerate(values):
            outcome = memory.prefer(f"k{n}", value={"of": value}, scope=JANE)
            assert outcome.status == "written"
    with open_memory(path, keys=provider) as memory:
        known = memory.known(JANE)
        for n, value in enumerate(values):
            assert json.dumps(known[f"k{n}"].value) == json.dumps({"of": value})


# ---------------------------------------------------------------------- the guide's records, and its one query


def test_the_records_of_the_guide() -> None:
    """Its example records are valid candidates except for the names of their fields."""
    for key, value in (
        ("refund_threshold", {"max_auto_approve_usd": 500}),
        ("data_residency", {"allowed_regions": ["us-east-1"]}),
        ("tone_guardrail", {"forbidden_phrases": ["risk-free"]}),
    ):
        assert PolicyCandidate(key, value=value, type="guardrail").value == value
    PreferenceCandidate("response_format", value="json", source="user_stated")
    PreferenceCandidate("date_format", value="DD/MM/YYYY", source="inferred", confidence=0.85)


def test_one_call_sequence_joins_policy_preference_and_facts(memory: Memory) -> None:
    """The guide's query over three tables: facts above the tenant's threshold, only if the user allows it."""
    memory.policy("fact_retrieval", {"min_confidence": 0.8}, tenant="acme", by="legal")
    memory.prefer("personalization", {"allow_personalization": True}, scope=JANE)
    memory.prefer("personalization", {"allow_personalization": False}, scope=JOE)
    for scope in (JANE, JOE):
        for text, confidence in (("The database is in us-east-1", 0.95), ("The database is slow", 0.75)):
            memory.propose(FactCandidate(text, confidence=confidence), scope=scope, source="run_a1b2c3")

    def facts(query: str, user: Scope) -> list[str]:
        known = memory.known(user)
        if not known.preference("personalization").value["allow_personalization"]:
            return []
        least = known.policy("fact_retrieval").value["min_confidence"]
        return memory.recall(query, user, kinds=["fact"], k=5, filter={"confidence": {"$gte": least}}).texts

    assert facts("where is the database?", JANE) == ["The database is in us-east-1"]
    assert facts("where is the database?", JOE) == []
    memory.policy("fact_retrieval", {"min_confidence": 0.7}, tenant="acme", by="legal")
    assert len(facts("where is the database?", JANE)) == 2, "the next version counts at once"
