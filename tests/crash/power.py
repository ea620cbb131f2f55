"""Repeatedly cut the power of a disk under an index, and compare its content with the acknowledged writes.

    python -m tests.crash.power --rounds 20 --seed 1 [--cuts 40] [--keep FOLDER]

A round runs a process that writes with durability "full" from several threads while another one compacts, under
strace. Its writes and syncs determine what a disk may hold at any moment: everything that was synced, and any part of
the rest, down to sectors; also any file that was created or removed since the last sync of its folder, or not. At each
cut one of those states is created and opened: every acknowledged write must be present, those in flight may be, there
is nothing else, and the file is sound. Needs strace.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.crash.power_writer import N_THREADS, Texts, check, expected

NAME = "power.scrubjay"
SECTOR_BYTES = 512
_CALLS = (
    "openat,close,pwrite64,write,lseek,ftruncate,fsync,fdatasync,unlink,link,linkat,rename,renameat,renameat2"
)
_LINKS, _RENAMES = ("link", "linkat"), ("rename", "renameat", "renameat2")


@dataclass
class Tally:
    """Counts over all rounds."""

    seed: int = 0
    rounds: int = 0
    cuts: int = 0
    acknowledged: int = 0
    compactions: int = 0
    unsynced: int = 0
    failures: list[str] = field(default_factory=list)


@dataclass
class File:
    """A file of the traced process: its synced content, and the writes that the disk may have."""

    synced: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, int, bytes | None]] = field(default_factory=list)
    """(end of the call, place, data) of writes; if data is None, the file was truncated to `place`."""

    def sync(self, begun: int) -> None:
        """Apply the writes that had ended when a sync began."""
        for ended, place, data in self.pending:
            if ended < begun:
                apply(self.synced, place, data)
        self.pending = [one for one in self.pending if one[0] >= begun]

    def left(self, rng: random.Random) -> bytes:
        """Return a content that the disk may have."""
        content = bytearray(self.synced)
        share = rng.choice([0.0, 1.0, 0.5, 0.9, 0.1])
        for _, place, data in self.pending:
            if data is None:
                if rng.random() < share:
                    apply(content, place, None)
                continue
            is_torn = rng.random() < 0.3
            for start in range(0, len(data), SECTOR_BYTES if is_torn else len(data) or 1):
                if rng.random() < share:
                    part = data[start : start + SECTOR_BYTES] if is_torn else data
                    apply(content, place + start, part)
        return bytes(content)


def apply(content: bytearray, place: int, data: bytes | None) -> None:
    """Write to a file, or truncate it."""
    if data is None:
        del content[place:]
        content.extend(bytes(place - len(content)))
        return
    content.extend(bytes(max(place - len(content), 0)))
    content[place : place + len(data)] = data


@dataclass
class Call:
    """A call of the traced process, with the places in the trace at which it began and ended."""

    name: str
    arguments: str
    result: int
    begun: int
    ended: int


def calls(trace: Path) -> Iterator[Call]:
    """Yield the calls in the order of their ends, without those that never ended."""
    begun: dict[str, tuple[int, str]] = {}
    with trace.open(encoding="ascii", errors="replace") as lines:
        for number, line in enumerate(lines):
            thread, _, said = line.rstrip("\n").partition(" ")
            said = said.lstrip()
            if said.endswith("<unfinished ...>"):
                begun[thread] = (number, said[: -len("<unfinished ...>")])
                continue
            start = number
            if resumed := re.match(r"<\.\.\. \w+ resumed>", said):
                start, first = begun.pop(thread)
                said = first + said[resumed.end() :]
            found = re.fullmatch(r"(\w+)\((.*)\)\s+= (-?\d+).*", said)
            if found is not None:
                yield Call(found[1], found[2], int(found[3]), start, number)


def texts_of(quoted: str) -> list[bytes]:
    """Return the bytes of the strings that strace printed in hexadecimal."""
    return [bytes.fromhex(text.replace("\\x", "")) for text in re.findall(r'"((?:\\x[0-9a-f]{2})*)"', quoted)]


def text_of(quoted: str) -> bytes:
    """Return the bytes of the first of these strings."""
    texts = texts_of(quoted)
    assert texts, quoted[:200]
    return texts[0]


class Disk:
    """The state of a folder after some calls."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._open: dict[int, tuple[str, File]] = {}
        self._places: dict[int, int] = {}
        self._names: dict[str, File] = {}  # as the process sees the folder
        self._synced: dict[str, File] = {}  # as the folder was last synced
        self.said: list[str] = []

    def take(self, call: Call) -> None:
        """Apply a call."""
        if call.result < 0:
            return
        if call.name in ("openat", "unlink"):
            self._name(call)
            return
        if call.name in (*_LINKS, *_RENAMES):
            self._name_again(call)
            return
        number = int(call.arguments.partition("<")[0].partition(",")[0])
        if number not in self._open:
            return
        path, file = self._open[number]
        if call.name == "close":
            del self._open[number]
        elif call.name in ("fsync", "fdatasync"):
            file.sync(call.begun)
            if path == self._folder:
                self._synced = dict(self._names)
        elif call.name == "lseek":
            self._places[number] = call.result
        elif call.name == "ftruncate":
            file.pending.append((call.ended, int(call.arguments.rpartition(",")[2]), None))
        elif path.endswith("said"):
            self.said += text_of(call.arguments).decode().splitlines()
        else:
            data = text_of(call.arguments)[: call.result]
            place = self._places.get(number, 0)
            if call.name == "pwrite64":
                place = int(call.arguments.rpartition(",")[2])
            else:
                self._places[number] = place + len(data)
            file.pending.append((call.ended, place, data))

    def _name(self, call: Call) -> None:
        path = text_of(call.arguments.partition(">")[2] if call.name == "openat" else call.arguments).decode()
        if not path.startswith(self._folder):
            return
        if call.name == "unlink":
            self._names.pop(path, None)
        else:
            self._open[call.result] = (path, self._names.setdefault(path, File()))
            self._places[call.result] = 0

    def _name_again(self, call: Call) -> None:
        old, new = (text.decode() for text in texts_of(call.arguments))
        if old in self._names:
            self._names[new] = self._names[old]
            if call.name in _RENAMES:
                del self._names[old]

    def left(self, rng: random.Random) -> dict[str, bytes]:
        """Return the files that a disk may have now."""
        found = {}
        for path in sorted({*self._names, *self._synced}):
            now, before = self._names.get(path), self._synced.get(path)
            file = now if now is before or rng.random() < 0.5 else before
            if file is not None and path.endswith((NAME, "-wal", "-journal")):
                found[Path(path).name] = file.left(rng)
        return found

    def pending(self) -> int:
        """Return the number of writes that the disk may lack."""
        return sum(len(file.pending) for file in self._names.values())


