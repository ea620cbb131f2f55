"""Memory in files: exports without loss, Markdown that a person edits, dumps of other projects, plain JSON."""
