"""How the table of the package's own static embedder is made, and how good it is."""
