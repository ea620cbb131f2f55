"""Realistic short texts.

`Corpus(seed)` draws memories of 20 to 40 words of real English, some with identifiers, and queries for them. The
English comes from the package descriptions of a Debian machine (its package lists, or the installed packages), or else
from a built-in vocabulary with the same distribution of frequencies. The same seed and source give the same texts;
`source` names the source.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

MIN_WORDS, MAX_WORDS = 20, 40
MIN_PHRASES = 2_000
IDENTIFIER_SHARE = 0.3
"""The fraction of texts with an identifier."""

SEED_VOCABULARY = """
the of and to a in is for that with on this from by be are as it or an at can which not have use used using was has
will you your their other into more also when where all any some than only its if but about what each we they file
files data system server client user users memory index search query result text word words document library program
tool tools support package version network interface protocol message address name number list table format image
font language code source test build run process thread time date value key set type object class function module
method string parser editor window desktop game audio video player stream device driver kernel disk partition backup
archive compress encrypt password certificate account session request response header cache queue store database
record field row column graph node edge tree path directory link page web browser mail calendar note project task
meeting project budget customer invoice order ticket report review plan team manager office travel flight hotel
restaurant recipe garden music guitar piano movie book novel photo camera bike train weather morning evening summer
winter coffee tea bread cheese apple orange dog cat bird jay acorn oak river mountain lake city street house kitchen
prefer prefers likes wants asked said moved bought sold broke fixed finished started changed learned remembered
favourite allergic vegetarian quiet early late cheap expensive small large new old red blue green fast slow simple
""".split()


class Corpus:
    """A seeded source of memories and queries. Not thread-safe."""

    def __init__(self, seed: int = 0, *, use_system: bool = True) -> None:
        self._random = random.Random(seed)
        phrases = system_phrases() if use_system else ()
        self.source = "package descriptions" if phrases else "built-in vocabulary"
        self._phrases = phrases

    def texts(self, n: int) -> list[str]:
        """Return n memories of 20 to 40 words."""
        return [self.text() for _ in range(n)]

    def text(self) -> str:
        n_words = self._random.randint(MIN_WORDS, MAX_WORDS)
        words: list[str] = []
        while len(words) < n_words:
            words += self._phrase()
        words = words[:n_words]
        if self._random.random() < IDENTIFIER_SHARE:
            words[self._random.randrange(n_words)] = self.identifier()
        return " ".join(words)

    def query(self, text: str) -> str:
        """Return 3 to 8 words of a text, in its order."""
        words = text.split()
        n_words = min(len(words), self._random.randint(3, 8))
        return " ".join(words[place] for place in sorted(self._random.sample(range(len(words)), n_words)))

    def identifier(self) -> str:
        """Return a key, ticket, version, host, path, port, address or name in code."""
        r = self._random
        kind = r.randrange(8)
        if kind == 0:
            return f"sk-{r.choice(['dev', 'stg', 'prod'])}-{r.randrange(10_000):04}"
        if kind == 1:
            return f"{r.choice(['TS', 'AUTH', 'OPS', 'BUG', 'INC'])}-{r.randrange(10_000)}"
        if kind == 2:
            return f"v{r.randrange(10)}.{r.randrange(30)}.{r.randrange(30)}"
        if kind == 3:
            return f"10.{r.randrange(256)}.{r.randrange(256)}.{r.randrange(256)}"
        if kind == 4:
            return f"src/{self._word()}/{self._word()}.ts"
        if kind == 5:
            return f"{self._word()}@{self._word()}.com"
        if kind == 6:
            return f"{self._word()}_{self._word()}"
        return f"#{r.randrange(100_000)}"

    def _phrase(self) -> list[str]:
        if self._phrases:
            return list(self._random.choice(self._phrases))
        # The square of a uniform number approximates Zipf: the front of the list is drawn far more often.
        place = int(len(SEED_VOCABULARY) * self._random.random() ** 2)
        return [SEED_VOCABULARY[place]]

    def _word(self) -> str:
        return re.sub(r"[^a-z]", "", self._random.choice(SEED_VOCABULARY)) or "jay"


@lru_cache(maxsize=1)
def system_phrases() -> tuple[tuple[str, ...], ...]:
    """Return the sentences of all package descriptions of this machine, sorted; empty if there are too few."""
    found: set[tuple[str, ...]] = set()
    for description in descriptions():
        for sentence in re.split(r"(?<=[.!?;:])\s+|\n", description):
            words = tuple(sentence.split())
            if 4 <= len(words) <= 40:
                found.add(words)
    return tuple(sorted(found)) if len(found) >= MIN_PHRASES else ()


def descriptions() -> Iterator[str]:
    """Yield package descriptions from `apt-cache dumpavail`, or else of the installed packages."""
    try:
        dump = subprocess.run(
            ["apt-cache", "dumpavail"],
            capture_output=True,
            check=True,
            timeout=120,
            encoding="utf-8",
            errors="replace",
        ).stdout
    except (OSError, subprocess.SubprocessError):
        dump = ""
    if dump.count("\nDescription") < MIN_PHRASES:
        status = Path("/var/lib/dpkg/status")
        dump = status.read_text(encoding="utf-8", errors="replace") if status.is_file() else ""
    for match in re.finditer(r"^Description(?:-en)?: (.*\n(?: .*\n)*)", dump, re.MULTILINE):
        lines = [line.strip() for line in match[1].splitlines()]
        yield "\n".join(line for line in lines if line != ".")
