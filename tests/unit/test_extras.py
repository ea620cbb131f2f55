"""Lazily imported libraries: `scrubjay.base.extras`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scrubjay import MissingExtraError
from scrubjay.base.extras import imported

FORKS = """
import os, sys, threading, time
import scrubjay
from scrubjay.base.extras import imported

thread = threading.Thread(target=imported, args=("slow_library", "a test", None))
thread.start()
while "slow_library" not in sys.modules:
    time.sleep(0.001)
child = os.fork()
if child == 0:
    assert imported("json", "a test", None).dumps(1) == "1"
    for library in ("slow_library", "other_library"):  # the second may be what the first waits for
        try:
            imported(library, "a test", None)
        except scrubjay.Error as error:
            assert "forked while a thread imported slow_library; import it before you fork" in str(error)
        else:
            os._exit(2)
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
thread.join()
assert imported("slow_library", "a test", None).done
child = os.fork()
if child == 0:
    os._exit(not (imported("slow_library", "a test", None).done and imported("other_library", "a test", None)))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        MissingExtraError, match=r"to_pandas\(\) needs pandas, .* pip install \"scrubjay\[tables\]\""
    ):
        imported("pandas", "to_pandas()", "tables")
    assert imported("importlib.metadata", "an example", None).version
    monkeypatch.setitem(sys.modules, "importlib", None)
    with pytest.raises(MissingExtraError, match="an example needs importlib"):
        imported("importlib.metadata", "an example", None)
    monkeypatch.undo()
    with pytest.raises(MissingExtraError, match="an example needs no-such, which is not installed"):
        imported("no_such.part", "an example", None, "no-such")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_during_an_import_is_reported(tmp_path: Path) -> None:
    (tmp_path / "slow_library.py").write_text("import time\ntime.sleep(1)\ndone = True\n")
    (tmp_path / "other_library.py").write_text("")
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
