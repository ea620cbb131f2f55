"""A client for VectorDBBench: vectors with filters and tenants, and full text, over an index in a file.

Written against vectordb-bench 2.0, in the form that the project could adopt as `backend/clients/scrubjay/`: it uses
only the public API of both sides. To run it from a checkout, add `Scrubjay = "Scrubjay"` to the enum `DB` and the three
classes to its `init_cls`, `config_cls` and `case_config_cls`.

Each process opens the file anew and sees what the others wrote. A document's id is the benchmark's number. Labels and
numbers are metadata; a tenant's label is the tenant of a scope, so no tenant's vector is a candidate for another.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import Error, MissingExtraError
from scrubjay.fusion import Query
from scrubjay.index import Index

try:
    from pydantic import BaseModel
    from vectordb_bench.backend.clients.api import DBCaseConfig, DBConfig, IndexType, MetricType, VectorDB
    from vectordb_bench.backend.filter import Filter, FilterOp
    from vectordb_bench.backend.payload import PayloadProfile
except ImportError:
    raise MissingExtraError("scrubjay.bench.vectordbbench", None, "vectordb-bench") from None

__all__ = ["Scrubjay", "ScrubjayConfig", "ScrubjayIndexConfig"]

_METRICS = {"L2": "l2", "COSINE": "cosine", "IP": "ip", "DP": "ip"}
_TENANT = "vectordbbench"
_NUMBER, _LABEL = "number", "label"


class ScrubjayConfig(DBConfig):
    """The location of the index.

    Attributes:
        path: the file; created if missing.
        durability: of writes, "full" or "normal", as in :meth:`scrubjay.Index.open`.
    """

    path: str
    durability: str = "normal"

    def to_dict(self) -> dict[str, Any]:
        """Return the `db_config` of the client."""
        return {"path": self.path, "durability": self.durability}


class ScrubjayIndexConfig(BaseModel, DBCaseConfig):
    """The metric and the search options.

    Attributes:
        recall: the fraction of the true nearest neighbours that a search should find; 1.0 compares every visible
            vector.
        dtype: of the stored vectors, "f16", "f32" or "i8".
    """

    index: IndexType = IndexType.AUTOINDEX
    metric_type: MetricType | None = None
    recall: float = 0.99
    dtype: str = "f16"

    def parse_metric(self) -> str:
        """Return our name of the metric, cosine if none is set.

        Raises:
            ValueError: any metric other than L2, COSINE, IP and DP.
        """
        name = "COSINE" if self.metric_type is None else str(self.metric_type.value)
        if name not in _METRICS:
            raise ValueError(f"metric_type: expected one of {', '.join(_METRICS)}, got {name}")
        return _METRICS[name]

    def index_param(self) -> dict[str, Any]:
        """Return the options with which the index is created."""
        return {"metric": self.parse_metric(), "dtype": self.dtype}

    def search_param(self) -> dict[str, Any]:
        """Return the options of searches."""
        return {"recall": self.recall}


class Scrubjay(VectorDB):
    """The client. One index serves all threads of a process.

    Args:
        dim: of the vectors.
        db_config, db_case_config: of :class:`ScrubjayConfig` and :class:`ScrubjayIndexConfig`.
        collection_name: of the collection in the file.
        drop_old: whether to delete existing data first.
        with_scalar_labels: whether vectors have labels for filters.
        kwargs: VectorDBBench's; ignored.
    """

    supported_filter_types = [FilterOp.NonFilter, FilterOp.NumGE, FilterOp.StrEqual]  # noqa: RUF012 (theirs)
    name = "Scrubjay"
    thread_safe = True

    def __init__(
        self,
        dim: int,
        db_config: dict[str, Any],
        db_case_config: Any,
        collection_name: str = "VectorDBBench",
        drop_old: bool = False,
        with_scalar_labels: bool = False,
        **kwargs: Any,
    ) -> None:
        self.dim, self.db_config, self.collection_name = dim, db_config, collection_name
        self.case_config = ScrubjayIndexConfig() if db_case_config is None else db_case_config
        self.with_scalar_labels = with_scalar_labels
        self._index: Index | None = None
        self._filter: dict[str, Any] | None = None
        self._query = Query(mode="vector", **self.case_config.search_param())
        if drop_old:
            self._drop()
        with self._open():
            pass

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process, without the open file."""
        return {**self.__dict__, "_index": None}

    @contextmanager
    def init(self) -> Iterator[None]:
        """Open the index for the duration of the block."""
        with self._open() as index:
            self._index = index
            try:
                yield
            finally:
                self._index = None

    def prepare_filter(self, filters: Filter) -> None:
        """Use the filter `filters` for all later searches."""
        if filters.type == FilterOp.NonFilter:
            self._filter = None
        elif filters.type == FilterOp.NumGE:
            self._filter = {_NUMBER: {"$gte": filters.int_value}}
        elif filters.type == FilterOp.StrEqual:
            self._filter = {_LABEL: filters.label_value}
        else:
            raise ValueError(f"filters: expected one of {self.supported_filter_types}, got {filters.type}")

    def insert_embeddings(
        self,
        embeddings: Sequence[Sequence[float]],
        metadata: Sequence[int],
        labels_data: Sequence[str] | None = None,
        tenant_labels_data: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> tuple[int, Exception | None]:
        """Write vectors in one transaction, all or none.

        Args:
            embeddings: the vectors.
            metadata: their numbers.
            labels_data, tenant_labels_data: one per vector, if a case has them.
            kwargs: VectorDBBench's; ignored.
        """
        records = [
            {
                "id": int(number),
                "text": "",
                "vector": vector,
                "scope": Scope(_TENANT if tenant_labels_data is None else tenant_labels_data[place]),
                "metadata": {
                    _NUMBER: int(number),
                    **({} if labels_data is None else {_LABEL: labels_data[place]}),
                },
            }
            for place, (number, vector) in enumerate(zip(metadata, embeddings, strict=True))
        ]
        return self._write(records)

    def search_embedding(
        self,
        query: Sequence[float],
        k: int = 100,
        payload_profile: PayloadProfile = PayloadProfile.IDS_ONLY,
        tenant: str | None = None,
        **kwargs: Any,
    ) -> list[int]:
        """Return the numbers of the k nearest, best first.

        Args:
            query: the vector.
            k: how many.
            payload_profile: the fields to read besides numbers.
            tenant: of the vectors, if a case has tenants.
            kwargs: VectorDBBench's; ignored.
        """
        hits = self._open_index().search(
            vector=query, scope=Scope(tenant or _TENANT), k=k, filter=self._filter, query=self._query
        )
        return [int(id) for id in hits.ids]

    def optimize(self, data_size: int | None = None) -> None:
        """Write the images from which other processes load, without deleted documents.

        Args:
            data_size: VectorDBBench's; ignored.
        """
        self._open_index().admin.compact(progress=False)

    def supports_multitenant(self) -> bool:
        """Whether tenants are isolated: each is a scope."""
        return True

    @classmethod
    def supports_full_text_search(cls) -> bool:
        """Whether texts can be searched: by BM25."""
        return True

    def has_text_field(self) -> bool:
        """Whether hits include their texts."""
        return True

    def insert_documents(
        self, texts: Sequence[str], doc_ids: Sequence[str], **kwargs: Any
    ) -> tuple[int, Exception | None]:
        """Write texts in one transaction, all or none.

        Args:
            texts, doc_ids: in the same order.
            kwargs: VectorDBBench's; ignored.
        """
        scope = Scope(_TENANT)
        return self._write(
            [{"id": id, "text": text, "scope": scope} for id, text in zip(doc_ids, texts, strict=True)]
        )

    def search_documents(
        self,
        query: str,
        k: int = 100,
        payload_profile: PayloadProfile = PayloadProfile.IDS_ONLY,
        **kwargs: Any,
    ) -> list[str]:
        """Return the ids of the k best by BM25; with the profile "text" their texts are read, too.

        Args:
            query: the question.
            k: how many.
            payload_profile: the fields to read besides ids.
            kwargs: VectorDBBench's; ignored.
        """
        hits = self._open_index().search(query, scope=Scope(_TENANT), k=k, query=_BY_WORDS)
        if payload_profile == PayloadProfile.TEXT:
            for hit in hits:
                _ = hit.text
        return [str(id) for id in hits.ids]

    def _open(self) -> Index:
        return Index.open(
            self.db_config["path"],
            dim=self.dim or None,
            durability=self.db_config.get("durability", "normal"),
            busy_timeout=60.0,
            **self.case_config.index_param(),
        )

    def _drop(self) -> None:
        path = Path(self.db_config["path"])
        for file in path.parent.glob(f"{path.name}*"):
            if file.is_dir():
                shutil.rmtree(file)
            elif file.name == path.name or file.name[len(path.name)] in "-.":
                file.unlink()

    def _open_index(self) -> Index:
        if self._index is None:
            raise RuntimeError("the index is closed: call inside `with db.init():`")
        return self._index

    def _write(self, records: list[dict[str, Any]]) -> tuple[int, Exception | None]:
        index = self._open_index()
        try:
            return index.upsert_many(records, progress=False, batch_size=max(1, len(records))), None
        except (Error, OSError, ValueError, TypeError) as error:
            return 0, error


_BY_WORDS = Query(mode="lexical")
