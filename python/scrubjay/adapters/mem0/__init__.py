"""Scrubjay as a vector store of `mem0 <https://github.com/mem0ai/mem0>`_: ``pip install "scrubjay[mem0]"``.

Call :func:`register` once, and name the provider::

    import scrubjay.adapters.mem0
    scrubjay.adapters.mem0.register()

    memory = mem0.Memory.from_config({
        "vector_store": {"provider": "scrubjay", "config": {"path": "memories.scrubjay", "collection_name": "mem0"}},
        "embedder": ..., "llm": ...,
    })

mem0 keeps its API and decides what is remembered. What changes is what is found: keywords are searched in the same
store, an identifier is found although no vector is near it, and one user's memories neither show up in nor influence
another's search. :class:`ScrubjayVectorStore` says how.

What is mem0's own and stays so: it drops a memory below the `threshold` of :meth:`mem0.Memory.search` by its similarity
alone (which is why ours counts words), adds its own logistic of BM25 on top, and gives `keyword_search` its lemmatised
query where spaCy is installed, without the identifiers in it; `search` gets the query as it was asked.
"""

from __future__ import annotations

import sys
from typing import Any

from scrubjay.errors import MissingExtraError

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
    # Apart from the rest: mem0 gives a folder in /tmp to every configuration class that declares a path itself.
    path: str | None = None


class ScrubjayConfig(_Place):
    """The `config` of the provider: the arguments of :class:`ScrubjayVectorStore`, and no others.

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
    """Make mem0 accept the provider "scrubjay", in this process; more calls change nothing.

    >>> register()
    >>> from mem0.vector_stores.configs import VectorStoreConfig
    >>> VectorStoreConfig(provider="scrubjay", config={"tenant": "acme"}).config.collection_name
    'mem0'
    """
    VectorStoreFactory.provider_to_class[_PROVIDER] = f"{__name__}.ScrubjayVectorStore"
    # mem0 looks for the class of the configuration in a module of its own with the name of the provider.
    known: dict[str, str] = VectorStoreConfig.__private_attributes__["_provider_configs"].default
    known[_PROVIDER] = ScrubjayConfig.__name__
    sys.modules[f"mem0.configs.vector_stores.{_PROVIDER}"] = sys.modules[__name__]
