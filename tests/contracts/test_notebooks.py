"""The notebooks of examples/ run from the first cell to the last, and are stored without outputs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def name_of(path: Path) -> str:
    return path.name


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_a_notebook_is_stored_without_output(path: Path) -> None:
    notebook = read(path)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(ids) == len(set(ids))
    for cell in notebook["cells"]:
        assert cell["cell_type"] in {"code", "markdown"} and cell["source"]
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None, f"{path.name}: {cell['id']}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_a_notebook_begins_with_a_heading_and_is_in_the_list(path: Path) -> None:
    assert re.match(r"# \w", read(path)["cells"][0]["source"][0])
    assert f"[{path.name}]({path.name})" in (ROOT / "examples" / "README.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("temporary_folder")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    why = "a notebook needs ipykernel, nbclient and nbformat: pip install 'scrubjay[notebooks]'"
    pytest.importorskip("ipykernel", reason=why)
    nbclient = pytest.importorskip("nbclient", reason=why)
    nbformat = pytest.importorskip("nbformat", reason=why)
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert shown, "a notebook that shows nothing"
    assert [
        output for output in shown if output.output_type == "error" or output.get("name") == "stderr"
    ] == []
