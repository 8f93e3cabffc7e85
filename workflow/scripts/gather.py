"""Gather the metrics and the costs of all experiments."""

import pandas as pd

from benchmark.running.jobs import logged

with logged(snakemake.log[0], "gather"):
    for kind in ("metrics", "costs"):
        # Text, so that values stay as they were written.
        parts = [pd.read_csv(path, dtype=str, keep_default_na=False) for path in snakemake.input.get(kind)]
        pd.concat(parts).to_csv(snakemake.output.get(kind), index=False)
