"""DCDI as methods of the benchmark, one file each (see ``benchmark.methods``)."""
