"""The disk of a file: free space, the kind of file system, and whether other machines share it.

SQLite keeps the index of its write-ahead log in memory that the processes of one machine share. Over a network
file system each machine has its own copy, and they overwrite each other's writes.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

_MOUNTS = Path("/proc/self/mountinfo")

_SHARED = frozenset(
    "9p afs beegfs ceph cifs coda fuse.ceph fuse.gcsfuse fuse.glusterfs fuse.rclone fuse.s3fs fuse.sshfs glusterfs "
    "gpfs lustre ncpfs nfs nfs4 ocfs2 orangefs smb3 smbfs virtiofs".split()
)


class Disk(NamedTuple):
    """The disk of a file.

    Attributes:
        free_bytes: available to this user.
        file_system: its kind as the system names it, such as "ext4" or "nfs4"; None if unknown here.
        is_shared: whether other machines may have the same files open; None if unknown here.
    """

    free_bytes: int
    file_system: str | None
    is_shared: bool | None


def disk_of(path: Path) -> Disk:
    """Return the disk of a file or folder. The kind of file system is known on Linux only.

    Raises:
        OSError: the file does not exist.
    """
    real = path.resolve()
    free = shutil.disk_usage(real if real.is_dir() else real.parent).free
    try:
        kind = kind_of(str(real), _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape"))
    except OSError:
        kind = None
    return Disk(free, kind, None if kind is None else kind in _SHARED)


def kind_of(path: str, mounts: str) -> str | None:
    """Return the kind of file system of an absolute path without links, from the text of Linux's mountinfo; None
    if the text does not name it.

    >>> kind_of("/srv/a/b", "27 1 8:1 / / rw - ext4 /dev/sda1 rw\\n40 27 0:45 / /srv/a rw - nfs4 host:/a rw")
    'nfs4'
    """
    longest, kind = -1, None
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5 or not after:
            continue
        point = _plain(fields[4])
        is_above = path == point or path.startswith(point.rstrip("/") + "/")
        if is_above and len(point) >= longest:  # of two mounts at one point the later one hides the other
            longest, kind = len(point), after.split(" ")[0]
    return kind


def _plain(name: str) -> str:
    """Return a mount point with the escapes of mountinfo replaced."""
    for escape, letter in ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\")):
        name = name.replace(escape, letter)
    return name
