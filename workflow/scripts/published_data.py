"""Bring in the paper's own data sets, where no run has done so before."""

from pathlib import Path

from benchmark.paper.data import bring
from benchmark.running.jobs import logged

with logged(snakemake.log[0], "bring in the paper's own data sets"):
    said = bring()
    print(said)
    Path(snakemake.output[0]).write_text(said + "\n", encoding="utf-8")
