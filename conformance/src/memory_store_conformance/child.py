"""The child process of a check: ``python -m memory_store_conformance.child ADDRESS DIRECTORY WHAT JSON``.

Lines for the parent begin with "> ", so that output of a library is not taken for an answer.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memory_store_conformance.contract import Item, Setting, Store
from memory_store_conformance.factories import load

SCOPE = ("acme", "jane")


def say(line: str) -> None:
    print(f"\n> {line}", flush=True)


def write(store: Store, prefix: str, n: int) -> None:
    """Write items one by one after a line from the parent; acknowledge each."""
    say("open")
    sys.stdin.readline()
    for number in range(n):
        name = f"{prefix}{number}"
        try:
            store.put(SCOPE, [Item(name, f"note {name} of a writer", {"n": number})])
        except Exception as error:  # noqa: BLE001 - the parent judges it
            say(f"error {type(error).__name__}: {error}".replace("\n", " ")[:300])
            return
        say(f"acknowledged {name}")


def delete(store: Any, ids: list[str]) -> None:
    """Delete many items in one call; report the start, and the acknowledgement with the seconds it took."""
    say("open")
    sys.stdin.readline()
    say("deleting")
    start = time.perf_counter()
    store.delete(SCOPE, ids)
    say(f"deleted {time.perf_counter() - start}")


def fork(store: Any, seconds: float) -> None:
    """Fork with an open store; the child reads, and the parent works on.

    Prints "child ..." with the child's result, and "parent ..." with the parent's result afterwards.
    """
    store.put(SCOPE, [Item("before", "the note before the fork")])
    store.get(SCOPE, "before")
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            item = store.get(SCOPE, "before")
            answer = f"text {item.text}" if item is not None else "nothing"
        except Exception as error:  # noqa: BLE001 - any exception is an answer
            answer = f"refused {type(error).__name__}"
        os.write(writing, answer.encode("utf-8", "replace"))
        os._exit(0)
    os.close(writing)
    end = time.monotonic() + seconds
    while (done := os.waitpid(pid, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
        time.sleep(0.01)
    if done == (0, 0):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        say("child hung")
    elif os.WIFSIGNALED(done[1]):
        say(f"child died of signal {os.WTERMSIG(done[1])}")
    else:
        say(f"child {os.read(reading, 1000).decode('utf-8', 'replace')}")
    store.put(SCOPE, [Item("after", "the note after the fork")])
    item = store.get(SCOPE, "after")
    say(f"parent {'text ' + item.text if item is not None else 'nothing'}")
    store.close()


OPERATIONS: dict[str, Callable[..., None]] = {"write": write, "delete": delete, "fork": fork}


def main() -> None:
    address, directory, operation, arguments = sys.argv[1:]
    store = load(address)(Setting(Path(directory)))
    OPERATIONS[operation](store, **json.loads(arguments))
    if operation == "write":
        store.close()
    say("end")
    sys.stdout.flush()
    os._exit(0)  # ignore threads that the store left behind


if __name__ == "__main__":
    main()
