"""CrewAI's memory over a Scrubjay index: a `StorageBackend` for `crewai.Memory`.

>>> from crewai.memory.types import MemoryRecord
>>> from scrubjay import Scope
>>> storage, embed = ScrubjayStorage(scope=Scope("acme", user="jane")), ScrubjayEmbedder()
>>> text = "The staging key prefix is sk-stg-0041."
>>> storage.save([MemoryRecord(content=text, scope="/keys", embedding=embed([text])[0])])
>>> (record, score), *_ = storage.search(embed(["what is sk-stg-0041?"])[0], scope_prefix="/keys")
>>> record.content, record.scope
('The staging key prefix is sk-stg-0041.', '/keys')

For a crew: `Crew(..., memory=crewai.Memory(storage=storage, embedder=embed, llm=...))`, or :func:`register` and
`Memory(storage="scrubjay", ...)`.

CrewAI passes a storage the vector of a query but not its text, so :class:`ScrubjayEmbedder` makes vectors that carry
the text: with them, searches go by words and meaning, and a memory that contains the query's identifier comes first.
Vectors of other embedders search by meaning alone.
"""

from __future__ import annotations

from scrubjay.base.errors import MissingExtraError

try:
    import crewai.memory.storage.backend
    import crewai.memory.storage.factory  # noqa: F401
except ImportError:
    raise MissingExtraError("scrubjay.adapters.crewai", "crewai", "crewai 1.15 or newer") from None

from scrubjay.adapters.crewai.embedding import ScrubjayEmbedder, text_of
from scrubjay.adapters.crewai.registry import register
from scrubjay.adapters.crewai.storage import ScrubjayStorage

__all__ = ["ScrubjayEmbedder", "ScrubjayStorage", "register", "text_of"]
