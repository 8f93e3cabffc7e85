"""Draw one of the paper's figures of unseen interventions."""

from pathlib import Path

from benchmark.figures import save
from benchmark.paper.pieces import unseen_pieces
from benchmark.paper.unseen import unseen_figure
from benchmark.plan import Plan
from benchmark.running.jobs import logged
from benchmark.styles import styles

label = snakemake.wildcards.label
with logged(snakemake.log[0], f"figure {label}"):
    plan = Plan(snakemake.config)
    save(unseen_figure(unseen_pieces(plan)[label], styles(plan), Path()), Path("paper", f"fig_{label}"))
