"""Draw one figure of the paper, from the fits that it needs and no others."""

from pathlib import Path

from benchmark.figures import save
from benchmark.paper.drawing import draw
from benchmark.paper.pieces import figure_pieces
from benchmark.plan import Plan
from benchmark.recorded.recall import Recall
from benchmark.running.jobs import logged
from benchmark.styles import styles

label = snakemake.wildcards.label
with logged(snakemake.log[0], f"figure {label}"):
    plan = Plan(snakemake.config)
    figure = draw(label, figure_pieces(plan)[label], styles(plan), Path(), Recall(plan))
    save(figure, Path("paper", f"fig_{label}"))
