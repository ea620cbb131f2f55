"""The situations. Each case runs in its own process, which then exits normally; see `server.py`.

A case is (situation, subject, member). It passes if every call returns a value or raises a typed error, and the process
exits with code 0 and writes nothing to standard error.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import scrubjay
from tests.lifetimes import api, hostile
from tests.lifetimes.arguments import MAKERS, WITHOUT_OBJECTS, Loop, World, caller, use_loop

logging.getLogger("scrubjay").addHandler(logging.NullHandler())  # log messages are not failures

TYPED = (scrubjay.Error, TypeError, ValueError, KeyError, IndexError)
"""Errors that a call may raise; KeyError and IndexError come from failed look-ups."""

CLOSABLE = (
    "Index",
    "Index in memory",
    "AsyncIndex",
    "AsyncIndex in memory",
    "Admin",
    "Admin in memory",
    "Backend",
    "Backend in memory",
    "ScopeView",
    "ScopeView in memory",
    "Memory",
    "AsyncMemory",
    "Feed",
    "MemoryAdmin",
    "Files",
    "Session",
    "Retriever",
)
NATIVE = (
    "Engine",
    "Result",
    "Scope",
    "Filter",
    "Document",
    "CompiledRanking",
    "PreparedDocuments",
    "StaticEmbedder",
    "Hits",
    "Hit",
)

STILL_ANSWER = {  # members that need neither memories nor the file, and work after close
    "Index": {"close", "__repr__", "__enter__", "name", "path", "embedder", "open", "admin"},
    "AsyncIndex": {"close", "__repr__", "open", "index", "admin"},
    "AsyncMemory": {"close", "__repr__", "open", "memory", "admin", "feed", "files", "session"},
    "Admin": {"__repr__", "query_cache_stats", "repair", "salvage"},
    "Backend": {"of", "engine", "is_closed", "dim", "metric", "dtype", "id_kind"},
    "ScopeView": {"exact_scope", "index"},
    "Memory": {
        "close", "__repr__", "__enter__", "open", "session", "index", "documents", "feed", "files", "admin",
    },
    "Session": {"__repr__", "__enter__", "close", "flush"},
    "Retriever": {"close", "cache_stats"},
}  # fmt: skip


class Case(NamedTuple):
    """One test case."""

    situation: str
    subject: str
    member: str  # "*": all members, one after the other

    def __str__(self) -> str:
        return f"{self.situation}: {self.subject}.{self.member}"


def subjects() -> list[str]:
    """Return the names of the subjects in MAKERS whose classes are public."""
    return [name for name in MAKERS if name.partition(" ")[0] in api.classes()]


def all_cases() -> list[Case]:
    """Return all cases."""
    cases = []
    for subject in subjects():
        members = list(api.members(api.classes()[subject.partition(" ")[0]]))
        apart = subject in CLOSABLE or subject in NATIVE
        cases += [
            Case(name, subject, member) for name in ("exit", "fork") for member in (members if apart else "*")
        ]
        if subject in CLOSABLE:
            cases += [Case(name, subject, member) for name in ("close", "closed") for member in members]
        if subject in CALLBACKS:
            cases += [Case("callback", subject, member) for member in members]
    for name, cls in api.classes().items():
        if name in ("Embedder", "Judge", "KeyStore", "Reranker", "Rewriter", "Fusion"):
            continue
        native = name in NATIVE
        cases += [Case("uninitialised", name, member) for member in (api.members(cls) if native else "*")]
    cases += [
        Case("hostile", subject, member)
        for subject in HOSTILE
        for member in api.members(api.classes()[subject.partition(" ")[0]])
        if api.required(api.classes()[subject.partition(" ")[0]], member) is not None
    ]
    return cases


def run(case: Case, folder: Path) -> None:
    """Run a case; raise an error or SystemExit if it failed."""
    _SITUATIONS[case.situation](case, World(folder))


# ---------------------------------------------------------------------- calling


_failures: list[str] = []


def attempt(call: Callable[[], Any], *, expect: type[BaseException] | None = None) -> BaseException | None:
    """Make a call; return its error, or None. An untyped error, or one other than `expect`, is noted as a failure."""
    try:
        call()
    except TYPED as error:
        if expect is not None and not isinstance(error, expect):
            _note(f"expected {expect.__name__}, got {type(error).__name__}: {error}")
        return error
    except BaseException as error:  # noqa: BLE001 - every error is judged
        _note("".join(traceback.format_exception(error)))
        return error
    if expect is not None:
        _note(f"expected {expect.__name__}, got an answer")
    return None


def _note(failure: str) -> None:
    _failures.append(failure)


def report() -> None:
    """Exit with code 3 if there are failures, and print them."""
    if _failures:
        sys.stderr.write("\n".join(dict.fromkeys(_failures))[:8000] + "\n")
        raise SystemExit(3)


def _members(case: Case) -> list[str]:
    if case.member != "*":
        return [case.member]
    return list(api.members(api.classes()[case.subject.partition(" ")[0]]))


def _call(case: Case, world: World, made: Any) -> Callable[[], Any]:
    calls = [caller(case.subject, member) for member in _members(case)]

    def run_all() -> None:
        for call in calls:
            call(world, made)

    return run_all


def _loop(call: Callable[[], Any], stop: threading.Event) -> None:
    while not stop.is_set():
        error = attempt(call)
        if isinstance(error, scrubjay.ClosedError):
            time.sleep(0.001)


# ---------------------------------------------------------------------- the situations


def _close(case: Case, world: World) -> None:
    """Another thread closes the object while threads call the method in a loop."""
    for round in range(2):
        made = MAKERS[case.subject](world)
        call = _call(case, world, made)
        stop = threading.Event()
        threads = [threading.Thread(target=_loop, args=(call, stop)) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.02 + 0.01 * round)
        closers = [threading.Thread(target=attempt, args=(close,)) for close in world.closers]
        for thread in closers:
            thread.start()
        for thread in closers:
            thread.join()
        time.sleep(0.005)
        stop.set()
        for thread in threads:
            thread.join()
        world.closers.clear()
    report()


def _exit(case: Case, world: World) -> None:
    """The interpreter exits while daemon threads call the method in a loop."""
    made = MAKERS[case.subject](world)
    call = _call(case, world, made)

    def loop(own: Loop | None) -> None:
        if own is not None:
            use_loop(own)
        _loop(call, threading.Event())

    for _ in range(3):
        # On exit, CPython before 3.12 frees the state of a thread that is just starting (gh-104690).
        own = Loop() if sys.version_info < (3, 12) else None
        threading.Thread(target=loop, args=(own,), daemon=True).start()
    time.sleep(0.04)
    report()


def _fork(case: Case, world: World) -> None:
    """The process forks while threads call the method; then child and parent call it."""
    made = MAKERS[case.subject](world)
    call = _call(case, world, made)
    stop = threading.Event()
    threads = [threading.Thread(target=_loop, args=(call, stop)) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.02)
    child = os.fork()
    if child == 0:
        _failures.clear()
        in_file = case.subject in ("Index", "AsyncIndex", "Admin", "Backend", "ScopeView", "Memory")
        closed = in_file and case.member not in STILL_ANSWER.get(case.subject, ())
        attempt(call, expect=scrubjay.ClosedError if closed else None)
        attempt(world.reopen)
        report()
        raise SystemExit(0)
    status = _waited(child, 90)
    attempt(call)
    stop.set()
    for thread in threads:
        thread.join()
    if status != 0:
        _note(f"the child ended with {status} (None: it hung)")
    report()


def _waited(child: int, seconds: float) -> int | None:
    last = time.monotonic() + seconds
    while time.monotonic() < last:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGABRT)  # faulthandler prints its stack
    time.sleep(0.3)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _uninitialised(case: Case, world: World) -> None:
    """The object was made without its constructor."""
    cls = api.classes()[case.subject]
    for member in _members(case):
        call = caller(case.subject, member)
        try:
            made = cls.__new__(cls)  # type: ignore[call-overload]
        except TypeError:
            assert issubclass(cls, tuple)  # a tuple cannot be created without its fields
            continue
        attempt(lambda call=call, made=made: call(world, made))
    report()


def _closed(case: Case, world: World) -> None:
    """The object was closed before the call."""
    made = MAKERS[case.subject](world)
    for close in world.closers:
        close()
    name = case.subject.partition(" ")[0]
    allowed = case.member in STILL_ANSWER.get(name, ())
    call = _call(case, world, made)
    attempt(call, expect=None if allowed else scrubjay.ClosedError)
    for close in world.closers:
        attempt(close)
    report()


def _latest(world: World) -> scrubjay.Index:
    assert world.latest is not None
    return world.latest


CALLBACKS: dict[str, dict[str, Callable[[World, Any], Any]]] = {
    "Index": {
        "embedder": lambda world, index: caller("Index", "upsert")(world, index),
        "stemmer": lambda _, index: index.upsert("s1", "entirely new vocabularies", scope=_JANE),
        "keys": lambda _, index: (index.admin.forget_keys(), index.search("sealed", scope=_SEALED)),
    },
    "Index in memory": {
        "embedder": lambda world, index: caller("Index", "upsert")(world, index),
        "stemmer": lambda _, index: index.upsert("s1", "entirely new vocabularies", scope=_JANE),
    },
    "Admin": {
        "embedder": lambda world, _: caller("Index", "upsert")(world, world.latest),
        "stemmer": lambda world, _: _latest(world).upsert("s1", "entirely new vocabularies", scope=_JANE),
        "keys": lambda world, admin: (admin.forget_keys(), _latest(world).search("sealed", scope=_SEALED)),
    },
    "Admin in memory": {
        "embedder": lambda world, _: caller("Index", "upsert")(world, world.latest),
        "stemmer": lambda world, _: _latest(world).upsert("s1", "entirely new vocabularies", scope=_JANE),
    },
    "Backend": {
        "embedder": lambda _, backend: backend.embed(["one more sentence"]),
        "stemmer": lambda world, _: _latest(world).upsert("s1", "entirely new vocabularies", scope=_JANE),
        "keys": lambda world, _: (
            _latest(world).admin.forget_keys(),
            _latest(world).search("sealed", scope=_SEALED),
        ),
    },
    "Backend in memory": {
        "embedder": lambda _, backend: backend.embed(["one more sentence"]),
        "stemmer": lambda world, _: _latest(world).upsert("s1", "entirely new vocabularies", scope=_JANE),
    },
    "ScopeView": {
        "embedder": lambda _, view: view.upsert("s2", "one more sentence"),
        "stemmer": lambda _, view: view.upsert("s1", "entirely new vocabularies"),
    },
    "Memory": {
        "embedder": lambda world, made: caller("Memory", "propose")(world, made),
        "stemmer": lambda _, made: made.recall("unheard questions", _JANE),
        "keys": lambda _, made: (made.index.admin.forget_keys(), made.prefer("tone", "New.", scope=_SEALED)),
        "clock": lambda world, made: caller("Memory", "propose")(world, made),
        "judge": lambda world, made: caller("Memory", "propose")(world, made),
        "extractor": lambda world, made: made.distil("run-1", world.extract, scope=_JANE),
        "reranker": lambda _, made: made.recall("where is Oslo", _JANE),
    },
    "Session": {
        "clock": lambda _, session: session.user("Another one."),
        "embedder": lambda _, session: session.propose("Jane sings well"),
    },
    "Retriever": {
        "embedder": lambda _, retriever: retriever.search("an unheard question", scope=_JANE),
        "rewriter": lambda _, retriever: retriever.search("one more question", scope=_JANE),
        "reranker": lambda _, retriever: retriever.search("trains or planes", scope=_JANE),
        "trace": lambda _, retriever: retriever.search("trains", scope=_JANE),
    },
    "Engine": {
        "stemmer": lambda _, engine: engine.upsert("s1", "entirely new vocabularies", scope=_JANE),
    },
}
"""Subject -> callback -> the call that triggers it."""

_JANE, _SEALED = scrubjay.Scope("acme", user="jane"), scrubjay.Scope("sealed", user="jane")


def _callback(case: Case, world: World) -> None:
    """The method is called from a callback of the same object, within another call of it."""
    for name, trigger in CALLBACKS[case.subject].items():
        made = MAKERS[case.subject](world)
        call = _call(case, world, made)
        called = []

        def action(call: Callable[[], Any] = call, called: list[int] = called) -> None:
            called.append(1)
            attempt(call)

        world.hooks.action, world.hooks.armed = action, name
        attempt(lambda made=made, trigger=trigger: trigger(world, made))
        world.hooks.armed = None
        if not called:
            _note(f"the callback {name} was not called")
        attempt(call)  # the object still works
        for close in world.closers:
            attempt(close)
        world.closers.clear()
        _note_progress(name)
    report()


def _note_progress(name: str) -> None:
    """Print the finished callback, for the report of a case that hangs afterwards; see `server.py`."""
    sys.stdout.write(f"{name} done\n")
    sys.stdout.flush()


HOSTILE = ("Index", "Index in memory", "Admin", "Admin in memory", "Backend", "Backend in memory", "ScopeView",
           "ScopeView in memory", "Memory", "Session", "Retriever", "Engine",
           "Scope", "Result", "Hits", "StaticEmbedder", "QueryCache", "ResultCache", "Counters", "Query", "WordLlama",
           "Recalled", "Retrieved", "Decay", "KeyFolder", "UserKeys")  # fmt: skip
"""Without classes that pass their arguments to a caller's function, or take objects internal to the package."""


def _place(error: BaseException) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def _hostile(case: Case, world: World) -> None:
    """Every parameter gets hostile values."""
    hostile.enter(world)
    everything = bool(os.environ.get("SCRUBJAY_ALL_HOSTILE"))
    made = MAKERS[case.subject](world)
    for what, call in hostile.calls(case.subject, case.member, world, made, everything=everything):
        sys.stdout.write(f"{what}\n")
        sys.stdout.flush()  # the last line names the call that killed the process
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - every error is judged
            if not hostile.acceptable(error):
                _note(f"{what}: {type(error).__name__}: {str(error)[:120]} ({_place(error)})")
        if getattr(made, "is_closed", False) or case.member in ("close", "__enter__"):
            made = MAKERS[case.subject](world)
    for close in world.closers:
        close()
    report()


_SITUATIONS: dict[str, Callable[[Case, World], None]] = {
    "close": _close,
    "exit": _exit,
    "fork": _fork,
    "uninitialised": _uninitialised,
    "callback": _callback,
    "closed": _closed,
    "hostile": _hostile,
}
assert WITHOUT_OBJECTS.isdisjoint(MAKERS)
