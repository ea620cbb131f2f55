"""Why a candidate is refused."""

from __future__ import annotations


class Unfit(Exception):  # noqa: N818 - a reason for a rejection, not an error of the caller's
    """The candidate is refused; the message is the reason."""
