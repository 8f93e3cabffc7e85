import contextlib
import functools
import json
import logging
import os
import re
import shlex
import shutil
from math import ceil
from pathlib import Path

import psutil
from snakemake.exceptions import WorkflowError
from snakemake.settings.types import DeploymentMethod

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from benchmark.config import ConfigError, preset_of
from benchmark.recorded.cost import idle_cores, summary, warning
from benchmark.plan import Plan, data_path, fit_path
from benchmark.running.progress import Progress
from benchmark.recorded.provenance import fingerprint, source_fingerprint
from benchmark.recorded.recall import SIMULATED_BY, Recall
from benchmark.recorded.store import StoreError

ROOT = Path(workflow.basedir)
LIBRARY = ROOT / "benchmark"

try:
    for file in map(Path, workflow.overwrite_configfiles):
        if file.resolve() != ROOT / "config.yaml":
            config["preset"] = preset_of(file)
    RESULTS = str(ROOT / "results" / str(config.get("preset", "")))
    os.environ.update(BENCHMARK_CACHE=str(Path(RESULTS, ".cache")))
    PLAN = Plan(config)
    # Before anything is made of that many fits.
    if workflow.is_main_process and (warned := warning(PLAN)):
        logger.warning(warned)
    RECALL = Recall(PLAN)
except ConfigError as error:
    raise WorkflowError(f"configuration: {error}") from None
except StoreError as error:
    raise WorkflowError(f"records: {error}") from None


def folder_of_compiled_code():
    """One for all presets and clones, in the user's cache folder; in a system that lacks one, the run's own."""
    shared = Path(os.getenv("XDG_CACHE_HOME", Path.home() / ".cache"), "dcdi")
    with contextlib.suppress(OSError):
        shared.mkdir(parents=True, exist_ok=True)
    return shared if shared.is_dir() and os.access(shared, os.W_OK) else Path(RESULTS, ".cache", "compiled")


