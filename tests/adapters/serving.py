"""`scrubjay serve` as a separate process, for tests."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any


class Serving:
    """The command with these arguments, on a free port; a context manager that ends it.

    `n_files`: the number of files its process may open.
    """

    def __init__(self, *arguments: str | Path, n_files: int | None = None) -> None:
        self._has_folder = "--demo" in arguments  # left behind by a killed process
        command = [sys.executable, "-m", "scrubjay", "serve", *map(str, arguments), "--port", "0"]
        if n_files is not None:
            command = ["sh", "-c", f'ulimit -n {n_files}; exec "$@"', "sh", *command]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.said = line = self.process.stderr.readline()
        if "ulimit" in line:
            line = self.process.stderr.readline()
        found = re.search(r"listening on (http://\S+:(\d+))", line)
        assert found is not None, line + self.process.stderr.read()
        self.url, self.port = found[1], int(found[2])
        self._errors: list[str] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        for _ in range(3000):  # the socket listens before the application answers
            try:
                if self.ask("GET", "/health/ready", timeout=60)[0] == 200:
                    return
            except OSError:
                time.sleep(0.02)
        raise AssertionError("the service did not get ready")

    def _listen(self) -> None:
        """Read its output, so that it never blocks on a full pipe: it logs each rejected candidate, for example."""
        assert self.process.stderr is not None
        self._errors += self.process.stderr

    def ask(
        self, method: str, path: str, body: Any = None, token: str | None = None, timeout: float = 60
    ) -> tuple[int, Any]:
        """Send one request on a new connection; return the status, and the JSON or text of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        content = None
        if body is not None:
            headers["content-type"] = "application/json"
            content = json.dumps(body)
        try:
            connection.request(method, path, content, headers)
            answer = connection.getresponse()
            given = answer.read()
        finally:
            connection.close()
        is_json = answer.headers.get_content_type() == "application/json"
        return answer.status, json.loads(given) if is_json and given else given.decode()

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; return the exit code and the output."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(timeout=180)
        self._listener.join()
        assert self.process.stdout is not None
        return code, self.process.stdout.read() + "".join(self._errors)

    def __enter__(self) -> Serving:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None and not self._has_folder:
            self.process.kill()
        self.end()
