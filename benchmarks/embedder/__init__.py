"""The recipe of the package's own static embedder, and its evaluation."""
