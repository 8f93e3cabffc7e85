"""Compare with the published figures."""

from pathlib import Path

from benchmark.evaluation import read_table
from benchmark.paper.reproduction import compare, differences, to_latex, to_markdown
from benchmark.plan import Plan
from benchmark.running.jobs import logged

with logged(snakemake.log[0], "compare with the published figures"):
    comparison = compare(Plan(snakemake.config), read_table(snakemake.input.metrics))
    comparison.to_csv(snakemake.output.csv, index=False)
    differences(comparison).to_csv(snakemake.output.differences, index=False)
    Path(snakemake.output.md).write_text(to_markdown(comparison), encoding="utf-8")
    Path(snakemake.output.tex).write_text(to_latex(comparison), encoding="utf-8")
