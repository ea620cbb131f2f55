"""What the database answered to a poll, as bytes that other processes of the machine read.

The bytes are held to a checksum: what is cut short, damaged, or of another version of Scrubjay is no answer, and its
reader asks the database itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

FORMAT = 2
"""Of these bytes and of what leaders and followers say to each other; others never meet."""
_MAGIC = b"scrubjay-feed-%d\n" % FORMAT
_DIGEST_BYTES = 16


class Answer(NamedTuple):
    """The answer to one poll.

    Attributes:
        leader: the random name of the process that asked, as long as it leads.
        lineage: the history of the database that its connection showed.
        started: when it asked, on the monotonic clock, which all processes of a machine share.
        since: stamps that are younger than this time of the server are in it.
        rows: (time of the server, collection, tenant, user, agent, version) of each scope, at least one; without a
            scope the others are None.
        generations: by the number of the collection.
    """

    leader: str
    lineage: str
    started: float
    since: datetime
    rows: Sequence[tuple[Any, ...]]
    generations: Mapping[int, int]


def bytes_of(answer: Answer) -> bytes:
    """Return an answer as bytes."""
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
    """Return the answer that these bytes are; None if they are none.

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
