"""A PostgreSQL server for the tests: that of SCRUBJAY_TEST_POSTGRES, or one of Debian's packages, started in a
temporary folder on a socket and stopped at the end.

Indexes are opened as `app`, an ordinary role that owns their tables, so that every test is subject to the row security
between tenants, which does not apply to superusers. The server refuses to run as root, so for root it runs as
`postgres` or `nobody`. Each index gets its own schema.
"""

from __future__ import annotations

import atexit
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

__all__ = ["Cluster", "as_superuser", "cluster", "new_cluster", "new_url"]

_PORT = 54329
_ROOM_BYTES = 4 << 30
_SUPERUSER, _APP = "postgresql://tests@", "postgresql://app@"


class Cluster:
    """One server. `stop`, `kill` and `start` are for tests of outages."""

    def __init__(self, programs: Path, *, waits_for_the_disk: bool) -> None:
        self._programs = programs
        self._waits_for_the_disk = waits_for_the_disk
        self.folder = Path(
            tempfile.mkdtemp(prefix="scrubjay-pg-", dir=None if waits_for_the_disk else _memory())
        )
        self._user = (
            next(name for name in ("postgres", "nobody") if _has_user(name)) if os.geteuid() == 0 else None
        )
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        self.folder.chmod(0o755)
        self._run(
            "initdb", "-D", self._data, "-A", "trust", "-U", "tests", "-E", "UTF8", "--locale=C", "--no-sync"
        )
        self.start()

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        if self._user is not None:
            command = ["runuser", "-u", self._user, "--", *command]
        # A sanitizer of the tests must not be loaded into the server.
        given = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", env=given, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stdout}{done.stderr}")

    def start(self) -> None:
        """Start the server and wait until it accepts connections."""
        options = f"-k {self.folder} -p {_PORT} -c listen_addresses='' -c max_connections=200"
        if not self._waits_for_the_disk:  # the kernel keeps the writes of a killed server
            options += " -c fsync=off"
        log = str(self.folder / "log")
        try:
            self._run("pg_ctl", "-D", self._data, "-l", log, "-o", options, "-w", "-t", "60", "start")
        except RuntimeError as error:
            raise RuntimeError(f"{error}{Path(log).read_text()[-3000:]}") from None

    def stop(self, how: str = "fast") -> None:
        """Stop the server: "fast" ends every connection, "immediate" is like a crash."""
        self._run("pg_ctl", "-D", self._data, "-m", how, "-w", "stop")

    def kill(self) -> None:
        """Kill every process of the server with SIGKILL, as the kernel does when memory runs out."""
        note = Path(self._data) / "postmaster.pid"
        first = int(note.read_text().split()[0])
        os.kill(first, signal.SIGSTOP)  # it starts no further processes
        everyone = [first, *_children(first)]
        for process in reversed(everyone):  # processes that find the first one gone exit by themselves
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        while any(_runs(process) for process in everyone):
            time.sleep(0.002)
        # The process id in these may stay in use, by a zombie.
        for left in (note, self.folder / f".s.PGSQL.{_PORT}.lock"):
            left.unlink(missing_ok=True)

    def fork_from_copy(self, copy: Path) -> None:
        """Start a stopped server from a copy of its folder, as if a standby that lagged behind took over."""
        shutil.rmtree(self._data)
        shutil.copytree(copy, self._data, symlinks=True)
        (Path(self._data) / "standby.signal").touch()
        if self._user is not None:
            subprocess.run(["chown", "-R", self._user, self._data], check=True)
        self.start()
        self._run("pg_ctl", "-D", self._data, "-w", "promote")

    def copy_to(self, copy: Path) -> None:
        """Copy the folder of a stopped server."""
        shutil.copytree(self._data, copy, symlinks=True)

    def base_backup(self) -> Path:
        """Copy the folder of the running server by pg_basebackup, with the WAL of concurrent writes."""
        copy = self.folder / "backup"
        where = ("-h", str(self.folder), "-p", str(_PORT), "-U", "tests")
        self._run("pg_basebackup", *where, "-D", str(copy), "-X", "stream", "-c", "fast", "--no-sync")
        return copy

    def restore(self, copy: Path) -> None:
        """Start a stopped server from a base backup."""
        shutil.rmtree(self._data)
        copy.rename(self._data)
        self.start()

    def remove(self) -> None:
        """Stop the server and delete its folder."""
        try:
            self.stop("immediate")
        except RuntimeError:
            pass  # it was already stopped
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self) -> str:
        """The address of the server's database."""
        return f"postgresql://tests@/postgres?host={quote(str(self.folder), safe='')}&port={_PORT}"


def _memory() -> str | None:
    """Return a folder in memory with enough room for a server, or None.

    Each index has a hundred files in the server's folder. On a disk a fifth of the server's work is to create and
    delete them.
    """
    folder = Path("/dev/shm")
    if not folder.is_dir() or not os.access(folder, os.W_OK) or shutil.disk_usage(folder).free < _ROOM_BYTES:
        return None
    return str(folder)


def _children(parent: int) -> list[int]:
    found = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [process for process in found if _status(process)[1:2] == [str(parent)]]


def _runs(process: int) -> bool:
    return _status(process)[:1] not in ([], ["Z"], ["X"])


def _status(process: int) -> list[str]:
    """Return the state of a process, the id of its parent, and more; [] if it is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _has_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if found:
        return found[-1].parent
    program = shutil.which("initdb")
    return None if program is None else Path(program).parent


@lru_cache(maxsize=1)
def cluster() -> Cluster | str:
    """Return the server that all tests of this process share, or the reason why there is none."""
    return new_cluster(waits_for_the_disk=False)


def new_cluster(*, waits_for_the_disk: bool = True) -> Cluster | str:
    """Return a separate server, for tests that stop and start it, or the reason why there is none.

    `waits_for_the_disk=False` disables fsync and keeps the data in memory if there is room, for tests that neither
    measure the server nor depend on durability.
    """
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed (extra postgres)"
    programs = _programs()
    if programs is None:
        return "no PostgreSQL is installed here"
    if os.geteuid() == 0 and not (_has_user("postgres") or _has_user("nobody")):
        return "PostgreSQL refuses root, and there is no other user"
    made = Cluster(programs, waits_for_the_disk=waits_for_the_disk)
    atexit.register(made.remove)
    return made


def new_url(base: str | None = None) -> str:
    """Return the address of an empty schema; skip the test if there is no server."""
    import pytest

    base = base or os.environ.get("SCRUBJAY_TEST_POSTGRES")
    if base is None:
        found = cluster()
        if isinstance(found, str):
            pytest.skip(found)
        base = found.url
    import psycopg

    name = f"t{secrets.token_hex(6)}"
    is_ours = base.startswith(_SUPERUSER)
    with psycopg.connect(base, autocommit=True) as connection:
        if is_ours and not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'app'").fetchone():
            connection.execute("CREATE ROLE app LOGIN")
        connection.execute(f"CREATE SCHEMA {name}{' AUTHORIZATION app' if is_ours else ''}")
    url = base.replace(_SUPERUSER, _APP) if is_ours else base
    return f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}"


def as_superuser(url: str) -> str:
    """Return an address of :func:`new_url` for the superuser, to whom row security does not apply."""
    return url.replace(_APP, _SUPERUSER)
