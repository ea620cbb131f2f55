"""The prompt for a question: what must be followed, what is recalled, what was said last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from scrubjay._native import Scope
from scrubjay.documents.payload import CreatedAt
from scrubjay.index.relevance import checked_tier
from scrubjay.memory.ledger.context import MemoryContext
from scrubjay.memory.model.names import RECALLED_KINDS, Floor, RecalledKind
from scrubjay.memory.model.records import Known
from scrubjay.memory.read.assembly import arrange
from scrubjay.memory.read.assembly_result import Assembled, Limits
from scrubjay.memory.read.excerpts import Excerpts
from scrubjay.memory.read.prompt_lines import Line, Summarise, dated, over_floor, overriding, summary_of
from scrubjay.memory.read.prompt_parts import Piece, PromptPrefix
from scrubjay.memory.read.recall import Recall
from scrubjay.memory.read.recall_result import RecalledHit
from scrubjay.memory.read.rules import Rules
from scrubjay.memory.read.turns import N_TURNS, as_turns
from scrubjay.retrieval.context import count_roughly
from scrubjay.retrieval.rewriting import Conversation

K_RECALLED = 20
FLOOR: Floor = "standard"
_MAX_RESERVED = 1000


class Prompts:
    """Makes prompts from the records of a memory."""

    def __init__(self, context: MemoryContext, rules: Rules, recall: Recall) -> None:
        self._context = context
        self._rules = rules
        self._recall = recall
        self._reserved: dict[tuple[str, str | None], tuple[Known, PromptPrefix]] = {}

    def assemble(
        self,
        text: str,
        scope: Scope,
        budget_tokens: int = 2000,
        turns: Iterable[Any] = (),
        k: int = K_RECALLED,
        kinds: Sequence[RecalledKind] = RECALLED_KINDS,
        item_tokens: int = 200,
        turn_tokens: int = 300,
        count: Callable[[str], int] = count_roughly,
        line: Line = dated,
        floor: Floor = FLOOR,
        edges: bool = False,
        summarise: Summarise | None = None,
        as_of: CreatedAt | None = None,
        known_at: CreatedAt | None = None,
        without: Sequence[str] = (),
        **options: Any,
    ) -> Assembled:
        """Return the prompt for a question: all policies and preferences in force, recalled memories, last turns.

        Args:
            text: the question for which memories are recalled.
            scope: the scope of the caller.
            budget_tokens: maximum of the whole prompt, counted by `count`. Over budget, whole recalled records are left
                out, the least relevant first; policies and preferences never are.
            turns: the conversation, oldest first: events of a session, (author, text) pairs, or mappings with "role"
                and "content". The last eight are abridged at the end of the prompt, and passed to a rewriter that
                takes a conversation.
            k, kinds, options: as for :meth:`recall`.
            item_tokens: maximum of one recalled record. A longer one is replaced by the part that answers the
                question (:meth:`RecalledHit.snippet`), and its id is in `trace.excerpts`; one of which nothing useful
                would remain is in `trace.dropped` as "over_item_cap".
            turn_tokens: maximum of the recent turns.
            count: returns the number of tokens of a text; your model's tokenizer is more exact than the default
                estimate.
            line: returns the text of a recalled hit in the prompt (your own template: ``lambda hit: f"{hit.id}:
                {hit.text}"``); by default its text, since when it is true, and its tier ("high", "standard", "low").
            floor: the relevance that the best record needs for any to be included: "low", "standard" or "high"; if it
                has it, records of "low" relevance are included too. Records left out are in `trace.dropped` as
                "below_floor". "none": everything recalled is included.
            edges: place the most relevant records first and last, the least relevant in the middle, where models read
                least.
            summarise: a function from all given turns, as (author, text), to one text that replaces the recent turns.
                Of a text over `turn_tokens` the first sentences are used. If it raises, the turns are used, and
                `trace.degraded` says so.
            as_of, known_at: the requested time, as in :meth:`recall`; None: now.
            without: sensitivity classes to exclude, of policies and preferences too; these are in `trace.dropped` as
                "sensitive".

        The prompt begins with the same bytes as long as policies and preferences are the same (`.prefix`), and is no
        longer for a long conversation than for a short one. `.trace` says what was included, and what was not.

        Raises:
            BudgetError: policies and preferences alone are over the budget.
            TypeError, ValueError: the message names the argument, what was expected and what was given.
        """
        if not isinstance(text, str):
            raise TypeError(f"text: expected a str, got {type(text).__name__}")
        for name, function in (("count", count), ("line", line), ("summarise", summarise)):
            if not callable(function) and not (name == "summarise" and function is None):
                raise TypeError(f"{name}: expected a function, got {type(function).__name__}")
        least = checked_tier(floor, "floor")
        limits = Limits(budget_tokens, item_tokens, turn_tokens, count=count, edges=edges)
        if isinstance(turns, (str, bytes, Mapping)) or not isinstance(turns, Iterable):
            raise TypeError(f"turns: expected a sequence of turns, got one {type(turns).__name__}")
        sequence = turns if isinstance(turns, (list, tuple)) else list(turns)
        recent = as_turns(sequence if summarise is not None else sequence[-N_TURNS:])
        reserved, withheld = self._reserve(scope, as_of, known_at, without)
        summary, reasons = (None, ()) if summarise is None else summary_of(summarise, recent)
        if recent:
            heard = Conversation(tuple((turn.author, turn.text) for turn in recent[-N_TURNS:]), summary or "")
            options.setdefault("conversation", heard)
        recalled = self._recall.recall(
            text, scope, kinds=kinds, k=k, as_of=as_of, known_at=known_at, without=without, **options
        )
        fitting, below = over_floor(recalled, least)
        overridden = overriding(fitting, self._context.is_single)

        def write(hit: RecalledHit) -> str:
            return _line_of(line, hit, overridden.get(hit.id))

        ranked = [Piece(hit.kind, hit.id, write(hit)) for hit in fitting]
        shorten = Excerpts(ranked, fitting, write)
        dropped = (*((hit.id, "below_floor") for hit in below), *((id, "sensitive") for id in withheld))
        details = {"query": text, "recalled": recalled, "dropped": dropped, "reasons": reasons}
        return arrange(reserved, ranked, recent[-N_TURNS:], limits, summary, shorten, details)

    def _reserve(
        self, scope: Scope, as_of: CreatedAt | None, known_at: CreatedAt | None, without: Sequence[str]
    ) -> tuple[PromptPrefix, list[str]]:
        """Return the reserved blocks, laid out anew only if they changed, and the ids excluded by sensitivity."""
        everything = self._rules.known(scope, as_of=as_of, known_at=known_at)
        if not isinstance(without, tuple) or without:
            known = self._rules.known(scope, as_of=as_of, known_at=known_at, without=without)
            if known is not everything:
                ids = {record.id for record in known}
                return _laid_out(known), [record.id for record in everything if record.id not in ids]
        return self._cached(scope, everything), []

    def _cached(self, scope: Scope, known: Known) -> PromptPrefix:
        key = (scope.tenant, scope.user)
        cached = self._reserved.get(key)
        if cached is not None and cached[0] is known:
            return cached[1]
        reserved = _laid_out(known)
        if len(self._reserved) >= _MAX_RESERVED:
            self._reserved.clear()
        self._reserved[key] = (known, reserved)
        return reserved


def _laid_out(known: Known) -> PromptPrefix:
    return PromptPrefix(
        tuple(Piece("policy", record.id, record.text, record.key) for record in known.policies),
        tuple(Piece("preference", record.id, record.text, record.key) for record in known.preferences),
    )


def _line_of(line: Line, hit: RecalledHit, overridden_by: str | None) -> str:
    text = line(hit)
    if not isinstance(text, str):
        raise TypeError(f"line: expected a function that returns a str, got {type(text).__name__}")
    return text if overridden_by is None else f"{text} [does not hold here: {overridden_by}]"
