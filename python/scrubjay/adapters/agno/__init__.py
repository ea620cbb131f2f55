"""A vector database for Agno's `Knowledge` over a Scrubjay index.

>>> from agno.knowledge.document import Document
>>> db = ScrubjayDb(tenant="acme")
>>> db.insert("hash of the file", [Document(content="The staging key prefix is sk-stg-0041.")], user_id="jane")
>>> [document.content for document in db.search("what is sk-stg-0041?", user_id="jane")]
['The staging key prefix is sk-stg-0041.']
>>> db.search("what is sk-stg-0041?", user_id="joe")
[]
"""

from __future__ import annotations

from scrubjay.base.errors import MissingExtraError

try:
    import agno.vectordb.base  # noqa: F401
except ImportError:
    raise MissingExtraError("scrubjay.adapters.agno", "agno", "agno") from None

from scrubjay.adapters.agno.embedding import LocalEmbedder
from scrubjay.adapters.agno.store import ScrubjayDb

__all__ = ["LocalEmbedder", "ScrubjayDb"]
