"""The package is as light as documented: its requirements, its imports, their licences."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = (
    "tqdm wordllama asyncio urllib.request http.client pandas pyarrow pypdf docx "
    "scrubjay.retrieval scrubjay.memory scrubjay.adapters scrubjay.cli scrubjay.store.postgres.database"
).split()
WEAK_COPYLEFT = {"psycopg"}
"""Optional packages that are used unmodified; their licences impose nothing on programs that only import them."""
PERMISSIVE = re.compile(
    r"MIT|BSD|Apache|PSF|ISC|MPL|Zlib|Unlicense|0BSD|Python Software Foundation", re.IGNORECASE
)
PROGRAM = """
import json, sys, time
start = time.process_time()
import numpy
middle = time.process_time()
import scrubjay
print(json.dumps([middle - start, time.process_time() - middle, sorted(sys.modules)]))
"""


def project() -> dict[str, Any]:
    tomllib = pytest.importorskip("tomllib", reason="before Python 3.11")
    loaded: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: dict[str, Any] = loaded["project"]
    return found


def name_of(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement)[0].lower().replace("_", "-")


def test_numpy_is_all_that_is_required() -> None:
    assert [name_of(one) for one in project()["dependencies"]] == ["numpy"]


def test_importing_takes_little() -> None:
    """Importing imports no optional package and no rarely used part; its CPU time is compared with NumPy's, whose
    import takes about 100 ms on known machines."""
    ratios = []
    for _ in range(4):
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
        numpy_s, scrubjay_s, modules = json.loads(done.stdout)
        ratios.append(scrubjay_s / numpy_s)
        assert [name for name in modules if name in HEAVY] == []
    if sys.dont_write_bytecode:
        pytest.skip("every import compiles its source here")
    assert min(ratios) < 1.5, ratios


def test_the_notice_names_every_optional_package_with_its_licence() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8").partition("Not in the wheel")[2]
    named = {
        match[1].lower(): match[2] for match in re.finditer(r"(?m)^  [\w-]*\s+([\w-]+)\s{2,}(\S.*)$", notice)
    }
    extras = project()["optional-dependencies"]
    of_ours = extras["all"][0].partition("[")[2].partition("]")[0].split(",")
    packages = {name_of(one) for extra in of_ours for one in extras[extra]} | {"numpy"}
    assert packages - set(named) == set()
    for package, licence in named.items():
        assert PERMISSIVE.search(licence) or (package in WEAK_COPYLEFT and "LGPL" in licence), package


def test_installed_packages_have_the_licences_that_are_named() -> None:
    """The metadata of each installed package names a permissive licence."""
    extras = project()["optional-dependencies"]
    of_ours = extras["all"][0].partition("[")[2].partition("]")[0].split(",")
    wanted = {name_of(one) for extra in of_ours for one in extras[extra]} | {"numpy"}
    n_checked, wrong = 0, {}
    for package in sorted(wanted):
        try:
            found = metadata.metadata(package)
        except metadata.PackageNotFoundError:
            continue
        classifiers = " ".join(one for one in found.get_all("Classifier") or () if one.startswith("License"))
        fields = (found.get("License-Expression"), (found.get("License") or "")[:200], classifiers)
        said = " ".join(filter(None, fields))
        n_checked += 1
        weak = package in WEAK_COPYLEFT and "LGPL" in said
        if not weak and (not PERMISSIVE.search(said) or re.search(r"GPL", said)):
            wrong[package] = said
    assert wrong == {} and n_checked >= 1
