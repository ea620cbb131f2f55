"""Retrievals share a cache entry only if they are equivalent, for every scope and process."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay import RRF, Filter, Index, Query, Retriever, Scope
from scrubjay.retrieval import CallableReranker, Context, OpenAIRewriter, RedisCache, ResultCache
from scrubjay.retrieval.keys import UncomparableValue, key_of, name_of

JANE = Scope("acme", user="jane")

# ---- keys ------------------------------------------------------------------------------------------------------------

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 1.0, 2.5])
    | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
)


@given(values, values)
def test_keys_are_equal_as_json_is(first: Any, second: Any) -> None:
    same = json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)
    assert (key_of(first) == key_of(second)) == same or (first == 0 and second == 0)  # 0.0 and -0.0
    assert (repr(key_of(first)) == repr(key_of(second))) == same
    hash(key_of(first))


def test_values_with_equal_reprs_have_different_cache_keys() -> None:
    pyroaring = pytest.importorskip("pyroaring")
    long = np.arange(5000)
    other = long.copy()
    other[2500] = 7
    assert repr(long) == repr(other)
    for kind in (np.asarray, list, set, tuple, pyroaring.BitMap):
        assert key_of(kind(long)) != key_of(kind(other)), kind  # type: ignore[operator]
        assert key_of(kind(long)) == key_of(kind(long.copy())), kind  # type: ignore[operator]
    assert key_of(np.float32([1, 2])) != key_of(np.float64([1, 2]))
    assert key_of({1, 2}) != key_of([1, 2])
    assert key_of({"a": {"b": 1}}) == key_of({"a": {"b": np.int64(1)}})


def test_values_without_equality_have_no_cache_key() -> None:
    for value in (object(), (i for i in range(3)), {"filter": {"x": object()}}):
        with pytest.raises(UncomparableValue):
            key_of(value)
    assert key_of(Filter({"a": 1})) == key_of(Filter({"a": 1})) != key_of(Filter({"a": 2}))
    assert key_of(Query(RRF(3))) == key_of(Query(RRF(3))) != key_of(Query(RRF(4)))


def test_names() -> None:
    assert (
        name_of(test_names) == name_of(test_names) != name_of(test_values_without_equality_have_no_cache_key)
    )
    unnamed = object()
    for part in (lambda text: text, unnamed, [].append, "".join):
        assert name_of(part) != name_of(part)
    lengths = CallableReranker(lambda _, texts: [len(text) for text in texts])
    words = CallableReranker(lambda _, texts: [len(text.split()) for text in texts])
    assert name_of(lengths) == name_of(lengths) != name_of(words)
    assert name_of(CallableReranker(len)) != name_of(CallableReranker(max))  # type: ignore[arg-type]
    named = [CallableReranker(len, name="a"), CallableReranker(max, name="a")]  # type: ignore[arg-type]
    assert name_of(named[0]) == name_of(named[1])  # equal names assert that they are equivalent
    rewriters = [OpenAIRewriter("m"), OpenAIRewriter("m"), OpenAIRewriter("m", prompt="{n} {query}")]
    assert name_of(rewriters[0]) == name_of(rewriters[1]) != name_of(rewriters[2])


@pytest.fixture
def index() -> Index:
    index = Index()
    index.upsert_many([{"id": i, "text": f"The train {i}.", "scope": JANE} for i in range(3000)])
    return index


def test_long_lists_of_ids_are_told_apart(index: Index) -> None:
    retriever = Retriever(index, cache=True)
    allowed = np.arange(3000)
    first = retriever.search("train", scope=JANE, query=Query(ids=np.delete(allowed, 1500)), k=3000)
    second = retriever.search("train", scope=JANE, query=Query(ids=np.delete(allowed, 1600)), k=3000)
    assert (1500 in first.ids, 1500 in second.ids, second.cached) == (False, True, False)
    once = retriever.search("train", scope=JANE, query=Query(ids=iter([5, 6])))
    again = retriever.search("train", scope=JANE, query=Query(ids=iter([5, 6])))
    assert (sorted(once.ids), sorted(again.ids), again.cached) == ([5, 6], [5, 6], True)


def test_retrievers_over_two_indexes_share_a_cache_but_no_results() -> None:
    cache = ResultCache()
    texts = ["The night train.", "The day train."]
    indexes = [Index(), Index()]
    for one, text in zip(indexes, texts, strict=True):
        one.upsert(1, text, scope=JANE)
    found = [Retriever(one, cache=cache).search("train", scope=JANE) for one in indexes * 2]
    assert [one[0].text for one in found] == texts * 2
    assert [one.cached for one in found] == [False, False, True, True]


def test_an_empty_cache_is_a_cache(index: Index) -> None:
    cache = ResultCache()
    Retriever(index, cache=cache).search("train", scope=JANE)
    assert Retriever(index, cache=cache).search("train", scope=JANE).cached
    assert Retriever(index, cache=False).search("train", scope=JANE).cached is False


def test_a_cache_evicts_the_least_recently_used_entry() -> None:
    cache = ResultCache(max_entries=2)
    for key in "ab":
        cache.put(key, 1, key, 5)
    assert cache.get("a", 1) == "a"
    cache.put("c", 1, "c", 5)
    assert (cache.get("b", 1), cache.get("a", 1), cache.get("c", 1)) == (None, "a", "c")
    stats = cache.stats()
    assert (stats.entries, stats.bytes, stats.hit_rate) == (2, 10, 0.75)


@pytest.mark.parametrize(
    ("given", "error"), [(0, ValueError), (-1, ValueError), (True, TypeError), (2.0, TypeError)]
)
def test_a_bad_number_of_entries_is_an_error(given: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="max_entries: expected"):
        ResultCache(max_entries=given)


def test_anew_bypasses_the_cache_and_refills_it(index: Index) -> None:
    retriever = Retriever(index, cache=True)
    assert not retriever.search("train", scope=JANE, anew=True).cached
    assert retriever.cache_stats()["results"].misses == 0
    assert retriever.search("train", scope=JANE).cached
    assert not retriever.search("train", scope=JANE, anew=True).cached
    with pytest.raises(TypeError, match="anew: expected a bool, got int"):
        retriever.search("train", scope=JANE, anew=1)  # type: ignore[arg-type]


def test_queries_without_a_cache_key_bypass_the_cache(index: Index) -> None:
    retriever = Retriever(index, cache=True)

    class Ids:
        def __iter__(self) -> Iterator[int]:
            return iter([7])

    for _ in range(2):
        found = retriever.search("train", scope=JANE, query=Query(ids=Ids()))
        assert (list(found.ids), found.cached) == ([7], False)
    assert retriever.counters.value("uncacheable_total") == 2


# ---- redis -----------------------------------------------------------------------------------------------------------


class Server:
    """A Redis server on the loopback interface."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("redis-server is not installed (Debian package redis-server)")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._start = [
            program,
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            str(folder),
        ]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._start, stdout=subprocess.DEVNULL)
        for _ in range(3000):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    @property
    def url(self) -> str:
        """More patient than RedisCache by default: the machine may be busy."""
        return f"redis://127.0.0.1:{self.port}/0?socket_timeout=60&socket_connect_timeout=60"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    pytest.importorskip("redis", reason="redis is not installed (extra: redis)")
    server = Server(tmp_path)
    yield server
    server.kill()


