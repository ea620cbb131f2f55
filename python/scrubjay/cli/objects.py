"""The object store of an index in a database, from the command line or the environment."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from scrubjay.cli.options import count, positive
from scrubjay.cli.reader_state import InputError
from scrubjay.store.objects.objects import Objects
from scrubjay.store.postgres.address import is_address

_URL, _CACHE, _CACHE_MB = "SCRUBJAY_OBJECTS", "SCRUBJAY_OBJECT_CACHE", "SCRUBJAY_OBJECT_CACHE_MB"
_KEEP_SECONDS = "SCRUBJAY_OBJECT_KEEP_SECONDS"


def add_objects(parser: argparse.ArgumentParser) -> None:
    """Add --objects, --object-cache and --object-cache-mb."""
    group = parser.add_argument_group(
        "object store of an index in a database, the same for every process (every command also reads "
        f"{_URL}, {_CACHE} and {_CACHE_MB})"
    )
    group.add_argument(
        "--objects",
        metavar="URL",
        help="location of images of more than 1 MB, and of frozen scopes: s3://bucket/path, gs://, "
        "az://, file:///folder (default: images are in the database)",
    )
    group.add_argument(
        "--object-cache",
        metavar="FOLDER",
        help="folder for cached copies on this machine (default: no cache)",
    )
    group.add_argument(
        "--object-cache-mb", type=positive, metavar="MB", help="maximum size of the cache (default: 1024)"
    )


def objects_of(index: object, arguments: argparse.Namespace | None = None) -> Objects | None:
    """Return the object store of an index by its name; None for a file, or if none is configured.

    Raises:
        InputError: a size or time in the environment is not a number, or the command line has an option of a database's
            images for a file.
    """
    if not is_address(index):
        for name in ("objects", "object_cache", "object_cache_mb"):
            if getattr(arguments, name, None):
                option = "--" + name.replace("_", "-")
                raise InputError(f"{option}: expected an index in a database beside it, got {index}")
        return None

    def given(name: str, variable: str) -> str | None:
        return getattr(arguments, name, None) or os.environ.get(variable) or None

    url, cache = given("objects", _URL), given("object_cache", _CACHE)
    size = getattr(arguments, "object_cache_mb", None)
    if size is None:
        size = _number(_CACHE_MB, positive)
    keep = _number(_KEEP_SECONDS, count)
    if url is None:
        return None
    options: dict[str, int] = {} if keep is None else {"keep_seconds": keep}
    if size is not None:
        options["cache_bytes"] = size << 20
    return Objects(url, cache=cache, **options)


def _number(variable: str, parse: Callable[[str], int]) -> int | None:
    """Return the number in an environment variable, or None if it is not set."""
    text = os.environ.get(variable)
    try:
        return parse(text) if text else None
    except argparse.ArgumentTypeError as error:
        raise InputError(f"{variable}: {error}") from None
