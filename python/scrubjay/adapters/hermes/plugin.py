"""Registration of the provider with Hermes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from scrubjay.adapters.hermes.provider import ScrubjayMemoryProvider
from scrubjay.adapters.hermes.settings import home_of

_PLUGIN = '''"""Scrubjay as Hermes' memory provider; written by scrubjay.adapters.hermes.install."""

from scrubjay.adapters.hermes import register  # calls ctx.register_memory_provider

__all__ = ["register"]
'''
_MANIFEST = """name: scrubjay
version: 1.0.0
description: "Scrubjay - local memory in one file: found by words and meaning, scoped by user, forgotten on request."
"""


def register(ctx: Any) -> None:
    """Register the provider in Hermes' context `ctx`; called by Hermes."""
    ctx.register_memory_provider(ScrubjayMemoryProvider())


def install(hermes_home: str | os.PathLike[str] | None = None) -> Path:
    """Write the plugin's folder to Hermes' home `hermes_home` (None: `HERMES_HOME`, or ``~/.hermes``), and return it.

    For versions of Hermes that do not discover installed packages. Idempotent.
    """
    folder = home_of(hermes_home) / "plugins" / "scrubjay"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "__init__.py").write_text(_PLUGIN, encoding="utf-8")
    (folder / "plugin.yaml").write_text(_MANIFEST, encoding="utf-8")
    return folder