def traced(folder: Path, script: str) -> list[Call]:
    """Run a Python script, and return its calls."""
    trace = folder.with_suffix(".trace")
    options = ["-f", "--seccomp-bpf", "-qq", "-y", "-xx", "-s", "10000000", "-e", f"trace={_CALLS}"]
    command = ["strace", *options, "-o", str(trace), sys.executable, "-c", script]
    subprocess.run(command, check=True, timeout=600)
    found = list(calls(trace))
    trace.unlink()
    return found


def cut_points(all_calls: list[Call], rng: random.Random, n: int) -> list[int]:
    """Return the calls after which the power is cut: half of them acknowledge a write, the others are random."""
    said = [
        i
        for i, call in enumerate(all_calls)
        if call.name == "write" and "\\x73\\x61\\x69\\x64>" in call.arguments
    ]
    first = said[0]
    some = [rng.choice(said) for _ in range(n // 2)]
    return sorted(some + [rng.randrange(first, len(all_calls)) for _ in range(n - len(some))])


def judge(folder: Path, files: dict[str, bytes], said: list[str], seed: int) -> list[str]:
    """Write a state of the disk to a folder; a child process checks it. Return the problems."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    states: list[list[Texts]] = []
    for thread in range(N_THREADS):
        begun = sum(line.startswith(f"b{thread} ") for line in said)
        done = sum(line.startswith(f"a{thread} ") for line in said)
        states.append([expected(seed, thread, n) for n in range(done, begun + 1)])
    incoming, outgoing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(incoming)
        try:
            problems = check(folder / NAME, states)
        except BaseException as error:  # noqa: BLE001 - reported to the parent
            problems = [f"{type(error).__name__}: {error}"]
        os.write(outgoing, json.dumps(problems).encode()[:60_000] or b"[]")
        os._exit(0)
    os.close(outgoing)
    with os.fdopen(incoming, "rb") as pipe:
        heard = pipe.read()
    os.waitpid(child, 0)
    return list(json.loads(heard)) if heard else ["the process that looked at it ended"]


def main(n_rounds: int, seed: int, n_cuts: int, keep: Path | None = None, first: str = "") -> Tally:
    """Run rounds; the traced process first executes the code `first`, which may sabotage it."""
    tally = Tally(seed)
    rng = random.Random(seed)
    memory = "/dev/shm"  # a file system in memory: only the trace matters
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as temporary:
        for number in range(n_rounds):
            folder, place = Path(temporary) / f"round{number}", Path(temporary) / "cut"
            folder.mkdir()
            own = seed * 1000 + number
            work = f"from tests.crash import power_writer as p\np.work(p.Path({str(folder / NAME)!r}), {own})"
            all_calls = traced(folder, f"{first}\n{work}")
            points = cut_points(all_calls, rng, n_cuts)
            disk = Disk(folder)
            for i, call in enumerate(all_calls):
                disk.take(call)
                for _ in range(points.count(i)):
                    files = disk.left(rng)
                    tally.unsynced += disk.pending()
                    problems = judge(place, files, disk.said, own)
                    tally.cuts += 1
                    if problems:
                        tally.failures.append(f"seed {seed}, round {number}, call {i}: {problems[:3]}")
                        if keep is not None:
                            shutil.copytree(place, keep / f"power-{seed}-{number}-{i}", dirs_exist_ok=True)
            tally.acknowledged += sum(line.startswith("a") for line in disk.said)
            tally.compactions += disk.said.count("c")
            tally.rounds += 1
            shutil.rmtree(folder)
            if len(tally.failures) > 5:
                break
    return tally


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cuts", type=int, default=40, help="of each round")
    parser.add_argument("--keep", type=Path, help="a folder for the files of a cut that failed")
    arguments = parser.parse_args()
    result = main(arguments.rounds, arguments.seed, arguments.cuts, arguments.keep)
    print(json.dumps(asdict(result)))
    sys.exit(1 if result.failures else 0)
