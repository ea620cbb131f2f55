"""Every wheel uses the instruction sets of the CPU on which it runs, whatever the compiler."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from scrubjay._native import show_config_dict

ROOT = Path(__file__).resolve().parents[2]
AVX2 = {"avx2", "fma", "bmi1", "bmi2", "f16c", "abm", "popcnt"}
AVX512 = AVX2 | {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd", "avx512_vnni"}
CPU = Path("/proc/cpuinfo")


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not CPU.exists(), reason="needs the kernel's list of an x86-64 CPU"
)
def test_the_levels_are_those_that_the_kernel_lists() -> None:
    text = CPU.read_text()
    (flags, *_) = (set(line.partition(":")[2].split()) for line in text.splitlines() if line[:5] == "flags")
    expected = ["baseline"]
    if flags >= AVX2:
        expected.append("avx2")
    if flags >= AVX512:
        expected += ["avx512", "avx512-gather"]
    assert sorted(show_config_dict()["simd_levels"]) == sorted(expected)


def test_the_level_in_use_is_one_of_them() -> None:
    config = show_config_dict()
    assert config["simd_levels"][0] == "baseline" and config["simd_active"] in config["simd_levels"]


def test_each_level_starts_and_gives_the_same_bits() -> None:
    """The short form of properties/test_simd_levels.py, for every wheel: each level once, in its own process."""
    levels = show_config_dict()["simd_levels"]
    processes = {
        level: subprocess.Popen(
            [sys.executable, "-m", "tests.data.levels"],
            cwd=ROOT, env={**os.environ, "SCRUBJAY_SIMD": level}, stdout=subprocess.PIPE, text=True,
        )
        for level in levels
    }  # fmt: skip
    said = {level: process.communicate(timeout=120)[0].split() for level, process in processes.items()}
    assert {level: words[0] for level, words in said.items()} == {level: level for level in levels}
    assert len({digest for _, digest in said.values()}) == 1, said
