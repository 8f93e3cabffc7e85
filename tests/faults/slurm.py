"""A SLURM of one node on this machine: munged, slurmctld and slurmd on loopback, without accounting."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

PROGRAMS = ("munged", "slurmctld", "slurmd", "sinfo", "sbatch", "srun")
# Steps of a job look for it here, whatever the environment says.
CONFIGURATION = Path("/etc/slurm/slurm.conf")
TEXT = """
ClusterName=loopback
SlurmctldHost=localhost(127.0.0.1)
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
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
NodeName=localhost NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str:
    """Return why there can be no SLURM here, or nothing."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"SLURM is not installed ({', '.join(missing)})"
    if os.geteuid() != 0:
        return "SLURM's daemons need root"
    if CONFIGURATION.exists():
        return f"{CONFIGURATION} exists: this machine has a SLURM of its own"
    return ""


@contextmanager
def running(folder: Path) -> Iterator[None]:
    """Run the daemons for the time of the block, and leave nothing of them."""
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    memory = psutil.virtual_memory().total // 2**20
    CONFIGURATION.parent.mkdir(exist_ok=True)
    CONFIGURATION.write_text(TEXT.format(folder=folder, cpus=max(2, os.cpu_count() or 1), memory=memory))
    commands = [
        [
            "munged",
            "--foreground",
            "--force",
            f"--key-file={key}",
            f"--socket={folder}/munge.socket",
            f"--pid-file={folder}/munged.pid",
            f"--log-file={folder}/munged.log",
            f"--seed-file={folder}/munged.seed",
        ],
        ["slurmctld", "-D", "-i"],
        ["slurmd", "-D", "-N", "localhost"],
    ]
    daemons: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            with open(folder / f"{command[0]}.out", "wb") as output:
                daemons.append(subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True))
            time.sleep(1)
        _wait_until_idle(folder)
        yield
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(daemon.pid, signal.SIGKILL)
                daemon.wait()
        CONFIGURATION.unlink()


def _wait_until_idle(folder: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True, check=False)
        if found.stdout.strip() == "idle":
            return
        time.sleep(0.5)
    logs = "\n".join(f"{path.name}: {path.read_text()[-800:]}" for path in folder.glob("*.[lo][ou][gt]"))
    raise RuntimeError(f"SLURM does not answer: {found.stdout} {found.stderr}\n{logs}")
