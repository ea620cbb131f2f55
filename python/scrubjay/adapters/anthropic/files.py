"""The files of the memory tool, one document each: the tool's commands, and a search that it lacks.

A directory exists if it contains files. Messages are those of the tool's public definition, which models know.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from scrubjay._native import Scope
from scrubjay.adapters.anthropic import listing
from scrubjay.adapters.anthropic.paths import PATH, ROOT, MemoryFileError, below, parents, path_of
from scrubjay.backend import Documents
from scrubjay.base.errors import VersionConflictError
from scrubjay.documents import payload
from scrubjay.documents.records import Record, Row
from scrubjay.embedders.protocol import Embedder
from scrubjay.fusion import Query
from scrubjay.index import Index

_TRIES = 20


class FoundFile(NamedTuple):
    """A file of a search result."""

    path: str
    text: str
    score: float


class MemoryFiles:
    """The files under /memories of one scope. Thread-safe; safe for several processes on one file.

    Args:
        where: the path of a file; an open :class:`Index`; None: in memory, for this process.
        scope: the owner of the files, out of the model's reach.
        embedder: enables search by meaning; without one searches go by keywords.
        query: how searches rank; None: ``scrubjay.Query()``.
        collection: the collection of the file.
        options: further arguments of :meth:`Index.open` and :meth:`Index.collection`.

    >>> files = MemoryFiles(scope=Scope("acme", user="jane"))
    >>> files.create("/memories/notes/a.md", "Prefers trains.")
    'File created successfully at: /memories/notes/a.md'
    >>> files.view("/memories").split("\\n")[1:]
    ['15B\\t/memories', '15B\\t/memories/notes/', '15B\\t/memories/notes/a.md']
    """

    def __init__(
        self,
        where: str | os.PathLike[str] | Index | None = None,
        *,
        scope: Scope,
        embedder: Embedder | None = None,
        query: Query | Mapping[str, Any] | None = None,
        collection: str | None = "claude",
        **options: Any,
    ) -> None:
        if not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        self.scope = scope
        self._documents = Documents(where, collection=collection, embedder=embedder, query=query, **options)

    # ------------------------------------------------------------------ commands

    def view(self, path: str, view_range: Any = None) -> str:
        """Return a file with line numbers, or the listing of a directory, two levels deep.

        Args:
            path: below "/memories".
            view_range: [first, last] line, from 1; a last line of -1 is the end; None: all lines.

        Raises:
            MemoryFileError: the path does not exist, or the range is invalid.
        """
        whole = path_of(path)
        file = self._file(whole)
        if file is not None:
            return listing.content(path, file.text, view_range)
        files = self._below(whole)
        if not files and whole != ROOT:
            raise MemoryFileError(f"The path {path} does not exist. Please provide a valid path.")
        sizes = {str(file.id)[len(whole) + 1 :]: len(file.text.encode()) for file in files}
        return listing.directory(path.rstrip("/") or path, sizes)

    def create(self, path: str, file_text: str) -> str:
        """Write a new file.

        Args:
            path: below "/memories".
            file_text: the content.

        Raises:
            MemoryFileError: the file exists, or a part of the path is a file.
        """
        whole, text = path_of(path), _text(file_text, "file_text")
        with self._documents.turn:
            if whole == ROOT or self._below(whole, 1):
                raise MemoryFileError(f"File {path} already exists")
            self._check_parents(whole, path)
            try:
                self._write(whole, text, version=0)
            except VersionConflictError:
                raise MemoryFileError(f"File {path} already exists") from None
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        """Replace the only occurrence of a text in a file.

        Args:
            path: below "/memories".
            old_str, new_str: the text and its replacement.

        Raises:
            MemoryFileError: the file does not exist, or the text is missing or not unique.
        """
        old, new = _text(old_str, "old_str"), _text(new_str, "new_str")
        if not old:
            raise MemoryFileError("No replacement was performed, old_str must not be empty.")

        def replaced(text: str) -> str:
            lines = listing.lines_of(text, old)
            if not lines:
                raise MemoryFileError(
                    f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
                )
            if len(lines) > 1:
                raise MemoryFileError(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                    f"{', '.join(map(str, lines))}. Please ensure it is unique"
                )
            return text.replace(old, new)

        before, after = self._edit(path, replaced)
        snippet = listing.around(after, before[: before.find(old)].count("\n"))
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
            + snippet
        )

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Insert lines after a line of a file; 0: at its beginning.

        Args:
            path: below "/memories".
            insert_line: the number of the line.
            insert_text: the lines to insert.

        Raises:
            MemoryFileError: the file or the line does not exist.
        """
        added = _text(insert_text, "insert_text").rstrip("\n")
        if isinstance(insert_line, bool) or not isinstance(insert_line, int):
            raise MemoryFileError(f"insert_line: expected an int, got {insert_line!r}")

        def inserted(text: str) -> str:
            lines = text.removesuffix("\n").split("\n") if text else []
            if not 0 <= insert_line <= len(lines):
                raise MemoryFileError(
                    f"Invalid `insert_line` parameter: {insert_line}. "
                    f"It should be within the range [0, {len(lines)}]."
                )
            joined = "\n".join([*lines[:insert_line], added, *lines[insert_line:]])
            return joined if joined.endswith("\n") else joined + "\n"

        self._edit(path, inserted)
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """Delete a file, or a directory with everything below it, in one transaction.

        Raises:
            MemoryFileError: the path does not exist, or is /memories itself.
        """
        whole = path_of(path)
        if whole == ROOT:
            raise MemoryFileError(f"Cannot delete the {ROOT} directory itself")
        with self._documents.turn:
            ids = [str(file.id) for file in [self._file(whole), *self._below(whole)] if file is not None]
            if not self._documents.delete_many(ids, scope=self.scope):
                raise MemoryFileError(f"The path {path} does not exist")
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Move a file, or a directory with everything below it, in one transaction.

        Args:
            old_path, new_path: below "/memories".

        Raises:
            MemoryFileError: the old path does not exist; or the new one exists, or is below the old one or a file.
        """
        old, new = path_of(old_path, "old_path"), path_of(new_path, "new_path")
        if old == ROOT:
            raise MemoryFileError(f"Cannot rename the {ROOT} directory itself")
        with self._documents.turn:
            if new == ROOT or self._file(new) is not None or self._below(new, 1):
                raise MemoryFileError(f"The destination {new_path} already exists")
            moved = [file for file in [self._file(old), *self._below(old)] if file is not None]
            if not moved:
                raise MemoryFileError(f"The path {old_path} does not exist")
            if new.startswith(old + "/"):
                raise MemoryFileError(f"Cannot move {old_path} into itself, to {new_path}")
            self._check_parents(new, new_path)
            self._move(moved, old, new)
        return f"Successfully renamed {old_path} to {new_path}"

    def clear(self) -> str:
        """Delete all files."""
        self._documents.erase(self.scope, reason="clear")
        return "All memory cleared"

    # ------------------------------------------------------------------ beyond the tool

    def search(self, text: str, k: int = 5) -> list[FoundFile]:
        """Return the files that fit a question, best first, including those shared with the scope.

        Args:
            text: the question.
            k: the maximum number of files.
        """
        if not text.strip():
            return []
        hits = self._documents.search(text, scope=self.scope, k=k)
        return [FoundFile(str(hit.metadata.get(PATH, hit.id)), hit.text, float(hit.score)) for hit in hits]

    def close(self) -> None:
        """Release the file; it closes with the last adapter that uses it."""
        self._documents.close()

    def __repr__(self) -> str:
        return f"<scrubjay.adapters.anthropic.MemoryFiles of {self.scope}: {self._documents.place}>"

    # ------------------------------------------------------------------ documents

    def _file(self, path: str) -> Record | None:
        return self._documents.get_many([path], scope=self.scope, exact=True)[0]

    def _below(self, directory: str, limit: int | None = None) -> list[Record]:
        options: dict[str, Any] = {
            "scope": self.scope,
            "filter": below(directory),
            "exact": True,
            "vectors": True,
        }
        if limit is not None:
            return self._documents.scroll(limit=limit, **options).records
        return list(self._documents.every(**options))

    def _check_parents(self, path: str, given: str) -> None:
        for directory in parents(path):
            if self._file(directory) is not None:
                raise MemoryFileError(f"Cannot write {given}: {directory} is a file")

    def _write(self, path: str, text: str, version: int | None) -> None:
        row = {"id": path, "text": text, "metadata": {PATH: path}, "version": version}
        try:
            self._documents.upsert_many([row], scope=self.scope)
        except ValueError as error:  # too long, or empty
            raise MemoryFileError(str(error)) from error

    def _edit(self, path: str, change: Callable[[str], str]) -> tuple[str, str]:
        """Change the text of a file, retrying after concurrent changes; return it before and after."""
        whole = path_of(path)
        for tried in range(_TRIES):
            with self._documents.turn:
                file = self._file(whole)
                if file is None:
                    if whole == ROOT or self._below(whole, 1):
                        raise MemoryFileError(f"The path {path} is not a file.")
                    raise MemoryFileError(f"The path {path} does not exist. Please provide a valid path.")
                after = change(file.text)
                try:
                    self._write(whole, after, file.version)
                    return file.text, after
                except VersionConflictError:
                    if tried == _TRIES - 1:
                        raise
        raise AssertionError("unreachable")

    def _move(self, files: list[Record], old: str, new: str) -> None:
        paths = [new + str(file.id)[len(old) :] for file in files]
        with self._documents.writing("renamed") as writes:
            writes.delete((self.scope, str(file.id)) for file in files)
            writes.put(
                Row(path, file.text, self.scope, cast(Any, file.vector), payload.encode({PATH: path}, None))
                for path, file in zip(paths, files, strict=True)
            )


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise MemoryFileError(f"{name}: expected a str, got {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise MemoryFileError(f"{name}: expected a text that UTF-8 can encode, got {error}") from None
    return value
