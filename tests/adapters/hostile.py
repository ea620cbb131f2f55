"""Hostile names, ids and values, for attempts to reach data of others."""

from __future__ import annotations

from typing import Any

__all__ = ["NAMES", "TWINS", "VALUES"]

NAMES = [
    "user1",
    "jane",
    "a",
    "%",
    "_",
    "*",
    "jane%",
    "j_ne",
    "' OR '1'='1",
    '"; DROP TABLE document; --',
    "jane\0",
    "jane/../joe",
    "jane:joe",
    '["jane", null]',
    "jane.joe",
    "ﬁne",  # folded by NFKC
    "Jane",
    "é",  # composed
    "раypal",  # Cyrillic
    "jane ",
    "null",
    "None",
    "x" * 10_000,
    "👩\u200d🚀",
]


def TWINS(name: str) -> list[str]:  # noqa: N802 - a table by name
    """Return names that a careless comparison would confuse with this one."""
    twins = {
        name + "0",
        name + "\0",
        name[:-1],
        name.upper(),
        name.lower(),
        name.strip(),
        " " + name,
        name.replace("\0", ""),
        name.replace("e", "е"),  # Cyrillic
        "e\u0301" if name == "é" else name + "\u0301",
        "fine" if name == "ﬁne" else name + "\u200b",
        name.replace("%", "joe").replace("_", "x").replace("*", "y"),
        "%",
        "*",
    }
    return sorted(twins - {name, ""})


VALUES: list[Any] = [
    "",
    "secret\0",
    "secre_",
    "%",
    "*",
    "' OR 1=1 --",
    '"}],"$or":[{',
    {"$ne": None},
    {"$or": []},
    ["secret"],
    None,
    True,
    0,
    2**70,
    float("nan"),
    float("inf"),
    b"secret",
    "\ud800",
    "s" * 100_000,
    "ѕecret",  # Cyrillic
    "secret\u200b",
    object(),
]
