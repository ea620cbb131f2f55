"""Records: memories as they enter and leave an index.

:class:`Record` is what `Index.get` returns, and one of the forms that `Index.upsert_many` takes; the others are any
dataclass and any mapping with the same field names.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, NewType, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from scrubjay._native import Scope, copied_vector
from scrubjay.base.arguments import is_integer, shown
from scrubjay.base.errors import CorruptIndexError
from scrubjay.documents import payload
from scrubjay.documents.entities import with_entities
from scrubjay.documents.passage_vectors import DocumentVector, PassageVectors, fits
from scrubjay.documents.tables import as_html, is_table, rows_of, to_arrow, to_pandas

__all__ = [
    "NO_VECTOR",
    "Cursor",
    "Page",
    "Record",
    "Row",
    "Scopes",
    "Stamp",
    "VectorRule",
    "as_scope",
    "as_scopes",
    "as_text",
    "as_vector",
    "check_row",
    "checked_passages",
    "checked_vector",
    "checked_version",
    "read_rows",
    "to_record",
]


@dataclasses.dataclass
class Record:
    """One memory: the caller's id (str or int), its text and scope, and optional fields.

    `metadata` are JSON values. `vector` is a float32 array of shape (dim,), :class:`PassageVectors` if passages of the
    text have their own vectors, or None; `created_at` and `expires_at` are aware datetimes in UTC or None. `version` is
    the number of the last write, for conditional writes. `pending`: the text has not been embedded yet, because the
    embedder failed. `context` is embedded and indexed together with the text, or None. `passages` are the spans that
    the writer defined, False for one vector for the whole text, None if the index chose; `vector.spans` has the spans
    of all vectors. Two records are equal if all fields but vector, version and pending are.
    """

    id: str | int
    text: str
    scope: Scope
    metadata: Mapping[str, Any] | None = None
    created_at: payload.CreatedAt | None = None
    vector: ArrayLike | PassageVectors | None = dataclasses.field(default=None, compare=False, repr=False)
    expires_at: payload.CreatedAt | None = None
    version: int | None = dataclasses.field(default=None, compare=False, repr=False)
    pending: bool = dataclasses.field(default=False, compare=False, repr=False)
    context: str | None = None
    passages: Sequence[tuple[int, int]] | Literal[False] | None = None

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows."""
        return as_html("1 memory", _SHOWN, [[_cells(self)[name] for name in _SHOWN]])


_COLUMNS = (
    "id",
    "text",
    "tenant",
    "user",
    "agent",
    "metadata",
    "created_at",
    "expires_at",
    "version",
    "context",
)
_SHOWN = ("id", "text", "user", "agent", "metadata", "created_at")


def _cells(record: Record) -> dict[str, Any]:
    """Return the fields of a record without its vector, the scope as three columns."""
    scope = record.scope
    cells = {
        name: getattr(record, name)
        for name in ("id", "text", "created_at", "expires_at", "version", "context")
    }
    names = {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent}
    return {**cells, **names, "metadata": dict(record.metadata or {})}


Cursor = NewType("Cursor", str)
"""The start of the next page of a scroll: letters, digits, `-` and `_`; only `Index.scroll` creates one."""


class Stamp(NamedTuple):
    """The version up to which one exact scope was written, for `search(after=stamp)`; `str(stamp)` and :meth:`read`
    transfer it between processes.

    >>> stamp = Stamp(Scope("acme", user="jane"), 7, "b2")
    >>> Stamp.read(str(stamp)) == stamp
    True
    """

    scope: Scope
    version: int
    lineage: str
    """The lineage of the collection."""

    def __str__(self) -> str:
        return json.dumps([self.scope.tenant, self.scope.user, self.scope.agent, self.version, self.lineage])

    @classmethod
    def read(cls, text: str) -> Stamp:
        """Return the stamp in a text.

        Raises:
            ValueError: the text is not a stamp.
        """
        if not isinstance(text, str):
            raise TypeError(f"text: expected a str, got {type(text).__name__}")
        try:
            tenant, user, agent, version, lineage = json.loads(text)
            if type(version) is not int or type(lineage) is not str:
                raise TypeError
            return cls(Scope(tenant, user, agent), version, lineage)
        except (TypeError, ValueError):
            raise ValueError(f"text: expected a stamp, as str() makes it, got {text[:100]!r}") from None


