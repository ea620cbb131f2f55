"""An embedder that can be away, and that refuses one word for good."""

from __future__ import annotations

import numpy as np

POISON = "poison"


class Flaky:
    """Counts letters; a text without any of them has the zero vector. `is_up` False: every call raises."""

    def __init__(self, name: str = "flaky", letters: str = "aeo") -> None:
        self.name, self.dim, self.letters = name, len(letters), letters
        self.is_up = True
        self.n_good: int | None = None
        """How many more calls succeed; None: no limit."""
        self.n_embedded = 0

    def vector(self, text: str) -> np.ndarray:
        """What a text becomes."""
        return np.array([text.count(letter) for letter in self.letters], dtype=np.float32)

    def embed_documents(self, texts: list[str]) -> np.ndarray:
        """Embed, or raise."""
        if not self.is_up or self.n_good == 0:
            raise ConnectionError("no route to host")
        if any(POISON in text for text in texts):
            raise RuntimeError("refused")
        if self.n_good is not None:
            self.n_good -= 1
        self.n_embedded += len(texts)
        return np.stack([self.vector(text) for text in texts])

    def embed_query(self, text: str) -> np.ndarray:
        """Embed, or raise."""
        return self.embed_documents([text])[0]
