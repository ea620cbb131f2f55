"""The answer of the database to a poll, serialised for other processes of the machine.

A checksum covers the bytes: a reader rejects what is truncated, damaged, or of another version of Scrubjay, and
asks the database itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

FORMAT = 2
"""The version of these bytes and of the messages between leaders and followers. Processes of different versions
never share a feed."""
_MAGIC = b"scrubjay-feed-%d\n" % FORMAT
_DIGEST_BYTES = 16


class Answer(NamedTuple):
    """The answer to one poll.

    Attributes:
        leader: the random name of the polling process, constant while it leads.
        lineage: the history of the database that its connection showed.
        started: when the poll began, on the monotonic clock, which all processes of a machine share.
        since: the answer has all stamps later than this time of the server.
        rows: (time of the server, collection, tenant, user, agent, version) of each changed scope; at least one
            row, in which all but the time are None if no scope has changed.
        generations: number of the collection -> its generation.
    """

    leader: str
    lineage: str
    started: float
    since: datetime
    rows: Sequence[tuple[Any, ...]]
    generations: Mapping[int, int]


def bytes_of(answer: Answer) -> bytes:
    """Serialise an answer."""
    at = answer.rows[0][0]
    body = json.dumps(
        [
            answer.leader,
            answer.lineage,
            answer.started,
            answer.since.isoformat(),
            at.isoformat(),
            [row[1:] for row in answer.rows if row[1] is not None],
            list(answer.generations.items()),
        ],
        separators=(",", ":"),
    ).encode("ascii")
    return _MAGIC + _digest(body) + body


def answer_of(data: bytes) -> Answer | None:
    """Parse an answer; None if the bytes are invalid.

    >>> from datetime import timezone
    >>> at = datetime(2026, 1, 1, tzinfo=timezone.utc)
    >>> answer = Answer("a", "1-7", 12.5, at, [(at, 3, "acme", "", "", 8)], {3: 0})
    >>> answer_of(bytes_of(answer)) == answer, answer_of(bytes_of(answer)[:-1])
    (True, None)
    """
    start = len(_MAGIC) + _DIGEST_BYTES
    body = data[start:]
    if data[:start] != _MAGIC + _digest(body):
        return None
    try:
        leader, lineage, started, since, at, scopes, generations = json.loads(body)
        now = datetime.fromisoformat(at)
        return Answer(
            str(leader),
            str(lineage),
            float(started),
            datetime.fromisoformat(since),
            [(now, *_scope(*one)) for one in scopes] or [(now, None, None, None, None, None)],
            {int(number): int(generation) for number, generation in generations},
        )
    except (ValueError, TypeError, RecursionError):
        return None


def _scope(
    collection: int, tenant: str, user: str, agent: str, version: int
) -> tuple[int, str, str, str, int]:
    return int(collection), str(tenant), str(user), str(agent), int(version)


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()
