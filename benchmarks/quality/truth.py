"""Does a memory keep what is true, for as long as it is true? Judged by sequences of statements with the time of each
telling, and with what must be in force at the end and at other dates.

    python -m benchmarks.quality.truth [--data DIR] [--told] [--through gate|extractor] [--json FILE]

The sequences are those of `memory_truth`. Each is told in order, through the gate as candidates or as the JSON answer
of a model that the built-in extractor reads. Then: which of the true statements are in force, which of those that are
not true any more, as of the end of the sequence and as of each date; and for each question, asked through `recall` as
of its date: whether the evidence is among the ten records found, and whether what must not be given as in force is.
`--told`: the candidates say whether a predicate has one value at a time, as an extractor does.
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
    """What an extractor knows of a statement."""
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


def tell(memory: Memory, sequence: Told, told: bool, through: str) -> None:
    user, tenant = Scope(sequence["tenant"], user=sequence["user"]), Scope(sequence["tenant"])
    for number, statement in enumerate(sequence["statements"]):
        memory.propose(
            candidate_of(fields_of(sequence, statement, told), statement["said_at"], through),
            scope=tenant if statement["level"] == "tenant" else user,
            source=Provenance(f"run-{number}"),
        )


def same_as(sequence: Told, id: str) -> set[str]:
    """The texts that say what a statement says: itself, and where it is told again, the others."""
    by_id = {one["id"]: one for one in sequence["statements"]}
    if sequence["kind"] != "restated":
        return {by_id[id]["text"]}
    names = ("subject", "slot", "value", "op")
    return {
        one["text"] for one in sequence["statements"] if all(one[name] == by_id[id][name] for name in names)
    }


def judge(memory: Memory, sequence: Told) -> Counter[str]:
    """Count, by "when what outcome", such as "end true kept"."""
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
        found = set(memory.recall(question["text"], user, kinds=["fact"], as_of=date).texts)
        for want, name in (("evidence", "true"), ("forbidden", "false")):
            for id in question[want]:
                counts[f"recall {name} {'kept' if same_as(sequence, id) & found else 'absent'}"] += 1
    return counts


def shares(counts: Counter[str]) -> dict[str, float | None]:
    """The shares that were kept: of what is true, and of what is not."""
    found: dict[str, float | None] = {}
    for when in ("end", "dates", "recall"):
        for want, name in (("true", "kept"), ("false", "wrong")):
            kept, absent = counts[f"{when} {want} kept"], counts[f"{when} {want} absent"]
            found[f"{when} {name}"] = kept / (kept + absent) if kept + absent else None
    return found


def measured(sequences: Sequence[Told], told: bool, through: str) -> dict[str, dict[str, float | None]]:
    by_kind: dict[str, Counter[str]] = defaultdict(Counter)
    embedder = embedders.default()
    for sequence in sequences:
        with (
            tempfile.TemporaryDirectory() as folder,
            Memory.open(Path(folder) / "m.scrubjay", embedder) as memory,
        ):
            tell(memory, sequence, told, through)
            by_kind[sequence["kind"]] += judge(memory, sequence)
    by_kind["all"] = sum(by_kind.values(), Counter())
    return {kind: shares(counts) for kind, counts in sorted(by_kind.items())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="the folder of judged sets")
    parser.add_argument("--told", action="store_true", help="say whether predicates have one value at a time")
    parser.add_argument("--through", choices=("gate", "extractor"), default="gate")
    parser.add_argument("--quick", action="store_true", help="does it run? twelve sequences")
    parser.add_argument("--json", type=Path, help="write JSON there")
    arguments = parser.parse_args()
    file = data_folder(arguments.data) / "memory_truth" / "sequences.jsonl"
    if not file.exists():
        sys.exit(f"the judged sequences are absent: {file} (--data, or SCRUBJAY_DATA)")
    sequences = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    found = measured(sequences[:12] if arguments.quick else sequences, arguments.told, arguments.through)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2), encoding="utf-8")
    columns = list(found["all"])
    print(f"{'':<14}" + "".join(f"{name:>14}" for name in columns))
    for kind, figures in found.items():
        shown = ["-" if figures[name] is None else f"{figures[name]:.3f}" for name in columns]
        print(f"{kind:<14}" + "".join(f"{one:>14}" for one in shown))


if __name__ == "__main__":
    main()
