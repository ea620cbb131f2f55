"""The profile reads callgrind's dumps, and names the parts of the library."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.micro import instructions, profile
from benchmarks.micro.users import Users

DUMP = """\
events: Ir
ob=(1) /lib/_native.so
fl=(1) table.cpp
fn=(1) scrubjay::lexical::PostingTable::find_slot(unsigned long) const
12 100
+3 20
cob=(2) /lib/libpython3.11.so
cfn=(2) PyDict_GetItem
calls=7 55
12 9999
fn=(3) scrubjay::fusion::fuse(int)
* 5

ob=(2)
fn=(2)
55 40
ob=(1)
fn=(1)
-2 1
totals: 166
"""


def test_own_costs_leave_calls_out() -> None:
    costs = profile.own_costs(DUMP)
    native, python = "/lib/_native.so", "/lib/libpython3.11.so"
    assert costs == {
        (native, "scrubjay::lexical::PostingTable::find_slot(unsigned long) const"): 121,
        (native, "scrubjay::fusion::fuse(int)"): 5,
        (python, "PyDict_GetItem"): 40,
    }
    assert sum(costs.values()) == instructions.total_of(DUMP) == 166


@pytest.mark.parametrize(
    ("object_file", "function", "part"),
    [
        ("_native.so", "scrubjay::engine::Ranker::rescore_best(int)", profile.PARTS["engine"]),
        ("_native.so", "scrubjay::simd::avx2::(anonymous namespace)::dot_codes", "kernels: vectors"),
        (
            "_native.so",
            "scrubjay::simd::avx2::(anonymous namespace)::kth_greatest",
            "kernels: postings, top-k",
        ),
        ("_native.so", "pybind11::detail::cast(int)", profile.BORDER),
        ("libpython3.11.so.1.0", "_PyEval_EvalFrameDefault", profile.PYTHON),
        ("_multiarray_umath.so", "array_new", profile.NUMPY),
        ("libc.so.6", "memcpy", profile.OTHER),
    ],
)
def test_functions_are_attributed_to_their_part(object_file: str, function: str, part: str) -> None:
    assert profile.part_of(object_file, function) == part


def test_calls_have_their_names_and_find_ten(tmp_path: Path) -> None:
    with Users(tmp_path) as users:
        found = profile.calls((40, 60), users)
        assert list(found) == profile.names((40, 60))
        assert [call() for call in found.values()] == [10] * 6


@pytest.mark.long
def test_a_search_is_profiled() -> None:
    report = profile.measure((50,))
    if report is None:
        pytest.skip("valgrind is not installed")
    assert list(report["calls"]) == profile.names((50,))
    for call in report["calls"].values():
        assert sum(call["shares"].values()) == pytest.approx(1)
        assert call["shares"][profile.PARTS["lexical"]] > 0 and call["p50_us"] > 0
