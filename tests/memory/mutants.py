"""Mutants of memory: for each of its rules, a memory without the rule, and the test that must then fail.

    python -m pytest --mutants tests/memory/test_mutants.py             # all of them (some minutes)
    python -m tests.memory.mutants                                      # the table

As a plugin (`-p tests.memory.mutants`) it removes the rule named by SCRUBJAY_MEMORY_MUTANT before any test runs: a
piece of a function's source, or of the schema, is replaced by another.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import textwrap
from typing import Any, NamedTuple

GATE, FACTS, KNOWN, RECORDS, FORGET, SCHEMA, RACES, KILLS, MACHINE, VALUES, GLOBALS = (
    f"tests/memory/test_{name}.py"
    for name in (
        "gate", "supersession", "known", "records", "forgetting", "schema", "races", "kills", "machine",
        "values", "global_policies",
    )
)  # fmt: skip
FLOOR = "tests/memory/test_floor.py"
CLASSES = "tests/memory/test_sensitivity.py"
TIMES = "tests/memory/test_two_times.py"
HOLDS = "tests/memory/test_holds.py"
FILES = "tests/memory/test_files.py"
FEED = "tests/memory/test_feed.py"
TOGETHER = "tests/unit/test_store_atomic_changes.py"
SEALING = "tests/memory/test_memory_encryption.py"
TRUTH = "tests/memory/test_contradiction.py"
USERS = "tests/unit/test_user_keys.py"
EDITS = "tests/memory/test_fact_versions.py"
BELIEVED = "tests/memory/test_known_at.py"


class Mutant(NamedTuple):
    """A rule, its place ("schema" or "module:qualified.name"), the text replaced and its replacement, and the test."""

    rule: str
    where: str
    old: str
    new: str
    test: str


_M = "scrubjay.memory."

MUTANTS: dict[str, Mutant] = {
    # ------------------------------------------------------------------ in the schema
    "fact_confidence": Mutant(
        "a fact needs a confidence of 0.7, in the file",
        "schema",
        "CHECK (confidence >= 0.7 AND",
        "CHECK (confidence >= 0 AND",
        f"{SCHEMA}::test_a_row_that_breaks_a_rule_is_refused",
    ),
    "preference_confidence": Mutant(
        "a preference needs a confidence of 0.5, in the file",
        "schema",
        "CHECK (confidence >= 0.5 AND",
        "CHECK (confidence >= 0 AND",
        f"{SCHEMA}::test_a_row_that_breaks_a_rule_is_refused",
    ),
    "source_run": Mutant(
        "every record names its run, in the file",
        "schema",
        "source_run TEXT NOT NULL CHECK (source_run <> '')",
        "source_run TEXT",
        f"{SCHEMA}::test_a_row_that_breaks_a_rule_is_refused",
    ),
    "fact_once": Mutant(
        "one living fact of a content in a scope, in the file",
        "schema",
        "CREATE UNIQUE INDEX memory_fact_once",
        "CREATE INDEX memory_fact_once",
        f"{SCHEMA}::test_two_rows_that_exclude_each_other",
    ),
    "fact_slot": Mutant(
        "one fact in force in a slot, in the file",
        "schema",
        "CREATE UNIQUE INDEX memory_fact_slot",
        "CREATE INDEX memory_fact_slot",
        f"{SCHEMA}::test_two_rows_that_exclude_each_other",
    ),
    "preference_once": Mutant(
        "one preference of a key, in the file",
        "schema",
        "CREATE UNIQUE INDEX memory_preference_once",
        "CREATE INDEX memory_preference_once",
        f"{SCHEMA}::test_two_rows_that_exclude_each_other",
    ),
    "episode_once": Mutant(
        "one episode of a summary in a scope, in the file",
        "schema",
        "CREATE UNIQUE INDEX memory_episode_once",
        "CREATE INDEX memory_episode_once",
        f"{SCHEMA}::test_two_rows_that_exclude_each_other",
    ),
    "policy_enters": Mutant(
        "a policy enters provisional, in the file",
        "schema",
        "ON memory_policy WHEN NEW.status <> 'provisional'",
        "ON memory_policy WHEN 0",
        f"{SCHEMA}::test_a_row_that_breaks_a_rule_is_refused",
    ),
    "policy_fixed": Mutant(
        "a version of a policy never changes, in the file",
        "schema",
        "OR NEW.text <> OLD.text",
        "",
        f"{SCHEMA}::test_a_version_of_a_policy_never_changes",
    ),
    "policy_decided": Mutant(
        "a policy is in force only if somebody confirmed it, in the file",
        "schema",
        "CHECK ((status = 'provisional') = (decided_by IS NULL)),",
        "",
        f"{SCHEMA}::test_a_version_of_a_policy_never_changes",
    ),
    "policy_kept": Mutant(
        "only an erasure deletes a version of a policy, in the file",
        "schema",
        "BEFORE DELETE ON memory_policy\nWHEN NOT EXISTS (SELECT 1 FROM memory_meta",
        "BEFORE DELETE ON memory_policy\nWHEN EXISTS (SELECT 1 FROM memory_meta",
        f"{SCHEMA}::test_a_version_of_a_policy_never_changes",
    ),
    "tenant_fact_enters": Mutant(
        "a fact of a tenant enters provisional, in the file",
        "schema",
        "WHEN NEW.user = '' AND NEW.agent = '' AND NEW.status <> 'provisional'",
        "WHEN 0",
        f"{SCHEMA}::test_a_row_that_breaks_a_rule_is_refused",
    ),
    "tenant_fact_promoted": Mutant(
        "a fact of a tenant is promoted by two sources that are independent, in the file",
        "schema",
        "count(DISTINCT CASE user WHEN '' THEN 'author ' || ifnull(author, '') ELSE 'user ' || user END)",
        "2",
        f"{SCHEMA}::test_a_tenants_fact_is_promoted_by_two_independent_runs_or_by_somebody",
    ),
    "stays_revoked": Mutant(
        "what was revoked stays so, in the file",
        "schema",
        "WHEN (OLD.status = 'revoked' OR NEW.status = 'provisional') AND NEW.status <> OLD.status",
        "WHEN 0",
        f"{SCHEMA}::test_a_trigger_keeps_revoked_records_revoked",
    ),
    "stays_in_scope": Mutant(
        "a fact stays in its scope, in the file",
        "schema",
        "NEW.user <> OLD.user OR NEW.agent <> OLD.agent\nBEGIN SELECT RAISE(ABORT, 'a fact",
        "NEW.agent <> OLD.agent\nBEGIN SELECT RAISE(ABORT, 'a fact",
        f"{SCHEMA}::test_a_record_stays_in_its_scope",
    ),
    "log_fixed": Mutant(
        "the log is append-only, in the file",
        "schema",
        "BEFORE UPDATE ON memory_log\n",
        "BEFORE UPDATE ON memory_log WHEN 0\n",
        f"{SCHEMA}::test_logs_are_append_only",
    ),
    "deletion_kept": Mutant(
        "deletion events are kept for good, in the file",
        "schema",
        "BEFORE delete ON memory_deletion\n",
        "BEFORE delete ON memory_deletion WHEN 0\n",
        f"{SCHEMA}::test_logs_are_append_only",
    ),
    "stamped": Mutant(
        "every change of a preference is numbered, in the file",
        "schema",
        "AFTER update ON memory_preference\nBEGIN INSERT INTO memory_stamp",
        "AFTER update ON memory_preference WHEN 0\nBEGIN INSERT INTO memory_stamp",
        f"{SCHEMA}::test_every_change_of_what_is_known_is_numbered",
    ),
    # ------------------------------------------------------------------ scope
    "scope_required": Mutant(
        "without a scope nothing is read or written",
        _M + "ledger.context:checked_scope",
        "if not isinstance(scope, Scope):",
        "if False:",
        f"{GATE}::test_without_a_scope_nothing_happens",
    ),
    "visible": Mutant(
        "a record of another scope is as if it did not exist",
        _M + "model.rows:is_visible",
        "return is_among(row, names_seen(scope))",
        "return True",
        f"{RECORDS}::test_an_id_of_a_foreign_scope_does_not_exist",
    ),
    "visible_rows": Mutant(
        "nor is it, if it was found",
        _M + "read.recall_result:RecordRows.row",
        "return row if is_among(row, self._seen) else None",
        "return row",
        f"{RECORDS}::test_rows_of_an_answer_are_those_that_its_scope_sees",
    ),
    "belongs": Mutant(
        "what is shared is changed by its owner only",
        _M + "model.rows:belongs_to",
        "if row.tenant != scope.tenant or row.user != user:",
        "if row.tenant != scope.tenant:",
        f"{RECORDS}::test_a_scope_sees_shared_records_and_changes_only_its_own",
    ),
    "belongs_to_agent": Mutant(
        "what an agent shares with all users is not one user's to change",
        _M + "model.rows:belongs_to",
        'return row.agent == agent or (user != "" and row.agent == "")',
        'return row.agent == agent or row.agent == ""',
        f"{RECORDS}::test_a_scope_sees_shared_records_and_changes_only_its_own",
    ),
    "preference_of_agent": Mutant(
        "a preference is a user's or a tenant's, not an agent's",
        _M + "model.checking:resolve",
        "if scope.user is None and scope.agent is not None:",
        "if False:",
        f"{GATE}::test_a_preference_of_an_agent_is_refused",
    ),
    "tenant_scope": Mutant(
        "only a fact about the tenant can be the tenant's",
        _M + "model.checking:resolve",
        "if nobodys and not about_tenant:",
        "if False:",
        f"{GATE}::test_a_tenants_scope_takes_only_facts_about_the_tenant",
    ),
    # ------------------------------------------------------------------ the gate
    "no_status": Mutant(
        "the caller can set neither status nor scope",
        _M + "model.checking:classify",
        "if unknown:",
        "values = {k: v for k, v in values.items() if k in names}\n        if False:",
        f"{GATE}::test_a_mapping_cannot_set_what_the_gate_decides",
    ),
    "verify_fact": Mutant(
        "a fact of low confidence is rejected with a reason",
        _M + "model.checking:_confident",
        "if confidence < least:",
        "if False:",
        f"{GATE}::test_unfit_candidates_are_rejected_and_recorded",
    ),
    "verify_run": Mutant(
        "a candidate without a run is rejected",
        _M + "model.checking:verify",
        "if not source.run:",
        "if False:",
        f"{GATE}::test_without_a_run_nothing_is_remembered",
    ),
    "rejections": Mutant(
        "rejections are recorded",
        _M + "ledger.rejections:write_rejection",
        "connection.execute(",
        "(lambda *given: None)(",
        f"{GATE}::test_unfit_candidates_are_rejected_and_recorded",
    ),
    "normalised": Mutant(
        "the same said otherwise is the same",
        _M + "model.content:normalised",
        'return folded.rstrip(".!… ") or folded',
        "return text",
        f"{GATE}::test_equal_texts_are_deduplicated_within_a_scope",
    ),
    "dedupe": Mutant(
        "the same content is remembered once",
        _M + "gate.facts:Facts._living",
        "return row, None",
        "continue",
        f"{GATE}::test_equal_texts_are_deduplicated_within_a_scope",
    ),
    "dedupe_per_topic": Mutant(
        "the same words about another subject are another fact",
        _M + "gate.facts:Facts._living",
        "AND (topic IN ({marks}) OR length(topic) = 0 OR length(?) = 0)",
        "AND (1 OR topic IN ({marks}) OR length(?) = 0)",
        f"{GATE}::test_equal_texts_about_another_subject_are_another_fact",
    ),
    "expired_is_free": Mutant(
        "what has expired can be learnt anew",
        _M + "gate.facts:Facts._living",
        "if row.expires_at is not None and row.expires_at <= change.now:",
        "if False:",
        f"{GATE}::test_an_expired_fact_can_be_proposed_again",
    ),
    "restated": Mutant(
        "what is said again lasts as long as it was said to",
        _M + "gate.facts:Facts._restate",
        "if all(getattr(held, name) == value for name, value in values.items()):",
        "if True:",
        f"{GATE}::test_restating_raises_confidence_and_extends_the_ttl",
    ),
    "provisional_hidden": Mutant(
        "a tenant's fact is invisible until it is promoted",
        _M + "gate.facts:Facts._fact_in",
        'insert_new(change, "memory_fact", row)',
        "insert_new(change, 'memory_fact', row); documents_in(change).put(row._replace(holds='[[0,null]]'))",
        f"{GATE}::test_a_tenants_fact_waits_for_a_second_independent_run",
    ),
    "independent_runs": Mutant(
        "two names of one run, or one user twice, are one witness",
        _M + "gate.facts:Facts.write",
        "elif n_independent < 2:",
        "elif n_independent < 1:",
        f"{GATE}::test_a_tenant_fact_is_visible_to_its_user_until_a_second_user_confirms_it",
    ),
    "confirm_by_tenant": Mutant(
        "nobody confirms for all in a user's scope",
        _M + "gate.confirmation:Confirmation.confirm",
        "if row is None or not belongs_to(row, scope):",
        "if row is None:",
        f"{GATE}::test_a_tenants_fact_that_is_confirmed_counts_for_all",
    ),
    "copies_make_room": Mutant(
        "a fact that is promoted takes the place of its copies",
        _M + "gate.promotion:Promotion.share",
        "for place in places:",
        "for place in ():",
        f"{GATE}::test_a_tenant_fact_is_visible_to_its_user_until_a_second_user_confirms_it",
    ),
    "inferred": Mutant(
        "what was inferred never replaces what was said",
        _M + "gate.preferences:write_preference",
        'if candidate.source == "inferred" and held.source != "inferred":',
        "if False:",
        f"{GATE}::test_inferred_preferences_never_replace_stated_ones",
    ),
    "one_transaction": Mutant(
        "several proposals are one transaction",
        _M + "gate.gate:Gate.propose_all",
        "outcomes += [self._decide(change, one) for one in some]",
        "outcomes += [self._decide(change, one) for one in some]; change.connection.executescript('BEGIN IMMEDIATE')",
        f"{GATE}::test_several_proposals_are_one_write",
    ),
    "alone_new": Mutant(
        "what a batch says again is not inserted with what is new",
        _M + "gate.facts:stands_alone",
        "proposal.is_new",
        "True",
        "tests/memory/test_batches.py",
    ),
    "alone_replacing": Mutant(
        "what replaces another fact is not inserted with what concerns none",
        _M + "gate.facts:stands_alone",
        "and not proposal.candidate.replaces",
        "",
        "tests/memory/test_batches.py",
    ),
    "alone_tenant": Mutant(
        "a tenant's own fact is not inserted with those that are believed at once",
        _M + "gate.facts:stands_alone",
        "and not proposal.about_tenant",
        "",
        "tests/memory/test_batches.py",
    ),
    # ------------------------------------------------------------------ supersession
    "supersede": Mutant(
        "a contradicting fact takes the place of the old one",
        _M + "model.projection:project",
        "_prevail([claim for claim in claims if claim.statement.single],",
        "_prevail([],",
        f"{FACTS}::test_the_new_fact_takes_the_place_of_the_old",
    ),
    "accumulate": Mutant(
        "facts stand side by side unless their predicate has one value at a time",
        _M + "model.judge:DefaultJudge.is_single",
        "single = is_single(",
        "single = True or is_single(",
        f"{FACTS}::test_statements_of_a_predicate_with_several_values_all_hold",
    ),
    "told_single": Mutant(
        "what a candidate says of its predicate goes before the lists",
        _M + "model.judge:DefaultJudge.is_single",
        "if candidate.single is not None:",
        "if False:",
        f"{FACTS}::test_a_candidate_says_whether_its_predicate_is_single",
    ),
    "besides": Mutant(
        "a statement that adds to what is known contradicts nothing",
        _M + "model.cardinality:is_single",
        "if not _BESIDES.isdisjoint(words) or",
        "if",
        f"{FACTS}::test_predicates_with_one_value_are_known",
    ),
    "one_of_a_kind": Mutant(
        "a year does not contradict a place",
        _M + "model.kinds:contradicts",
        "if kinds[0] != kinds[1]:",
        "if False:",
        f"{TRUTH}::test_statements_that_only_resemble_a_contradiction_both_hold",
    ),
    "only_on_change": Mutant(
        "what only resembles a single predicate is contradicted by a change alone",
        _M + "model.kinds:contradicts",
        "if not changed and not (kinds[0] in _EXACT",
        "if not changed and not True and not (kinds[0] in _EXACT",
        f"{TRUTH}::test_statements_that_only_resemble_a_contradiction_both_hold",
    ),
    "other_things": Mutant(
        "what is about another thing contradicts nothing",
        _M + "model.kinds:contradicts",
        "return old == new if is_frame else not (old and new) or bool(old & new)",
        "return True",
        f"{TRUTH}::test_kinds_and_changes",
    ),
    "kinds_contradict": Mutant(
        "of one kind the later statement holds",
        _M + "model.projection:project",
        "_contradict(alive, spans, closed)",
        "pass",
        f"{TRUTH}::test_a_later_contradicting_statement_supersedes_the_earlier",
    ),
    "for_a_time": Mutant(
        "what lasts only for a time ends nothing of its kind",
        _M + "model.projection:_contradict",
        "if statement.single is False or end is not None:",
        "if statement.single is False:",
        f"{TRUTH}::test_a_temporary_statement_does_not_end_a_permanent_one",
    ),
    "in_place": Mutant(
        "what says that it takes the place of another one may end it, whatever its predicate",
        _M + "model.cardinality:is_single",
        "takes_place = says_in_place(text) or",
        "takes_place = False and",
        f"{TRUTH}::test_a_statement_worded_as_a_replacement_supersedes",
    ),
    "in_place_now": Mutant(
        "what one thing is now, it is in place of what it was",
        _M + "model.replacing:is_now",
        "return re.search(_DEFINITE",
        "return False and re.search(_DEFINITE",
        f"{TRUTH}::test_a_statement_worded_as_a_replacement_supersedes",
    ),
    "in_place_definite": Mutant(
        "what is so now may be so besides",
        _M + "model.replacing:is_now",
        "return re.search(_DEFINITE",
        "return True or re.search(_DEFINITE",
        f"{TRUTH}::test_a_statement_worded_as_an_addition_supersedes_nothing",
    ),
    "in_place_several": Mutant(
        "of several values a change that names none ends none",
        _M + "model.kinds:replaced",
        "return ended if len({statement.value for statement in ended}) == 1 else []",
        "return ended",
        f"{TRUTH}::test_a_change_ends_only_the_value_it_names_among_several",
    ),
    "in_place_named": Mutant(
        "a change ends what it names",
        _M + "model.kinds:replaced",
        "if named or in_place_of(said.text):",
        "if in_place_of(said.text):",
        f"{TRUTH}::test_a_change_ends_only_the_value_it_names_among_several",
    ),
    "in_place_of": Mutant(
        "what names what it takes the place of takes no other place",
        _M + "model.kinds:replaced",
        "if named or in_place_of(said.text):",
        "if named:",
        f"{TRUTH}::test_a_statement_worded_as_an_addition_supersedes_nothing",
    ),
    "in_place_besides": Mutant(
        "what was said to be there besides is not replaced unnamed",
        _M + "model.kinds:contradicts",
        "if says_besides(known) or",
        "if",
        f"{TRUTH}::test_a_statement_worded_as_an_addition_supersedes_nothing",
    ),
    "same_frame": Mutant(
        "two of a predicate known by its last word differ in nothing but the value",
        _M + "model.kinds:contradicts",
        "return old == new if is_frame else",
        "return",
        f"{TRUTH}::test_a_statement_worded_as_an_addition_supersedes_nothing",
    ),
    "same_unit": Mutant(
        "a number of the same unit takes a place",
        _M + "model.kinds:contradicts",
        'if not is_frame and kinds == ("number", "number")',
        "if False",
        f"{TRUTH}::test_a_statement_worded_as_a_replacement_supersedes",
    ),
    "number_now": Mutant(
        "a number that is so now is in place of what it was",
        _M + "model.kinds:contradicts",
        "kinds[1] in _EXACT and is_number_now(said)",
        "False",
        f"{TRUTH}::test_a_statement_worded_as_a_replacement_supersedes",
    ),
    "last_words": Mutant(
        "the last word of a predicate tells whether it changes",
        _M + "model.cardinality:_ruled",
        "return None if _ends(phrase, _ENDS_OF_A_KIND) or",
        "return None if False and",
        f"{TRUTH}::test_a_statement_worded_as_a_replacement_supersedes",
    ),
    "last_words_many": Mutant(
        "a word before the last one says that there are several",
        _M + "model.cardinality:_ends",
        'word in _MANY or word.endswith("ed") or',
        "False or",
        f"{TRUTH}::test_a_statement_worded_as_an_addition_supersedes_nothing",
    ),
    "last_words_of_several": Mutant(
        "the name of one of several is one of several",
        _M + "model.cardinality:_ends",
        """or word.removesuffix("s").removesuffix("'") in _SEVERAL""",
        "or False",
        f"{TRUTH}::test_a_statement_worded_as_an_addition_supersedes_nothing",
    ),
    "head_of": Mutant(
        "the city of residence is a city",
        _M + "model.cardinality:_head",
        "return head if rest else phrase",
        "return phrase",
        f"{TRUTH}::test_a_statement_worded_as_a_replacement_supersedes",
    ),
    "last_weekend": Mutant(
        "last weekend is a time",
        _M + "model.cardinality:_spoken",
        'if "weekend" in text',
        "if False",
        f"{TRUTH}::test_a_statement_worded_as_a_replacement_supersedes",
    ),
    "verb_forms": Mutant(
        "residing in is resides in",
        _M + "model.cardinality:_forms",
        "if rest and first.isascii():",
        "if False:",
        f"{TRUTH}::test_a_statement_worded_as_a_replacement_supersedes",
    ),
    "compounds": Mutant(
        "a bedtime is a time",
        _M + "model.cardinality:_ends",
        "return last_words is _ENDS_ON_CHANGE and",
        "return False and",
        f"{TRUTH}::test_a_statement_worded_as_a_replacement_supersedes",
    ),
    "one_of_several": Mutant(
        "one of my favourite bands is one of several",
        _M + "model.cardinality:is_single",
        "if _ONE_OF_SEVERAL.search(text) or",
        "if",
        f"{TRUTH}::test_a_statement_worded_as_an_addition_supersedes_nothing",
    ),
    "switches": Mutant(
        "yes and no exclude each other",
        _M + "model.judge:DefaultJudge.is_single",
        "if single is False and _is_switch",
        "if False and _is_switch",
        f"{TRUTH}::test_a_statement_worded_as_a_replacement_supersedes",
    ),
    "of_the_past": Mutant(
        "what speaks of the past ends nothing",
        _M + "model.cardinality:is_single",
        "or (not is_dated and _PAST.search(text))",
        "",
        f"{TRUTH}::test_statements_that_only_resemble_a_contradiction_both_hold",
    ),
    "same_value_of_two": Mutant(
        "a value said of two things is two statements, for the gate",
        _M + "gate.facts:_says_more",
        "return says_more(",
        "return False and says_more(",
        f"{TRUTH}::test_the_same_value_of_two_things_is_two_statements",
    ),
    "voices": Mutant(
        "a value said of two things is two statements, for the projection",
        _M + "model.voices:_says",
        "return says_more(",
        "return False and says_more(",
        f"{TRUTH}::test_the_same_value_of_two_things_is_two_statements",
    ),
    "richer": Mutant(
        "what says more takes the place of what said less",
        _M + "model.projection:project",
        "if cut != held[less].intervals:",
        "if False:",
        f"{TRUTH}::test_a_more_detailed_statement_supersedes_the_shorter_one",
    ),
    "ends_named": Mutant(
        "an end ends what it names alone",
        _M + "model.target_statements:ended",
        "found = found or _mentioned(statement, known) or _most_shared(statement, known)",
        "found = found or list(range(len(known)))",
        f"{TRUTH}::test_an_end_closes_only_the_fact_it_names",
    ),
    "corrects_named": Mutant(
        "a correction takes the place of what it speaks of, not of the last",
        _M + "model.target_statements:corrected",
        "found = _mentioned(statement, rest) or ([] if same or is_single else _most_shared(statement, rest))",
        "found = [len(rest) - 1] if rest else []",
        f"{TRUTH}::test_a_correction_supersedes_the_fact_it_names",
    ),
    "unfelt": Mutant(
        "an end that finds nothing says so",
        _M + "model.new_facts:_new",
        "if not is_felt and row.relation in UNFELT:",
        "if False:",
        f"{TRUTH}::test_an_end_or_correction_without_a_target_changes_nothing_and_warns",
    ),
    "edit_kept": Mutant(
        "what was known before an edit stays known",
        _M + "ledger.versions:is_edited",
        'if before.status == "provisional":',
        "if True:",
        f"{EDITS}::test_earlier_versions_stay_visible_at_known_at",
    ),
    "versions_go": Mutant(
        "a fact's versions are deleted with it",
        _M + "ledger.versions:delete_versions",
        "for version in list(versions_of(change.connection, row)):",
        "for version in ():",
        f"{EDITS}::test_erasure_takes_every_version",
    ),
    "versions_stay": Mutant(
        "a fact's versions stay as long as history does",
        _M + "lifecycle.sweeping:Sweeping._let_go",
        "AND NOT {IS_VERSION} AND",
        "AND",
        f"{EDITS}::test_versions_last_as_long_as_history",
    ),
    "earlier_kept": Mutant(
        "what was added to a fact was not known before",
        _M + "model.details:as_known",
        "if not any(recorded_at > known_at for recorded_at, _ in changes):",
        "if True:",
        f"{BELIEVED}::test_fields_added_to_a_fact_are_absent_from_earlier_beliefs",
    ),
    "edit_of_none": Mutant(
        "an edit of a fact in no slot changes when it holds",
        _M + "lifecycle.editing:Editing.update",
        "if not fresh.topic:",
        "if False:",
        f"{BELIEVED}::test_an_edit_of_a_fact_in_no_slot_changes_when_it_holds",
    ),
    "shared_since": Mutant(
        "a copy that the tenant says for all was no belief of its own from then on",
        _M + "ledger.statements:projected",
        "if shared_at is not None and shared_at <= known_at:",
        "if False:",
        f"{BELIEVED}::test_a_users_copy_of_a_promoted_fact_is_not_a_separate_belief_afterwards",
    ),
    "versions_replaced": Mutant(
        "what a fact said before an edit was replaced by what replaced the fact then",
        _M + "model.statements:projected_slot",
        "if versions:",
        "if False:",
        f"{BELIEVED}::test_an_edit_keeps_the_replacements_made_before_it",
    ),
    "class_of_now": Mutant(
        "a fact's class withholds it whatever was known",
        _M + "model.details:as_known",
        "for name in _IN_DETAIL:",
        "detail.pop('sensitivity', None)\n        for name in _IN_DETAIL:",
        f"{BELIEVED}::test_without_withholds_a_fact_by_its_current_class_at_any_known_at",
    ),
    # ------------------------------------------------------------------ two axes of time
    "time_of_source": Mutant(
        "a fact holds from when its source says that it was said",
        _M + "model.proposal:_check_times",
        "moment = proposal.source.at if candidate.said_at is None else candidate.said_at",
        "moment = candidate.said_at",
        TIMES,
    ),
    "late_arrival": Mutant(
        "a fact of the past, told late, supersedes nothing",
        _M + "model.projection:_begin",
        "return statement.said_at if statement.valid_from is None else statement.valid_from",
        "return statement.said_at",
        TIMES,
    ),
    "ends": Mutant(
        "what has ended is not in force",
        _M + "model.projection:project",
        "_end(alive, spans, plans, closed)",
        "pass",
        TIMES,
    ),
    "corrects": Mutant(
        "a correction takes the place of what it corrects for all of its time",
        _M + "model.projection:_spans",
        'if statement.relation != "corrects":',
        "if True:",
        TIMES,
    ),
    "plans": Mutant(
        "a plan supersedes nothing before its day",
        _M + "model.projection:_spans",
        'if statement.relation != "plans" or statement.valid_from is not None',
        "if True",
        TIMES,
    ),
    "replaces": Mutant(
        "what a fact names as replaced ends",
        _M + "model.projection:_replace",
        'if statement.replaces and statement.relation in ("asserts", "plans") and statement.id in spans:',
        "if False:",
        TIMES,
    ),
    "replaces_in_scope": Mutant(
        "a fact replaces facts of its own scope only",
        _M + "gate.facts:Facts._fact_in",
        "raise Refusal",
        "str",
        TIMES,
    ),
    "believed_then": Mutant(
        "what was recorded later was not known before",
        _M + "model.projection:project",
        "known = [statement for statement in statements if known_at is None or statement.recorded_at <= known_at]",
        "known = list(statements)",
        TIMES,
    ),
    "recall_in_force": Mutant(
        "a search finds what is in force, and not what was",
        _M + "model.documents:holding",
        '{"valid_until": {"$lte": moment}}',
        '{"valid_until": {"$lte": 0}}',
        TIMES,
    ),
    "present_edges": Mutant(
        "what begins by itself is found from its time on",
        _M + "read.search_time:PresentTimes.moment",
        "passed = bisect_right(known.edges, now)",
        "passed = 0",
        TIMES,
    ),
    "same_value": Mutant(
        "the same value in other words is the same fact",
        _M + "gate.facts:Facts._living",
        'if proposal.value_hash is not None and about and candidate.relation == "asserts":',
        "if False:",
        TIMES,
    ),
    "gains": Mutant(
        "a fact gains the subject and predicate that it lacked",
        _M + "gate.facts:Facts._restate",
        "if not held.topic and proposal.topic:",
        "if False:",
        TIMES,
    ),
    "later_wins": Mutant(
        "of two facts of one time the later written one holds",
        _M + "model.new_facts:next_recorded",
        "return max([now, *(_recorded(rival) + 1 for rival in rivals)])",
        "return now",
        TIMES,
    ),
    "synonyms": Mutant(
        "predicates that say the same are one slot",
        _M + "model.cardinality:topics_of",
        "canonical(predicate)",
        "predicate",
        TIMES,
    ),
    # ------------------------------------------------------------------ the embedder
    "pending": Mutant(
        "what the embedder did not answer for is embedded later",
        _M + "ledger.documents:Documents.flush",
        "payload.with_pending(document.payload, embedded.pending)",
        "document.payload",
        "tests/memory/test_embedder_outage.py::test_proposals_during_an_outage_are_found_by_words_and_embedded_later",
    ),
    "stays_pending": Mutant(
        "what is written anew stays pending",
        _M + "ledger.documents:Documents._known",
        "payload.is_pending(document.payload)",
        "False",
        "tests/memory/test_embedder_outage.py::test_an_update_during_an_outage_leaves_the_record_pending",
    ),
    "supersede_others": Mutant(
        "all that is contradicted goes, not the first alone",
        _M + "ledger.preparation:Preparation.contradicted",
        "ids.append(rival.id)",
        "ids[:] = ids or [rival.id]",
        f"{FACTS}::test_a_judge_of_ones_own_may_find_several_contradictions",
    ),
    "supersede_in_scope": Mutant(
        "another scope is not contradicted",
        _M + "ledger.statements:facts_of_slot",
        "tenant = ? AND user = ? AND agent = ? AND topic",
        "tenant = ? AND (1 OR user = ? AND agent = ?) AND topic",
        f"{FACTS}::test_another_scope_is_not_contradicted",
    ),
    "superseded_log": Mutant(
        "a supersession leaves an event",
        _M + "ledger.slots:Slots.settle",
        'log(change, old.id, "superseded" if is_over else "limited", by, closer)',
        "pass",
        f"{FACTS}::test_the_new_fact_takes_the_place_of_the_old",
    ),
    "judge_before": Mutant(
        "the judge is asked while nobody waits",
        _M + "ledger.preparation:Preparation.gather",
        "if not proposal.is_decided:",
        "if False:",
        f"{FACTS}::test_the_judge_is_called_outside_of_the_write_lock",
    ),
    "one_step": Mutant(
        "documents that go and documents that come are one step to a search",
        "scrubjay.store.residency.residency:Residency.disturb",
        "partition.ready = False",
        "return",
        f"{TOGETHER}::test_a_search_that_overlaps_a_catching_up_in_two_steps_runs_again",
    ),
    "update_contradicts": Mutant(
        "an update contradicts as a proposal does",
        _M + "lifecycle.editing:Editing.update",
        "self._slots.project_slot_of(change, fresh, by)",
        "pass",
        f"{FACTS}::test_an_update_contradicts_as_well",
    ),
    # ------------------------------------------------------------------ known
    "effective_from": Mutant(
        "a policy is not in force before its time",
        _M + "read.rules:_look_up",
        "if row.begins_at is not None and row.begins_at > now:",
        "if False:",
        f"{KNOWN}::test_a_policy_is_in_force_from_and_until",
    ),
    "effective_until": Mutant(
        "nor after it, also if nobody writes anything",
        _M + "read.rules:Rules.known",
        "cached.since <= now < cached.until",
        "cached.since <= now",
        f"{KNOWN}::test_a_policy_is_in_force_from_and_until",
    ),
    "clock_back": Mutant(
        "a clock may be set back",
        _M + "read.rules:Rules.known",
        "cached.since <= now < cached.until",
        "now < cached.until",
        f"{KNOWN}::test_a_policy_is_in_force_from_and_until",
    ),
    "preference_ttl": Mutant(
        "a preference ends",
        _M + "read.rules:_look_up",
        "preferences[row.key] = record",
        "preferences[row.key] = record; until = _NEVER",
        f"{KNOWN}::test_a_preference_ends",
    ),
    "known_fresh": Mutant(
        "every change is seen at once, whoever made it",
        _M + "read.rules:Rules.known",
        "if version is not None and cached.version == version:",
        "if True:",
        f"{KNOWN}::test_every_opener_sees_a_change_at_once",
    ),
    "never_ranked": Mutant(
        "policies and preferences are never ranked",
        _M + "read.recall:_conditions",
        "if kind not in RECALLED_KINDS:",
        "if False:",
        f"{KNOWN}::test_recall_never_ranks_policies_and_preferences",
    ),
    # ------------------------------------------------------------------ records
    "get_in_force": Mutant(
        "what is not in force is not returned",
        _M + "model.statements:is_in_force",
        'row.status == "active" and holds_at(row, now)',
        "True",
        f"{RECORDS}::test_a_revoked_record_is_hidden_and_explained",
    ),
    "revoked_leaves_index": Mutant(
        "a revoked record leaves the index",
        _M + "gate.confirmation:Confirmation.revoke_in",
        'remove_documents(change, row, "revoked")',
        "pass",
        f"{RECORDS}::test_a_revoked_record_is_hidden_and_explained",
    ),
    "reembeds": Mutant(
        "an update embeds anew",
        _M + "lifecycle.editing:Editing.update",
        "embedded = self._context.embed_texts([_text(candidate)])[0]",
        "embedded = self._context.embed_texts([current.text])[0]",
        f"{RECORDS}::test_an_update_is_embedded_and_indexed_again",
    ),
    "lost_update": Mutant(
        "no update is lost",
        _M + "lifecycle.editing:Editing.update",
        "if held is None or _without_hashes(held) != _without_hashes(current):",
        "if False:",
        f"{RACES}::test_an_update_does_not_undo_another",
    ),
    "deleted_log": Mutant(
        "a deleted record is gone with its history",
        _M + "ledger.log:drop",
        'change.connection.execute("DELETE FROM memory_log WHERE record = ?", (row.id,))',
        "pass",
        f"{RECORDS}::test_a_deleted_record_is_gone_with_its_history",
    ),
    "policy_version": Mutant(
        "provenance names the policies in force",
        _M + "gate.sources:policy_version",
        "if version is None:",
        "version = version or 0\n    if False:",
        f"{RECORDS}::test_a_record_comes_back_as_it_was_given",
    ),
    # ------------------------------------------------------------------ the feed
    "feed_scope": Mutant(
        "a follower gets the changes of what its scope sees",
        _M + "ledger.changes:EventScope.parts",
        "self._scope.visible()",
        "[Scope(self._scope.tenant), Scope(self._scope.tenant, user=self._scope.user)]",
        f"{FEED}::test_the_feed_of_a_scope_has_the_events_visible_to_it",
    ),
    "feed_user": Mutant(
        "and nothing of another user's",
        _M + "ledger.changes:EventScope.parts",
        "if not self._within:",
        "if False:",
        f"{FEED}::test_the_feed_of_a_scope_has_the_events_visible_to_it",
    ),
    "feed_gone": Mutant(
        "what is deleted leaves an event",
        _M + "ledger.log:drop",
        "log_gone(change, row.id,",
        "(lambda *_: None)(change, row.id,",
        f"{FEED}::test_a_follower_and_a_later_reader_get_the_same_records",
    ),
    "feed_forgotten": Mutant(
        "and so does a scope that is forgotten",
        _M + "lifecycle.erasure:Erasure.forget",
        'log_gone(change, "", names_of(scope), "forgotten", by)',
        "pass",
        f"{FEED}::test_forgetting_leaves_one_event_without_content",
    ),
    "feed_of_the_forgotten": Mutant(
        "which is the only one that is left of it",
        _M + "lifecycle.erasure:_erase_rows",
        'connection.execute(f"DELETE FROM memory_log WHERE {condition}", values)',
        "pass",
        f"{FEED}::test_forgetting_leaves_one_event_without_content",
    ),
    "feed_expired": Mutant(
        "what a sweep deletes leaves an event",
        _M + "lifecycle.sweeping:Sweeping._delete_row",
        "log_gone(",
        "(lambda *_: None)(",
        f"{FEED}::test_every_kind_is_in_it",
    ),
    "feed_names": Mutant(
        "names that are forgotten go from the events that stay",
        _M + "ledger.naming:_replace",
        "UPDATE memory_log SET by = ? WHERE by = ? AND tenant = ?",
        "UPDATE memory_log SET by = ? WHERE by = ? AND tenant = ? AND 0",
        f"{FEED}::test_names_that_are_forgotten_are_not_in_the_feed",
    ),
    "feed_hook": Mutant(
        "a hook that fails breaks nothing",
        _M + "ledger.changes:Changes._deliver_to",
        "except Exception:",
        "except KeyError:",
        f"{FEED}::test_a_hook_that_fails_breaks_no_write_and_no_other_hook",
    ),
    # ------------------------------------------------------------------ legal holds
    "hold_forget": Mutant(
        "what is held is not forgotten",
        _M + "lifecycle.erasure:Erasure.forget",
        "check_hold(connection, scope, within=True)",
        "pass",
        f"{HOLDS}::test_no_verb_destroys_records_under_a_hold",
    ),
    "hold_within": Mutant(
        "nor is what it is a part of",
        "scrubjay.store.rows.holds:check_held",
        "within and name",
        "False and name",
        f"{HOLDS}::test_a_hold_refuses_forgetting_scopes_that_overlap_it",
    ),
    "hold_delete": Mutant(
        "nor deleted",
        _M + "lifecycle.erasure:Erasure.delete",
        "if not is_global(row):",
        "if False:",
        f"{HOLDS}::test_no_verb_destroys_records_under_a_hold",
    ),
    "hold_update": Mutant(
        "nor rewritten",
        _M + "lifecycle.editing:Editing.update",
        "check_hold(change.connection, scope_in(held), within=False)",
        "pass",
        f"{HOLDS}::test_no_verb_destroys_records_under_a_hold",
    ),
    "hold_sweep": Mutant(
        "nor swept",
        "scrubjay.store.rows.holds:is_held",
        "return any(",
        "return False and any(",
        f"{HOLDS}::test_a_sweep_skips_records_under_a_hold",
    ),
    "hold_traces": Mutant(
        "traces included",
        _M + "ledger.trace:sweep_traces",
        "WHERE {held})",
        "WHERE 0)",
        f"{HOLDS}::test_a_sweep_skips_records_under_a_hold",
    ),
    # ------------------------------------------------------------------ files
    "import_scope": Mutant(
        "a file of another scope is refused",
        _M + "exchange.dump:_check_scope",
        "if wanted and",
        "if False and",
        f"{FILES}::test_an_export_is_of_one_scope",
    ),
    "import_slots": Mutant(
        "facts that are read in and those that are there contradict each other",
        _M + "exchange.dump:_Import._project",
        "if any(",
        "if False and any(",
        f"{FILES}::test_an_import_keeps_existing_records_and_decides_slots_from_all_facts",
    ),
    "edit_meanwhile": Mutant(
        "an edit does not undo what was changed meanwhile",
        _M + "exchange.markdown:take_edits",
        "_digest(_written(record)) != item.digest",
        "False",
        f"{FILES}::test_records_changed_since_the_export_are_left_alone",
    ),
    "edit_deleted": Mutant(
        "nor is it revoked",
        _M + "exchange.markdown:take_edits",
        "_digest(_written(record)) != digest",
        "False",
        f"{FILES}::test_records_changed_since_the_export_are_left_alone",
    ),
    "edit_dry": Mutant(
        "a dry run changes nothing",
        _M + "exchange.markdown:_update",
        "if not dry_run:",
        "if True:",
        f"{FILES}::test_a_person_edits_deletes_and_adds",
    ),
    # ------------------------------------------------------------------ forgetting
    "forget_collections": Mutant(
        "forgetting reaches all collections",
        _M + "lifecycle.erasure:Erasure.forget",
        "everywhere=True",
        "everywhere=False",
        f"{FORGET}::test_everything_of_a_user_and_nothing_of_anybody_else",
    ),
    "forget_rejections": Mutant(
        "and what was rejected",
        _M + "lifecycle.erasure:_erase_rows",
        '("rejection", "memory_rejection")',
        "",
        f"{FORGET}::test_everything_of_a_user_and_nothing_of_anybody_else",
    ),
    "forget_traces": Mutant(
        "and traces",
        _M + "lifecycle.erasure:_erase_rows",
        'counts["trace"] = erase_traces(',
        'counts["trace"] = (lambda *a, **k: 2)(',
        f"{FORGET}::test_everything_of_a_user_and_nothing_of_anybody_else",
    ),
    "forget_logs": Mutant(
        "and histories",
        _M + "lifecycle.erasure:_erase_rows",
        'connection.execute(f"DELETE FROM memory_log WHERE +tenant = ? AND record {which}", bound)',
        "pass",
        f"{FORGET}::test_everything_of_a_user_and_nothing_of_anybody_else",
    ),
    "forget_event": Mutant(
        "and leaves a deletion event",
        _M + "lifecycle.erasure:Erasure.forget",
        "note_deletion(change, scope, reason, by, counts)",
        "pass",
        f"{FORGET}::test_everything_of_a_user_and_nothing_of_anybody_else",
    ),
    "forget_tenants_source": Mutant(
        "who stays is not told who was forgotten",
        _M + "lifecycle.erasure:_erase_rows",
        "source_run = 'forgotten' WHERE",
        "source_run = source_run WHERE",
        f"{FORGET}::test_tenant_facts_survive_a_forgotten_user_if_others_said_them",
    ),
    "forget_one_transaction": Mutant(
        "forgetting is one transaction",
        _M + "lifecycle.erasure:_erase_rows",
        "for kind, table in KINDS.items():",
        "connection.execute('COMMIT'); connection.execute('BEGIN IMMEDIATE')\n    for kind, table in KINDS.items():",
        f"{KILLS}::test_killed_before_each_statement",
    ),
    "forget_needs_tenant": Mutant(
        "nobody is forgotten by mistake",
        _M + "lifecycle.erasure:Erasure.forget",
        "if tenant is None:",
        "tenant = tenant or 'acme'\n        if False:",
        f"{FORGET}::test_forget_with_incomplete_arguments_is_refused",
    ),
    "sweep_expired": Mutant(
        "a sweep deletes what is past its time",
        _M + "lifecycle.sweeping:Sweeping._expire",
        'for kind in ("preference", "fact", "episode"):',
        'for kind in ("fact", "episode"):',
        f"{FORGET}::test_a_sweep_deletes_what_is_past_its_time",
    ),
    "retention": Mutant(
        "histories are kept for a while, and no longer",
        _M + "lifecycle.sweeping:Sweeping._let_go",
        "before = change.now - int(self._context.settings.retention_days * _DAY_US)",
        "before = change.now",
        f"{FORGET}::test_histories_are_kept_for_a_while",
    ),
    "trace_retention": Mutant(
        "traces go by their retention",
        _M + "lifecycle.sweeping:Sweeping._sweep",
        "n_traces = sweep_traces(change.connection, change.now, away, tenant)",
        "n_traces = 0",
        f"{FORGET}::test_traces_go_by_their_retention",
    ),
    "fades": Mutant(
        "old, unused, weak facts sink",
        _M + "read.recall:Recall.recall",
        "if faded:",
        "if False:",
        f"{FORGET}::test_old_unused_weak_facts_sink_and_expire",
    ),
    "decays": Mutant(
        "and expire at last",
        _M + "lifecycle.sweeping:Sweeping._age",
        "if strength < decay.expire_below and not held(row):",
        "if False:",
        f"{FORGET}::test_old_unused_weak_facts_sink_and_expire",
    ),
    "use_counts": Mutant(
        "what is used does not fade",
        _M + "model.decay:Decay.strength",
        "(1 + max(uses, 0))",
        "1",
        f"{FORGET}::test_facts_with_feedback_do_not_fade",
    ),
    "verify_erased": Mutant(
        "verify_erased looks at every table",
        _M + "lifecycle.erasure:Erasure.verify_erased",
        "return MemoryErasure({table: n for table, n in rows.items() if n}, report, keys)",
        "return MemoryErasure({}, report, keys)",
        f"{FORGET}::test_everything_of_a_user_and_nothing_of_anybody_else",
    ),
    # ------------------------------------------------------------------ encrypted tenants
    "sealed_cells": Mutant(
        "what is said is sealed",
        _M + "ledger.sealing:sealed_cell",
        'if cipher is None or given is None or given == "":',
        "if True:",
        f"{SEALING}::test_no_content_is_in_any_byte_after_any_write",
    ),
    "sealed_details": Mutant(
        "details in the log are sealed",
        _M + "ledger.log:log",
        "if settle(connection, tenant):",
        "if False:",
        f"{SEALING}::test_no_content_is_in_any_byte_after_any_write",
    ),
    "keyed_hashes": Mutant(
        "hashes cannot be guessed",
        _M + "ledger.sealing:keyed",
        "return cipher.digest(tenant, hash) if settle(connection, tenant) else hash",
        "return hash",
        f"{SEALING}::test_equal_contents_have_hashes_that_cannot_be_guessed",
    ),
    "keyed_again": Mutant(
        "hashes are keyed with what they are of",
        "scrubjay.store.sqlite.registry:_seal_table",
        "cipher.digest(tenant, hash) if hash else hash for",
        "hash for",
        f"{SEALING}::test_a_tenant_that_was_in_the_clear_is_sealed_and_its_memory_goes_on",
    ),
    "keyed_observations": Mutant(
        "and those of observations",
        "scrubjay.store.sqlite.registry:seal_tables",
        "elif first and not",
        "elif False and not",
        f"{SEALING}::test_a_tenant_that_was_in_the_clear_is_sealed_and_its_memory_goes_on",
    ),
    "sealed_first": Mutant(
        "the first write seals what was there",
        "scrubjay.store.sqlite.cipher:Cipher._begin",
        "registry.seal_tables(connection, self, tenant, first=True)",
        "pass",
        f"{SEALING}::test_the_first_write_of_any_kind_after_the_key_seals_all_that_was_there",
    ),
    "rules_back": Mutant(
        "the rules that were set aside hold again",
        "scrubjay.store.sqlite.registry:unguarded",
        "connection.execute(statement)",
        "pass",
        f"{SEALING}::test_a_write_that_fails_seals_nothing_and_keeps_the_rules",
    ),
    "bound_row": Mutant(
        "a cell opens in its row only",
        _M + "ledger.sealing:place_in",
        "[id, *bound]",
        "[0, *bound]",
        f"{SEALING}::test_cells_of_two_facts_cannot_be_exchanged",
    ),
    "bound_owner": Mutant(
        "and only while it belongs to whom it belonged",
        _M + "ledger.sealing:place_in",
        "[id, *bound]",
        "[id]",
        f"{SEALING}::test_inserted_moved_or_changed_sealed_rows_are_corrupt",
    ),
    "whole": Mutant(
        "what is in the clear of a tenant that is encrypted is not believed",
        _M + "ledger.sealing:opened_cell",
        "if refused:",
        "if False:",
        f"{SEALING}::test_inserted_moved_or_changed_sealed_rows_are_corrupt",
    ),
    "destroyed_rows": Mutant(
        "whose key was destroyed has no records",
        _M + "ledger.rows:opener",
        "readable = cipher.readable(*owner)",
        "readable = True",
        f"{SEALING}::test_a_destroyed_key_hides_its_tenant_like_an_erasure",
    ),
    "destroyed_known": Mutant(
        "nor is anything known of it",
        _M + "read.rules:Rules.known",
        "not self._context.is_readable(Scope(scope.tenant))",
        "False",
        f"{SEALING}::test_destroying_a_key_clears_the_caches_of_an_open_memory",
    ),
    "user_cells": Mutant(
        "what is said of a user is sealed with the user's key",
        _M + "ledger.sealing:sealed_cell",
        "(tenant, place, raw, user=user)",
        "(tenant, place, raw)",
        f"{USERS}::test_everything_that_memory_keeps_of_a_user_is_sealed_with_the_key",
    ),
    "user_events": Mutant(
        "and so are the events of a run",
        _M + "ledger.sealing:Sealer.seal",
        "seal(tenant, place, raw, user=user)",
        "seal(tenant, place, raw)",
        f"{USERS}::test_everything_that_memory_keeps_of_a_user_is_sealed_with_the_key",
    ),
    "user_preferences": Mutant(
        "whose key was destroyed has no preferences, and the tenant's",
        _M + "read.rules:Rules._user",
        "cipher.is_erased(scope.tenant, scope.user)",
        "False",
        f"{USERS}::test_everything_that_memory_keeps_of_a_user_is_sealed_with_the_key",
    ),
    "undone_keys": Mutant(
        "a key that a savepoint made goes with it",
        _M + "exchange.dump:_Import._insert",
        "self._context.store.cipher.undone()",
        "pass",
        f"{USERS}::test_a_record_that_an_import_leaves_out_takes_no_key_along",
    ),
    "released": Mutant(
        "a tenant that was forgotten needs no key",
        _M + "ledger.sealing:release",
        'connection.execute("DELETE',
        '(lambda *a: None)("DELETE',
        f"{SEALING}::test_a_destroyed_key_hides_its_tenant_like_an_erasure",
    ),
    # ------------------------------------------------------------------ values, globals, tenant-wide
    "policy_detail_fixed": Mutant(
        "the value of a version of a policy never changes, in the file",
        "schema",
        "OR NEW.detail IS NOT OLD.detail",
        "",
        f"{SCHEMA}::test_a_version_of_a_policy_never_changes",
    ),
    "value_differs": Mutant(
        "another value is no duplicate, though the text is the same",
        _M + "model.values:is_same",
        "and _canonical(before) == _canonical(again)",
        "",
        f"{VALUES}::test_another_value_or_type_is_another_preference",
    ),
    "value_types_differ": Mutant(
        "1, 1.0 and true are different values",
        _M + "model.values:_canonical",
        "json.dumps(detail, sort_keys=True)",
        "detail",
        f"{VALUES}::test_another_value_or_type_is_another_preference",
    ),
    "class_left_out_of_known": Mutant(
        "policies and preferences of a class are left out",
        _M + "read.rules:_without",
        "tuple(record for record in known.preferences if record.sensitivity not in classes)",
        "known.preferences",
        f"{CLASSES}::test_every_kind_has_a_class_and_can_be_left_out",
    ),
    "class_left_out_of_recall": Mutant(
        "facts, episodes and notes of a class are left out",
        _M + "model.sensitivity:not_of",
        "if not classes:",
        "if True:",
        f"{CLASSES}::test_every_kind_has_a_class_and_can_be_left_out",
    ),
    "class_kept": Mutant(
        "a class that is not told again is kept",
        _M + "model.values:is_same",
        'again.pop("sensitivity", "")',
        'again.get("sensitivity", "")',
        f"{CLASSES}::test_a_class_of_a_wish_or_rule_is_not_lost",
    ),
    "class_added": Mutant(
        "a wish that has no class gets the one that it is said again with",
        _M + "gate.preferences:_classify",
        'if not sensitivity or detail.get("sensitivity"):',
        "if True:",
        f"{CLASSES}::test_a_class_of_a_wish_or_rule_is_not_lost",
    ),
    "class_of_a_version": Mutant(
        "a rule that has no class gets one with its next version",
        _M + "gate.policies:write_policy",
        "not is_classified and ",
        "",
        f"{CLASSES}::test_a_class_of_a_wish_or_rule_is_not_lost",
    ),
    "value_text": Mutant(
        "a value without a text is shown as JSON",
        _M + "model.values:with_text",
        'untyped.text if untyped.text != "" else text_of(value)',
        "untyped.text",
        f"{VALUES}::test_a_value_of_any_json_type_comes_back",
    ),
    "value_size": Mutant(
        "a value that is too long is rejected",
        _M + "model.checking:verify",
        "if len(detail) > MAX_VALUE_BYTES:",
        "if False:",
        f"{VALUES}::test_missing_and_too_long_values_are_rejected",
    ),
    "validates": Mutant(
        "a value that does not fit is rejected",
        _M + "model.proposal:prepared",
        "proposal.unfit = fault(settings.validate, proposal.candidate)",
        "pass",
        f"{VALUES}::test_a_value_that_does_not_fit_is_rejected_with_the_reason",
    ),
    "validates_updates": Mutant(
        "an update to a value that does not fit is refused",
        _M + "lifecycle.editing:Editing._changed",
        "if refused:",
        "if False:",
        f"{VALUES}::test_a_value_that_does_not_fit_is_rejected_with_the_reason",
    ),
    "validates_globals": Mutant(
        "a global policy whose value does not fit is refused",
        _M + "gate.policies:write_global",
        "if refused:",
        "if False:",
        f"{VALUES}::test_a_value_that_does_not_fit_is_rejected_with_the_reason",
    ),
    "value_follows_text": Mutant(
        "a text that was made of the value does not outlive it",
        _M + "lifecycle.editing:_preference",
        'text = ""',
        "pass",
        f"{VALUES}::test_an_update_keeps_text_and_value_together",
    ),
    "completed_at": Mutant(
        "the time of an episode is when it was completed",
        _M + "model.statements:begin_of_episode",
        "row.created_at if row.completed_at is None else row.completed_at",
        "row.created_at",
        f"{VALUES}::test_an_episode_has_title_time_and_objects",
    ),
    "sealed_values": Mutant(
        "values, types and titles of an encrypted tenant are sealed",
        _M + "ledger.rows:sealed_columns",
        "dict[str, Any]:",
        'dict[str, Any]:\n    values = {k: v for k, v in values.items() if k != "detail"}',
        f"{VALUES}::test_values_of_an_encrypted_tenant_are_not_in_the_file",
    ),
    "own_goes_first": Mutant(
        "a tenant's policy goes before a global one",
        _M + "model.precedence:prevailing",
        "or policy.key not in own",
        "or True",
        f"{GLOBALS}::test_which_policy_of_a_key_counts",
    ),
    "mandatory": Mutant(
        "a mandatory global policy goes before a tenant's",
        _M + "model.precedence:prevailing",
        "if policy.mandatory or",
        "if",
        f"{GLOBALS}::test_which_policy_of_a_key_counts",
    ),
    "global_for_all": Mutant(
        "a global policy is every tenant's",
        _M + "read.rules:_look_up",
        "(tenant, now)",
        '("", now)',
        KNOWN,
    ),
    "global_revoked_by_nobody": Mutant(
        "no scope may revoke a global policy",
        _M + "model.rows:belongs_to",
        "if row.tenant != scope.tenant or row.user != user:",
        'if row.tenant not in ("", scope.tenant) or row.user != user:',
        f"{GLOBALS}::test_no_scope_may_change_a_global_policy",
    ),
    "revoke_global_only": Mutant(
        "only global policies are revoked as such",
        _M + "gate.policies:revoke_global",
        "or not is_global(row)",
        "",
        f"{GLOBALS}::test_a_global_policy_is_revoked_for_all",
    ),
    "global_in_the_clear": Mutant(
        "no key is asked for a global policy",
        "scrubjay.store.sqlite.cipher:Cipher.current",
        "if not tenant:",
        "if False:",
        f"{GLOBALS}::test_no_key_is_asked_for",
    ),
    "own_wish_first": Mutant(
        "a user's preference goes before the tenant's",
        _M + "read.rules:_look_up",
        '"ORDER BY user"',
        '"ORDER BY user DESC"',
        f"{VALUES}::test_a_tenants_preference_applies_unless_the_user_has_one",
    ),
    "numbers_go_on": Mutant(
        "numbers of policies are not given again after an upgrade",
        _M + "ledger.upgrade:_rebuild",
        "if last is not None:",
        "if False:",
        f"{GLOBALS}::test_numbers_of_policies_go_on_after_an_upgrade",
    ),
    "class_is_kept": Mutant(
        "a class that a fact has is not lost when it is said again",
        _M + "gate.facts:_merged_detail",
        'sensitivity = before.get("sensitivity") or again.get("sensitivity")',
        'sensitivity = again.get("sensitivity")',
        "tests/memory/test_sensitivity.py::test_a_class_is_not_lost",
    ),
    "class_is_found": Mutant(
        "the hook's class is the candidate's",
        _M + "model.sensitivity:classified",
        "return replace(candidate, sensitivity=found)",
        "return candidate",
        "tests/memory/test_sensitivity.py::test_a_class_is_kept_searched_by_and_explained",
    ),
    "never_believed": Mutant(
        "what was provisional when it was revoked was never believed",
        _M + "model.statements:withdrawn_at",
        'return recorded_at if row.status == "provisional" else',
        "return",
        f"{TIMES}::test_a_fact_revoked_while_provisional_was_never_believed",
    ),
    "withdrawn_later": Mutant(
        "what is revoked at once was believed before",
        _M + "model.statements:withdrawn_at",
        "max(now, recorded_at + 1)",
        "now",
        f"{TIMES}::test_a_fact_revoked_in_the_same_instant_leaves_a_sound_memory",
    ),
    # ------------------------------------------------------------------ caught by the model
    "machine_expiry": Mutant(
        "the index forgets what has expired",
        _M + "model.documents:documents_of",
        "expires_at = row.expires_at",
        "expires_at = None",
        MACHINE,
    ),
    "forget_last_witness": Mutant(
        "what only forgotten users said of a tenant goes with the last of them",
        _M + "lifecycle.erasure:_gather",
        "AND o.user <> ?)",
        "AND o.user = ?)",
        f"{FORGET}::test_tenant_facts_survive_a_forgotten_user_if_others_said_them",
    ),
    # ------------------------------------------------------------------ content of prompts
    "floor": Mutant(
        "a question that nothing answers puts nothing in",
        _M + "read.prompt_lines:over_floor",
        "answered and tier",
        "tier",
        f"{FLOOR}::test_a_relevant_best_hit_admits_hits_of_low_relevance",
    ),
    "floor_of_the_best": Mutant(
        "the most relevant hit decides, wherever it stands",
        _M + "read.prompt_lines:over_floor",
        "best_of(tiers)",
        "best_of(tiers[:1])",
        f"{FLOOR}::test_a_relevant_best_hit_admits_hits_of_low_relevance",
    ),
    "floor_for_each": Mutant(
        "what is of no relevance stays out beside what answers",
        _M + "read.prompt_lines:over_floor",
        'answered and tier != "none"',
        "answered",
        f"{FLOOR}::test_a_relevant_best_hit_admits_hits_of_low_relevance",
    ),
    "overriding_narrower": Mutant(
        "what is said in the narrower scope holds",
        _M + "read.prompt_lines:overriding",
        "max(rivals",
        "min(rivals",
        f"{FLOOR}::test_a_tenants_fact_that_a_user_contradicts_says_what_holds",
    ),
    "overriding_single": Mutant(
        "what may have several values contradicts nothing",
        _M + "read.prompt_lines:overriding",
        "else fact.single)",
        "else True)",
        f"{FLOOR}::test_values_of_a_multi_valued_predicate_are_not_marked_contradicted",
    ),
    "edges_recorded": Mutant(
        "a prompt is placed again as it was",
        _M + "runs.session:prompt_data",
        '"brief_tokens", "edges")',
        '"brief_tokens")',
        f"{FLOOR}::test_best_first_and_last",
    ),
    "summary_recorded": Mutant(
        "a prompt is made again with its summary",
        _M + "runs.session:prompt_data",
        '"summary": made.summary',
        '"summary": None',
        f"{FLOOR}::test_a_summary_stands_in_place_of_the_turns",
    ),
}


def source_of(mutant: Mutant) -> tuple[Any, Any, str, str]:
    """Return module, owner and name of the function that a mutant changes, and its source."""
    module_name, _, path = mutant.where.partition(":")
    module: Any = importlib.import_module(module_name)
    *outer, last = path.split(".")
    owner = module
    for one in outer:
        owner = getattr(owner, one)
    return module, owner, last, textwrap.dedent(inspect.getsource(inspect.getattr_static(owner, last)))


def finds_its_place(mutant: Mutant) -> bool:
    """Whether the text to be replaced exists."""
    if mutant.where == "schema":
        tables: Any = importlib.import_module("scrubjay.memory.ledger.schema")
        return any(mutant.old in statement for statement in tables.TABLES)
    return mutant.old in source_of(mutant)[3]


def apply(name: str) -> None:
    """Remove a rule, permanently in this process."""
    mutant = MUTANTS[name]
    assert finds_its_place(mutant), name
    if mutant.where == "schema":
        schema: Any = importlib.import_module("scrubjay.memory.ledger.schema")
        schema.TABLES = tuple(statement.replace(mutant.old, mutant.new) for statement in schema.TABLES)
        return
    module, owner, last, source = source_of(mutant)
    made: dict[str, Any] = {}
    code = "from __future__ import annotations\n" + source.replace(mutant.old, mutant.new)
    exec(compile(code, f"mutant {name}", "exec"), module.__dict__, made)
    old = getattr(owner, last)
    setattr(owner, last, made[last])
    for importer in list(sys.modules.values()):  # modules that imported it by name
        if getattr(importer, "__name__", "").startswith("scrubjay.") and vars(importer).get(last) is old:
            setattr(importer, last, made[last])


if wanted := os.environ.get("SCRUBJAY_MEMORY_MUTANT"):
    import scrubjay.memory

    assert scrubjay.memory
    apply(wanted)

if __name__ == "__main__":
    print("| rule | mutation | the test that fails |\n| --- | --- | --- |")
    for name, one in MUTANTS.items():
        print(f"| {one.rule} | `{name}` in {one.where} | {one.test.removeprefix('tests/')} |")