@dataclasses.dataclass(frozen=True)
class Page:
    """One page of a scroll, in order; `cursor` None: it is the last page.

    Attributes:
        records: the memories.
        cursor: the start of the next page.
    """

    records: list[Record]
    cursor: Cursor | None = None

    @property
    def texts(self) -> list[str]:
        """The texts, in order."""
        return [record.text for record in self.records]

    def to_pandas(self) -> Any:
        """Return the page as a pandas.DataFrame (extra "tables"), one row per memory.

        Columns: id, text, tenant, user, agent, metadata (dicts), created_at, expires_at, version, context.
        `Index.upsert_many` takes it.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        return to_pandas([_cells(record) for record in self.records], _COLUMNS)

    def to_arrow(self) -> Any:
        """Return the page as a pyarrow.Table with the columns of :meth:`to_pandas`; metadata is JSON.

        Raises:
            MissingExtraError: pyarrow is not installed.
        """
        return to_arrow([_cells(record) for record in self.records], _COLUMNS)

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows."""
        more = ", more to come" if self.cursor is not None else ""
        caption = f"{len(self)} {'memory' if len(self) == 1 else 'memories'}{more}"
        return as_html(
            caption, _SHOWN, ([_cells(record)[name] for name in _SHOWN] for record in self.records)
        )

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)


class NoVector(enum.Enum):
    """The type of :data:`NO_VECTOR`."""

    NO_VECTOR = "no vector"


NO_VECTOR = NoVector.NO_VECTOR
"""In place of a vector, in a record of an export: the document has none, and is not embedded."""


@dataclasses.dataclass(slots=True)
class Row:
    """The engine's input for a record, after all checks that need no engine."""

    id: str | int
    text: str | bytes
    scope: Scope
    vector: DocumentVector | None
    payload: bytes | None
    version: int | None = None  # the version that the memory must have, 0: it must not exist; None: any
    embeds: bool = True  # whether the text is embedded if there is no vector


class VectorRule(NamedTuple):
    """The requirements for the vectors of an index; dim None admits any dimension."""

    dim: int | None
    metric: str


_FIELDS = (
    "id",
    "text",
    "scope",
    "vector",
    "metadata",
    "created_at",
    "expires_at",
    "ttl",
    "entities",
    "version",
    "context",
    "passages",
)
_MAX_TEXT_BYTES = 16 << 20  # the native engine's limit
MOST_PASSAGES = 16_384
"""The maximum number of passages of a document, the native engine's limit."""
_SCOPE_FIELDS = ("tenant", "user", "agent")


Scopes: TypeAlias = Scope | Sequence[Scope]
"""The scope of a search: one, or several in a list."""


def as_scope(value: Any, name: str = "scope") -> Scope:
    """Return `value` as a Scope: a Scope, or a mapping with `tenant` and optionally `user` and `agent`.

    A missing scope is always an error.

    Args:
        value: the caller's argument of any verb of an index.
        name: of the argument, for the error.
    """
    if isinstance(value, Scope):
        return value
    if isinstance(value, Mapping):
        unknown = sorted(str(key) for key in value if key not in _SCOPE_FIELDS)
        if unknown or "tenant" not in value:
            raise ValueError(
                f"{name}: expected the keys tenant, user, agent (tenant is required), got {dict(value)!r}"
            )
        return Scope(value["tenant"], value.get("user"), value.get("agent"))
    if isinstance(value, (list, tuple)):
        raise TypeError(
            f"{name}: expected one scrubjay.Scope, got a {type(value).__name__} of {len(value)}; searches take "
            "several, other verbs one after the other"
        )
    raise TypeError(f"{name}: expected a scrubjay.Scope, got {type(value).__name__}")


