"""Hermes Agent's memory provider over a :class:`scrubjay.Memory`.

Hermes discovers it as the provider "scrubjay" through Scrubjay's entry point, or, in versions that look for plugins
only in their home, after :func:`install`. `memory.provider: scrubjay` in its config.yaml then enables it. Nothing of
Hermes is imported here, because its manager only calls the methods of a provider.

>>> import tempfile
>>> home = tempfile.TemporaryDirectory()
>>> provider = ScrubjayMemoryProvider()
>>> provider.initialize("s1", hermes_home=home.name, platform="cli")
>>> provider.sync_turn("The staging key prefix is sk-stg-0041.", "Noted.", session_id="s1")
>>> provider.on_session_switch("s2")
>>> "sk-stg-0041." in provider.prefetch("What is sk-stg-0041?", session_id="s2")
True
>>> provider.shutdown()
>>> home.cleanup()
"""

from __future__ import annotations

from scrubjay.adapters.hermes.plugin import install, register
from scrubjay.adapters.hermes.provider import ScrubjayMemoryProvider

__all__ = ["ScrubjayMemoryProvider", "install", "register"]
