"""A connection that sends several statements in one piece, and reads all of their results.

psycopg's own pipeline passes each statement to the system separately: the server wakes up for each, so a write of
nine statements costs as many context switches of two processes. Here libpq has all statements before the first
byte is sent.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import psycopg
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ConnStatus, ExecStatus
from psycopg.waiting import Ready, Wait

Sent = tuple[str, Sequence[Any] | Mapping[str, Any], bool]
"""A statement, its parameters, and whether its rows are returned."""

_Kind = tuple[bytes, tuple[int, ...]]  # a statement in the server's form, and the types of its parameters

_UNPREPARED = 5  # executions of a statement before it is prepared, as in psycopg
_MOST_PREPARED = 200
_MOST_COUNTED = 2_000
_PLACEHOLDER = re.compile(r"%(?:\((\w+)\))?(.)", re.DOTALL)
_FORMATS = {"s": PyFormat.AUTO, "b": PyFormat.BINARY, "t": PyFormat.TEXT}


class _Message(NamedTuple):
    """A statement in the server's form."""

    kind: _Kind
    values: Sequence[Any]
    formats: Sequence[int] | None
    is_wanted: bool


class Connection(psycopg.Connection[Any]):
    """A connection of psycopg with :meth:`exchange`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A prefix avoids collisions with psycopg's private names, such as `_prepared`.
        self._sj_n_sent: dict[_Kind, int] = {}
        self._sj_names: dict[_Kind, bytes] = {}  # statements that the server has confirmed as prepared
        self._sj_n_names = 0

    def _deallocate(self, name: bytes | None) -> Any:
        """Forget our prepared statements when psycopg drops its own after a ROLLBACK or DROP, which drops ours,
        too."""
        if name is None:
            self._sj_names.clear()
            self._sj_n_names = 0
        return super()._deallocate(name)

    def exchange(self, statements: Sequence[Sent]) -> list[list[tuple[Any, ...]]]:
        """Send statements in one piece; return the rows of those that are marked to return them.

        Outside of a transaction they form one. Statements after a failed one are not executed.

        Raises:
            psycopg.Error: the error of the first failed statement. The connection stays usable.
            psycopg.OperationalError: the connection is lost.
        """
        transformer = Transformer(self)
        messages = [_message(transformer, *statement) for statement in statements]
        with self.lock:
            try:
                self.pgconn.enter_pipeline_mode()
                new = [self._send(message) for message in messages]
                self.pgconn.pipeline_sync()
                results = iter(self.wait(_answers(self.pgconn)))
                self.pgconn.exit_pipeline_mode()
            except BaseException:
                self.close()  # later statements would read the unread results
                raise
        found: list[list[tuple[Any, ...]]] = []
        failed: Any = None  # the first result that is an error
        for message, name in zip(messages, new, strict=True):
            if name:
                prepared = next(results)
                if prepared.status == ExecStatus.COMMAND_OK:
                    self._sj_names[message.kind] = name
                else:  # all later ones failed as well, so the last names are free again
                    self._sj_n_names -= 1
                failed = failed or _failure(prepared)
            result = next(results)
            failed = failed or _failure(result)
            if message.is_wanted and failed is None:
                transformer.set_pgresult(result)
                has_rows = result.status == ExecStatus.TUPLES_OK
                found.append(transformer.load_rows(0, result.ntuples, tuple) if has_rows else [])
        if failed is not None:
            raise psycopg.errors.error_from_result(failed, "utf-8")
        return found

    def _send(self, message: _Message) -> bytes:
        """Pass a statement to libpq; return the name under which it is being prepared, if it is."""
        kind, values, formats, is_wanted = message
        name, new = self._sj_names.get(kind), b""
        if name is None:
            n_sent = self._sj_n_sent.get(kind, 0)
            if n_sent < _UNPREPARED or self._sj_n_names >= _MOST_PREPARED:
                if len(self._sj_n_sent) >= _MOST_COUNTED:
                    self._sj_n_sent.clear()
                self._sj_n_sent[kind] = n_sent + 1
                self.pgconn.send_query_params(kind[0], values, kind[1], formats, is_wanted)
                return b""
            self._sj_n_names += 1
            name = new = b"sj_%d" % self._sj_n_names
            self.pgconn.send_prepare(name, *kind)
        self.pgconn.send_query_prepared(name, values, formats, is_wanted)
        return new


def _message(
    transformer: Any, query: str, parameters: Sequence[Any] | Mapping[str, Any], is_wanted: bool
) -> _Message:
    text, names, formats = _as_sent(query)
    values = [parameters[name] for name in names] if isinstance(parameters, Mapping) else parameters
    if len(values) != len(formats):
        raise psycopg.ProgrammingError(f"expected {len(formats)} parameters, got {len(values)}: {query}")
    values = transformer.dump_sequence(values, formats)
    return _Message((text, transformer.types or ()), values, transformer.formats, is_wanted)


@lru_cache(maxsize=1_000)
def _as_sent(query: str) -> tuple[bytes, list[str], list[PyFormat]]:
    """Return a statement with the server's placeholders in place of psycopg's, and the names and formats of its
    parameters.

    >>> _as_sent("SELECT %s, %b, 7 %% 2")[0]
    b'SELECT $1, $2, 7 % 2'
    >>> _as_sent("SELECT %(a)s, %(b)s, %(a)s")[:2]
    (b'SELECT $1, $2, $3', ['a', 'b', 'a'])
    """
    names: list[str] = []
    formats: list[PyFormat] = []

    def put(match: re.Match[str]) -> str:
        name, kind = match.groups()
        if kind == "%" and name is None:
            return "%"
        if kind not in _FORMATS:
            raise psycopg.ProgrammingError(f"expected %s, %b, %t or %%, got {match[0]!r}: {query}")
        names.append(name or "")
        formats.append(_FORMATS[kind])
        return f"${len(formats)}"

    return _PLACEHOLDER.sub(put, query).encode(), names, formats


def _failure(result: Any) -> Any:
    """Return the result if it is an error itself (not a statement skipped after one), else None."""
    return result if result.status == ExecStatus.FATAL_ERROR else None


def _answers(pgconn: Any) -> Generator[Wait, Ready | int | None, list[Any]]:
    """Send libpq's buffer, and return the results up to the end of the pipeline; waits as psycopg's generators
    do."""
    results: list[Any] = []
    while True:
        ready = yield Wait.RW if pgconn.flush() else Wait.R
        if (
            not ready or not ready & Ready.R
        ):  # None: psycopg continues after an interrupt, which ended the statement
            continue
        pgconn.consume_input()
        while not pgconn.is_busy():
            result = pgconn.get_result()
            if result is None:  # the end of one statement
                if pgconn.status == ConnStatus.BAD:
                    raise psycopg.OperationalError("the connection is lost")
            elif result.status == ExecStatus.PIPELINE_SYNC:
                return results
            else:
                results.append(result)