OTHER = textwrap.dedent(
    """
    import json, sys
    from scrubjay import Index, Retriever, Scope
    from scrubjay.retrieval import RedisCache
    jane = Scope("acme", user="jane")
    with Index.open(sys.argv[1]) as index:
        retriever = Retriever(index, shared_cache=RedisCache(sys.argv[2]))
        for line in sys.stdin:
            order = json.loads(line)
            if "write" in order:
                index.upsert(order["write"], order["text"], scope=Scope(**order.get("scope", {"tenant": "acme"})))
            if "delete" in order:
                index.delete(order["delete"], scope=Scope(**order.get("scope", {"tenant": "acme"})))
            found = retriever.search("train", scope=jane, **order.get("options", {}))
            print(json.dumps([found.cached, list(found.ids), found.texts, [hit.score for hit in found],
                              [hit.evidence for hit in found], retriever.cache_stats()["shared"].stale]), flush=True)
    """
)


class Other:
    """Another process with the same file and the same server."""

    def __init__(self, path: Path, url: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", OTHER, str(path), url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def do(self, **order: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(20) == 0


def test_a_write_of_another_process_makes_entries_unreachable_at_once(tmp_path: Path, server: Server) -> None:
    path = tmp_path / "a.scrubjay"
    with Index.open(path, durability="normal") as index:
        index.upsert("m1", "Takes the night train.", scope=JANE)
        mine = Retriever(index, shared_cache=RedisCache(server.url))
        other = Other(path, server.url)
        first = mine.search("train", scope=JANE)
        cached, ids, texts, scores, evidence, _ = other.do()
        assert (cached, ids, texts) == (True, ["m1"], first.texts)
        assert scores == first.scores.tolist()
        assert evidence == [[1, None, False]] == [list(hit.evidence) for hit in first]
        for turn in range(20):
            # They write: mine must not return the cached result, and what mine caches then is valid for them as well.
            assert other.do(write="m2", text=f"Missed the train {turn}.")[0] is False
            found = mine.search("train", scope=JANE)
            assert found.cached  # they have searched since they wrote
            assert f"Missed the train {turn}." in found.texts
            # I write, they search; no search in between.
            index.upsert("m3", f"A third train {turn}.", scope=JANE)
            cached, ids, texts, *_ = other.do()
            assert not cached
            assert f"A third train {turn}." in texts
            cached, ids, *_ = other.do(delete="m3", scope={"tenant": "acme", "user": "jane"})
            assert (cached, sorted(ids)) == (False, ["m1", "m2"])
            assert "m3" not in mine.search("train", scope=JANE).ids
        index.upsert("foreign", "A train.", scope=Scope("globex"))
        assert mine.search("train", scope=JANE).cached  # other users' writes do not matter
        assert not mine.search("train", scope=JANE, k=2).cached
        assert not mine.search("train", scope=JANE, explain=True).cached
        assert mine.search("train", scope=JANE, explain=True)[0].bm25 is not None
        assert other.do()[5] > 0  # stale look-ups were counted
        other.end()


def test_files_and_collections_do_not_mix(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Same relative path, same versions, same ids: the answers differ nevertheless."""
    found = []
    for folder, text in (("one", "The night train."), ("two", "The day train by night train.")):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        with Index.open("a.scrubjay", durability="normal") as index:
            side = index.collection("side")
            for one, more in ((index, ""), (side, " Aside train train.")):
                one.upsert("m", text + more, scope=JANE)
                found.append(Retriever(one, shared_cache=RedisCache(server.url)).search("train", scope=JANE))
    assert [one.cached for one in found] == [False] * 4
    assert len({float(one[0].score) for one in found}) == 4


def test_a_restored_backup_has_a_future_of_its_own(tmp_path: Path, server: Server) -> None:
    path = tmp_path / "a.scrubjay"

    def retrieve(index: Index) -> tuple[bool, list[str]]:
        found = Retriever(index, shared_cache=RedisCache(server.url)).search("train", scope=JANE)
        return found.cached, sorted(found.texts)

    with Index.open(path, durability="normal") as index:
        index.upsert("m", "A train.", scope=JANE)
        retrieve(index)  # the file gets its identity
        index.admin.backup(tmp_path / "b.scrubjay")
        index.upsert("n", "The train that was lost.", scope=JANE)
        assert retrieve(index) == (False, ["A train.", "The train that was lost."])
    path.write_bytes((tmp_path / "b.scrubjay").read_bytes())  # in place: the same inode
    with Index.open(path, durability="normal") as index:
        index.upsert("n", "Another train instead.", scope=JANE)  # the same version as the lost one had
        assert retrieve(index) == (False, ["A train.", "Another train instead."])
        assert retrieve(index)[0]


def test_expired_memories_are_not_served_from_the_shared_cache(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index.open(tmp_path / "a.scrubjay", durability="normal") as index:
        index.upsert("m", "A train.", scope=JANE)
        index.upsert("soon", "A train train train.", scope=JANE, ttl=600)
        retriever = Retriever(index, shared_cache=RedisCache(server.url))
        assert list(retriever.search("train", scope=JANE, k=1).ids) == ["soon"]
        assert retriever.search("train", scope=JANE, k=1).cached
        real = time.time_ns
        monkeypatch.setattr("time.time_ns", lambda: real() + 601 * 10**9)
        after = retriever.search("train", scope=JANE, k=1)
        assert (list(after.ids), after.cached) == (["m"], False)


def test_a_rewriter_without_a_name_is_shared_with_nobody(tmp_path: Path, server: Server) -> None:
    with Index.open(tmp_path / "a.scrubjay", durability="normal") as index:
        index.upsert("m", "A train.", scope=JANE)
        index.upsert("o", "An oak.", scope=JANE)
        cache = RedisCache(server.url)
        first = Retriever(index, lambda _: ["oak"], shared_cache=cache).search("train", scope=JANE)
        second = Retriever(index, lambda _: [], shared_cache=cache).search("train", scope=JANE)
        assert (set(first.ids), set(second.ids), second.cached) == ({"m", "o"}, {"m"}, False)
        counting = Context(max_tokens=4, count=lambda text: 1)
        strict = Context(max_tokens=4, count=lambda text: 5)
        assert len(Retriever(index, context=counting, shared_cache=cache).search("train", scope=JANE)) == 1
        assert len(Retriever(index, context=strict, shared_cache=cache).search("train", scope=JANE)) == 0


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"not json",
        b"[]",
        b"{}",
        b"null",
        b"[1, 2, 3]",
        b'["STATE", null]',
        b'["STATE", 7]',
        b'["STATE", {"hits": [{"id": "m"}]}]',
        b'["STATE", {"hits": [{"level": 1, "id": ["m"], "score": 1}], "mode": 1}]',
        b'["STATE", {"hits": [{"id": "m", "score": 1, "rerank": null, "queries": [0], '
        b'"evidence": [1, 1, false]}], "mode": "lexical", "degraded": []}]',
        b'["STATE", {"hits": [{"level": 2, "id": "m", "score": 1, "rerank": null, "queries": [0], '
        b'"evidence": [1, 1, false]}], "mode": "lexical", "degraded": []}]',
        b'["STATE", {"hits": [{"level": 0, "id": "m", "score": 1, "rerank": null, "queries": [0], '
        b'"evidence": [1, 1, false]}], "mode": "lexical", "degraded": []}]',
        b'["STATE", {"hits": [{"level": 1, "id": "secret", "score": 1, "rerank": null, "queries": [0], '
        b'"evidence": [1, 1, false]}], "mode": "lexical", "degraded": []}]',
        b"\xff\xfe",
    ],
)
def test_random_cache_contents_break_no_search(tmp_path: Path, server: Server, damage: bytes) -> None:
    """And no scope sees more through it than it may."""
    import redis

    with Index.open(tmp_path / "a.scrubjay", durability="normal") as index:
        index.upsert("m", "A train.", scope=JANE)
        index.upsert("secret", "A secret train.", scope=Scope("globex"))
        retriever = Retriever(index, shared_cache=RedisCache(server.url))
        retriever.search("train", scope=JANE)
        client = redis.Redis.from_url(server.url)
        for key in client.keys("*"):
            state = json.loads(client.get(key)[16:])[0]
            text = damage.replace(b'"STATE"', json.dumps(state).encode())
            client.set(key, sha256(text).hexdigest()[:16].encode() + text)
        found = retriever.search("train", scope=JANE)
        assert (list(found.ids), found.cached) == (["m"], False)
        assert retriever.search("train", scope=JANE).cached


def test_a_server_that_is_killed_costs_little_and_may_come_back(tmp_path: Path, server: Server) -> None:
    with Index.open(tmp_path / "a.scrubjay", durability="normal") as index:
        index.upsert("m", "A train.", scope=JANE)
        retriever = Retriever(index, shared_cache=RedisCache(server.url, retry_s=0.2))
        retriever.search("train", scope=JANE)
        assert retriever.search("train", scope=JANE).cached
        server.kill()
        start = time.monotonic()
        for _ in range(50):
            found = retriever.search("train", scope=JANE)
            assert (list(found.ids), found.mode, found.cached) == (["m"], "lexical", False)
        assert time.monotonic() - start < 20  # no call waits for an unreachable server
        assert retriever.counters.value("shared_cache_errors_total") == 50
        server.start()
        time.sleep(0.25)
        assert not retriever.search("train", scope=JANE).cached
        assert retriever.search("train", scope=JANE).cached


def test_a_server_that_failed_is_left_alone_for_a_while() -> None:
    now, asked = [0.0], []

    class Away:
        def get(self, *_: Any) -> None:
            asked.append(now[0])
            raise TimeoutError("hangs")

    cache = RedisCache(client=Away(), retry_s=5.0, clock=lambda: now[0])
    for now[0] in (0.0, 1.0, 4.9, 5.0, 6.0, 10.0):
        assert cache.get("k", 1) is None
    assert asked == [0.0, 5.0, 10.0]
    assert cache.stats().misses == 6
    for options in ({"ttl_s": 0}, {"retry_s": -1}, {"ttl_s": float("nan")}):
        with pytest.raises(ValueError, match="expected a number"):
            RedisCache(client=Away(), **options)  # type: ignore[arg-type]
