"""Checks that no code compiled for AVX2 or AVX-512 leaks into the code that runs everywhere.

    check_isa_leaks.py BUILD_DIR

If two objects define a function weakly (inline functions, templates), the linker keeps the copy of the first object.
If that was compiled for a newer instruction set, the program crashes on an older CPU. The objects of
cpp/src/simd/level_avx*.cpp must therefore not define a weak symbol that another object defines or needs. Exits with 1
and prints the names if any symbol leaks. Needs `nm`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ISA_OBJECT = re.compile(r"level_avx\w*\.cpp\.(o|obj)$")


def symbols(object_file: Path) -> tuple[set[str], set[str]]:
    """Weakly defined symbols of an object, and all global symbols that it defines or needs."""
    listing = subprocess.run(
        ["nm", "-P", str(object_file)], capture_output=True, text=True, check=True
    ).stdout
    weak, seen = set(), set()
    for line in listing.splitlines():
        name, kind = line.split()[:2]
        if kind in "VWu":
            weak.add(name)
        if kind in "VWuUTDBR":
            seen.add(name)
    return weak, seen


def main(build: Path) -> int:
    if shutil.which("nm") is None:
        print("no nm here: ISA leaks not checked")
        return 0
    objects = sorted([*build.rglob("*.o"), *build.rglob("*.obj")])
    isa = [path for path in objects if ISA_OBJECT.search(path.name)]
    if not isa:
        print(f"no level_avx*.cpp object under {build}: build the release preset first")
        return 1
    generic: dict[str, Path] = {}
    for path in objects:
        if path not in isa:
            for name in symbols(path)[1]:
                generic.setdefault(name, path)
    leaks = [(path, name) for path in isa for name in sorted(symbols(path)[0]) if name in generic]
    for path, name in leaks:
        print(f"{path.name} defines {name} weakly; {generic[name].name} has it too")
    # Two levels that share a weak symbol leak into each other: AVX-512 code would run on an AVX2 machine.
    owner: dict[str, Path] = {}
    for path in isa:
        for name in sorted(symbols(path)[0]):
            if name in owner and name not in generic:
                print(f"{path.name} and {owner[name].name} both define {name} weakly")
                leaks.append((path, name))
            owner.setdefault(name, path)
    print(f"{len(isa)} ISA objects, {len(objects) - len(isa)} generic objects, {len(leaks)} leaks")
    return 1 if leaks else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
