"""Which partitions are in memory: loading, catching up and eviction."""
