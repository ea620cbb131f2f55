"""Memory for agents: typed records, scoped, written through a gate, erasable and replayable.

==========  ===============================================================  ===========================================
kind        how it is read                                                   lifetime
==========  ===============================================================  ===========================================
policy      :meth:`Memory.known`: by key within the tenant, never ranked     immutable versions; confirmed; in force
                                                                             from one time until another
preference  :meth:`Memory.known`: all of a user's, by key                    replaced by key; optional time to live
fact        :meth:`Memory.recall`: searched in scope                         provisional, active, superseded, revoked
episode     :meth:`Memory.recall`: searched in scope                         long-lived
(note)      :meth:`Memory.recall`: a document that :class:`scrubjay.Index`   as long as the document exists
                                   wrote
trace       :meth:`Memory.replay` by run                                     append-only; retention
==========  ===============================================================  ===========================================
"""

from __future__ import annotations

from scrubjay.base.initialised import guard_exports
from scrubjay.memory.exchange.dump import Imported
from scrubjay.memory.exchange.files import Files
from scrubjay.memory.exchange.importing import TakenOver
from scrubjay.memory.exchange.markdown import Edited
from scrubjay.memory.facade.administration import MemoryAdmin
from scrubjay.memory.facade.memory import Memory
from scrubjay.memory.facade.twins import AsyncMemory
from scrubjay.memory.intake.consolidation import Consolidated
from scrubjay.memory.ledger.changes import ChangeEvent
from scrubjay.memory.ledger.holds import Hold
from scrubjay.memory.lifecycle.erasure import Forgotten, MemoryErasure
from scrubjay.memory.lifecycle.sweeping import Swept
from scrubjay.memory.model.answers import Deletion, Event, Rejection, Why
from scrubjay.memory.model.candidates import (
    EpisodeCandidate,
    FactCandidate,
    Outcome,
    PolicyCandidate,
    PreferenceCandidate,
    Provenance,
)
from scrubjay.memory.model.decay import Decay
from scrubjay.memory.model.judge import DefaultJudge, Judge
from scrubjay.memory.model.records import Episode, Fact, Known, Policy, Preference
from scrubjay.memory.read.feed import Feed
from scrubjay.memory.read.index_notes import Note
from scrubjay.memory.read.recall_result import Recalled, RecalledHit

__all__ = [
    "AsyncMemory",
    "ChangeEvent",
    "Consolidated",
    "Decay",
    "DefaultJudge",
    "Deletion",
    "Edited",
    "Episode",
    "EpisodeCandidate",
    "Event",
    "Fact",
    "FactCandidate",
    "Feed",
    "Files",
    "Forgotten",
    "Hold",
    "Imported",
    "Judge",
    "Known",
    "Memory",
    "MemoryAdmin",
    "MemoryErasure",
    "Note",
    "Outcome",
    "Policy",
    "PolicyCandidate",
    "Preference",
    "PreferenceCandidate",
    "Provenance",
    "Recalled",
    "RecalledHit",
    "Rejection",
    "Swept",
    "TakenOver",
    "Why",
]

guard_exports(__name__)
