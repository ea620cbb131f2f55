"""The reason for a rejection, as an exception inside the gate."""

from __future__ import annotations


class Refusal(Exception):  # noqa: N818 - a reason for a rejection, not an error of the caller's
    """The candidate is rejected; the message is the reason."""
