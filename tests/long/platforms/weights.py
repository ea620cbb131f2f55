"""Installs the default embedder's data for the interpreter that runs this, on any platform.

    python tests/long/platforms/weights.py [FOLDER]     (default: the interpreter's own site-packages)

The package of the extra `wordllama` has wheels only for some platforms and Pythons, and many dependencies. Scrubjay
reads two of its data files and runs none of its code, so any of its wheels is sufficient, without dependencies.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

PACKAGE = "wordllama>=0.4.0.post1,<0.5"
WHEEL = [
    "--platform",
    "manylinux_2_28_x86_64",
    "--platform",
    "manylinux2014_x86_64",
    "--python-version",
    "3.12",
]


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else sysconfig.get_path("purelib"))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade"]
    command += ["--only-binary=:all:", "--implementation", "cp", *WHEEL, "--target", str(folder), PACKAGE]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