def as_scopes(value: Any) -> Scope | list[Scope]:
    """Return the scope of a search: one scope, or the distinct ones of a list or tuple.

    Raises:
        ValueError: the list is empty.
    """
    if not isinstance(value, (list, tuple)):
        return as_scope(value)
    if not value:
        raise ValueError("scope: expected at least one scrubjay.Scope, got none")
    if not all(isinstance(item, Scope) for item in value):
        value = [as_scope(item, f"scope[{i}]") for i, item in enumerate(value)]
    scopes: list[Scope] = list(dict.fromkeys(value))
    return scopes[0] if len(scopes) == 1 else scopes


def checked_version(value: Any, *, at_least: int = 0) -> int | None:
    """Return the version that a write expects, or None; raise TypeError or ValueError if invalid."""
    if value is None:
        return None
    if not is_integer(value):
        raise TypeError(f"version: expected an int or None, got {type(value).__name__}")
    if not at_least <= value < 2**62:
        raise ValueError(f"version: expected {at_least} to 2**62 - 1, as get() returns it, got {value}")
    return int(value)


def check_row(
    id: Any,
    text: Any,
    scope: Any,
    vector: ArrayLike | None,
    metadata: Any,
    created_at: Any,
    rule: VectorRule,
    expires_at: Any = None,
    ttl: Any = None,
    entities: Any = None,
    version: Any = None,
    context: Any = None,
    passages: Any = None,
) -> Row:
    """Check the fields of one record; messages begin with the field's name."""
    # Most fields have the usual type, or are None: a call that only confirms it costs a hundredth of a single write.
    if id.__class__ is not str and not isinstance(id, str) and not is_integer(id):
        raise TypeError(f"id: expected a str or an int, got {type(id).__name__} {shown(id)}")
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"text: expected str or bytes, got {type(text).__name__}")
    if 4 * len(text) > _MAX_TEXT_BYTES:
        _check_size(text)
    expiry = None if expires_at is None and ttl is None else payload.expiry_of(expires_at, ttl)
    spans = None if passages is None else checked_passages(passages, text)
    several = None if vector is None else checked_vector(vector, rule)
    if spans is not None and several is not None:
        several = _with_passages(several, spans)
    encoded = None
    if not (metadata is entities is created_at is expiry is context is spans is None):
        encoded = payload.encode(
            with_entities(metadata, entities), created_at, expiry, payload.checked_context(context), spans
        )
    return Row(
        id if isinstance(id, str) else int(id),
        text,
        scope if scope.__class__ is Scope else as_scope(scope),
        several,
        encoded,
        None if version is None else checked_version(version),
    )


def _check_size(text: str | bytes) -> None:
    """Refuse a text that the engine would refuse, before it is embedded."""
    n_bytes = len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "surrogatepass"))
    if n_bytes > _MAX_TEXT_BYTES:
        raise ValueError(f"text: expected at most {_MAX_TEXT_BYTES} bytes (16 MiB), got {n_bytes}")


def read_record(record: Any, default_scope: Scope | None, rule: VectorRule) -> Row:
    """Read a mapping or a dataclass instance into a checked row.

    Raises:
        TypeError, ValueError: the message begins with the field's name.
    """
    if isinstance(record, Mapping):
        for key in record:
            if key not in _FIELDS and key != "pending":  # a field of Record, which the writer sets itself
                raise ValueError(f"{key}: unknown field, expected {', '.join(_FIELDS)}")
        fields: Mapping[str, Any] = record
    elif dataclasses.is_dataclass(record) and not isinstance(record, type):
        # A caller's dataclass may have further fields; only the known ones are read. The version of a Record is not a
        # condition, so that it can be written to another index unchanged.
        fields = {name: getattr(record, name, None) for name in _FIELDS if name != "version"}
    else:
        raise TypeError(f"expected a mapping or a dataclass instance, got {type(record).__name__}")
    for required in ("id", "text"):
        if fields.get(required) is None:
            raise ValueError(f"{required}: expected a value, it is missing")
    scope = fields.get("scope")
    if scope is None:
        if default_scope is None:
            raise ValueError(
                "scope: expected a scrubjay.Scope, it is missing and upsert_many was given no scope"
            )
        scope = default_scope
    vector = fields.get("vector")
    row = check_row(
        fields["id"],
        fields["text"],
        scope,
        None if vector is NO_VECTOR else vector,
        fields.get("metadata"),
        fields.get("created_at"),
        rule,
        fields.get("expires_at"),
        fields.get("ttl"),
        fields.get("entities"),
        fields.get("version"),
        fields.get("context"),
        fields.get("passages"),
    )
    row.embeds = vector is not NO_VECTOR
    return row


