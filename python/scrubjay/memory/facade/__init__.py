"""What a user holds: Memory, its parts wired together, its administration, its async twins."""
