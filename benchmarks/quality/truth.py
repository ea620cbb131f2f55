"""Whether a memory keeps what is true, for as long as it is true: sequences of statements with the time of each
telling, and with the statements that must be in force at the end and at other dates.

    python -m benchmarks.quality.truth [--data DIR] [--told] [--confirmed] [--through gate|extractor] [--json FILE]

The sequences are those of `memory_truth`. Each is told in order, through the gate as candidates or as the JSON answer
of a model that the built-in extractor reads. Then, at the end of the sequence and at each date: which of the true
statements are in force, and which of those that are no longer true. And for each question, asked through `recall` at
its date: whether the evidence is among the ten records found, and whether something appears as in force that must not:
without, and then with, records found as a plan (`relation`), which a prompt also labels.
`--told`: the candidates declare whether a predicate has one value at a time, as an extractor does.
`--confirmed`: an operator confirms each of the tenant's facts after it is told. Before that, a fact about the tenant
from a single source is provisional: `list` returns it, `recall` does not.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.quality.judged import data_folder
from scrubjay import FactCandidate, Memory, Provenance, Scope, embedders
from scrubjay.memory.intake.extractors import read_answer

RELATIONS = {"assert": "asserts", "other": "asserts", "end": "ends", "correct": "corrects", "plan": "plans"}
LIMITS = {"kept": 0.98, "wrong": 0.10, "wrong, told": 0.02}
Told = Mapping[str, Any]


def fields_of(sequence: Told, statement: Told, told: bool) -> dict[str, Any]:
    """Return the fields of a statement that an extractor knows."""
    subject = statement["subject"]
    if statement["level"] == "tenant":
        subject = sequence["tenant"]
    elif subject == "user":
        subject = sequence["user"]
    fields = {
        "content": statement["text"],
        "subject": subject,
        "predicate": statement["slot"].replace("_", " "),
        "value": statement["value"],
        "relation": RELATIONS[statement["op"]],
        "valid_from": statement["valid_from"],
        "valid_until": statement["valid_to"],
    }
    if told:
        fields["single"] = statement["cardinality"] == "one"
    return {name: value for name, value in fields.items() if value is not None}


def candidate_of(fields: Mapping[str, Any], said_at: str, through: str) -> FactCandidate:
    if through == "gate":
        return FactCandidate(**fields, said_at=said_at)
    (found,) = read_answer({"facts": [{**fields, "confidence": 0.9}]}).found
    given: Any = found.candidate
    return FactCandidate(
        **{name: getattr(given, name) for name in (*fields, "confidence")},
        said_at=said_at,
    )


def tell(memory: Memory, sequence: Told, told: bool, through: str, confirmed: bool = False) -> None:
    user, tenant = Scope(sequence["tenant"], user=sequence["user"]), Scope(sequence["tenant"])
    for number, statement in enumerate(sequence["statements"]):
        scope = tenant if statement["level"] == "tenant" else user
        outcome = memory.propose(
            candidate_of(fields_of(sequence, statement, told), statement["said_at"], through),
            scope=scope,
            source=Provenance(f"run-{number}"),
        )
        if confirmed and scope == tenant and outcome.id is not None:
            memory.confirm(outcome.id, by="operator", scope=tenant)


def same_as(sequence: Told, id: str) -> set[str]:
    """Return the texts of a statement: its own, and those of its repetitions."""
    by_id = {one["id"]: one for one in sequence["statements"]}
    if sequence["kind"] != "restated":
        return {by_id[id]["text"]}
    names = ("subject", "slot", "value", "op")
    return {
        one["text"] for one in sequence["statements"] if all(one[name] == by_id[id][name] for name in names)
    }


def judge(memory: Memory, sequence: Told) -> Counter[str]:
    """Count outcomes by "when what outcome", such as "end true kept"."""
    user, counts = Scope(sequence["tenant"], user=sequence["user"]), Counter[str]()
    states = [("end", sequence["now"], sequence["at_end"])]
    states += [("dates", state["date"], state) for state in sequence["at_dates"]]
    for when, date, state in states:
        there = {record.text for record in memory.list(user, kinds=["fact"], as_of=date)}
        for want in ("true", "false"):
            for id in state[want]:
                counts[f"{when} {want} {'kept' if same_as(sequence, id) & there else 'absent'}"] += 1
    for question in sequence["questions"]:
        date = question["as_of"] or sequence["now"]
        hits = memory.recall(question["text"], user, kinds=["fact"], as_of=date)
        found = set(hits.texts)
        in_force = {hit.text for hit in hits if hit.metadata.get("relation") != "plans"}
        for want, name, among in (
            ("evidence", "true", found),
            ("forbidden", "false", in_force),
            ("forbidden", "false or planned", found),
        ):
            for id in question[want]:
                counts[f"recall {name} {'kept' if same_as(sequence, id) & among else 'absent'}"] += 1
    return counts


def shares(counts: Counter[str]) -> dict[str, float | None]:
    """Return the fractions that were kept: of what is true, and of what is not."""
    found: dict[str, float | None] = {}
    for when in ("end", "dates", "recall"):
        wants = [("true", "kept"), ("false", "wrong")]
        if when == "recall":
            wants.append(("false or planned", "wrong or planned"))
        for want, name in wants:
            kept, absent = counts[f"{when} {want} kept"], counts[f"{when} {want} absent"]
            found[f"{when} {name}"] = kept / (kept + absent) if kept + absent else None
    return found


def measured(
    sequences: Sequence[Told], told: bool, through: str, confirmed: bool = False
) -> dict[str, dict[str, float | None]]:
    by_kind: dict[str, Counter[str]] = defaultdict(Counter)
    embedder = embedders.default()
    for sequence in sequences:
        with (
            tempfile.TemporaryDirectory() as folder,
            Memory.open(Path(folder) / "m.scrubjay", embedder) as memory,
        ):
            tell(memory, sequence, told, through, confirmed)
            by_kind[sequence["kind"]] += judge(memory, sequence)
    by_kind["all"] = sum(by_kind.values(), Counter())
    return {kind: shares(counts) for kind, counts in sorted(by_kind.items())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="the folder of judged sets")
    parser.add_argument("--told", action="store_true", help="say whether predicates have one value at a time")
    parser.add_argument("--confirmed", action="store_true", help="confirm what is told of a tenant")
    parser.add_argument("--through", choices=("gate", "extractor"), default="gate")
    parser.add_argument("--quick", action="store_true", help="does it run? twelve sequences")
    parser.add_argument("--json", type=Path, help="write JSON there")
    arguments = parser.parse_args()
    file = data_folder(arguments.data) / "memory_truth" / "sequences.jsonl"
    if not file.exists():
        sys.exit(f"the judged sequences are absent: {file} (--data, or SCRUBJAY_DATA)")
    sequences = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    some = sequences[:12] if arguments.quick else sequences
    found = measured(some, arguments.told, arguments.through, arguments.confirmed)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2), encoding="utf-8")
    columns = list(found["all"])
    print(f"{'':<14}" + "".join(f"{name:>{max(14, len(name) + 2)}}" for name in columns))
    for kind, figures in found.items():
        shown = {name: "-" if figures[name] is None else f"{figures[name]:.3f}" for name in columns}
        print(f"{kind:<14}" + "".join(f"{one:>{max(14, len(name) + 2)}}" for name, one in shown.items()))


if __name__ == "__main__":
    main()
