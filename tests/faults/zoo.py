"""A method that misbehaves in the way that its hyperparameter names: one animal per kind.

It is a method's file like any other, so that tests can run it directly and as rows of a workflow.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.dataset import Dataset, Fit

LABEL = "Zoo"
SUPPORTS = ("observational", "perfect", "imperfect", "unknown")
SPACE = {"animal": ["good"]}
SELECTION = {"animal": "good"}
SCORE = 1.5
# By its arguments a test finds the process that an animal leaves, and not those of tests that run at the same time.
SLEEP = "7321." + os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")


def good(dataset: Dataset) -> Fit:
    return Fit(np.eye(dataset.d, k=1, dtype=np.int8), heldout_nll=SCORE)


def fit(dataset: Dataset, *, seed: int, animal: str) -> Any:
    return ANIMALS[animal](dataset)


def raises(dataset: Dataset) -> None:
    raise ValueError("the matrix is singular")


def raises_surrogates(dataset: Dataset) -> None:
    raise ValueError("a file called \udcff\ud800 and \x00")


def raises_a_novel(dataset: Dataset) -> None:
    raise ValueError("x" * 100_000_000)


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def raises_unspeakable(dataset: Dataset) -> None:
    raise UnspeakableError


def raises_stop_iteration(dataset: Dataset) -> None:
    next(iter(()))


def raises_keyboard_interrupt(dataset: Dataset) -> None:
    raise KeyboardInterrupt


def recurses(dataset: Dataset) -> None:
    recurses(dataset)


def refuses_memory(dataset: Dataset) -> None:
    raise MemoryError("Unable to allocate 4 TiB")


def exits(dataset: Dataset) -> None:
    sys.exit(2)


def exits_at_once(dataset: Dataset) -> None:
    os._exit(0)


def exits_with_three(dataset: Dataset) -> None:
    os._exit(3)


def terminates(dataset: Dataset) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def kills_itself(dataset: Dataset) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def stops_itself(dataset: Dataset) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def segfaults(dataset: Dataset) -> None:
    ctypes.string_at(0)


def aborts(dataset: Dataset) -> None:
    os.abort()


def kills_parent(dataset: Dataset) -> Fit:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(0.5)
    return good(dataset)


def kills_all(dataset: Dataset) -> Fit:
    """Send a signal to all processes that it can see; only where it sees none but its own."""
    if b"benchmark.running.worker" not in Path("/proc/1/cmdline").read_bytes():
        raise RuntimeError("it would kill processes of others")
    os.kill(-1, signal.SIGKILL)
    time.sleep(0.5)
    return good(dataset)


def sleeps(dataset: Dataset) -> None:
    time.sleep(60)


def ignores_signals(dataset: Dataset) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        pass


def eats_memory(dataset: Dataset) -> None:
    blocks = []
    for _ in range(40):
        blocks.append(np.ones(25 * 2**17))  # 25 MB that are really used
        time.sleep(0.02)
    time.sleep(60)


def eats_memory_in_a_child(dataset: Dataset) -> None:
    if os.fork() == 0:
        eats_memory(dataset)
    time.sleep(60)


def forks_many(dataset: Dataset) -> None:
    for _ in range(700):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
    time.sleep(60)


def leaves_a_daemon(dataset: Dataset) -> Fit:
    """Leave a process that has nothing to do with its parent any more: new session, no descriptors."""
    command = f"(setsid sleep {SLEEP} >/dev/null 2>&1 </dev/null &)"
    subprocess.run(["sh", "-c", command], check=True)
    return good(dataset)


def leaves_a_daemon_and_dies(dataset: Dataset) -> None:
    leaves_a_daemon(dataset)
    os._exit(3)


def leaves_a_thread(dataset: Dataset) -> Fit:
    threading.Thread(target=time.sleep, args=(60,)).start()
    return good(dataset)


def uses_more_cores(dataset: Dataset) -> Fit:
    workers = []
    for _ in range(4):
        if (worker := os.fork()) == 0:
            while time.process_time() < 1.5:
                pass
            os._exit(0)
        workers.append(worker)
    for worker in workers:
        os.waitpid(worker, 0)
    return good(dataset)


def closes_descriptors(dataset: Dataset) -> Fit:
    os.closerange(3, 200)
    return good(dataset)


def writes_to_descriptors(dataset: Dataset) -> Fit:
    for descriptor in range(3, 200):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"{{ this is no result\n")
    time.sleep(0.5)
    return good(dataset)


def closes_output(dataset: Dataset) -> Fit:
    sys.stdout.close()
    return good(dataset)


def writes_much(dataset: Dataset) -> Fit:
    line = b"y" * 2**16
    for _ in range(400):
        os.write(1, line)
    return good(dataset)


def changes_folder(dataset: Dataset) -> Fit:
    Path("left-behind").write_text("x")
    os.chdir("/")
    return good(dataset)


def changes_data(dataset: Dataset) -> Fit:
    dataset.X.flags.writeable = True
    dataset.X[:] = 0
    return good(dataset)


def changes_memory(dataset: Dataset) -> Fit:
    ctypes.memset(dataset.X.ctypes.data, 0, dataset.X.nbytes)
    return good(dataset)


def returns_nothing(dataset: Dataset) -> None:
    return None


def returns_a_matrix(dataset: Dataset) -> Any:
    return good(dataset).graph


def returns_a_small_graph(dataset: Dataset) -> Fit:
    return Fit(np.zeros((dataset.d - 1, dataset.d - 1), dtype=np.int8))


def returns_a_cycle(dataset: Dataset) -> Fit:
    graph = np.zeros((dataset.d, dataset.d), dtype=np.int8)
    graph[0, 1] = graph[1, 0] = 1
    return Fit(graph)


def returns_a_cycle_unchecked(dataset: Dataset) -> Fit:
    made = good(dataset)
    made.graph[:] = 1
    return made


def returns_no_class(dataset: Dataset) -> Fit:
    return Fit(good(dataset).graph, kind="cpdag")


def returns_small_targets(dataset: Dataset) -> Fit:
    return Fit(good(dataset).graph, targets=np.zeros((2, 2)))


def returns_nan_targets(dataset: Dataset) -> Fit:
    return Fit(good(dataset).graph, targets=np.full((dataset.settings, dataset.d), np.nan))


def returns_nan_score(dataset: Dataset) -> Fit:
    return Fit(good(dataset).graph, heldout_nll=np.nan)


def informs_of_a_function(dataset: Dataset) -> Fit:
    return good(dataset).with_info(model=lambda: None)


def informs_of_itself(dataset: Dataset) -> Fit:
    info: dict[str, Any] = {"engine": "loop"}
    info["itself"] = info
    return good(dataset).with_info(**info)


class Unpicklable:
    """What a pickle could hold, but nobody could read back."""

    def __reduce__(self) -> Any:
        return os.listdir, ("/there/is/no/such/folder",)


def informs_unpicklably(dataset: Dataset) -> Fit:
    return good(dataset).with_info(model=Unpicklable())


def informs_of_a_tensor(dataset: Dataset) -> Fit:
    import torch

    return good(dataset).with_info(weights=torch.ones(2, requires_grad=True))


def informs_of_much(dataset: Dataset) -> Fit:
    return good(dataset).with_info(trace=np.zeros(2_000_000), text="z" * 10_000_000)


def informs_wrongly(dataset: Dataset) -> Fit:
    made = good(dataset)
    object.__setattr__(made, "info", ["engine"])
    return made


ANIMALS: dict[str, Callable[[Dataset], Any]] = {
    name: entry for name, entry in list(globals().items()) if getattr(entry, "__module__", "") == __name__
}
