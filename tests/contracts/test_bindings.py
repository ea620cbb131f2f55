"""Rules for every file of cpp/bindings, so that no thread and no object crashes the process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

BINDINGS = Path(__file__).resolve().parents[2] / "cpp" / "bindings"

# Forbidden call -> its replacement, and the file that defines it.
REPLACED = {
    r"\bgil_scoped_(release|acquire)\b": ("WithoutGil and WithGil", "gil.hpp"),
    r"\bPy(Eval_(Save|Restore)Thread|GILState_Ensure)\b": ("WithoutGil and WithGil", "gil.hpp"),
    r"\bclass_<[^>]*>+ *(\w+)?\(": ("export_class", "classes.hpp"),
}


@pytest.mark.parametrize("path", sorted(BINDINGS.glob("*.[ch]pp")), ids=lambda path: path.name)
def test_bindings_use_wrappers_that_survive_interpreter_shutdown(path: Path) -> None:
    code = re.sub(r"//.*", "", path.read_text())
    for pattern, (instead, home) in REPLACED.items():
        if path.name != home:
            assert not re.search(pattern, code), f"{path.name}: use {instead} of {home}"
