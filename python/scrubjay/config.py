"""The build, the CPU features in use, and the analyzer's output for a text."""

from __future__ import annotations

import platform
from typing import Any, Literal, overload

import scrubjay._native as _native

__all__ = ["analyze", "languages", "show_config"]


@overload
def show_config(*, as_dict: Literal[False] = False) -> None: ...
@overload
def show_config(*, as_dict: Literal[True]) -> dict[str, Any]: ...
def show_config(*, as_dict: bool = False) -> dict[str, Any] | None:
    """Print version, compiler, SIMD levels (available and active), analyzer, Python and NumPy; or return them.

    >>> config = show_config(as_dict=True)
    >>> config["version"] == scrubjay.__version__, config["simd_active"] in config["simd_levels"]
    (True, True)
    """
    import numpy as np

    config: dict[str, Any] = dict(_native.show_config_dict())
    config["analyzer"] = _native.Engine().analyzer
    config["python"] = f"{platform.python_implementation()} {platform.python_version()}"
    config["numpy"] = np.__version__
    config["machine"] = f"{platform.system()} {platform.machine()}"
    if as_dict:
        return config
    width = max(len(key) for key in config)
    for key, value in config.items():
        text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
        print(f"{key.replace('_', ' '):<{width}}  {text}")
    return None


def languages() -> list[str]:
    """Return the Snowball languages with a stemmer, ascending: `Index(analyzer="german")`.

    Two more analyzers are "english", the default, and "plain", which does not stem. "porter" and "dutch_porter" are
    older stemmers for English and Dutch.

    >>> "german" in languages(), len(languages())
    (True, 35)
    """
    return list(_native.languages())


def analyze(text: str, analyzer: str = "english") -> list[tuple[str, str]]:
    """Return the (term, kind) pairs that indexing produces for `text`, in order.

    Kinds: "word" and "part" (of an identifier) count towards the document's length; "whole" and "joined" (forms of an
    identifier) do not.

    Raises:
        ValueError: unknown built-in analyzer.

    >>> analyze("prefix sk-stg-0041")[0]
    ('prefix', 'word')
    """
    return list(_native.analyze(text, analyzer))
