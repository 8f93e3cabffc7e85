"""Draw one of the paper's figures of a single fit."""

from pathlib import Path

from benchmark.dataset import Dataset
from benchmark.figures import save
from benchmark.paper.training import FIGURES
from benchmark.records import read_records
from benchmark.running.jobs import logged
from benchmark.selection import select

label = snakemake.wildcards.label
with logged(snakemake.log[0], f"figure {label}"):
    record = select(read_records(snakemake.input.fit)[0], snakemake.params.selection)
    save(FIGURES[label](record, Dataset.load(snakemake.input.data)), Path("paper", f"fig_{label}"))
