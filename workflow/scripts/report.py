"""Write the report."""

from pathlib import Path

from benchmark.plan import Plan
from benchmark.report import write_report
from benchmark.running.jobs import logged

with logged(snakemake.log[0], "report"):
    write_report(
        Plan(snakemake.config),
        Path(),
        template=Path(snakemake.input.template),
        captions=Path(snakemake.input.captions),
        output=Path(snakemake.output[0]),
    )
