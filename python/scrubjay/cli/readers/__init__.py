"""Reads memories from files of other programs, recognised by suffix and content.

JSON and JSON Lines, CSV, Parquet and Arrow, Markdown and text, HTML, PDF and docx, exports of ChatGPT, Claude, Slack
and WhatsApp, mbox; folders and zip archives of these. Skipped items are counted by reason (:class:`Skips`). A record
with a tenant, user, agent or scope keeps it; the others get the scope of the command line. Ids become str.
"""

from __future__ import annotations

from scrubjay.cli.reader_state import InputError, Reading, Skips
from scrubjay.cli.readers.select import header_of_export, is_export, paths_below, read_paths, read_sources
from scrubjay.cli.readers.sources import Source

__all__ = [
    "InputError",
    "Reading",
    "Skips",
    "Source",
    "header_of_export",
    "is_export",
    "paths_below",
    "read_paths",
    "read_sources",
]
