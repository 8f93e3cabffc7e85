"""Draw one of the paper's figures of learned densities."""

from pathlib import Path

from benchmark.dataset import Dataset
from benchmark.figures import save
from benchmark.paper.densities import density_figure
from benchmark.running.jobs import logged
from dcdi.fitted import FittedModel

label = snakemake.wildcards.label
with logged(snakemake.log[0], f"figure {label}"):
    columns = {
        mechanism: (Dataset.load(data), FittedModel.load(model).log_density)
        for mechanism, data, model in zip(
            snakemake.params.mechanisms, snakemake.input.data, snakemake.input.models, strict=True
        )
    }
    save(density_figure(columns), Path("paper", f"fig_{label}"))
