"""MkDocs hooks: linked files outside of docs/ become pages of the site, and links and anchors work as on GitHub.

The same Markdown is read in a checkout and on the site. A link to a file outside of docs/ (ARCHITECTURE.md, a script in
examples/) would lead nowhere there, so that file becomes a page below `repository/`, and so do the files that it links.
Fences such as ``python extra=langgraph`` are for the tests; on the site the extra is the title of the block.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PREFIX = "repository/"

_LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)(\))")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_EXTRA = re.compile(r"^```(\w+) extra=([\w-]+)$", re.MULTILINE)
_SERVERS = {
    "endpoint": "URL is the address of an embeddings endpoint",
    "postgres": "URL is the address of a database; needs scrubjay[postgres]",
}
_LANGUAGES = {".py": "python", ".toml": "toml", ".yml": "yaml", ".json": "json"}

sources: dict[str, Path] = {}
"""The file of the repository behind each page of the site, by its address inside docs/."""


def slug(heading: str, separator: str) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", separator)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Make anchors as GitHub does, so that one link works on both."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = slug
    return config


def targets(text: str, source: Path) -> list[Path]:
    """Return the files of the repository that a page links to."""
    found = []
    for _, link, _ in _LINK.findall(_FENCE.sub("", text)):
        if not re.match(r"[a-z]+:", link) and link.partition("#")[0]:
            found.append(_file_of((source.parent / link.partition("#")[0]).resolve()))
    return found


def _file_of(path: Path) -> Path:
    return path / "README.md" if path.is_dir() else path


def _address(path: Path) -> str:
    """Return where a file of the repository stands on the site, relative to docs/."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    name = path.relative_to(ROOT).as_posix()
    return PREFIX + (name if path.suffix in {".md", ".png", ".svg"} else f"{name}.md")


def _content(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    if path.suffix == ".ipynb":
        cells = [("".join(cell["source"]), cell["cell_type"]) for cell in json.loads(text)["cells"]]
        return "\n\n".join(
            f"```python\n{source}\n```" if kind == "code" else source for source, kind in cells
        )
    fence = "~~~~"
    return f"# {path.relative_to(ROOT).as_posix()}\n\n{fence}{_LANGUAGES.get(path.suffix, 'text')}\n{text}\n{fence}\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the linked files outside of docs/, and the files that they link to."""
    waiting = [DOCS / file.src_uri for file in files.documentation_pages()]
    for page in waiting:
        sources[_address(page)] = page
    while waiting:
        page = waiting.pop()
        if page.suffix != ".md" or not page.exists():
            continue
        for target in targets(page.read_text(encoding="utf-8"), page):
            address = _address(target)
            if target.is_relative_to(DOCS) or address in sources or not target.is_file():
                continue
            sources[address] = target
            waiting.append(target)
            if target.suffix in {".png", ".svg"}:
                files.append(File.generated(config, address, abs_src_path=str(target)))
            else:
                files.append(File.generated(config, address, content=_content(target)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Point links to files of the repository at their pages, and turn the extra of a block into its title."""
    here = page.file.src_uri
    source = sources.get(here)
    if source is None or source.suffix != ".md":
        return markdown

    def moved(match: re.Match[str]) -> str:
        before, link, after = match.groups()
        file, _, anchor = link.partition("#")
        if not file or re.match(r"[a-z]+:", link):
            return match.group()
        target = _file_of((source.parent / file).resolve())
        address = os.path.relpath(_address(target), os.path.dirname(here) or ".")  # noqa: PTH120
        return before + address.replace(os.sep, "/") + (f"#{anchor}" if anchor else "") + after

    parts, end = [], 0
    for fence in _FENCE.finditer(markdown):
        parts += [_LINK.sub(moved, markdown[end : fence.start()]), fence.group()]
        end = fence.end()
    parts.append(_LINK.sub(moved, markdown[end:]))
    return _EXTRA.sub(_titled, "".join(parts))


def _titled(fence: re.Match[str]) -> str:
    language, extra = fence.groups()
    return f'```{language} title="{_SERVERS.get(extra) or f"needs scrubjay[{extra}]"}"'
