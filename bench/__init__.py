"""Side-by-side benchmarks: the same documents and queries through ``ir`` and through what it is compared with."""