# One fit uses one core: 32 jobs with 32 threads each would fight.
os.environ.update(
    OMP_NUM_THREADS="1",
    MKL_NUM_THREADS="1",
    OPENBLAS_NUM_THREADS="1",
    NUMEXPR_NUM_THREADS="1",
    NUMBA_NUM_THREADS="1",
    RAYON_NUM_THREADS="1",
    VECLIB_MAXIMUM_THREADS="1",
)
os.environ.update(PYTHONPATH=str(ROOT), PYTHONDONTWRITEBYTECODE="1", MPLBACKEND="agg")
os.environ.setdefault("NUMBA_CACHE_DIR", str(folder_of_compiled_code()))
os.environ.update(BENCHMARK_RUN_PID=str(os.getpid()))
IS_ON_CLUSTER = workflow.global_resources["_nodes"].value is not None
# The processes that look after a fit; a job of a cluster has two Snakemakes of its own beside them.
RUNNER_MB = 1000 if IS_ON_CLUSTER else 300
# Fits may use less than their limits, but all of them at once must not exceed this machine's memory.
if not IS_ON_CLUSTER and "mem_mb" not in workflow.global_resources:
    workflow.register_resource("mem_mb", psutil.virtual_memory().total // 2**20)
# A job of SLURM is told "all cores"; where the site does not hide the others, those of the job are fewer.
if not workflow.is_main_process and (cores_of_job := os.getenv("SLURM_CPUS_PER_TASK")):
    workflow.global_resources["_cores"] = int(cores_of_job)
# Files with a truth that no fit may read; not a parameter, so that another file runs nothing finished again.
OWN = [condition for condition in PLAN.conditions.values() if condition.file is not None]
TRUTHS = [path for own in OWN for path in (own.file, (own.table or {}).get("truth")) if path is not None]
os.environ.update(BENCHMARK_HIDDEN=json.dumps(list(map(str, TRUTHS))))


def row_of(wildcards):
    return PLAN.row_of(wildcards.targets, wildcards.condition, wildcards.index, wildcards.row)


@functools.cache
def source_of(method_file):
    """Fingerprint of a method and of all that it imports."""
    return source_fingerprint(method_file)


def asked_for(wildcards):
    """The experiment of some files, or its part on their condition."""
    return PLAN.part(wildcards.experiment, wildcards.get("condition"))


def data_and_fits(experiments):
    """All data sets and records that some experiments need; what is recorded needs neither."""
    cells = [
        (experiment.targets_of(row), condition.name, index, row.name)
        for experiment in experiments
        for condition in experiment.conditions
        for index in condition.indices
        for row in experiment.rows
    ]
    try:
        cells = [cell for cell in cells if RECALL.to_fit(*cell)]
    except StoreError as error:
        raise WorkflowError(f"records: {error}") from None
    data = [data_path(condition, index) for _, condition, index, _ in cells]
    return list(dict.fromkeys([*data, *(fit_path(*cell) for cell in cells)]))


def fits_of_data_set(wildcards):
    """The records that the graphs of a data set need; what is recorded needs none."""
    experiment = PLAN.experiments[wildcards.experiment]
    cells = [(experiment.targets_of(row), wildcards.condition, wildcards.index, row.name) for row in experiment.rows]
    return [fit_path(*cell) for cell in cells if RECALL.to_fit(*cell)]


# --- what the rules of external programs need (docs/adding-a-method.md)

WRAPPER = f"{shlex.quote(sys.executable)} -m benchmark.running.external"


def rows_of(method):
    """Pattern of the rows that a method has in this run."""
    return "|".join(re.escape(name) for name, row in PLAN.rows.items() if row.method.name == method) or "none"


def python_of(environment):
    """The Python of a program: conda's, that of `make env-<environment>`, or the project's own."""
    if DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method:
        return "python"
    own = ROOT / f".venv-{environment}" / "bin" / "python"
    return shlex.quote(str(own) if own.exists() else sys.executable)


def program_job(wildcards):
    """What the wrapper is told of a cell."""
    cell = (wildcards.targets, wildcards.condition, wildcards.index, wildcards.row)
    method = row_of(wildcards).method
    grid = RECALL.to_fit(*cell) or PLAN.grid(wildcards.row, *cell[:3])
    job = {
        "method": method.name,
        "file": str(method.file.relative_to(ROOT)),
        "grid": grid,
        "seed": PLAN.fit_seed(wildcards.row, *cell[:3]),
        "hide_targets": wildcards.targets == "unknown",
    }
    return json.dumps(job)


def program_limits(wildcards):
    """What one call of a program may use, as options of the wrapper."""
    row = row_of(wildcards)
    return f"--seconds {row.seconds:g} --memory-mb {row.memory_mb:g}"


@functools.cache
def size_of_grid(*cell):
    return len(PLAN.grid(*cell))


def minutes_of(wildcards):
    """The longest that a job can take, in minutes: its start, each of its fits, and a little for the runner."""
    row = row_of(wildcards)
    fits = size_of_grid(wildcards.row, wildcards.targets, wildcards.condition, wildcards.index)
    return ceil((row.start_seconds + fits * row.seconds) / 60) + 5


def cells_of(experiment):
    """All (condition, index) of an experiment."""
    return [(condition.name, index) for condition in experiment.conditions for index in condition.indices]


def keep_log_in_results():
    """Move Snakemake's own log, opened in the starting folder before the preset is known, into the results."""
    logs = workflow.logger_manager.logfile_handlers
    for handler, path in logs.items():
        source, target = Path(path), Path(RESULTS, ".snakemake", "log", Path(path).name)
        if source == target:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        handler.close()
        shutil.move(source, target)
        handler.baseFilename, handler.mode = str(target), "a"
        logs[handler] = str(target)
        for folder in list(source.parents)[:2]:
            if not any(folder.iterdir()):
                folder.rmdir()


def show_time_left():
    """Say with each finished fit how long the others will take, by what such fits cost, and which ones run."""
    available = (workflow.global_resources[name].value for name in ("_nodes", "_cores"))  # jobs of a cluster, or cores
    progress = Progress(PLAN, RECALL, Path(RESULTS), next(filter(None, available), 1))

    def is_fit(job):
        return str(next(iter(job.output), "")).startswith("fits/")

    class TimeLeft(logging.Handler):
        def emit(self, record):
            event = getattr(record, "event", None)
            if event == LogEvent.RUN_INFO:
                fits = (job.wildcards_dict for job in workflow.dag.needrun_jobs() if is_fit(job))
                progress.expect(tuple(fit[name] for name in ("targets", "condition", "index", "row")) for fit in fits)
            elif event == LogEvent.JOB_INFO and is_fit(record):
                progress.start(record.jobid, **record.wildcards)
            elif event == LogEvent.JOB_FINISHED and progress.end(record.job_id):
                logger.info(progress.describe())

    logger.addHandler(TimeLeft())


keep_log_in_results()

if workflow.is_main_process:
    logger.info(summary(PLAN, RECALL, Path(RESULTS)))
    if not IS_ON_CLUSTER and RECALL.mode != "only":
        cores, memory_mb = (workflow.global_resources[name].value for name in ("_cores", "mem_mb"))
        if idle := idle_cores(PLAN, cores or 1, memory_mb, RUNNER_MB):
            logger.warning(idle)
    show_time_left()