def read_rows(records: Iterable[Any], default_scope: Scope | None, rule: VectorRule) -> list[Row]:
    """Read all records, or raise the error of the first bad one, prefixed with its position."""
    if is_table(records):
        records = rows_of(records)
    if default_scope is not None:
        default_scope = as_scope(default_scope)
    if (
        isinstance(records, (Mapping, str, bytes))
        or not isinstance(records, Iterable)
        or getattr(records, "ndim", 1) == 0
    ):
        raise TypeError(
            f"records: expected an iterable of mappings or dataclasses, got {type(records).__name__}"
        )
    rows = []
    for position, record in enumerate(records):
        try:
            row = read_record(record, default_scope, rule)
        except (TypeError, ValueError) as error:
            raise type(error)(f"records[{position}]: {error}") from error
        if rule.dim is None and row.vector is not None:
            numbers = row.vector.rows if isinstance(row.vector, PassageVectors) else row.vector
            rule = rule._replace(dim=numbers.shape[-1])  # the first vector determines it, as in the engine
        rows.append(row)
    return rows


def to_record(document: Any) -> Record:
    """Convert an engine's document to a Record."""
    try:
        metadata, created_at = payload.decode(document.payload)
        expires_at = payload.expiry(document.payload)
    except CorruptIndexError as error:
        raise error.located(id=document.id, scope=document.scope) from None
    moment: datetime | None = created_at
    return Record(
        document.id,
        document.text,
        document.scope,
        metadata,
        moment,
        PassageVectors(*document.vector) if isinstance(document.vector, tuple) else document.vector,
        expires_at,
        document.version,
        payload.is_pending(document.payload),
        payload.context_of(document.payload),
        None if (passages := payload.passages_of(document.payload)) is None else passages or False,
    )


_MAX_FLOAT32 = float(np.finfo(np.float32).max)


