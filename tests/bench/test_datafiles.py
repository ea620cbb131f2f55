"""Rows of every layout are read as a stream, and errors name the line."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.base import datafiles
from scrubjay.base.datafiles import json_items, json_lines, json_lines_at, tab_lines
from scrubjay.base.errors import DatasetError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(), VALUES, max_size=4), max_size=6)


@pytest.fixture
def tiny_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datafiles, "_BLOCK_BYTES", 3)


@pytest.mark.usefixtures("tiny_blocks")
class TestInBlocksOfThreeBytes:
    @given(OBJECTS, st.sampled_from([None, 1]))
    def test_streamed_arrays_equal_those_of_json_loads(
        self, tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], indent: int | None
    ) -> None:
        path = tmp_path_factory.mktemp("array") / "a.json"
        path.write_text(json.dumps(rows, ensure_ascii=False, indent=indent), encoding="utf-8", newline="")
        assert [row.value for row in json_items(path)] == rows

    @given(OBJECTS)
    def test_objects_in_a_row_are_read_too(
        self, tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
    ) -> None:
        path = tmp_path_factory.mktemp("lines") / "a.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        assert [row.value for row in json_items(path)] == rows == [row.value for row in json_lines(path)]

    @given(OBJECTS.filter(bool), st.data())
    def test_no_array_that_was_cut_passes_for_whole(
        self, tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], data: st.DataObject
    ) -> None:
        path = tmp_path_factory.mktemp("cut") / "a.json"
        whole = json.dumps(rows).encode()
        path.write_bytes(whole[: data.draw(st.integers(1, len(whole) - 1))])
        with pytest.raises(DatasetError):
            list(json_items(path))

    @pytest.mark.parametrize(
        ("content", "line", "what"),
        [
            (b'[{"a": 1},\n {"b": 2},\n {"c" 3}]', 3, "Expecting ':'"),
            (b'[{"a": 1}\n {"b": 2}]', 2, 'expected "," or "]", got'),
            (b'[{"a": 1},\n 7]', 2, "expected an object, got '7"),
            (b'[{"a": 1}]\nx', 2, "expected the end of the file"),
            (b'[{"a":\n"\xff"}]', 2, "expected UTF-8"),
            (b'{"a": "\nb"}', 1, "Invalid control character"),
            (b"[" * 100_000, 1, "expected an object"),
            (b'[{"a": ' + b"[" * 200_000, 1, "expected JSON"),
        ],
    )
    def test_errors_name_file_and_line(self, tmp_path: Path, content: bytes, line: int, what: str) -> None:
        path = tmp_path / "a.json"
        path.write_bytes(content)
        with pytest.raises(DatasetError, match=rf"a\.json, line {line}: ") as raised:
            list(json_items(path))
        assert what in str(raised.value)
        assert (raised.value.path, raised.value.line) == (path, line)


def test_rows_know_the_line_on_which_they_begin(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('\ufeff[\n {"a": "x\\n"},\n\n {"b":\n 2}\n]', encoding="utf-8")
    assert [row.line for row in json_items(path)] == [2, 4]


def test_a_broken_object_ends_the_reading_before_the_end_of_the_file(tmp_path: Path) -> None:
    """Otherwise a large file with an error at its beginning would be read into memory as a whole."""
    path = tmp_path / "a.json"
    path.write_text('[{"a" 1}, ' + '{"b": 2}, ' * 2_000_000)
    with path.open("rb") as file:
        blocks = datafiles._Blocks(path, file)
        blocks.skip(" ")
        assert blocks.take("[")
        with pytest.raises(DatasetError, match="Expecting ':'"):
            blocks.next_object()
        assert file.tell() < path.stat().st_size / 10


def test_a_line_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"n": 0, "t": "ä"}\n\n{"n": 1}\r\n{"n": 2}', encoding="utf-8")
    rows = list(json_lines(path))
    assert [row.line for row in rows] == [1, 3, 4]
    again = json_lines_at(path, iter([(row.offset, row.line) for row in reversed(rows)]))
    assert [row.value["n"] for row in again] == [2, 1, 0]


@pytest.mark.parametrize(
    ("line", "what"),
    [(b"{", "expected JSON"), (b"[1]", "expected an object"), (b'{"a": "\xff"}', "expected JSON")],
)
def test_a_bad_line_is_named(tmp_path: Path, line: bytes, what: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"{}\n\n" + line)
    with pytest.raises(DatasetError, match=f"line 3: {what}"):
        list(json_lines(path))


def test_cells_are_read_and_bad_bytes_named(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes("a\tб\r\n\nc\n".encode())
    assert list(tab_lines(path)) == [(1, ["a", "б"]), (3, ["c"])]
    path.write_bytes(b"a\n\xff\n")
    with pytest.raises(DatasetError, match="line 2: expected UTF-8"):
        list(tab_lines(path))


def test_the_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(DatasetError("it", Path("a"), 3)))
    assert (str(error), error.line, error.path) == ("a, line 3: it", 3, Path("a"))
    assert isinstance(error, ValueError)
