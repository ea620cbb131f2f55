"""Addresses of databases, postgresql://user@host/database, and their printable part."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from scrubjay.base.errors import StoreFormatError
from scrubjay.base.extras import imported

_SCHEMES = ("postgresql://", "postgres://")


def is_address(path: object) -> bool:
    """Whether a path is the address of a database, not the name of a file.

    >>> is_address("postgresql://localhost/memories"), is_address("memories.scrubjay")
    (True, False)
    """
    return isinstance(path, str) and path.startswith(_SCHEMES)


class Address:
    """The address of a database.

    Args:
        url: in libpq's form: postgresql://[user[:password]@][host][:port][/database][?parameter=value].

    Raises:
        MissingExtraError: psycopg is not installed.
        StoreFormatError: the address is invalid.
    """

    __slots__ = ("place", "url")

    def __init__(self, url: str) -> None:
        psycopg = psycopg_module()
        try:
            parts = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.Error as error:
            raise StoreFormatError(
                f"path: expected postgresql://user@host:port/database, got an invalid address: "
                f"{_without_secrets(str(error), url)}"
            ) from None
        host, port = parts.get("host", "localhost"), parts.get("port")
        self.url = url
        self.place = f"postgresql://{host}{'' if port is None else f':{port}'}/{parts.get('dbname', '')}"
        """The address, without user and password."""

    def __repr__(self) -> str:
        return f"<Address {self.place}>"


def psycopg_module() -> Any:
    """Return psycopg, or raise MissingExtraError."""
    return imported("psycopg", "an index over PostgreSQL", "postgres")


def _without_secrets(message: str, url: str) -> str:
    try:
        password = urlsplit(url).password
    except ValueError:
        return "invalid URL"
    return "invalid URL" if url in message or (password and password in message) else message.strip()
