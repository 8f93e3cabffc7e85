"""What a fit can reach: processes, folders and privileges, held in by Linux namespaces where the system permits them.

Every function returns what it could not do, in words, so that a log can say what is not covered. Nothing here knows
methods or records. Constants are those of the kernel's headers (sched.h, mount.h, prctl.h, capability.h).
"""

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWUSER, _CLONE_NEWPID = 0x00020000, 0x08000000, 0x10000000, 0x20000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_BIND, _MS_REC, _MS_PRIVATE = 1 << 12, 1 << 14, 1 << 18
_SYS_MOUNT_SETATTR = 442  # the same number on all architectures
_AT_FDCWD, _AT_RECURSIVE, _MOUNT_ATTR_RDONLY = -100, 0x8000, 1
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 24, 36, 38
_CAP_SYS_PTRACE, _CAP_SYS_ADMIN, _CAP_MKNOD = 19, 21, 27
_CAPABILITY_VERSION_3 = 0x20080522


def end_with_parent() -> None:
    """Ask Linux to end this process when the one that started it ends, however that happens."""
    if sys.platform == "linux":
        parent = os.getppid()
        _libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, so that none can leave this family."""
    if sys.platform == "linux":
        _libc().prctl(_PR_SET_CHILD_SUBREAPER, 1)


def separate(*, folders: bool) -> list[str]:
    """Give the next child of this process a view of its own of processes and, where asked for, of folders."""
    if sys.platform != "linux":
        return ["processes that it detaches may outlive it", *(["it can read all folders"] if folders else [])]
    flags = _CLONE_NEWPID | _CLONE_NEWIPC | (_CLONE_NEWNS if folders else 0)
    user, group = os.getuid(), os.getgid()
    if os.geteuid() == 0 and _unshare(flags):
        return []
    if _unshare(flags | _CLONE_NEWUSER):
        # The same user as outside, and no other: files keep their owner.
        maps = (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1"))
        with contextlib.suppress(OSError):
            for name, text in maps:
                Path("/proc/self", name).write_text(text)
            return []
    return ["processes that it detaches may outlive a kill -9", *(["it can read all folders"] if folders else [])]


def restrict_folders(hidden: Iterable[Path], writable: Iterable[Path]) -> list[str]:
    """Make folders and files invisible, and all but the writable folders read-only, for this process and its children.

    A writable folder may lie within a hidden one. To be called once, by a child after :func:`separate`.
    """
    kept = {path: os.open(path, os.O_PATH | os.O_DIRECTORY) for path in writable}
    try:
        _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
        for path in hidden:
            _hide(path)
        for path, descriptor in kept.items():
            path.mkdir(parents=True, exist_ok=True)
            _mount(f"/proc/self/fd/{descriptor}", str(path), None, _MS_BIND)
        _set_read_only("/", on=True, recursive=True)
        for path in kept:
            _set_read_only(str(path), on=False)
        with contextlib.suppress(OSError):
            _mount("tmpfs", "/dev/shm", "tmpfs", _MS_NOSUID | _MS_NODEV)
    except OSError as error:
        return [f"it can read all folders ({error})"]
    finally:
        for descriptor in kept.values():
            os.close(descriptor)
    return []


def show_own_processes() -> list[str]:
    """Let /proc list the processes of this namespace alone; to be called by the first of them."""
    try:
        _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    except OSError as error:
        return [f"it can see other processes ({error})"]
    return []


def drop_privileges() -> None:
    """Give up the right to undo what the functions above did, for this process and all that it will start."""
    if sys.platform != "linux":
        return
    libc = _libc()
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    given_up = (_CAP_SYS_PTRACE, _CAP_SYS_ADMIN, _CAP_MKNOD)
    for capability in given_up:
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable: the low 32 capabilities, then the high ones
    if libc.capget(header, sets) == 0:
        kept = ~sum(1 << capability for capability in given_up)
        for place in range(3):
            sets[place] &= kept & 0xFFFFFFFF
        libc.capset(header, sets)


def _hide(path: Path) -> None:
    if path.is_dir():
        _mount("tmpfs", str(path), "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1m")
    elif path.exists():
        _mount("/dev/null", str(path), None, _MS_BIND)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _unshare(flags: int) -> bool:
    return bool(_libc().unshare(flags) == 0)


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    data = None if options is None else options.encode()
    if _libc().mount(*encoded, ctypes.c_ulong(flags), data) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"mount on {target}: {os.strerror(code)}")


def _set_read_only(target: str, *, on: bool, recursive: bool = False) -> None:
    # struct mount_attr: attributes to set, to clear, propagation, user namespace
    attributes = (ctypes.c_uint64 * 4)(*((_MOUNT_ATTR_RDONLY, 0) if on else (0, _MOUNT_ATTR_RDONLY)), 0, 0)
    flags = _AT_RECURSIVE if recursive else 0
    arguments = (_AT_FDCWD, os.fsencode(target), flags, attributes, ctypes.sizeof(attributes))
    if _libc().syscall(_SYS_MOUNT_SETATTR, *arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"mount_setattr on {target}: {os.strerror(code)}")
