"""The process of the fits: ``python -m benchmark.running.worker``, started by :mod:`benchmark.running.runner` alone.

It has read-only data, no truth, and a scratch folder. Four processes, each the parent of the next:

guard
    Asks the system for a separate view of processes and folders, which its children get.
keeper
    The first process of that view; when it ends, all others in it end. It waits for orphans.
starter
    Imports the method and warms it up, once; then starts a process for the fits, and another after each failure.
fits
    Runs combinations in turn and sends each result as one line of JSON.

None of the messages is a pickle, and the runner checks each of them.
"""

import contextlib
import json
import os
import resource
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

from benchmark.running import sandbox

_FAILED_TO_START = 1


class Channel:
    """Where results go: one JSON object a line."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def send(self, **message: Any) -> None:
        """Send one message, whole."""
        content = json.dumps(message).encode() + b"\n"
        while content:
            content = content[os.write(self.descriptor, content) :]


def main(commands_from: int, results_to: int, data_from: int) -> NoReturn:
    """Be the guard, and start the keeper, which starts the starter."""
    sandbox.end_with_parent()
    sandbox.adopt_orphans()
    channel = Channel(results_to)
    commands = os.fdopen(commands_from, "r", encoding="utf-8", closefd=False)
    request = json.loads(commands.readline())
    confined = request["confined"]
    problems = sandbox.separate(folders=confined is not None)
    keeper = os.fork()
    if keeper == 0:
        sandbox.end_with_parent()
        sandbox.adopt_orphans()
        if confined is not None and not problems:
            hidden, writable = (list(map(Path, confined[name])) for name in ("hidden", "writable"))
            problems = sandbox.restrict_folders(hidden, writable)
            problems += sandbox.show_own_processes()
        os.chdir(request["scratch"])  # by its path, so that it is the folder of this view
        starter = os.fork()
        if starter == 0:
            sandbox.end_with_parent()
            os.setpgid(0, 0)  # a method that kills its group kills none of those who look after it
            sandbox.drop_privileges()
            channel.send(uncovered=problems)
            with _always_exits():
                _start_and_serve(request, commands, channel, data_from)
        ended = _wait_for(starter)
        with contextlib.suppress(OSError):
            channel.send(starter_ended=ended)
        os._exit(0)
    _wait_for(keeper)
    if problems:
        from benchmark.running.processes import end_all

        end_all(os.getpid())
    os._exit(0)


def _start_and_serve(request: dict[str, Any], commands: Any, channel: Channel, data_from: int) -> None:
    """Import the method, warm it up, then run what each command asks for in a process of its own."""
    from benchmark.methods import load_method_file
    from benchmark.running.delivery import receive
    from benchmark.running.plain import describe_error

    dataset = receive(data_from, request["data"])
    os.close(data_from)
    try:
        method = load_method_file(request["method"], Path(request["file"]))
        method.warm_up()
    except MemoryError as error:
        channel.send(problem=["memory", f"an allocation was refused: {describe_error(error)}"])
        return
    except BaseException as error:
        _say(error)
        channel.send(problem=["error", describe_error(error)])
        return
    channel.send(started={"sweep": method.sweep is not None})
    for line in commands:
        grid = json.loads(line)
        sys.stdout.flush()
        sys.stderr.flush()
        fits = os.fork()
        if fits == 0:
            sandbox.end_with_parent()
            os.setpgid(0, 0)
            with _always_exits():
                _run_fits(method, dataset, request["seed"], grid, channel)
        channel.send(ended=_wait_for(fits))


def _run_fits(method: Any, dataset: Any, seed: int, grid: list[dict[str, Any]], channel: Channel) -> None:
    from benchmark.methods import run_grid
    from benchmark.running.delivery import pack
    from benchmark.running.plain import describe_error

    missing = object()
    try:
        fits = iter(run_grid(method, dataset, seed, grid))
        for _ in grid:
            started, cpu_before = time.perf_counter(), _own_cpu_seconds()
            fit: Any = next(fits, missing)
            cost = {"seconds": time.perf_counter() - started, "cpu_seconds": _own_cpu_seconds() - cpu_before}
            if fit is missing:
                raise ValueError(f"sweep returned fewer fits than the {len(grid)} combinations of its grid")
            if isinstance(fit, Exception):
                channel.send(failed=describe_error(fit), **cost, peak_memory_mb=_own_peak_mb())
            else:
                channel.send(fit=pack(fit, dataset), **cost, peak_memory_mb=_own_peak_mb())
        channel.send(done=True)
    except MemoryError as error:
        channel.send(problem=["memory", f"an allocation was refused: {describe_error(error)}"])
    except BaseException as error:
        _say(error)
        channel.send(problem=["error", describe_error(error)])


def _say(error: BaseException) -> None:
    """Print where an error comes from; its message may be of any length."""
    from benchmark.running.plain import describe_error

    with contextlib.suppress(Exception):
        traceback.print_tb(error.__traceback__)
        print(describe_error(error), file=sys.stderr)


@contextlib.contextmanager
def _always_exits() -> Any:
    """End this process after the block, whatever threads or exit handlers a method has left."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):
            traceback.print_exc()
        os._exit(_FAILED_TO_START)
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
    os._exit(0)


def _wait_for(child: int) -> int:
    """Wait until a child ends, and for all orphans meanwhile; return its exit code, negative for a signal."""
    while True:
        ended, status = os.wait()
        if ended == child:
            return os.waitstatus_to_exitcode(status)


def _own_peak_mb() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def _own_cpu_seconds() -> float:
    """CPU time of this process, of all its threads, and of the children that it has waited for."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
