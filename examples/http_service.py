"""The HTTP service over a file: start it, write and search as a client, stop it.

    pip install ".[serve]" && python examples/http_service.py

From a shell the service is `scrubjay serve memories.scrubjay`; `scrubjay mcp memories.scrubjay --user jane` offers the
same file to an MCP client.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

import scrubjay.adapters.service  # noqa: F401 - says at once which package is missing


def call(url: str, body: dict[str, Any]) -> Any:
    """Post JSON and return the JSON of the answer."""
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with build_opener(ProxyHandler({})).open(request, timeout=30) as response:  # without a proxy
        return json.load(response)


def main() -> None:
    file = Path(tempfile.mkdtemp()) / "memories.scrubjay"
    command = [sys.executable, "-m", "scrubjay", "serve", str(file), "--port", "0"]  # 0: any free port
    with subprocess.Popen(
        [*command, "--tenant", "acme", "--user", "jane"], stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        try:
            url = next(found[0] for line in server.stderr if (found := re.search(r"http://[\d.]+:\d+", line)))
            memory = {"id": "m1", "text": "The staging API key prefix is sk-stg-0041."}
            call(f"{url}/v1/memories", {"memories": [memory]})
            found = call(f"{url}/v1/search", {"text": "which key prefix for staging?", "k": 1})
            print(json.dumps(found, indent=2))
            assert found["hits"][0]["id"] == "m1"
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
