"""Reads mail: mbox files and single messages (.eml). One record per passage, with sender, recipients and subject."""

from __future__ import annotations

import mailbox
import tempfile
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from scrubjay.cli.reader_state import InputError, Reading
from scrubjay.cli.readers.prose import plain_text
from scrubjay.cli.readers.sources import Source
from scrubjay.memory.intake.passages import read_pieces


def read_mbox(source: Source, reading: Reading) -> Iterator[dict[str, Any]]:
    """Yield the passages of every message of an mbox file.

    Raises:
        InputError: the file contains no message.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = source.path
        if path is None:
            path = Path(folder) / "mbox"
            path.write_bytes(source.read())
        elif not path.is_file():
            source.read()  # raises the reason
        box = mailbox.mbox(path, create=False)
        try:
            keys = box.keys()
            if not keys and path.stat().st_size:
                raise InputError(f"{source.name}: expected an mbox, a file that begins with a line From")
            for number, key in enumerate(keys, start=1):
                yield from _read(box.get_bytes(key), f"{source.name}:{number}", source.name, reading)
        finally:
            box.close()


def read_eml(source: Source, reading: Reading) -> Iterator[dict[str, Any]]:
    """Yield the passages of a single message."""
    yield from _read(source.read(), source.name, source.name, reading)


def _read(data: bytes, fallback_id: str, name: str, reading: Reading) -> Iterator[dict[str, Any]]:
    message = message_from_bytes(data, policy=policy.default)
    assert isinstance(message, EmailMessage)
    if message.is_multipart():
        reading.skips.add(name, "an attachment", sum(1 for _ in message.iter_attachments()))
    subject = _header(message, "subject")
    try:
        body = message.get_body(("plain", "html"))
        text = "" if body is None else body.get_content()
        if body is not None and body.get_content_type() == "text/html":
            text = plain_text(text)
    except (LookupError, UnicodeError, AttributeError, TypeError) as error:  # an unknown character set
        reading.skips.add(name, f"a message that cannot be decoded: {error}")
        return
    id = _header(message, "message-id").strip("<> ") or fallback_id
    metadata = {key: value for key in ("from", "to", "cc") if (value := _header(message, key))}
    if subject:
        metadata["subject"] = subject
    passages = list(read_pieces(text, markdown=False))
    if not passages:
        reading.skips.add(name, "a message without text")
    for number, passage in enumerate(passages, start=1):
        yield {
            "id": id if number == 1 else f"{id}#{number}",
            "text": f"{subject}\n{passage.body}" if subject else passage.body,
            "scope": reading.scope,
            "metadata": dict(metadata),
            "created_at": _date(message),
        }


def _header(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message[name] or "").split())
    except (
        ValueError,
        LookupError,
        AttributeError,
        TypeError,
        IndexError,
    ):  # the header parser may raise these
        return ""


def _date(message: EmailMessage) -> Any:
    try:
        return getattr(message["date"], "datetime", None)
    except (ValueError, LookupError, AttributeError, TypeError):
        return None
