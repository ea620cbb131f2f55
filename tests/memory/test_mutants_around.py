"""Each rule of prompts, traces, distillation and notes: without it the named test fails. (`--mutants`; minutes.)"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Mutant(NamedTuple):
    """A rule, its module, the line with and without it, and the test that must then fail."""

    rule: str
    module: str
    before: str
    after: str
    test: str


MUTANTS = [
    Mutant(
        "a retraction ends only what it names",
        "intake.distillation",
        "if not retraction.content and retraction.value is None:",
        "if True:",
        "test_distil.py::test_a_retraction_ends_only_what_it_names",
    ),
    Mutant(
        "a run of whose answer nothing can be read is not distilled",
        "intake.distillation",
        "if not extraction.found and not extraction.retracted:",
        "if False:",
        "test_distil.py::test_a_run_is_not_distilled_if_nothing_of_the_answer_can_be_read",
    ),
    Mutant(
        "opposites are not merged",
        "intake.consolidation",
        "return not changes_meaning(one.content, other.content)",
        "return True",
        "test_consolidation.py::test_consolidation_does_not_merge_facts_that_differ",
    ),
    Mutant(
        "the budget is kept",
        "read.assembly",
        "for block in whole(n_items, recent))) <= budget",
        "for block in whole(n_items, recent))) <= budget + 9",
        "test_assembly.py::test_budget_is_kept",
    ),
    Mutant(
        "rules over the budget are an error",
        "read.assembly",
        "if needed > budget:",
        "if False:",
        "test_assembly.py::test_reserved_slots_over_the_budget",
    ),
    Mutant(
        "policies and preferences are always in",
        "read.assembly",
        "for block in (*reserved.blocks, memories, last)",
        "for block in (*reserved.blocks[:1], memories, last)",
        "test_assembly.py::test_budget_is_kept",
    ),
    Mutant(
        "an item over its cap is left out whole",
        "read.assembly",
        "if count(line) > limits.item_tokens:",
        "if False:",
        "test_assembly.py::test_whole_records_go",
    ),
    Mutant(
        "what answers of a long record is no longer than one may be",
        "read.excerpts",
        "if count(shorter) <= max_tokens:",
        "if shorter.text:",
        "test_excerpts.py::test_an_excerpt_is_no_longer",
    ),
    Mutant(
        "the least relevant goes first",
        "read.assembly",
        'block_of("memories", place(lines[:n_items]), place(fitting[:n_items]))',
        'block_of("memories", place(lines[-n_items:]), place(fitting[-n_items:]))',
        "test_assembly.py::test_whole_records_go",
    ),
    Mutant(
        "as much as fits is kept",
        "read.assembly",
        "n_items = _most(len(fitting), fits)",
        "n_items = len(fitting) if fits(len(fitting)) else 0 if fits(0) else None",
        "test_assembly.py::test_a_prompt_has_the_longest_prefix_of_records_that_fits",
    ),
    Mutant(
        "no record is cut",
        "read.prompt_parts",
        '"\\n  ".join(labelled.splitlines())',
        '"\\n  ".join(labelled.splitlines()[:1])',
        "test_assembly.py::test_whole_records_go",
    ),
    Mutant(
        "no record passes for another",
        "read.prompt_parts",
        '"\\n  ".join(labelled.splitlines())',
        '"\\n".join(labelled.splitlines())',
        "test_assembly.py::test_no_record_passes",
    ),
    Mutant(
        "the prefix is stable",
        "read.assembly",
        "for block in (*reserved.blocks, memories, last)",
        "for block in (last, *reserved.blocks, memories)",
        "test_assembly.py::test_the_prefix_is_the_same",
    ),
    Mutant(
        "recent turns are the newest",
        "read.assembly",
        "lines[len(lines) - n :], ())",
        "lines[:n], ())",
        "test_assembly.py::test_recent_turns",
    ),
    Mutant(
        "the prefix follows its records",
        "read.prompts",
        "if cached is not None and cached[0] is known:",
        "if cached is not None:",
        "test_session.py::test_a_prompt_has_rules",
    ),
    Mutant(
        "events never change",
        "ledger.trace",
        "memory_event_fixed BEFORE UPDATE ON",
        "memory_event_fixed BEFORE UPDATE OF seq ON",
        "test_trace.py::test_the_schema_holds",
    ),
    Mutant(
        "events are never deleted by accident",
        "ledger.trace",
        "WHEN (SELECT erasing FROM memory_run WHERE key = OLD.run) IS NOT 1",
        "WHEN 0",
        "test_trace.py::test_the_schema_holds",
    ),
    Mutant(
        "a run's scope never changes",
        "ledger.trace",
        "OR NEW.user <> OLD.user ",
        "",
        "test_trace.py::test_the_schema_holds",
    ),
    Mutant(
        "events are numbered without gaps",
        "ledger.trace",
        "WHEN NEW.seq IS NOT (SELECT",
        "WHEN NEW.seq IS (SELECT -",
        "test_trace.py::test_the_schema_holds",
    ),
    Mutant(
        "a trace is of exactly its scope",
        "ledger.trace",
        '"WHERE r.tenant = ? AND r.user = ? AND r.agent = ? AND r.run = ? "',
        '"WHERE r.tenant = ? AND (r.user = ? OR 1) AND (r.agent = ? OR 1) AND r.run = ? "',
        "test_trace.py::test_only_exactly_the_scope",
    ),
    Mutant(
        "forensics stays in its scope",
        "ledger.trace",
        '"WHERE r.tenant = ? AND r.user = ? AND r.agent = ? "\n                f"AND',
        '"WHERE r.tenant = ? AND (r.user = ? OR 1) AND (r.agent = ? OR 1) "\n                f"AND',
        "test_trace.py::test_only_exactly_the_scope",
    ),
    Mutant(
        "retention holds at read",
        "ledger.trace",
        '"AND (e.expires_at IS NULL OR e.expires_at > ?) "\n)',
        '"AND (1 OR e.expires_at > ?) "\n)',
        "test_trace.py::test_retention",
    ),
    Mutant(
        "retention holds by sweep",
        "ledger.trace",
        '"DELETE FROM memory_event WHERE expires_at <= ?{others}"',
        '"DELETE FROM memory_event WHERE expires_at <= ? AND 0{others}"',
        "test_trace.py::test_retention",
    ),
    Mutant(
        "an erased scope has no trace",
        "ledger.trace",
        'execute(f"UPDATE memory_run SET erasing = 1 WHERE {condition}", values)',
        'execute(f"UPDATE memory_run SET erasing = 0 WHERE {condition}", values)',
        "test_trace.py::test_erasure",
    ),
    Mutant(
        "what was forgotten is not brought back by a prompt",
        "ledger.deletions",
        "return bool(rows)",
        "return False",
        "test_session.py::test_a_prompt_does_not_bring_back",
    ),
    Mutant(
        "prompts are recorded",
        "runs.session",
        "[*pending, *drafts], self._retention",
        "drafts, self._retention",
        "test_session.py::test_a_replay_gives",
    ),
    Mutant(
        "a replay takes records as they were",
        "runs.replaying",
        'pieces["memories"],',
        "[],",
        "test_session.py::test_a_replay_gives",
    ),
    Mutant(
        "what was retracted is in no prompt",
        "runs.session",
        "and event.seq not in retracted]",
        "]",
        "test_session.py::test_a_retracted_turn",
    ),
    Mutant(
        "as many turns are in a prompt after a retraction as before",
        "runs.session",
        'if any(event.kind == "retraction" for event in found):',
        "if False:",
        "test_session.py::test_recent_turns_are",
    ),
    Mutant(
        "a deletion since a prompt was made is seen",
        "ledger.deletions",
        "if is_file(connection) and not rows_of(connection, _LATER, (number,)):",
        "if is_file(connection):",
        "test_session.py::test_a_prompt_does_not_bring_back",
    ),
    Mutant(
        "what is no event in the clear is opened cell by cell",
        "ledger.trace",
        "if sealed[2] is None and self._sealer.opens_plain():",
        "if True:",
        "test_session.py::test_recent_turns_are",
    ),
    Mutant(
        "what was retracted is not distilled",
        "intake.transcripts",
        "or event.seq in retracted:",
        "or False:",
        "test_distil.py::test_retracted_turns_are_not_distilled",
    ),
    Mutant(
        "what was taken back is not distilled",
        "intake.transcripts",
        "utterances = _without_last_turn(utterances, author)",
        "pass",
        "test_distil.py::test_retracted_turns_are_not_distilled",
    ),
    Mutant(
        "references are resolved",
        "intake.transcripts",
        'text = with_dates(" ".join(text.split()), event.at.date(), languages)',
        'text = " ".join(text.split())',
        "test_ten_sessions.py",
    ),
    Mutant(
        "a run is distilled once",
        "intake.distillation",
        "last = _last_distilled(connection, scope, run.key)\n    events",
        "last = 0\n    events",
        "test_distil.py::test_distilling_again",
    ),
    Mutant(
        "of several processes one distils",
        "intake.distillation",
        "            raise _AlreadyDistilled",
        "            pass",
        "test_distil.py::test_threads_distil",
    ),
    Mutant(
        "later retractions revoke",
        "intake.distillation",
        "revoked = _noted_from(context, scope, run_id, taken_back)",
        "revoked = []",
        "test_distil.py::test_retracting_a_distilled_turn",
    ),
    Mutant(
        "a retraction ends what was known",
        "intake.distillation",
        "    for retraction in extraction.retracted:\n",
        "    for retraction in ():\n",
        "test_distil.py::test_a_retraction_ends",
    ),
    Mutant(
        "notes that are gone are revoked",
        "intake.ingest",
        "gate.propose_all(proposals, revoke=revoke)",
        "gate.propose_all(proposals)",
        "test_ingest.py::test_an_ingestion_follows",
    ),
    Mutant(
        "passages that move are kept",
        "intake.ingest",
        "        if not moving:",
        "        if True:",
        "test_ingest.py::test_passages_that_change_places",
    ),
    Mutant(
        "an unreadable note is not gone",
        "intake.ingest",
        "if file not in notes.skipped:",
        "if True:",
        "test_ingest.py::test_a_file_that_cannot_be_read",
    ),
    Mutant(
        "the same notes twice are one observation",
        "intake.ingest",
        'run = f"notes:{name}"',
        'run = f"notes:{name}{gate.clock()}"',
        "test_ingest.py::test_a_tenants_notes",
    ),
    Mutant(
        "notes stay inside of their folder",
        "intake.notes",
        "if not path.resolve().is_relative_to(inside):",
        "if False:",
        "test_notes.py::test_a_folder_is_read",
    ),
]


def run_tests(test: str, seed: list[str] | None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SCRUBJAY_TEST_PROFILE": "hunt"}
    if seed is not None:
        environment["SCRUBJAY_SEEDED"] = json.dumps(seed)
    file, _, name = test.partition("::")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.memory.seeded",
    ]
    command += [f"tests/memory/{file}", *(["-k", name] if name else [])]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=600
    )


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.rule)
def test_a_mutation_finds_its_place(mutant: Mutant) -> None:
    module = importlib.import_module(f"scrubjay.memory.{mutant.module}")
    assert inspect.getsource(module).count(mutant.before) == 1
    file, _, name = mutant.test.partition("::")
    assert f"def {name}" in (ROOT / "tests/memory" / file).read_text(encoding="utf-8"), "its test was renamed"


@pytest.mark.mutants
@pytest.mark.parametrize("test", sorted({mutant.test for mutant in MUTANTS}))
def test_a_test_passes_without_its_mutation(test: str) -> None:
    finished = run_tests(test, None)
    if finished.returncode == 0 and "passed" not in finished.stdout:
        pytest.skip(f"{test} needs the judged sets")
    assert finished.returncode == 0, finished.stdout[-3000:]


@pytest.mark.mutants
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.rule)
def test_a_mutant_is_caught_by_its_test(mutant: Mutant) -> None:
    finished = run_tests(mutant.test, [f"scrubjay.memory.{mutant.module}", mutant.before, mutant.after])
    if finished.returncode == 0 and "passed" not in finished.stdout:
        pytest.skip(f"{mutant.test} needs the judged sets")
    assert finished.returncode == 1 and " failed" in finished.stdout, finished.stdout[-3000:]
