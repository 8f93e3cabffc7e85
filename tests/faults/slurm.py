"""A SLURM of one node on this machine: its daemons on loopback, with or without accounting."""

import fcntl
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import psutil

PROGRAMS = ("munged", "slurmctld", "slurmd", "sinfo", "squeue", "sbatch", "srun")
ACCOUNTING_PROGRAMS = ("slurmdbd", "mariadbd", "mariadb-install-db", "sacct", "sacctmgr")
# Steps of a job look for it here, whatever the environment says; so there is one SLURM at a time.
CONFIGURATION = Path("/etc/slurm/slurm.conf")
DATABASE_CONFIGURATION = CONFIGURATION.with_name("slurmdbd.conf")
LOCK = Path("/run/lock/slurm-of-the-tests")
CLUSTER = "loopback"
TEXT = """
ClusterName={cluster}
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
JobAcctGatherType=jobacct_gather/none
JobRequeue=0
MinJobAge=86400
MpiDefault=none
ReturnToService=2
NodeName=localhost NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
WITHOUT_ACCOUNTING = "AccountingStorageType=accounting_storage/none\n"
WITH_ACCOUNTING = """
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={ports[2]}
AccountingStoragePass={folder}/munge.socket
"""
DATABASE_TEXT = """
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={ports[2]}
SlurmUser=root
PidFile={folder}/slurmdbd.pid
LogFile={folder}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={ports[3]}
StorageUser=root
StorageLoc=slurm
"""


class Job(NamedTuple):
    """What SLURM knows of a job that it was given."""

    rule: str
    state: str
    minutes: int
    memory_mb: int
    cores: int


def why_not(*, accounting: bool = False) -> str:
    """Return why there can be no SLURM here, or nothing."""
    missing = [name for name in (*PROGRAMS, *(ACCOUNTING_PROGRAMS if accounting else ())) if shutil.which(name) is None]
    if missing:
        return f"SLURM is not installed ({', '.join(missing)})"
    if os.geteuid() != 0:
        return "SLURM's daemons need root"
    if CONFIGURATION.exists() and f"ClusterName={CLUSTER}" not in CONFIGURATION.read_text(encoding="utf-8"):
        return f"{CONFIGURATION} exists: this machine has a SLURM of its own"
    return ""


@contextmanager
def running(folder: Path, *, accounting: bool = False) -> Iterator[None]:
    """Run the daemons for the time of the block, and leave nothing of them."""
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    places = {
        "cluster": CLUSTER,
        "folder": folder,
        "ports": _free_ports(4),
        "cpus": max(2, os.cpu_count() or 1),
        "memory": psutil.virtual_memory().total // 2**20,
    }
    with ExitStack() as stack:
        lock = stack.enter_context(open(LOCK, "w"))
        fcntl.flock(lock, fcntl.LOCK_EX)
        CONFIGURATION.parent.mkdir(exist_ok=True)
        CONFIGURATION.write_text((TEXT + (WITH_ACCOUNTING if accounting else WITHOUT_ACCOUNTING)).format(**places))
        stack.callback(CONFIGURATION.unlink)
        munge = [f"--{name}={folder}/munge{end}" for name, end in (("socket", ".socket"), ("pid-file", "d.pid"))]
        munge += [f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed", f"--key-file={key}"]
        stack.enter_context(_daemon(folder, "munged", "--foreground", "--force", *munge))
        _wait(folder, "munged", (folder / "munge.socket").exists)
        if accounting:
            _start_accounting(stack, folder, places)
        stack.enter_context(_daemon(folder, "slurmctld", "-D", "-i"))
        stack.enter_context(_daemon(folder, "slurmd", "-D", "-N", "localhost"))
        _wait(folder, "SLURM", lambda: _output("sinfo", "-h", "-o", "%T") == "idle")
        try:
            yield
        finally:
            _output("scancel", "--user", getpass.getuser())
            _wait(folder, "a cancelled job", lambda: not _output("squeue", "-h"))


def jobs() -> list[Job]:
    """Return all jobs that SLURM was given, in their order."""
    lines = _output("squeue", "--states=all", "-h", "--sort=i", "-o", "%k|%T|%l|%m|%C").splitlines()
    return [_job(*line.split("|")) for line in lines]


def accounted() -> list[str]:
    """Return account and state of all jobs, by SLURM's books; its user root has the account root."""
    return _output("sacct", "-X", "-n", "-P", "-o", "Account,State").splitlines()


def lose_the_node() -> None:
    """Take the only node away from SLURM, and with it what runs there; then give it back."""
    _output("scontrol", "update", "NodeName=localhost", "State=DOWN", "Reason=lost")
    _output("scontrol", "update", "NodeName=localhost", "State=RESUME")


def _job(comment: str, state: str, limit: str, memory: str, cores: str) -> Job:
    days, _, clock = limit.rpartition("-")
    hours, minutes, _ = ([0, 0] + [int(part) for part in clock.split(":")])[-3:]
    rule = comment.removeprefix("rule_").split("_wildcards_")[0]
    return Job(rule, state, int(days or 0) * 1440 + hours * 60 + minutes, int(memory.removesuffix("M")), int(cores))


def _start_accounting(stack: ExitStack, folder: Path, places: dict[str, object]) -> None:
    data = f"--datadir={folder}/database"
    _output("mariadb-install-db", "--no-defaults", "--user=root", "--skip-test-db", data)
    server = (f"--socket={folder}/database.socket", f"--pid-file={folder}/database.pid", "--skip-grant-tables")
    port = f"--port={places['ports'][3]}"  # type: ignore[index]
    stack.enter_context(
        _daemon(folder, "mariadbd", "--no-defaults", "--user=root", data, port, "--bind-address=127.0.0.1", *server)
    )
    _wait(folder, "the database", (folder / "database.socket").exists)
    DATABASE_CONFIGURATION.write_text(DATABASE_TEXT.format(**places))
    stack.callback(DATABASE_CONFIGURATION.unlink)
    DATABASE_CONFIGURATION.chmod(0o600)
    stack.enter_context(_daemon(folder, "slurmdbd", "-D"))
    _wait(folder, "slurmdbd", lambda: "Cluster" in _output("sacctmgr", "list", "cluster"))


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextmanager
def _daemon(folder: Path, *command: str) -> Iterator[None]:
    with open(folder / f"{command[0]}.out", "wb") as output:
        daemon = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    try:
        yield
    finally:
        daemon.terminate()
        try:
            daemon.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(daemon.pid, signal.SIGKILL)
            daemon.wait()


def _output(*command: str) -> str:
    """Return what a program prints; nothing where it fails."""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _wait(folder: Path, name: str, is_ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not is_ready():
        if time.monotonic() > deadline:
            logs = "\n".join(f"{path.name}: {path.read_text()[-800:]}" for path in folder.glob("*.[lo][ou][gt]"))
            raise RuntimeError(f"{name} does not answer\n{logs}")
        time.sleep(0.3)
