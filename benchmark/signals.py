"""Let Snakemake end at a SIGTERM that comes at any moment, such as SLURM's at the end of a job's time."""

import threading
from typing import Any

from snakemake.scheduling.job_scheduler import JobScheduler


def end_at_any_moment() -> None:
    """Handle SIGTERM beside Snakemake's main thread.

    Snakemake 9.27 takes a lock in the handler, which runs in the main thread: where that holds the lock already, it
    would wait for itself forever. A thread of its own waits until the lock is free.
    """
    exit_gracefully = JobScheduler.exit_gracefully

    def exit_beside(scheduler: JobScheduler, *signal: Any) -> None:
        threading.Thread(target=exit_gracefully, args=(scheduler, *signal)).start()

    JobScheduler.exit_gracefully = exit_beside
