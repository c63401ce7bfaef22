"""The words that bubblewrap is started with: what a command sees of the machine, and what not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from geode.tools.sandbox.bounds import Bounds

INSIDE_ID = 65_534
WORKSPACE = "/ws"
COMMAND_FILE = "/run/command"
READY, GO = b"r", b"go\n"
SHELL = "/bin/bash"

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
    "HOME": "/tmp",  # noqa: S108 - a file system of the sandbox's own
    "TMPDIR": "/tmp",  # noqa: S108
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "USER": "geode",
    "LOGNAME": "geode",
}
PASSWD = f"geode:x:{INSIDE_ID}:{INSIDE_ID}:GEODE:/tmp:{SHELL}\n".encode()
GROUP = f"geode:x:{INSIDE_ID}:\n".encode()

_PROGRAMS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_HOST_FILES = ("/etc/alternatives", "/etc/ld.so.cache")
"""Links from one program to another and where libraries lie: no settings and no secrets."""
_MASKED = ("/usr/local/etc", "/usr/local/src", "/usr/src")
"""Places below /usr where people do put settings and sources of their own."""
_ISOLATION = (
    *("--unshare-all", "--unshare-user", "--uid", str(INSIDE_ID), "--gid", str(INSIDE_ID)),
    *("--disable-userns", "--assert-userns-disabled", "--cap-drop", "ALL"),
    *("--new-session", "--die-with-parent", "--hostname", "sandbox", "--clearenv"),
)


@dataclass(frozen=True, slots=True)
class Descriptors:
    """Open files that a sandbox is started with; none of them is left when the command begins."""

    control: int
    """Where the first process says that it is ready and hears that it may go on."""
    seccomp: int
    command: int
    passwd: int
    group: int


def list_options(workspace: str, descriptors: Descriptors, bounds: Bounds) -> Iterator[str]:
    """Every option, in the order in which bubblewrap carries them out."""
    yield from ("--ro-bind", "/usr", "/usr")
    for name in _PROGRAMS:
        yield from _show_programs(Path("/", name))
    for place in _MASKED:
        if Path(place).is_dir():
            yield from ("--size", "4096", "--tmpfs", place, "--remount-ro", place)
    yield from ("--dir", "/etc")
    for place in _HOST_FILES:
        yield from ("--ro-bind-try", place, place)
    yield from ("--ro-bind-data", str(descriptors.passwd), "/etc/passwd")
    yield from ("--ro-bind-data", str(descriptors.group), "/etc/group")
    yield from ("--ro-bind-data", str(descriptors.command), COMMAND_FILE)
    # Read-only, because with the wrong user outside its settings are the whole machine's.
    yield from ("--proc", "/proc", "--remount-ro", "/proc")
    yield from ("--dev", "/dev", "--size", str(bounds.shared_bytes_max), "--tmpfs", "/dev/shm")  # noqa: S108
    yield from ("--remount-ro", "/dev")
    yield from ("--size", str(bounds.temporary_bytes_max), "--tmpfs", "/tmp")  # noqa: S108
    yield from ("--bind", workspace, WORKSPACE, "--chdir", WORKSPACE)
    yield from ("--remount-ro", "/")
    yield from _ISOLATION
    for name, value in ENVIRONMENT.items():
        yield from ("--setenv", name, value)
    yield from ("--seccomp", str(descriptors.seccomp))


def _show_programs(place: Path) -> tuple[str, ...]:
    """A link where the machine has one, else the folder itself."""
    if place.is_symlink():
        return "--symlink", str(place.readlink()), str(place)
    return ("--ro-bind", str(place), str(place)) if place.is_dir() else ()


def write_prelude(control_fd: int, limits: str) -> str:
    """What the first process does: wait for the word, so that nothing runs once the daemon died."""
    return (
        f"umask 077; {limits} && printf r >&{control_fd} && read -r -u {control_fd} word && "
        f'[ "$word" = go ] && exec {control_fd}>&- && exec {SHELL} {COMMAND_FILE}; exit 125'
    )


@dataclass(frozen=True, slots=True)
class AsNobody:
    """How a daemon that is the machine's root becomes somebody else for a command."""

    unshare: str
    setpriv: str
    reachable: str
    """A folder that anybody may enter; in the command's view the workspace stands in its place."""


@dataclass(frozen=True, slots=True)
class Programs:
    """What a sandbox is started with."""

    bwrap: str
    as_nobody: AsNobody | None = None
    """Not None when the daemon is root: even without capabilities it owns the machine's settings
    and devices, and no number of processes is too many for it."""


# Without a process of its own in between: the kernel ends the sandbox when its parent has ended,
# and that parent must be the daemon.
_STEP_DOWN = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'


def command_line(programs: Programs, workspace: str, options_fd: int, prelude: str) -> list[str]:
    """The argument list; neither options nor command stand in the machine's list of processes."""
    inner = [programs.bwrap, "--args", str(options_fd), "--", SHELL, "-c", prelude]
    way = programs.as_nobody
    if way is None:
        return inner
    user = str(INSIDE_ID)
    return [
        *(way.unshare, "--mount", "--propagation", "private", "--"),
        *("/bin/sh", "-c", _STEP_DOWN, "sh", workspace, way.reachable),
        *(way.setpriv, "--reuid", user, "--regid", user, "--clear-groups", "--no-new-privs"),
        *("--inh-caps=-all", "--bounding-set=-all", *inner),
    ]
