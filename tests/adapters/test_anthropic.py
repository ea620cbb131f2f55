"""Claude's memory tool, through the SDK's runner, and compared with the SDK's own tool over a folder."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anthropic.lib.tools")

import httpx2 as httpx
from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError

from scrubjay import ClosedError, Index, Scope
from scrubjay.adapters.anthropic import (
    AsyncScrubjayMemoryTool,
    MemoryFileError,
    MemoryFiles,
    ScrubjayMemoryTool,
)
from scrubjay.embedders import default
from tests.adapters.hostile import NAMES, TWINS
from tests.adapters.killed_writer import acknowledged_writes

JANE = Scope("acme", user="jane")


@pytest.fixture(params=["memory", "file"])
def tool(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ScrubjayMemoryTool]:
    tool = ScrubjayMemoryTool(None if request.param == "memory" else tmp_path / "a", scope=JANE)
    yield tool
    tool.close()


def do(tool: Any, command: str, **fields: Any) -> str:
    """Return the message for the model; for an error, its text after a mark."""
    try:
        told = tool.call({"command": command, **fields})
    except ToolError as error:
        return f"error: {error}"
    assert isinstance(told, str)
    return told


def paths(tool: Any) -> list[str]:
    return sorted(str(one.id) for one in tool.files._below("/memories"))


# ---------------------------------------------------------------------- through the SDK


class Claude:
    """The service as the SDK sees it: issues these commands, one in each answer, and records the results."""

    def __init__(self, *commands: dict[str, Any]) -> None:
        self.commands, self.results, self.tools = list(commands), list[Any](), list[Any]()

    def answer(self, request: Any) -> Any:
        asked = json.loads(request.content)
        self.tools = asked["tools"]
        last = asked["messages"][-1]["content"]
        if isinstance(last, list):
            self.results += [(one.get("is_error", False), one["content"]) for one in last]
        content: list[Any] = [{"type": "text", "text": "done"}]
        if self.commands:
            content = [{"type": "tool_use", "id": "t1", "name": "memory", "input": self.commands.pop(0)}]
        message = {
            "id": "m1", "type": "message", "role": "assistant", "model": "claude", "content": content,
            "stop_reason": "end_turn" if content[0]["type"] == "text" else "tool_use", "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        return httpx.Response(200, json=message)

    async def aanswer(self, request: Any) -> Any:
        return self.answer(request)


COMMANDS: list[dict[str, Any]] = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/keys.md", "file_text": "The staging key is sk-stg-0041.\n"},
    {"command": "view", "path": "/memories/none"},
    {"command": "view", "path": "/memories/keys.md"},
]
TOLD = [
    (
        False,
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n0B\t/memories",
    ),
    (False, "File created successfully at: /memories/keys.md"),
    (True, "The path /memories/none does not exist. Please provide a valid path."),
    (
        False,
        "Here's the content of /memories/keys.md with line numbers:\n     1\tThe staging key is sk-stg-0041.\n     2\t",
    ),
]
ASKED: dict[str, Any] = {
    "model": "claude",
    "max_tokens": 100,
    "thread": False,
    "messages": [{"role": "user", "content": "the key?"}],
}


def test_the_runner_of_the_sdk_carries_out_what_claude_asks(tool: ScrubjayMemoryTool) -> None:
    assert isinstance(tool, BetaAbstractMemoryTool)
    claude = Claude(*COMMANDS)
    http = httpx.Client(transport=httpx.MockTransport(claude.answer))
    client = Anthropic(api_key="none", http_client=http, max_retries=0)
    last = client.beta.messages.tool_runner(tools=[tool], **ASKED).until_done()
    assert last.content[0].text == "done" and claude.results == TOLD
    assert claude.tools == [{"type": "memory_20250818", "name": "memory"}]


def test_the_asynchronous_runner_as_well(tmp_path: Path) -> None:
    tool = AsyncScrubjayMemoryTool(tmp_path / "a", scope=JANE, cache_control={"type": "ephemeral"})
    assert isinstance(tool, BetaAsyncAbstractMemoryTool)
    claude = Claude(*COMMANDS)

    async def use() -> Any:
        http = httpx.AsyncClient(transport=httpx.MockTransport(claude.aanswer))
        client = AsyncAnthropic(api_key="none", http_client=http, max_retries=0)
        await client.beta.messages.tool_runner(tools=[tool], **ASKED).until_done()
        found = await tool.search("sk-stg-0041")
        assert await tool.clear_all_memory() == "All memory cleared"
        return found, await tool.search("sk-stg-0041")

    (found,), none = asyncio.run(use())
    assert claude.results == TOLD and found.path == "/memories/keys.md" and none == []
    assert claude.tools[0]["cache_control"] == {"type": "ephemeral"}
    assert repr(tool).startswith("<scrubjay.adapters.anthropic.AsyncScrubjayMemoryTool over <")
    tool.close()


def test_files_of_the_tool_are_searched(tmp_path: Path) -> None:
    tool = ScrubjayMemoryTool(tmp_path / "a", scope=JANE, embedder=default())
    for n in range(400):
        text = f"The key prefix of the gateway is sk-{'stg' if n % 2 else 'prd'}-{n:04d}."
        do(tool, "create", path=f"/memories/keys/{n}.md", file_text=text)
    for n in range(0, 400, 2):
        assert tool.search(f"what is sk-prd-{n:04d}?", 3)[0].path == f"/memories/keys/{n}.md"
    do(tool, "create", path="/memories/health.md", file_text="Lies awake after espresso.")
    assert tool.search("trouble sleeping")[0].text == "Lies awake after espresso."
    assert tool.search(" ") == []
    tool.close()


# ---------------------------------------------------------------------- beside the SDK's own tool


def stock_tool(folder: Path) -> Any:
    module = pytest.importorskip("anthropic.lib.tools._beta_builtin_memory_tool")
    return module.BetaLocalFilesystemMemoryTool(str(folder))


TEXTS = [
    "",
    "\n",
    "one\ntwo\nthree\n",
    "one",
    "two two",
    "\r\nx\r\n",
    "a\n\nb",
    "日本\n東",
    "tab\there",
    "one\none",
]


@pytest.mark.parametrize("text", TEXTS, ids=repr)
def test_each_command_answers_like_the_stock_tool(
    tmp_path: Path, tool: ScrubjayMemoryTool, text: str
) -> None:
    stock = stock_tool(tmp_path / "stock")
    path = "/memories/notes/a.md"
    commands: list[dict[str, Any]] = [
        {"command": "create", "path": path, "file_text": text},
        {"command": "create", "path": path, "file_text": text},
        {"command": "view", "path": path},
        *({"command": "view", "path": path, "view_range": [a, b]} for a in (0, 1, 2, 9) for b in (-1, 1, 2, 9)),
        *({"command": "insert", "path": path, "insert_line": n, "insert_text": "new\n"} for n in (0, 2, 1, 99, -1)),
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "more\nlines\n\n"},
        {"command": "view", "path": path},
        *({"command": "str_replace", "path": path, "old_str": a, "new_str": b}
          for a, b in (("two", "2"), ("one", "uno\ndos"), ("one\n", ""), ("x", ""), ("new", "old"), ("more\n", "M"))),
        {"command": "view", "path": path},
        {"command": "view", "path": "/memories/notes"},
        {"command": "view", "path": "/memories/none"},
        {"command": "str_replace", "path": "/memories/none", "old_str": "a", "new_str": "b"},
        {"command": "str_replace", "path": "/memories/notes", "old_str": "a", "new_str": "b"},
        {"command": "insert", "path": "/memories/notes", "insert_line": 0, "insert_text": "b"},
        {"command": "insert", "path": "/memories/none", "insert_line": 0, "insert_text": "b"},
        {"command": "rename", "old_path": path, "new_path": "/memories/b/c.md"},
        {"command": "view", "path": "/memories/b/c.md"},
        {"command": "view", "path": path},
        {"command": "rename", "old_path": "/memories/none", "new_path": "/memories/some"},
        {"command": "rename", "old_path": "/memories/b", "new_path": "/memories/d"},
        {"command": "rename", "old_path": "/memories/d/c.md", "new_path": "/memories/d"},
        {"command": "rename", "old_path": "/memories", "new_path": "/memories/d"},
        {"command": "delete", "path": "/memories"},
        {"command": "delete", "path": "/memories/none"},
        {"command": "delete", "path": "/memories/d"},
        {"command": "view", "path": "/memories/d/c.md"},
        {"command": "view", "path": "/etc/passwd"},
        {"command": "create", "path": "/memories/../../etc/passwd", "file_text": "x"},
    ]  # fmt: skip
    for command in commands:
        ours: Any = do(tool, **command)
        theirs: Any = do(stock, **command)
        if command == {"command": "view", "path": "/memories/notes"}:  # folders have a size there
            assert len(ours.split("\n")) == 3
            ours, theirs = ours.split("\n")[::2], theirs.split("\n")[::2]
        assert ours == theirs, command


@pytest.mark.parametrize("seed", range(6))
def test_many_commands_leave_what_the_stock_tool_leaves(tmp_path: Path, seed: int) -> None:
    chooser = random.Random(seed)
    stock, ours = stock_tool(tmp_path / "stock"), ScrubjayMemoryTool(tmp_path / "ours", scope=JANE)
    names = [f"/memories/{name}" for name in ("a", "b", "d/a", "d/b", "d/e/a", "d1/a", "é/ü")]
    for _ in range(120):
        name, other = chooser.choice(names), chooser.choice(names)
        command = chooser.choice(
            [
                {"command": "create", "path": name, "file_text": f"one\ntwo {chooser.random()}\n"},
                {"command": "str_replace", "path": name, "old_str": "two", "new_str": "three"},
                {"command": "insert", "path": name, "insert_line": 1, "insert_text": "between"},
                {"command": "delete", "path": name},
                {"command": "rename", "old_path": name, "new_path": other},
                {"command": "view", "path": name},
            ]
        )
        assert do(ours, **command) == do(stock, **command), command
    left = {
        "/memories/" + str(file.relative_to(stock.memory_root)): file.read_text()
        for file in stock.memory_root.rglob("*")
        if file.is_file()
    }
    assert {str(one.id): one.text for one in ours.files._below("/memories")} == left
    assert ours.clear_all_memory() == stock.clear_all_memory()
    assert paths(ours) == []
    ours.close()


def test_a_listing_has_two_levels_and_nothing_hidden(tool: ScrubjayMemoryTool) -> None:
    made = {
        "b.md": 1536,
        "a/x": 1,
        "a/b/c": 10,
        "a/b/d/e": 10,
        ".hidden": 5,
        "a/.git/x": 5,
        "a-b": 0,
        "a.md": 2,
    }
    for name, n_bytes in made.items():
        do(tool, "create", path=f"/memories/{name}", file_text="x" * n_bytes)
    listed = do(tool, "view", path="/memories").split("\n")[1:]
    assert listed == [
        "1.5K\t/memories",
        "26B\t/memories/a/",
        "20B\t/memories/a/b/",
        "1B\t/memories/a/x",
        "0B\t/memories/a-b",
        "2B\t/memories/a.md",
        "1.5K\t/memories/b.md",
    ]
    assert do(tool, "view", path="/memories/a/b/").split("\n")[1:] == [
        "20B\t/memories/a/b", "10B\t/memories/a/b/c", "10B\t/memories/a/b/d/", "10B\t/memories/a/b/d/e",
    ]  # fmt: skip
    assert do(tool, "view", path="/memories/.hidden").endswith("xxxxx")


# ---------------------------------------------------------------------- invalid input


ESCAPES = [
    "/memories/../x", "/memories/a/../../x", "/memories/..", "/", "", "memories/a", "/memoriesX", "/memories2/a",
    "/Memories/a", "../memories/a", "/memories/a\0b", "/memories/a\nb", "/memories/\ud800", "/memories/..\\..\0",
]  # fmt: skip


@pytest.mark.parametrize("path", ESCAPES, ids=repr)
def test_no_path_leaves_the_memory_folder(tool: ScrubjayMemoryTool, path: str) -> None:
    other = ScrubjayMemoryTool(tool.files._documents.index, scope=Scope("acme"), collection=None)
    commands = [
        {"command": "view", "path": path},
        {"command": "create", "path": path, "file_text": "x"},
        {"command": "str_replace", "path": path, "old_str": "a", "new_str": "b"},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "b"},
        {"command": "delete", "path": path},
        {"command": "rename", "old_path": path, "new_path": "/memories/x"},
        {"command": "rename", "old_path": "/memories/x", "new_path": path},
    ]
    for command in commands:
        assert do(tool, **command).startswith("error: ")
    assert paths(tool) == paths(other) == []


@pytest.mark.parametrize(
    "command",
    [
        {"command": "fly"},
        {},
        {"command": "view"},
        {"command": "create", "path": "/memories/b"},
        {"command": "create", "path": "/memories/b", "file_text": 7},
        {"command": "create", "path": 7, "file_text": "x"},
        {"command": "create", "path": "/memories/b", "file_text": "\ud800"},
        {"command": "create", "path": "/memories/a/b", "file_text": "x"},
        {"command": "create", "path": "/memories", "file_text": "x"},
        {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/a/b"},
        {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/a"},
        {"command": "rename", "old_path": "/memories/a", "new_path": "/memories"},
        {"command": "str_replace", "path": "/memories/a", "old_str": "", "new_str": "x"},
        {"command": "view", "path": "/memories/a", "view_range": [1]},
    ],
    ids=str,
)
def test_an_invalid_command_raises_tool_error_and_changes_nothing(
    tool: ScrubjayMemoryTool, command: dict[str, Any]
) -> None:
    do(tool, "create", path="/memories/a", file_text="text")
    with pytest.raises(ToolError):
        tool.call(command)
    assert [(one.id, one.text) for one in tool.files._below("/memories")] == [("/memories/a", "text")]


def test_the_files_themselves_and_their_errors(tmp_path: Path) -> None:
    files = MemoryFiles(tmp_path / "a", scope=JANE)
    files.create("/memories/a", "x" * 10)
    with pytest.raises(MemoryFileError, match="already exists"):
        files.create("/memories/a", "")
    for line in ("0", True, None):
        with pytest.raises(MemoryFileError, match="insert_line"):
            files.insert("/memories/a", line, "x")  # type: ignore[arg-type]
    for span in (["1", "2"], [True, 2], 1):
        with pytest.raises(MemoryFileError, match="view_range"):
            files.view("/memories/a", span)
    files.create("/memories/long", "\n" * 1_000_000)
    with pytest.raises(MemoryFileError, match="999,999"):
        files.view("/memories/long")
    with pytest.raises(MemoryFileError, match="text"):
        files.create("/memories/big", "x" * (17 << 20))
    with pytest.raises(TypeError, match="scope"):
        MemoryFiles(scope="acme")  # type: ignore[arg-type]
    said = repr(files)
    files.close()
    with pytest.raises(ClosedError):
        files.view("/memories")
    assert (
        said
        == f"<scrubjay.adapters.anthropic.MemoryFiles of {JANE!r}: 'claude' of {tmp_path / 'a'}, by words>"
    )


# ---------------------------------------------------------------------- isolation, deletion, kills


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_hostile_names_reach_no_other_scope(name: str) -> None:
    index = Index()
    mine = ScrubjayMemoryTool(index, scope=Scope("acme", user=name))
    do(mine, "create", path="/memories/a", file_text="The launch code is zx-9981.")
    for twin in TWINS(name):
        for scope in (
            Scope("acme", user=twin),
            Scope(twin),
            Scope(twin, user=name),
            Scope("acme", agent=name),
        ):
            other = ScrubjayMemoryTool(index, scope=scope)
            assert do(other, "view", path="/memories").endswith("\n0B\t/memories")
            assert other.search("zx-9981") == []
            for command in ("view", "delete"):
                assert do(other, command, path="/memories/a").startswith(
                    "error: The path /memories/a does not exist"
                )
            assert "created" in do(other, "create", path="/memories/a", file_text="mine")
            assert "renamed" in do(other, "rename", old_path="/memories/a", new_path="/memories/b")
            other.clear_all_memory()
    assert do(mine, "view", path="/memories/a").endswith("\tThe launch code is zx-9981.")


def test_deleted_texts_are_in_no_file(tmp_path: Path) -> None:
    tool = ScrubjayMemoryTool(tmp_path / "a", scope=JANE)
    do(tool, "create", path="/memories/d/a", file_text="The launch code is zx-9981.")
    do(tool, "create", path="/memories/d1", file_text="tea")
    do(tool, "delete", path="/memories/d")
    assert tool.search("zx-9981") == [] and paths(tool) == ["/memories/d1"]
    tool.files._documents.index.admin.compact()
    tool.close()
    assert not any(b"zx-9981" in file.read_bytes() for file in tmp_path.iterdir())


def test_threads_and_two_tools_of_one_file_lose_no_edit(tmp_path: Path) -> None:
    tools = [ScrubjayMemoryTool(tmp_path / "a", scope=JANE) for _ in range(3)]
    do(tools[0], "create", path="/memories/a", file_text="")

    def add(tool: ScrubjayMemoryTool, number: int) -> None:
        for n in range(10):
            do(tool, "insert", path="/memories/a", insert_line=0, insert_text=f"line {number}.{n}")

    threads = [threading.Thread(target=add, args=(tool, number)) for number, tool in enumerate(tools)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = tools[0].files._below("/memories")[0].text
    assert sorted(text.split("\n")[:-1]) == sorted(f"line {a}.{b}" for a in range(3) for b in range(10))
    for tool in tools:
        tool.close()


def test_an_edit_of_another_process_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = ScrubjayMemoryTool(tmp_path / "a", scope=JANE)
    do(tool, "create", path="/memories/a", file_text="one\n")
    write = MemoryFiles._write

    def late(files: MemoryFiles, path: str, text: str, version: int | None) -> None:
        monkeypatch.undo()  # once: another process writes between read and write
        with Index.open(tmp_path / "a") as theirs:
            row = {"id": path, "text": "zero\none\n", "metadata": {"path": path}}
            theirs.collection("claude").upsert_many([row], scope=JANE, progress=False)
        write(files, path, text, version)

    monkeypatch.setattr(MemoryFiles, "_write", late)
    do(tool, "insert", path="/memories/a", insert_line=0, insert_text="minus one")
    assert do(tool, "view", path="/memories/a").split("\t")[1:] == [
        "minus one\n     2",
        "zero\n     3",
        "one\n     4",
        "",
    ]
    tool.close()


SCRIPT = """
import sys
from scrubjay import Scope
from scrubjay.adapters.anthropic import ScrubjayMemoryTool
tool = ScrubjayMemoryTool(sys.argv[1], scope=Scope("acme", user="jane"))
n = 0
for k in range(20):
    tool.call({"command": "create", "path": f"/memories/0/{k}", "file_text": "x"})
while True:
    tool.call({"command": "create", "path": f"/memories/n{n}", "file_text": f"note {n}"})
    tool.call({"command": "rename", "old_path": f"/memories/{n}", "new_path": f"/memories/{n + 1}"})
    print("wrote", n)
    n += 1
"""


def test_a_write_that_was_acknowledged_survives_a_kill_and_a_folder_moves_whole(tmp_path: Path) -> None:
    said = acknowledged_writes(SCRIPT, tmp_path / "a", after=25, prefix="wrote ")
    tool = ScrubjayMemoryTool(tmp_path / "a", scope=JANE)
    there = paths(tool)
    assert {f"/memories/n{n}" for n in said} <= set(there)
    folders = {path.split("/")[2] for path in there if path.count("/") == 3}
    assert len(folders) == 1 and int(folders.pop()) in (len(said), len(said) + 1)
    assert sum(path.count("/") == 3 for path in there) == 20
    assert all(one.metadata == {"path": one.id} for one in tool.files._below("/memories"))
    assert tool.files._documents.index.admin.check().problems == []
    tool.close()
