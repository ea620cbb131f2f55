"""The public classes: Memory, the wiring of its parts, its administration, its async twins."""
