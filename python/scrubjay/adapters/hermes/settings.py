"""The settings of the provider, in Hermes' home."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SETTINGS = "scrubjay.json"

SCHEMA: list[dict[str, Any]] = [
    {"key": "path", "description": "Path of the file", "default": "$HERMES_HOME/scrubjay/memory.scrubjay"},
    {
        "key": "embedder",
        "description": "Model for search by meaning; empty: search by words",
        "default": "default",
    },
    {
        "key": "budget_tokens",
        "description": "Token budget for recalled memories in a turn",
        "default": "1000",
    },
    {
        "key": "floor",
        "description": "How relevant a memory must be to be recalled",
        "default": "standard",
        "choices": ["none", "low", "standard", "high"],
    },
    {
        "key": "noted",
        "description": "Whose messages are stored for later recall",
        "default": "both",
        "choices": ["both", "user", "none"],
    },
]
"""The questions of `hermes memory setup`."""


def home_of(given: str | os.PathLike[str] | None) -> Path:
    """Return Hermes' home."""
    return Path(given or os.environ.get("HERMES_HOME") or Path.home() / ".hermes")


def settings_of(home: Path) -> dict[str, Any]:
    """Return the settings in Hermes' home; the defaults if there is no file.

    Raises:
        ValueError: the file is malformed, or has an unknown setting.
    """
    file = home / _SETTINGS
    defaults = {field["key"]: field["default"] for field in SCHEMA}
    if not file.exists():
        return defaults
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file}: expected JSON: {error}") from None
    if not isinstance(settings, dict):
        raise ValueError(f"{file}: expected an object, got {type(settings).__name__}")
    unknown = sorted(set(settings) - set(defaults))
    if unknown:
        raise ValueError(f"{file}: {unknown[0]}: unknown setting, expected {', '.join(defaults)}")
    return {**defaults, **settings}


def saved(values: Mapping[str, Any], home: Path) -> None:
    """Write settings to Hermes' home, keeping the others."""
    keys = {field["key"] for field in SCHEMA}
    stored = settings_of(home) if (home / _SETTINGS).exists() else {}
    merged = {**stored, **{key: value for key, value in values.items() if key in keys}}
    home.mkdir(parents=True, exist_ok=True)
    (home / _SETTINGS).write_text(json.dumps(merged, indent=2) + "\n", encoding="utf-8")
