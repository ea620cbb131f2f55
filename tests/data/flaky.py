"""An embedder that can be unavailable, and that always refuses one word."""

from __future__ import annotations

import numpy as np

POISON = "poison"


class Flaky:
    """Counts letters; a text without any of them has the zero vector. If `is_up` is False, every call raises."""

    def __init__(self, name: str = "flaky", letters: str = "aeo") -> None:
        self.name, self.dim, self.letters = name, len(letters), letters
        self.is_up = True
        self.n_good: int | None = None
        """The number of calls that still succeed; None: no limit."""
        self.n_embedded = 0

    def vector(self, text: str) -> np.ndarray:
        """Return the vector of a text."""
        return np.array([text.count(letter) for letter in self.letters], dtype=np.float32)

    def embed_documents(self, texts: list[str]) -> np.ndarray:
        """Embed, or raise an error."""
        if not self.is_up or self.n_good == 0:
            raise ConnectionError("no route to host")
        if any(POISON in text for text in texts):
            raise RuntimeError("refused")
        if self.n_good is not None:
            self.n_good -= 1
        self.n_embedded += len(texts)
        return np.stack([self.vector(text) for text in texts])

    def embed_query(self, text: str) -> np.ndarray:
        """Embed, or raise an error."""
        return self.embed_documents([text])[0]
