"""A griffe extension that converts the docstrings of the package for the site.

They are written for `help()`: with roles (``:class:`Index` ``), and with examples where the text needs them. A facade's
method shows the docstring of the method that it forwards to, as `scrubjay.index.shared_docstrings` does at run time.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|meth|func|mod|attr|data|exc|obj):`~?([^`]+)`")

_FENCED = re.compile(r"(^ *```\w+$.*?^ *```$)", re.MULTILINE | re.DOTALL)
_RULE = re.compile(r"=+( +=+)+$")
_PACKAGES = ("memory", "retrieval", "embedders", "fusion", "backend", "bench")
_TWIN = re.compile(r"(?:loose_)?twin\(([\w.]+)\)$")


def shown(text: str, link: Callable[[str], str]) -> str:
    """Return a docstring with its roles as links and each example in a fence."""
    lines: list[str] = []
    indent = None
    n_rules = 0  # of a table of reStructuredText, which has two or three
    rows = text.splitlines()
    for number, line in enumerate(rows):
        stripped = line.lstrip()
        if _RULE.match(stripped):
            n_rules += 1
            is_last = not any(_RULE.match(row.lstrip()) for row in _paragraph(rows[number + 1 :]))
            fence = line[: len(line) - len(stripped)] + "```"
            lines += ([f"{fence}text"] if n_rules == 1 else []) + [line] + ([fence] if is_last else [])
            n_rules = 0 if is_last else n_rules
            continue
        if stripped.startswith(">>>") and indent is None:
            indent = line[: len(line) - len(stripped)]
            lines += ["", f"{indent}```pycon"]
        elif not stripped and indent is not None:
            lines += [f"{indent}```"]
            indent = None
        lines.append(line)
    if indent is not None:
        lines.append(f"{indent}```")
    parts = _FENCED.split("\n".join(lines))  # every second one is a fence
    parts[::2] = [_ROLE.sub(lambda role: link(role[1]), part) for part in parts[::2]]
    return "".join(parts)


def _paragraph(rows: list[str]) -> list[str]:
    return list(itertools.takewhile(str.strip, rows))


class Docstrings(griffe.Extension):
    """Converts docstrings once, after the package was loaded."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Copy the docstrings of forwarded methods to their facades, then convert all docstrings to Markdown."""
        self._pkg = pkg
        self._seen: set[int] = set()
        self._forward(pkg, pkg)
        self._seen.clear()
        self._rewrite(pkg)

    def _members(self, item: griffe.Object) -> list[griffe.Object]:
        found = [one for one in item.members.values() if not one.is_alias and id(one) not in self._seen]
        self._seen.update(map(id, found))
        return found  # type: ignore[return-value]

    def _forward(self, pkg: griffe.Module, item: griffe.Object) -> None:
        for one in self._members(item):
            if isinstance(one, griffe.Function):
                for decorator in one.decorators:
                    path = str(decorator.value)
                    if path.startswith("documented("):
                        source = self._found(pkg, item, path[len("documented(") : -1])
                        if source is not None and source.docstring is not None and one.docstring is not None:
                            one.docstring.value = source.docstring.value
            elif isinstance(one, griffe.Attribute) and one.docstring is None:
                twin = _TWIN.match(str(one.value))
                if twin is not None:
                    one.docstring = griffe.Docstring(f"The async twin of :meth:`{twin[1]}`.", parent=one)
            elif one.members:
                self._forward(pkg, one)

    @staticmethod
    def _found(pkg: griffe.Module, item: griffe.Object, name: str) -> griffe.Object | None:
        first, *rest = name.split(".")
        try:
            path = ".".join([item.resolve(first), *rest])
            found = pkg[path.removeprefix(f"{pkg.path}.")]
            return found.final_target if found.is_alias else found  # type: ignore[return-value]
        except (KeyError, griffe.GriffeError):
            return None

    def _rewrite(self, item: griffe.Object) -> None:
        if item.docstring is not None:
            item.docstring.value = shown(item.docstring.value, partial(self._link, item))
        for one in self._members(item):
            self._rewrite(one)

    def _link(self, item: griffe.Object, name: str) -> str:
        """Return a name as code, and as a link if the reference has it."""
        return f'<autoref optional identifier="{self._target(item, name)}"><code>{name}</code></autoref>'

    def _target(self, item: griffe.Object, name: str) -> str:
        """Return the path of a name in a docstring: in its class, its module, or the first package that has it."""
        owner = item if isinstance(item, griffe.Class) or item.parent is None else item.parent
        first, *rest = name.removeprefix("scrubjay.").split(".")
        if isinstance(owner, griffe.Class) and not rest and first in owner.all_members:
            return f"{owner.path}.{first}"
        own = owner.module.path.removeprefix(self._pkg.path).removeprefix(".")
        for package in (own, "", *_PACKAGES):
            try:
                found = self._pkg[f"{package}.{first}" if package else first]
                path = (found.final_target if found.is_alias else found).path
            except (KeyError, griffe.GriffeError):
                continue
            return ".".join([path, *rest])
        return name
