"""Scrubjay as a vector store of `mem0 <https://github.com/mem0ai/mem0>`_: ``pip install "scrubjay[mem0]"``.

Call :func:`register` once, and select the provider::

    import scrubjay.adapters.mem0
    scrubjay.adapters.mem0.register()

    memory = mem0.Memory.from_config({
        "vector_store": {"provider": "scrubjay", "config": {"path": "memories.scrubjay", "collection_name": "mem0"}},
        "embedder": ..., "llm": ...,
    })

mem0 keeps its API and decides what is remembered. What changes is retrieval: keywords are searched in the same store,
an identifier is found even if no vector is near it, and one user's memories neither appear in another's search nor
influence it. :class:`ScrubjayVectorStore` has the details.

Some behaviour remains mem0's own: it drops a memory below the `threshold` of :meth:`mem0.Memory.search` by its
similarity alone (which is why our similarity counts words), adds its own logistic of BM25 on top, and passes its
lemmatised query to `keyword_search` where spaCy is installed, without the identifiers in it; `search` gets the query
unchanged.
"""

from __future__ import annotations

import sys
from typing import Any

from scrubjay.base.errors import MissingExtraError

try:
    from mem0.utils.factory import VectorStoreFactory
    from mem0.vector_stores.configs import VectorStoreConfig
    from pydantic import BaseModel, ConfigDict
except ImportError:
    raise MissingExtraError("scrubjay.adapters.mem0", "mem0", "mem0ai") from None

from scrubjay.adapters.mem0.results import OutputData
from scrubjay.adapters.mem0.store import ScrubjayVectorStore

__all__ = ["OutputData", "ScrubjayConfig", "ScrubjayVectorStore", "register"]

_PROVIDER = "scrubjay"


class _Place(BaseModel):
    # A base class, because mem0 sets a folder in /tmp on every configuration class that declares a path itself.
    path: str | None = None


class ScrubjayConfig(_Place):
    """The `config` of the provider: exactly the arguments of :class:`ScrubjayVectorStore`.

    >>> ScrubjayConfig(path="memories.scrubjay").collection_name
    'mem0'
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    collection_name: str = "mem0"
    index: Any = None
    embedding_model_dims: int | None = None
    metric: str | None = None
    tenant: str = "mem0"
    query: Any = None
    durability: str | None = None
    busy_timeout: float | None = None


def register() -> None:
    """Make mem0 accept the provider "scrubjay", in this process. Idempotent.

    >>> register()
    >>> from mem0.vector_stores.configs import VectorStoreConfig
    >>> VectorStoreConfig(provider="scrubjay", config={"tenant": "acme"}).config.collection_name
    'mem0'
    """
    VectorStoreFactory.provider_to_class[_PROVIDER] = f"{__name__}.ScrubjayVectorStore"
    # mem0 looks up the class of the configuration in a module of its own that is named after the provider.
    providers: dict[str, str] = VectorStoreConfig.__private_attributes__["_provider_configs"].default
    providers[_PROVIDER] = ScrubjayConfig.__name__
    sys.modules[f"mem0.configs.vector_stores.{_PROVIDER}"] = sys.modules[__name__]