def checked_vector(vector: ArrayLike | PassageVectors, rule: VectorRule) -> DocumentVector:
    """Return a copy of a vector, or of the (n, dim) vectors of passages, that satisfies the rule, or raise TypeError or
    ValueError."""
    dim = rule.dim
    if vector.__class__ is np.ndarray:
        usual: DocumentVector | None = copied_vector(vector, dim)
        if usual is not None:
            return usual
    if isinstance(vector, PassageVectors):
        rows = checked_vector(vector.rows, rule)
        if not isinstance(rows, PassageVectors):
            raise ValueError(f"vector: expected rows of shape (n, {dim or 'dim'}), got {rows.shape}")
        spans = np.array(vector.spans)
        if spans.shape != rows.spans.shape or spans.dtype.kind not in "iu" or (spans < 0).any():
            raise ValueError(
                f"vector: expected spans of shape {rows.spans.shape}, 0 or more, got {spans.shape}"
            )
        if (spans[:, 0] > spans[:, 1]).any() or (spans > 0xFFFFFFFF).any():
            raise ValueError("vector: expected spans that end behind their start")
        return PassageVectors(rows.rows, spans.astype(np.uint32))
    vector = as_vector(vector)
    if isinstance(vector, np.ma.MaskedArray) and (n_masked := int(np.sum(vector.mask))):
        raise ValueError(f"vector: expected numbers, got {type(vector).__name__} with {n_masked} masked")
    try:
        array = np.array(vector)  # a copy, so that later changes of the caller's array have no effect
    except ValueError as error:  # ragged nested lists
        raise ValueError(f"vector: expected {_shape(dim)} numbers, got {error}") from None
    if array.itemsize == 1 and isinstance(vector, (bytearray, memoryview)):
        raise TypeError(f"vector: expected numbers, got {type(vector).__name__}")
    if array.dtype.kind not in "fiu":
        raise TypeError(f"vector: expected numbers, got dtype {array.dtype}")
    if array.ndim not in (1, 2) or 0 in array.shape or (dim is not None and array.shape[-1] != dim):
        raise ValueError(f"vector: expected shape {_shape(dim)}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("vector: expected finite numbers, got NaN or infinity")
    if array.dtype.itemsize > 4 and (most := np.abs(array).max()) > _MAX_FLOAT32:
        raise ValueError(f"vector: expected numbers that a float32 holds, got {most:.4g}")
    if rule.metric == "cosine" and not array.any(axis=-1).all():
        raise ValueError("vector: expected a direction (metric cosine), got only zeros")
    if array.ndim == 1:
        return array
    if len(array) > MOST_PASSAGES:
        raise ValueError(f"vector: expected those of at most {MOST_PASSAGES} passages, got {len(array)}")
    return PassageVectors(array, np.zeros((len(array), 2), np.uint32))


def checked_passages(passages: Any, text: str | bytes) -> list[tuple[int, int]] | Literal[False]:
    """Return the spans of a text's passages, False for no passages, or raise TypeError or ValueError."""
    if passages is False:
        return False
    if (
        passages is True
        or isinstance(passages, (str, bytes, Mapping))
        or not isinstance(passages, Iterable)
        or getattr(passages, "ndim", 1) == 0
    ):
        raise TypeError(
            f"passages: expected pairs (start, end), False or None, got {type(passages).__name__}"
        )
    n_chars = len(as_text(text))
    spans = []
    for place, passage in enumerate(passages):
        try:
            start, end = passage
            start, end = operator.index(start), operator.index(end)
        except (TypeError, ValueError):
            raise TypeError(f"passages[{place}]: expected (start, end) as ints, got {passage!r}") from None
        if not 0 <= start < end <= n_chars:
            raise ValueError(f"passages[{place}]: expected 0 <= start < end <= {n_chars}, got {start}, {end}")
        spans.append((start, end))
    if not 1 <= len(spans) <= MOST_PASSAGES:
        raise ValueError(f"passages: expected 1 to {MOST_PASSAGES}, got {len(spans)}; False: none")
    return spans


def _with_passages(vector: DocumentVector, said: list[tuple[int, int]] | Literal[False]) -> DocumentVector:
    if not fits(vector, said):
        if said is False:
            raise ValueError("passages: expected those of the vectors, got False")
        shape = vector.rows.shape if isinstance(vector, PassageVectors) else vector.shape
        raise ValueError(f"vector: expected shape ({len(said)}, dim) like the passages, got {shape}")
    if said is False or not isinstance(vector, PassageVectors) or len(vector.rows) != len(said):
        return vector
    return PassageVectors(vector.rows, np.array(said, np.uint32))


def as_vector(vector: Any) -> Any:
    """Convert an object that supports only DLPack to a NumPy array; return any other vector unchanged.

    Raises:
        TypeError: NumPy cannot read it, e.g. because it is on a GPU.
    """
    if hasattr(vector, "__array__") or not hasattr(vector, "__dlpack__"):
        return vector
    try:
        return np.from_dlpack(vector)
    except (
        BufferError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:  # on a GPU, or of a type that NumPy lacks
        raise TypeError(
            f"vector: expected numbers that NumPy can read, got {type(vector).__name__}: {error}; copy it to the CPU"
        ) from None


def _shape(dim: int | None) -> str:
    return "(dim,)" if dim is None else f"({dim},)"


def as_text(text: str | bytes) -> str:
    """Return `text` as a str that UTF-8 can encode; invalid parts become U+FFFD, as in the native analysis."""
    if isinstance(text, str):
        if text.isascii():
            return text
        try:
            text.encode()
        except UnicodeEncodeError:  # lone surrogates
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text
    if isinstance(text, bytes):
        return text.decode("utf-8", "replace")
    raise TypeError(f"text: expected str or bytes, got {type(text).__name__}")
