"""Translation of PostgreSQL's errors to typed errors that say what was being done, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scrubjay.base.errors import (
    CorruptIndexError,
    Error,
    StoreBusyError,
    StoreError,
    StoreFormatError,
    StoreUnavailableError,
)
from scrubjay.store.postgres.address import psycopg_module
from scrubjay.store.rows.values import RowRefusedError

# SQLSTATE or its first two characters -> error type, remedy.
_MEANING: dict[str, tuple[type[StoreError], str]] = {
    "08": (StoreUnavailableError, "the server does not answer; try again when it does"),
    "57": (StoreUnavailableError, "the server is stopping, starting or ended the call; try again"),
    "55P03": (StoreBusyError, "another process was writing for longer than busy_timeout; try again"),
    "23": (RowRefusedError, "a constraint of the tables forbids it"),
    "40": (StoreBusyError, "another process wrote the same at the same time; try again"),
    "53300": (StoreBusyError, "the server has no connection left: raise max_connections, or use fewer"),
    "53": (StoreError, "the server lacks disk or memory"),
    "28": (
        StoreError,
        "the server refuses this user: check user and password of the address, and pg_hba.conf",
    ),
    "3D000": (StoreError, "the database does not exist: create it with createdb"),
    "3F000": (StoreError, "the schema does not exist: create it with CREATE SCHEMA, or change search_path"),
    "42501": (
        StoreError,
        "the user lacks a right: GRANT SELECT, INSERT, UPDATE, DELETE on the tables sj_*; to create them CREATE on the "
        "schema (`scrubjay roles` grants what is needed)",
    ),
    "25006": (
        StoreError,
        "the server takes no writes: it is a standby, or the index was opened for reading only",
    ),
    "42P01": (StoreFormatError, "a table of the index is missing: open it once as a user who may create it"),
    "42703": (StoreFormatError, "a column of the index is missing: the tables are of another version"),
}

# libpq's messages about failed connections, which have no SQLSTATE.
_SAID: tuple[tuple[str, str], ...] = (
    ("the database system is ", "57"),  # starting up, shutting down, in recovery mode
    ("password authentication failed", "28"),
    ("no password supplied", "28"),
    ("no pg_hba.conf entry", "28"),
    ("authentication failed", "28"),
    ("role ", "28"),
    ('database "', "3D000"),
    ("too many clients", "53300"),
    ("remaining connection slots", "53300"),
)


def is_away(error: BaseException) -> bool:
    """Whether a psycopg error means that the connection is gone."""
    psycopg = psycopg_module()
    if not isinstance(error, psycopg.OperationalError):
        return False
    state = error.sqlstate
    return state is None or state[:2] in ("08", "57")


@contextmanager
def translated(place: str, doing: str) -> Iterator[None]:
    """Translate exceptions of psycopg into ours, naming what was being done."""
    psycopg = psycopg_module()
    try:
        yield
    except CorruptIndexError as error:
        raise error from None
    except Error:
        raise
    except psycopg.Error as error:
        raise meaning(error, place, doing) from error


def meaning(error: Any, place: str, doing: str) -> StoreError:
    """Translate an exception of psycopg."""
    state = error.sqlstate
    said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if state is None:
        state = _state_of(error, str(error))
    for known in (state, state[:2]):
        if known in _MEANING:
            kind, remedy = _MEANING[known]
            return kind(f"{doing}: {remedy} ({said}): {place}")
    return StoreError(f"{doing}: {said}: {place}")


def _state_of(error: Any, text: str) -> str:
    for words, state in _SAID:
        if words in text and (state not in ("28", "3D000") or "FATAL" in text):
            return state
    return "08" if isinstance(error, psycopg_module().OperationalError) else "XX"
