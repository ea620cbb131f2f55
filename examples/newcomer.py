"""From nothing to an agent with memory in one file: from Python, from a shell, over HTTP, over MCP.

pip install ".[wordllama,serve,mcp]" && python examples/newcomer.py
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.request import Request, urlopen

from mcp import Client, StdioServerParameters

import scrubjay.adapters.mcp
import scrubjay.adapters.service

folder, whose = Path(tempfile.mkdtemp()), ["--tenant", "acme", "--user", "jane"]
file, shell = str(folder / "agent.scrubjay"), [sys.executable, "-m", "scrubjay"]
(folder / "keys.md").write_text("# Keys\n\nThe staging key prefix is sk-stg-0041.\n")
subprocess.run([*shell, "add", file, str(folder / "keys.md"), *whose], check=True)  # documents, from a shell

with scrubjay.Memory.open(file, embedder=scrubjay.embedders.default()) as memory:  # what an agent remembers
    memory.propose(
        "Jane is allergic to nuts.", scope=(jane := scrubjay.Scope("acme", user="jane")), source="run-1"
    )
    assert "nuts" in memory.assemble("What is Jane allergic to?", jane, budget_tokens=300).text

with subprocess.Popen(
    [*shell, "serve", file, "--port", "0", *whose], stderr=subprocess.PIPE, text=True
) as http:
    url = next(found[0] for line in http.stderr if (found := re.search(r"http://[\d.]+:\d+", line)))
    body = b'{"scope": {"tenant": "acme", "user": "jane"}, "text": "which foods are dangerous?", "k": 1}'
    with urlopen(Request(f"{url}/v1/memory/recall", body, {"Content-Type": "application/json"})) as answer:
        assert json.load(answer)["hits"][0]["text"] == "Jane is allergic to nuts."
    http.terminate()


async def agent() -> str:
    server = StdioServerParameters(
        command=shell[0], args=[*shell[1:], "mcp", file, *whose], env=dict(os.environ)
    )
    async with Client(server) as client:
        return str(await client.call_tool("search_memories", {"query": "key prefix for staging"}))


assert "sk-stg-0041" in asyncio.run(agent())
