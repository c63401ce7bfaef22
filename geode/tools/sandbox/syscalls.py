"""Which system calls a command may not make, by number for each processor that is supported."""

from __future__ import annotations

import errno
import platform
from collections.abc import Iterator
from dataclasses import dataclass

from geode.tools.sandbox.bpf import Check, Machine, Rule, assemble

LAST_NUMBER = 462
"""mseal. Numbers from 424 on are the same on every processor; what came later is not looked at."""

# Other processes, kernel memory, keys, faults and rings: tools against the kernel, not for work.
# Mounts, namespaces, modules, clocks: denied by capability too; the filter is the second lock.
_X86_64 = {
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312,
    "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "lookup_dcookie": 212,
    "keyctl": 250, "add_key": 248, "request_key": 249,
    "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161,
    "unshare": 272, "setns": 308, "sethostname": 170, "setdomainname": 171,
    "init_module": 175, "finit_module": 313, "delete_module": 176, "create_module": 174,
    "kexec_load": 246, "kexec_file_load": 320, "reboot": 169,
    "swapon": 167, "swapoff": 168, "acct": 163, "quotactl": 179,
    "settimeofday": 164, "clock_settime": 227, "clock_adjtime": 305, "adjtimex": 159,
    "iopl": 172, "ioperm": 173, "modify_ldt": 154, "uselib": 134, "_sysctl": 156,
    "syslog": 103, "vhangup": 153, "nfsservctl": 180,
    "name_to_handle_at": 303, "open_by_handle_at": 304,
    "fanotify_init": 300, "fanotify_mark": 301,
}  # fmt: skip
_AARCH64 = {
    "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272,
    "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "lookup_dcookie": 18,
    "keyctl": 219, "add_key": 217, "request_key": 218,
    "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51,
    "unshare": 97, "setns": 268, "sethostname": 161, "setdomainname": 162,
    "init_module": 105, "finit_module": 273, "delete_module": 106,
    "kexec_load": 104, "kexec_file_load": 294, "reboot": 142,
    "swapon": 224, "swapoff": 225, "acct": 89, "quotactl": 60,
    "settimeofday": 170, "clock_settime": 112, "clock_adjtime": 266, "adjtimex": 171,
    "syslog": 116, "vhangup": 58, "nfsservctl": 42,
    "name_to_handle_at": 264, "open_by_handle_at": 265,
    "fanotify_init": 262, "fanotify_mark": 263,
}  # fmt: skip
_EVERYWHERE = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
    "fspick": 433, "mount_setattr": 442, "statmount": 457, "listmount": 458,
    "pidfd_getfd": 438, "process_madvise": 440, "quotactl_fd": 443, "memfd_secret": 447,
}  # fmt: skip

_CLONE3, _OPENAT2, _FCHMODAT2 = 435, 437, 452

NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID and NET; CLONE_NEWTIME cannot be given to clone."""
SET_ID_BITS = 0o6000
O_CREAT = 0o100
TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX put words into a terminal as if its person had typed them."""
FAMILIES = (1, 2, 10, 16)
"""UNIX, INET, INET6, NETLINK: what a network namespace contains. A vsock would reach beyond it."""


@dataclass(frozen=True, slots=True)
class _Calls:
    """The numbers of one processor."""

    arch: int
    denied: dict[str, int]
    clone: int
    ioctl: int
    sockets: tuple[int, int]
    fallocate: int
    modes: tuple[tuple[int, int], ...]
    """Calls that take a file's mode, and in which argument."""
    opens: tuple[tuple[int, int], ...]
    """Calls that take flags, and after them a mode that counts with O_CREAT only."""


MACHINES = {
    "x86_64": _Calls(
        0xC000003E, _X86_64 | _EVERYWHERE, clone=56, ioctl=16, sockets=(41, 53), fallocate=285,
        modes=((90, 1), (91, 1), (268, 2), (83, 1), (258, 2), (133, 1), (259, 2), (85, 1),
               (_FCHMODAT2, 2)),
        opens=((2, 1), (257, 2)),
    ),
    "aarch64": _Calls(
        0xC00000B7, _AARCH64 | _EVERYWHERE, clone=220, ioctl=29, sockets=(198, 199), fallocate=47,
        modes=((52, 1), (53, 2), (34, 2), (33, 2), (_FCHMODAT2, 2)),
        opens=((56, 2),),
    ),
}  # fmt: skip


def build_filter(machine: str | None = None) -> bytes | None:
    """The filter for this processor, or the named one; None when its numbers are not known here."""
    calls = MACHINES.get(machine or platform.machine())
    if calls is None:
        return None
    return assemble(Machine(calls.arch, LAST_NUMBER, errno.ENOSYS), _rules_of(calls))


def _rules_of(calls: _Calls) -> Iterator[Rule]:
    for number in calls.denied.values():
        yield Rule(number, errno.EPERM)
    yield Rule(calls.clone, errno.EPERM, (Check(0, "any_bit", (NEW_NAMESPACES,)),))
    # A filter cannot read what their arguments point to; libraries then take the older call.
    yield Rule(_CLONE3, errno.ENOSYS)
    yield Rule(_OPENAT2, errno.ENOSYS)
    yield Rule(calls.ioctl, errno.EPERM, (Check(1, "equal", TERMINAL_INPUT),))
    for number in calls.sockets:
        yield Rule(number, errno.EAFNOSUPPORT, (Check(0, "none_of", FAMILIES),))
    # It would take the whole disk in one call; without it a library writes the bytes.
    yield Rule(calls.fallocate, errno.EOPNOTSUPP)
    for number, mode in calls.modes:
        yield Rule(number, errno.EPERM, (Check(mode, "any_bit", (SET_ID_BITS,)),))
    for number, flags in calls.opens:
        creates = Check(flags, "any_bit", (O_CREAT,))
        yield Rule(number, errno.EPERM, (creates, Check(flags + 1, "any_bit", (SET_ID_BITS,))))
