"""`scrubjay serve` and signals; nothing of the service is imported here, because the import is slow."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.adapters.serving import Serving

for needed in ("fastapi", "uvicorn", "prometheus_client"):
    if find_spec(needed) is None:
        pytest.skip(f"no {needed} here (extra serve)", allow_module_level=True)


@pytest.fixture(autouse=True)
def heeds_interrupts() -> Iterator[None]:
    """A child inherits ignored signals, as a shell lets a background job ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("when", ["while it starts", "while it serves"])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_demo_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, when: str
) -> None:
    """A closed terminal sends SIGHUP."""
    number = getattr(signal, name, None)
    if number is None or os.name == "nt":
        pytest.skip(f"no {name} here")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    if when == "while it serves":
        with Serving("--demo", "--embedder", "none") as service:
            assert [path.name for path in tmp_path.glob("scrubjay-demo-*/demo.scrubjay")] == ["demo.scrubjay"]
            assert service.end(number)[0] == 0
    else:
        command = [sys.executable, "-m", "scrubjay", "serve", "--demo", "--embedder", "none", "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            while not list(tmp_path.glob("scrubjay-demo-*/demo.scrubjay")):
                assert process.poll() is None
                time.sleep(0.001)
            process.send_signal(number)
            try:
                _, said = process.communicate(timeout=60)
            finally:
                process.kill()  # no effect if it has ended
        assert process.returncode in (0, 128 + number) and "Traceback" not in said
    assert not list(tmp_path.iterdir())


def test_a_service_outlives_its_terminal_under_nohup(tmp_path: Path) -> None:
    if not hasattr(signal, "SIGHUP"):
        pytest.skip("no SIGHUP here")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # inherited by the child
    try:
        service = Serving(tmp_path / "m.scrubjay", "--tenant", "acme", "--embedder", "none")
    finally:
        signal.signal(signal.SIGHUP, before)
    with service:
        service.process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert service.ask("GET", "/health/ready")[0] == 200
