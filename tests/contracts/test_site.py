"""The site has every page and every public name, and loads nothing from other hosts. .ci/run builds it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from benchmarks import docs_plots

ROOT = Path(__file__).resolve().parents[2]
DOCS, PACKAGE = ROOT / "docs", ROOT / "python" / "scrubjay"
CONFIG = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
DOCUMENTED = [
    "",
    "memory",
    "retrieval",
    "embedders",
    "fusion",
    "filters",
    "backend",
    "bench",
    *(
        f"adapters.{path.stem}"
        for path in sorted((PACKAGE / "adapters").iterdir())
        if not path.name.startswith("_") and path.suffix in {"", ".py"}
    ),
]
NUMBER = r"\d[\d,]*(?:\.\d+)?"
NO_ENTRY = {"__version__", "embedders", "filters"}


def exported(module: str) -> list[str]:
    """Return the names of `__all__`, read from the source, so that no framework is needed."""
    path = PACKAGE.joinpath(*module.split(".")) if module else PACKAGE
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            names = ast.literal_eval(node.value)  # type: ignore[union-attr]
            return [name for name in names if not name.isupper() or name == "RRF"]
    raise AssertionError(f"{source} has no __all__")


def entries() -> set[str]:
    """Return the last components of the names on the reference pages."""
    pages = (path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.md"))
    return {name for page in pages for name in re.findall(r"^::: ([\w.]+)$", page, re.MULTILINE)}


def test_every_page_is_in_the_navigation() -> None:
    named = re.findall(r"(\S+\.md)$", CONFIG.partition("\nnav:")[2], re.MULTILINE)
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.glob("**/*.md")}
    ours = {page for page in named if page.startswith("repository/")}  # files outside docs/
    assert len(named) == len(set(named))
    assert set(named) - ours == pages
    assert all((ROOT / page.removeprefix("repository/")).is_file() for page in ours)


@pytest.mark.parametrize("module", DOCUMENTED)
def test_every_public_name_is_in_the_reference(module: str) -> None:
    shown = entries()
    names = set(exported(module)) - NO_ENTRY
    if (
        module.startswith("adapters.") or module == "backend"
    ):  # names that several adapters share are distinguished
        missing = {name for name in names if f"scrubjay.{module}.{name}" not in shown}
    else:
        known = {one.rpartition(".")[2] for one in shown}
        whole = {
            name
            for page in ("base.errors", "filters")
            if f"scrubjay.{page}" in shown
            for name in exported(page)
        }
        missing = names - known - whole - {"EmbedderLike", "FilterLike", "Ids", "Fusion", "Answerer"}
    assert missing == set()


def test_the_site_loads_nothing_from_elsewhere() -> None:
    assert re.search(r"^  font: false$", CONFIG, re.MULTILINE)
    assert "extra_javascript" not in CONFIG and "analytics" not in CONFIG and "://" not in CONFIG


def test_warnings_of_the_site_are_errors() -> None:
    assert re.search(r"^strict: true$", CONFIG, re.MULTILINE)
    script = ROOT / ".ci" / "run"
    if not script.exists():
        pytest.skip("a source distribution has no .ci/run")
    assert "mkdocs build --quiet --strict" in script.read_text(encoding="utf-8")


def test_figures_of_comparisons_are_those_that_were_measured() -> None:
    """Every number in a table of a comparison is also in the pages of figures."""
    measured = " ".join(
        (DOCS / name).read_text(encoding="utf-8") for name in ("conformance.md", "benchmarks.md")
    )
    measured += (ROOT / "README.md").read_text(encoding="utf-8")
    known = set(re.findall(NUMBER, measured))
    pages = sorted((DOCS / "comparisons").glob("*.md"))
    n_numbers = 0
    for page in pages:
        for row in re.findall(r"^\| (?!---)(.*) \|$", page.read_text(encoding="utf-8"), re.MULTILINE):
            for cell in row.split("|")[1:]:
                if re.fullmatch(rf"[\s/]*(?:{NUMBER}[\s/]*)+", cell):
                    numbers = re.findall(NUMBER, cell)
                    n_numbers += len(numbers)
                    assert set(numbers) <= known, f"{page.name}: {cell}"
    assert n_numbers > 50


def test_plots_are_up_to_date() -> None:
    """`python -m benchmarks.docs_plots` redraws them."""
    assert {path.name for path in (DOCS / "images").glob("*.svg")} == set(docs_plots.PLOTS)
    for name, drawn in docs_plots.PLOTS.items():
        assert (DOCS / "images" / name).read_text(encoding="utf-8") == drawn(), name
