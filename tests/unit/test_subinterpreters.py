"""A subinterpreter (as in mod_wsgi) is refused at once, and the main interpreter is unaffected."""

from __future__ import annotations

import importlib.util

import pytest

from tests.unit.processes import run

CREATE = """
try:
    import _interpreters as subinterpreters
except ImportError:
    import _xxsubinterpreters as subinterpreters
{before}
made = subinterpreters.create()
report = {code!r}
import io, tempfile
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "said")
    text = f"import sys; sys.path = {{sys.path!r}}\\nsaid = open({{path!r}}, 'w')\\n" + report + "\\nsaid.close()"
    subinterpreters.run_string(made, text)
    print(open(path).read())
{after}
subinterpreters.destroy(made)
"""
IMPORT = """
try:
    import scrubjay._native
except ImportError as error:
    said.write(f'{type(error).__name__} {error} / {error.__cause__}')
"""
SEARCH = "engine = Engine(); engine.upsert(1, 'oak', scope=scope); assert len(engine.search('oak', scope=scope)) == 1"


@pytest.mark.skipif(
    not any(importlib.util.find_spec(name) for name in ("_interpreters", "_xxsubinterpreters")),
    reason="this Python has no subinterpreters",
)
@pytest.mark.parametrize("after", ["pass", SEARCH], ids=["alone", "main goes on"])
def test_a_subinterpreter_gets_an_import_error_that_says_why(after: str) -> None:
    said = run(CREATE.format(before=SEARCH, code=IMPORT, after=after))
    assert "ImportError" in said and "subinterpreter" in said
