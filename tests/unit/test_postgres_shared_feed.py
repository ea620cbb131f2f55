"""Processes of one machine share one feed, and each keeps its guarantees when the polling one is killed, is stopped,
forks, is closed, or writes nonsense."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Index, Scope
from scrubjay.backend import Backend
from scrubjay.store.postgres import rendezvous as meetings
from scrubjay.store.postgres.feed import Feed
from scrubjay.store.postgres.feed_protocol import Follower, Leader
from scrubjay.store.postgres.hint_buckets import ALL, QUIET_SECONDS, Hint, bucket_of
from scrubjay.store.postgres.poll_answers import Answer, answer_of, bytes_of
from scrubjay.store.postgres.rendezvous import Rendezvous
from tests.data.postgres import Cluster, as_superuser, new_cluster, new_url

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.skipif(meetings.fcntl is None, reason="this platform has no locks of files")

ROOT = Path(__file__).parents[2]
JANE = Scope("acme", user="jane")
MAX_STALE = 0.8  # the shortest with the usual pauses
AT = datetime(2026, 1, 1, tzinfo=timezone.utc)


@pytest.fixture
def url() -> str:
    return new_url()


def feed_of(index: Index) -> Feed:
    store: Any = Backend.of(index).engine.store  # type: ignore[union-attr]
    return store._feed  # type: ignore[no-any-return]


def role_of(index: Index) -> Any:
    return index.admin.stats()["feed_role"]


def until(true: Callable[[], Any], seconds: float = 20) -> None:
    last = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < last
        time.sleep(0.005)


def ids(index: Index) -> set[Any]:
    return {hit.id for hit in index.search("oak", scope=JANE, k=10_000)}


def has(index: Index, id: Any) -> bool:
    return id in ids(index)


@contextmanager
def sharing(url: str, n: int = 2, **options: Any) -> Iterator[list[Index]]:
    """Open a leader and its followers."""
    with ExitStack() as stack:
        opened = []
        for _ in range(n):
            opened.append(stack.enter_context(Index.open(url, **options)))
            until(lambda: role_of(opened[-1]) == ("leader" if len(opened) == 1 else "follower"))
        yield opened


# ---------------------------------------------------------------------- answers


def an_answer(n: int, chance: random.Random) -> Answer:
    rows = [(AT, i, f"tenant \u00e9 {i}", "", chance.choice(["", "a\ud7ff"]), i * n) for i in range(n)]
    return Answer("leader", "1-7", 12.5, AT - timedelta(10), rows or [(AT, *[None] * 5)], {1: n, 2: 0})


def test_an_answer_is_read_as_it_was_written_or_not_at_all() -> None:
    chance = random.Random(1)
    for n in (0, 1, 2, 50):
        answer = an_answer(n, chance)
        data = bytes_of(answer)
        assert answer_of(data) == answer
        for length in range(len(data)) if n < 3 else (0, 1, 40, len(data) - 1):
            assert answer_of(data[:length]) is None
        for _ in range(500):
            place = chance.randrange(len(data))
            changed = data[:place] + bytes([data[place] ^ chance.randrange(1, 256)]) + data[place + 1 :]
            assert answer_of(changed) is None
        assert answer_of(data + b"x") is None and answer_of(data + data) is None
    for _ in range(500):
        assert answer_of(chance.randbytes(chance.randrange(200))) is None


@pytest.mark.parametrize(
    "body", [b"[]", b"{}", b"[1,2,3,4,5,6,7]", b"[" * 100_000, b"\xff", b'["a","b",1,"x","y",[],[]]']
)
def test_malformed_answers_with_a_right_checksum_are_ignored(body: bytes) -> None:
    from scrubjay.store.postgres import poll_answers

    assert answer_of(poll_answers._MAGIC + poll_answers._digest(body) + body) is None


def test_a_reader_never_sees_half_an_answer(tmp_path: Path) -> None:
    place = Rendezvous(["x"], [tmp_path / "private"])
    written = {n: bytes_of(an_answer(n, random.Random(n))) for n in (1, 3000, 20)}
    place.write(written[1])
    ended = threading.Event()

    def write() -> None:
        while not ended.is_set():
            for data in written.values():
                place.write(data)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        seen = {place.read() for _ in range(3000)}
    finally:
        ended.set()
        thread.join()
    assert seen <= set(written.values()) and len(seen) > 1


# ---------------------------------------------------------------------- rendezvous


def test_only_a_private_folder_is_used(tmp_path: Path) -> None:
    private, open_to_all, elsewhere = tmp_path / "private", tmp_path / "open", tmp_path / "link"
    open_to_all.mkdir(mode=0o755)
    open_to_all.chmod(0o755)
    (tmp_path / "target").mkdir(mode=0o700)
    elsewhere.symlink_to(tmp_path / "target")
    (tmp_path / "file").write_text("")
    wrong = [open_to_all, elsewhere, tmp_path / "file", tmp_path / "missing" / "folder"]
    with pytest.raises(OSError, match="no private folder"):
        Rendezvous(["x"], wrong)
    place = Rendezvous(["x"], [*wrong, private])
    place.write(b"answer")
    held = place.lock()
    assert held is not None
    assert private.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in private.iterdir()} == {0o600}
    assert all("x" not in path.stem for path in private.iterdir())  # a hash of the words
    place.unlock(held)
    assert list(private.iterdir()) == []
    with pytest.raises(OSError, match="too long"):
        Rendezvous(["x"], [tmp_path / ("long" * 40)])


def test_a_platform_without_locks_stays_alone(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meetings, "fcntl", None)
    with Index.open(url) as index, Index.open(url) as other:
        until(lambda: feed_of(index).hints._connection is not None)
        assert (role_of(index), role_of(other)) == ("alone", "alone")
        other.upsert("m", "oak", scope=JANE)
        until(partial(has, index, "m"))


def test_one_lock_has_one_holder_and_its_file_goes_with_it(tmp_path: Path) -> None:
    places = [Rendezvous(["x"], [tmp_path / "p"]) for _ in range(2)]
    held = places[0].lock()
    assert held is not None and places[1].lock() is None
    before = os.open(places[0]._lock, os.O_RDWR)  # as one that came while the holder was there
    places[0].unlock(held)
    again = places[1].lock()
    assert again is not None and places[0].lock() is None
    assert os.fstat(before).st_ino != os.fstat(again).st_ino
    os.close(before)
    places[1].unlock(again)


def test_unused_rendezvous_files_are_swept(tmp_path: Path) -> None:
    old, used, new = (Rendezvous([name], [tmp_path / "p"]) for name in ("old", "used", "new"))
    lasting = used.lock()
    for place in (old, used, new):
        place.write(b"names of tenants")
        if place is not used:
            held = place.lock()
            assert held is not None
            os.close(held)  # as if killed
    long_ago = time.time() - 10_000
    for place in (old, used):
        os.utime(place._lock, (long_ago, long_ago))
    new.sweep()
    assert [place.read() for place in (old, used, new)] == [b"", b"names of tenants", b"names of tenants"]
    assert not old._lock.exists() and lasting is not None
    os.close(lasting)


def test_leaders_and_followers_close_malformed_connections(tmp_path: Path) -> None:
    import socket

    address = str(tmp_path / "s")
    leader = Leader(address)
    strangers = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(4)]
    for stranger, words in zip(
        strangers, [b"w x\n", b"h 1\n", b"h 1.zz.3\n", b"\xff \xff\n" * 9], strict=True
    ):
        stranger.connect(address)
        stranger.send(words)
    follower = Follower(address)
    until(
        lambda: leader.hear(leader.sockets()) == ([], False) and len(leader.peers) == 2
    )  # the last one was only silent
    assert not follower.hear() and follower.leader == leader.name
    leader.wake()
    assert follower.hear()
    leader.close()
    with pytest.raises(OSError, match="closed"):
        follower.hear()
    for end in (*strangers, follower):
        end.close()


@contextmanager
def led(folder: Path, n: int) -> Iterator[tuple[Leader, list[Follower]]]:
    """A leader and those that follow it, without a database."""
    leader = Leader(str(folder / "s"))
    followers = [Follower(str(folder / "s")) for _ in range(n)]
    try:
        until(lambda: leader.hear(leader.sockets()) == ([], False) and len(leader.peers) == n)
        assert [one.hear() for one in followers] == [False] * n
        yield leader, followers
    finally:
        leader.close()
        for one in followers:
            one.close()


def test_a_leader_wakes_only_followers_of_the_written_scopes(tmp_path: Path) -> None:
    with led(tmp_path, 4) as (leader, (writer, one, many, other)):
        writer.say(frozenset({7}), [])
        one.say(frozenset({7, 9}), [])
        many.say(frozenset({ALL}), [])
        other.say(frozenset({8}), [])
        assert leader.hear(leader.sockets()) == ([], False)
        assert leader.wishes() == {7, 8, 9, ALL}

        def woken() -> list[Follower]:
            leader.wake(leader.take_asking())
            return [follower for follower in (writer, one, many, other) if follower.hear()]

        writer.say(None, [Hint(1, 5, 7)])
        assert leader.hear(leader.sockets()) == ([Hint(1, 5, 7)], True)
        assert woken() == [one, many] and woken() == []  # not who wrote it
        assert leader.wants([Hint(1, 5, 8)]) and woken() == [many, other]  # the leader wrote
        assert leader.wants([Hint(1, 5, ALL)]) and woken() == [writer, one, many, other]  # any bucket
        one.say(frozenset({9}), [])
        leader.hear(leader.sockets())
        assert leader.wishes() == {7, 8, 9, ALL}
        many.close()
        leader.hear(leader.sockets())
        assert leader.wishes() == {7, 8, 9}
        writer.say(None, [Hint(1, 5, 7)])
        assert leader.hear(leader.sockets()) == ([Hint(1, 5, 7)], False)


def test_a_follower_sends_only_hints_that_others_want(tmp_path: Path) -> None:
    def hints(*buckets: int) -> list[Hint]:
        return [Hint(1, 5, bucket) for bucket in buckets]

    with led(tmp_path, 2) as (leader, (writer, other)):
        soon = time.monotonic() + 0.3
        writer.say(frozenset({1, 2, 3, 4}), hints(1, 2, 3, 4))  # its own wishes are no reason
        other.say(frozenset({2}), [])
        leader.hear(leader.sockets())
        leader.hush({1: soon, 2: soon, 3: soon, 4: soon - 1, 5: soon}, {3})
        assert not writer.hear()
        # 2 is wanted by the other, 3 by the leader, of 4 it is not known any more, 5 nobody wrote.
        assert writer.wanted(hints(1, 2, 3, 4, 5)) == hints(2, 3, 4, 5)
        time.sleep(max(soon - time.monotonic(), 0) + 0.01)
        assert writer.wanted(hints(1)) == hints(1)  # it is asked about again

        def hush() -> None:
            later = time.monotonic() + 60
            writer.say(None, hints(1))
            leader.hear(leader.sockets())
            leader.hush({1: later}, set())
            writer.hear()
            assert writer.wanted(hints(1)) == []

        for wishes in (frozenset({2, 1}), frozenset({ALL})):
            other.say(frozenset({2}), [])
            leader.hear(leader.sockets())
            hush()
            other.say(wishes, [])
            leader.hear(leader.sockets())
            assert not writer.hear() and writer.wanted(hints(1)) == hints(1)
        other.say(frozenset(), [])
        leader.hear(leader.sockets())
        hush()
        leader.wake_up({1})  # the leader itself
        assert not writer.hear() and writer.wanted(hints(1)) == hints(1)
        writer.say(None, hints(1))
        leader.hear(leader.sockets())
        leader.hush({1: time.monotonic() + 60}, {ALL})
        writer.hear()
        assert writer.wanted(hints(1)) == hints(1)
        # No leader is believed for long.
        hush()
        assert max(writer._quiet.values()) <= time.monotonic() + QUIET_SECONDS


# ---------------------------------------------------------------------- sharing processes


def polls_in_a_second(count: Callable[[], list[int]]) -> list[int]:
    """Count how often each has polled the database; on a busy machine a leader may be late, and others poll."""
    before = count()
    time.sleep(1)
    asked = [after - n for after, n in zip(count(), before, strict=True)]
    assert max(asked) >= 1
    return asked


def test_the_settings_of_an_index_decide_whether_it_shares_a_feed(url: str) -> None:
    with sharing(url, 3) as shared, ExitStack() as stack:
        others = {
            "follower": Index.open(f"{url}&application_name=another&connect_timeout=9", max_stale=30),
            "leader": Index.open(url, max_stale=0.4),  # which asks more often
            "alone": Index.open(url, shared_feed=False),
        }
        strict, superuser = Index.open(url, max_stale=0), Index.open(as_superuser(url))
        for index in (*others.values(), strict, superuser):
            stack.enter_context(index)
        for role, index in others.items():
            until(lambda role=role, index=index: role_of(index) == role)
        until(lambda: role_of(superuser) == "leader")  # another role sees other rows
        assert role_of(strict) == "alone"
        assert [role_of(index) for index in shared] == ["leader", "follower", "follower"]
    with pytest.raises(TypeError, match="shared_feed: expected True or False, got 'no'"):
        Index.open(url, shared_feed="no")  # type: ignore[arg-type]


def test_a_follower_neither_polls_nor_listens(url: str) -> None:
    with sharing(url, 3) as shared:
        leader, *followers = shared
        for index in shared:
            ids(index)
        time.sleep(2.5)  # the connections of their first polls go
        until(lambda: polls_in_a_second(lambda: [feed_of(index).n_polls for index in shared])[1:] == [0, 0])
        for index in followers:
            own = feed_of(index)
            until(lambda own=own: own._connection is None)
            assert own.hints._connection is None
            assert index.search("oak", scope=JANE).freshness < MAX_STALE
        # Each writes, and all others find it, sooner than by a poll.
        for i, writer in enumerate(shared):
            writer.upsert(i, "oak", scope=JANE)
            for index in shared:
                until(partial(has, index, i))
        leader.delete(1, scope=JANE)
        for index in followers:
            until(lambda index=index: ids(index) == {0, 2})


def test_hints_reach_followers_from_elsewhere_and_from_each_other(url: str, monkeypatch: Any) -> None:
    from scrubjay.store.postgres import feed

    monkeypatch.setattr(feed, "_LONGEST_PAUSE", 30.0)  # so that only a hint makes a write visible in time
    with (
        sharing(url, 3, max_stale=1000) as shared,
        Index.open(url, max_stale=1000, shared_feed=False) as other,
    ):
        until(lambda: feed_of(other).hints._connection is not None)
        leader, *followers = shared
        for index in (*followers, other):  # not the leader: nothing of it concerns itself
            ids(index)
        until(lambda: len(feed_of(leader).hints._heard_of) > 0)
        for n, writer in enumerate([other, *shared, other, *shared]):
            time.sleep(0.3)  # a writer that found no leader looks again
            writer.upsert(n, "oak", scope=JANE)
            for index in (*followers, other):
                until(partial(has, index, n), 10)
        assert feed_of(followers[0]).hints._connection is None


def test_a_follower_without_hints_is_woken_at_each_pause(url: str) -> None:
    """The others of a machine are woken at each hint that they want; the rest at each pause, and need not ask."""
    globex = Scope("globex", user="joe")
    with sharing(url, 4) as (leader, writer, wants, rests):
        for index in (writer, wants):
            ids(index)
        rests.search("oak", scope=globex)
        time.sleep(1)
        n_taken = dict.fromkeys(("wants", "rests"), 0)
        for name, index in (("wants", wants), ("rests", rests)):
            follow = feed_of(index).follow

            def counted(name: str = name, follow: Any = follow) -> bool:
                n_taken[name] += 1
                return bool(follow())

            feed_of(index).follow = counted  # type: ignore[method-assign]
        before, asked = feed_of(rests).n_polls, feed_of(leader).n_polls
        end, n = time.monotonic() + 2, 0
        while time.monotonic() < end:
            writer.upsert(n % 50, "oak", scope=JANE)
            assert rests.search("oak", scope=globex).freshness < MAX_STALE
            n += 1
            time.sleep(0.005)
        assert feed_of(rests).n_polls <= before + 1  # on a busy machine the leader may be late
        assert n_taken["rests"] <= 2 / 0.1 + 2
        assert n_taken["wants"] > n_taken["rests"] > 3
        assert feed_of(leader).n_polls - asked >= n_taken["wants"] - 2
        rests.upsert(99, "oak", scope=JANE)
        until(partial(has, wants, 99))


def test_a_silent_follower_speaks_again_once_another_wants_it(url: str, monkeypatch: Any) -> None:
    from scrubjay.store.postgres import feed

    monkeypatch.setattr(feed, "_LONGEST_PAUSE", 30.0)  # so that nothing is found in time but by a hint
    with sharing(url, 3, max_stale=1000) as (leader, writer, reader):
        follower = feed_of(writer).sharing._follower
        assert follower is not None
        until(lambda: feed_of(leader).hints._connection is not None)
        for n in range(3):
            scope = Scope(f"tenant {n}")
            bucket = bucket_of(scope.tenant)

            def is_silent(scope: Scope = scope, bucket: int = bucket) -> bool:
                writer.upsert(0, "oak", scope=scope)
                return not follower.wanted([Hint(1, 1, bucket)])

            until(is_silent)
            sent = feed_of(leader).sharing._leader
            assert sent is not None
            reader.search("oak", scope=scope)
            until(
                lambda bucket=bucket, sent=sent: bucket in sent.wishes() and len(sent._by_bucket[bucket]) > 1
            )
            until(lambda bucket=bucket: follower.wanted([Hint(1, 1, bucket)]))
            writer.upsert(1, "oak", scope=scope)
            until(lambda scope=scope: len(reader.search("oak", scope=scope)) == 2, 5)


def test_closing_the_leader_hands_on_to_a_follower(url: str) -> None:
    with ExitStack() as stack:
        there = [stack.enter_context(Index.open(url)) for _ in range(4)]
        for n in range(3):
            until(lambda: sorted(map(role_of, there)) == ["follower"] * (len(there) - 1) + ["leader"], 5)
            leader = next(index for index in there if role_of(index) == "leader")
            there.remove(leader)
            leader.close()
            there[0].upsert(n, "oak", scope=JANE)
            for index in there:
                until(partial(has, index, n))


# ---------------------------------------------------------------------- accepted and refused messages


class Answers:
    """Make a follower find these answers instead of its leader's."""

    def __init__(self, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
        self.feed = feed_of(index)
        self.given: Answer | None = None
        monkeypatch.setattr(self.feed.sharing, "answer", lambda: self.given)

    def take(self, **changes: Any) -> bool:
        """Return whether such an answer is accepted."""
        feed, now = self.feed, time.monotonic()
        assert feed._since is not None
        at = feed._since + timedelta(seconds=11)
        usual = Answer("x", feed._server.lineage, now, feed._since, [(at, *[None] * 5)], {})
        self.given = usual._replace(**changes)
        return feed.follow()


def test_an_answer_is_taken_only_if_it_joins_on(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with sharing(url) as (_, follower):
        answers = Answers(follower, monkeypatch)
        feed = answers.feed
        assert answers.take()
        known, since = feed.fresh_at, feed._since
        assert since is not None
        assert not answers.take(started=known) and not answers.take(
            started=known - 5
        )  # of one that was stopped
        assert not answers.take(started=time.monotonic() + 5)
        assert not answers.take(since=since + timedelta(microseconds=1))  # something in between is missing
        assert feed.fresh_at == known and feed._since == since
        assert answers.take(since=since - timedelta(seconds=1)) and feed.fresh_at > known
        known = feed.fresh_at
        assert feed.sharing.is_following
        assert not answers.take(lineage="00000002-7") and feed.fresh_at == known
        assert not feed.sharing.is_following and feed._connection is None  # it polls, on a new connection


def test_a_leader_that_shows_another_history_is_left(url: str) -> None:
    with sharing(url) as (leader, follower):
        leader.upsert(0, "oak", scope=JANE)
        until(partial(has, follower, 0))
        theirs = feed_of(leader)._server
        theirs._lineages = dict.fromkeys(theirs._lineages, "other")  # type: ignore[assignment]
        monkey = theirs.lineage_of
        theirs.lineage_of = lambda connection: "other"  # type: ignore[method-assign]
        before = feed_of(follower).n_polls
        until(lambda: feed_of(follower).n_polls > before + 2)
        assert follower.search("oak", scope=JANE).freshness < MAX_STALE
        leader.upsert(1, "oak", scope=JANE)
        until(partial(has, follower, 1))
        theirs.lineage_of = monkey  # type: ignore[method-assign]
        until(lambda: role_of(follower) == "follower")


def test_damage_of_what_is_shared_costs_polls_and_nothing_else(url: str) -> None:
    chance, ended = random.Random(3), threading.Event()
    with sharing(url, 3) as shared:
        for index in shared:
            ids(index)
        place = feed_of(shared[0]).sharing._meeting
        assert place is not None
        answer = place._answer

        def damage() -> None:
            while not ended.is_set():
                with suppress(OSError):
                    data = answer.read_bytes() if chance.random() < 0.5 else chance.randbytes(300)
                    answer.write_bytes(data[: chance.randrange(len(data) + 1)])
                with suppress(OSError):
                    if chance.random() < 0.1:
                        answer.unlink()
                time.sleep(0.001)

        thread = threading.Thread(target=damage)
        thread.start()
        try:
            for n in range(40):
                shared[n % 3].upsert(n, "oak", scope=JANE)
                acknowledged = time.monotonic()
                for index in shared:
                    until(partial(has, index, n))
                    hits = index.search("oak", scope=JANE)
                    assert hits.freshness <= 1.0 and not any(one.startswith("stale") for one in hits.degraded)
                assert time.monotonic() - acknowledged < 5
        finally:
            ended.set()
            thread.join()
        until(lambda: [role_of(index) for index in shared] == ["leader", "follower", "follower"])


def test_no_space_for_answers_ends_the_sharing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Rendezvous, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    with sharing(url) as shared:
        monkeypatch.setattr(Rendezvous, "write", full)
        until(lambda: role_of(shared[0]) == "alone")
        for n, writer in enumerate(shared):
            writer.upsert(n, "oak", scope=JANE)
            for index in shared:
                until(partial(has, index, n))


# ---------------------------------------------------------------------- processes

PROCESS = """
import json, os, sys, threading, time
from scrubjay import Index, Scope
from scrubjay.backend import Backend
url, max_stale = sys.argv[1], float(sys.argv[2])
jane = Scope("acme", user="jane")
index = Index.open(url, max_stale=max_stale)
feed = Backend.of(index).engine.store._feed
def write(*words):
    os.write(1, (json.dumps(words) + "\\n").encode())
def look():
    begin = time.monotonic()
    hits = index.search("oak", scope=jane, k=100_000)
    end = time.monotonic()
    stale = any(reason.startswith("stale: ") for reason in hits.degraded)
    return begin, end, hits.freshness, stale, [hit.id for hit in hits]
def told():
    for line in sys.stdin:
        word = line.split()
        if word[0] == "role":
            write("role", feed.sharing.role, feed.n_polls)  # not stats(), which asks the database
        elif word[0] == "fork":
            child = os.fork()
            if child == 0:
                from scrubjay.store.postgres.shared_feed import _live
                write("forked", os.getpid(), [one.role for one in _live])
                time.sleep(600)
                os._exit(0)
    os._exit(0)
threading.Thread(target=told, daemon=True).start()
write("open")
while True:
    write("read", *look())
    time.sleep(.02)
"""


class Process:
    """A process that searches continually, and reports its results."""

    def __init__(self, url: str, max_stale: float) -> None:
        self.reads: list[tuple[float, float, float, bool, set[int]]] = []
        self.said: list[list[Any]] = []
        self.child = subprocess.Popen(
            [sys.executable, "-c", PROCESS, url, str(max_stale)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        assert self.child.stdout is not None
        for line in self.child.stdout:
            if line.endswith("\n"):
                kind, *words = json.loads(line)
                if kind == "read":
                    begin, end, freshness, stale, found = words
                    self.reads.append((begin, end, freshness, stale, set(found)))
                else:
                    self.said.append([kind, *words])

    def ask(self, word: str) -> list[Any]:
        n = len(self.said)
        assert self.child.stdin is not None
        self.child.stdin.write(f"{word}\n")
        self.child.stdin.flush()
        until(lambda: len(self.said) > n)
        return self.said[-1]

    def role(self) -> str:
        return str(self.ask("role")[1])

    def has_seen(self, n: int) -> bool:
        return bool(self.reads) and n in self.reads[-1][4]

    def end(self) -> None:
        self.child.kill()
        self.child.wait()
        self._thread.join()


@contextmanager
def processes(url: str, n: int, max_stale: float = MAX_STALE) -> Iterator[list[Process]]:
    there: list[Process] = []
    try:
        for _ in range(n):
            there.append(Process(url, max_stale))
        for one in there:
            until(lambda one=one: one.reads, 60)
        until(lambda: sorted(one.role() for one in there) == ["follower"] * (n - 1) + ["leader"])
        yield there
    finally:
        for one in there:
            with suppress(ProcessLookupError):
                one.child.send_signal(signal.SIGCONT)
            one.end()


class Writer:
    """Writes numbers in a thread, and records when each began and was acknowledged."""

    def __init__(self, url: str) -> None:
        self.begun: list[float] = []
        self.acknowledged: list[float] = []
        self._ended = threading.Event()
        self._url = url
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def _write(self) -> None:
        with Index.open(self._url, shared_feed=False) as index:
            while not self._ended.is_set():
                n = len(self.begun)
                self.begun.append(time.monotonic())
                index.upsert(n, "oak", scope=JANE)
                self.acknowledged.append(time.monotonic())
                time.sleep(0.01)

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def judge(self, reads: list[tuple[float, float, float, bool, set[int]]], max_stale: float) -> int:
        """Check reads against bounded freshness and their own claims; return how many claimed nothing."""
        n_judged = 0
        for begin, end, freshness, stale, found in reads:
            if stale:
                continue
            n_judged += 1
            since = max(begin - max_stale, end - freshness)
            missing = [n for n, at in enumerate(self.acknowledged) if at < since and n not in found]
            assert not missing, (begin, end, freshness, missing[:5])
            assert all(self.begun[n] < end for n in found)
            assert freshness <= max_stale + (end - begin)
        return n_judged


def n_sessions(url: str, what: str) -> int:
    """Return how many sessions sent this statement last."""
    with psycopg.connect(as_superuser(url), autocommit=True) as connection:
        ((n,),) = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE %s", (what,)
        ).fetchall()
    return int(n)


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    made = new_cluster()
    if isinstance(made, str):
        pytest.skip(made)
    yield made
    made.remove()


def test_processes_have_one_connection_that_polls_and_one_that_listens(server: Cluster) -> None:
    url = new_url(server.url)
    with processes(url, 4) as there, Index.open(url, shared_feed=False) as writer:
        writer.upsert(0, "oak", scope=JANE)
        for one in there:
            until(lambda one=one: one.has_seen(0))
        time.sleep(2.5)
        until(
            lambda: sorted(polls_in_a_second(lambda: [one.ask("role")[2] for one in there]))[:3] == [0, 0, 0]
        )
        writer.close()
        until(lambda: n_sessions(url, "SELECT collection, generation FROM sj_collection%") == 1)
        until(lambda: n_sessions(url, "SELECT pg_advisory_lock_shared%") == 1)


def test_the_leader_is_killed_again_and_again_while_others_read(server: Cluster) -> None:
    url = new_url(server.url)
    chance = random.Random(7)
    gone: list[Process] = []
    with processes(url, 3, 0.4) as there:
        writer = Writer(url)
        try:
            for _ in range(6):
                until(lambda: "leader" in [one.role() for one in there])
                leader = next(one for one in there if one.role() == "leader")
                time.sleep(chance.random() * 0.5)
                leader.end()
                there.remove(leader)
                gone.append(leader)
                time.sleep(chance.random() * 0.3)
                there.append(Process(url, 0.4))
                until(lambda: there[-1].reads, 60)
            until(lambda: sorted(one.role() for one in there) == ["follower", "follower", "leader"])
            n = len(writer.begun)
            until(lambda: len(writer.acknowledged) > n)
            until(lambda: all(one.has_seen(n) for one in there))
        finally:
            writer.end()
        n_judged = sum(writer.judge(one.reads, 0.4) for one in (*there, *gone))
        assert n_judged > 50 and len(gone) == 6


def test_followers_do_not_wait_for_a_stopped_leader(server: Cluster) -> None:
    url = new_url(server.url)
    with processes(url, 3) as there:
        writer = Writer(url)
        try:
            leader = next(one for one in there if one.role() == "leader")
            others = [one for one in there if one is not leader]
            for _ in range(2):
                leader.child.send_signal(signal.SIGSTOP)
                stopped = time.monotonic()
                until(lambda: all(one.role() == "alone" for one in others))
                while time.monotonic() < stopped + 2:
                    time.sleep(0.1)
                n = len(writer.begun)
                for one in others:
                    until(partial(one.has_seen, n))
                leader.child.send_signal(signal.SIGCONT)
                until(lambda: sorted(one.role() for one in there) == ["follower", "follower", "leader"])
        finally:
            writer.end()
        assert sum(writer.judge(one.reads, MAX_STALE) for one in others) > 50
        # Its last answer before it was stopped reported its age.
        writer.judge(leader.reads, float("inf"))


def test_a_child_of_a_leader_keeps_nothing_of_it(server: Cluster) -> None:
    url = new_url(server.url)
    with processes(url, 2) as there:
        leader = next(one for one in there if one.role() == "leader")
        (other,) = (one for one in there if one is not leader)
        _, child, roles = leader.ask("fork")
        try:
            assert roles == ["alone"]
            leader.child.kill()
            until(lambda: other.role() == "leader")  # though the child lives
            os.kill(child, 0)
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_restart_of_the_server(server: Cluster) -> None:
    url = new_url(server.url)
    with processes(url, 3) as there:
        for n in range(2):
            server.stop("immediate")
            try:
                until(lambda: all(one.reads[-1][3] for one in there))  # each says that it may be stale
                until(lambda: all(one.role() == "alone" for one in there))
            finally:
                server.start()
            until(lambda: sorted(one.role() for one in there) == ["follower", "follower", "leader"], 30)
            with Index.open(url, shared_feed=False) as writer:
                writer.upsert(n, "oak", scope=JANE)
            for one in there:
                until(partial(is_current, one, n))


def is_current(one: Process, n: int) -> bool:
    return one.has_seen(n) and not one.reads[-1][3]
