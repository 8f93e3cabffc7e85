import signal
import sys
import threading

from snakemake.utils import min_version

min_version("9.27")
sys.dont_write_bytecode = True  # nothing of a run lands outside results/<preset>/
sys.path.insert(0, workflow.basedir)


configfile: f"{workflow.basedir}/config.yaml"


include: "workflow/rules/common.smk"


workdir: RESULTS


include: "workflow/rules/data.smk"
include: "workflow/rules/fit.smk"
include: "workflow/rules/select.smk"
include: "workflow/rules/graphs.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/paper.smk"
include: "workflow/rules/report.smk"


for external in EXTERNAL_RULES:

    include: external


localrules:
    all,


rule all:
    default_target: True
    input:
        "report.html",
        "metrics.csv",
        "costs.csv",
        TABLES,
        FIGURES,
        GRAPHS,
        expand("reproduction.{kind}", kind=["csv", "md", "tex"]),
        PAPER_TABLES,
        PAPER_FIGURES,


onstart:
    # Snakemake's limit of jobs per second starts, for each job, a timer that starts the next, and so on: after hundreds
    # of jobs they take a core, after thousands they are too many threads (snakemake/snakemake, issue 3804).
    workflow.scheduler.job_rate_limiter = None
    # Its handler of SIGTERM takes a lock in the thread that may hold it already: it would wait forever. Another may.
    end = workflow.scheduler.exit_gracefully
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=end).start())
