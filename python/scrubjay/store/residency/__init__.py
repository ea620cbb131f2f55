"""Which partitions are in memory, and how they get there and leave."""
