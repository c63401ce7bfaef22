"""What a command can find out or do in its sandbox; each probe shows its effect without one."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator

import pytest
from fakes.sandbox_room import (
    CANARY,
    Room,
    code_of,
    kill_all,
    listening,
    output_of,
    processes_with,
    run_program,
    run_unsandboxed,
    sandbox_room,
    started,
    until_gone,
    until_many,
)

from geode.tools.sandbox.bounds import Bounds
from geode.tools.sandbox.control_groups import make_group
from geode.tools.sandbox.syscalls import MACHINES

STATUS = "grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status"
CONNECT = """use Socket; socket(S, PF_UNIX, SOCK_STREAM, 0) or die "no socket: $!";
connect(S, pack("S a*", AF_UNIX, "\\0NAME")) or die "no connection: $!"; print "connected";"""
FORKS = """my @kids; for (1..400) { my $kid = fork; last unless defined $kid;
if (!$kid) { sleep 30; exit } push @kids, $kid }
print "forked:", scalar @kids, ":"; kill 9, @kids"""


@pytest.fixture
def room() -> Iterator[Room]:
    with sandbox_room() as made:
        yield made


def status_rows(text: str) -> dict[str, str]:
    return dict(row.split(":\t") for row in text.splitlines() if ":\t" in row)


async def test_environment_of_no_process_holds_the_daemons(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACK_TOKEN", CANARY)
    look = "cat /proc/*/environ /proc/self/environ | tr '\\0' '\\n'; env"
    assert CANARY in run_unsandboxed(look.replace("/proc/*/environ", ""), room.root)

    said = await room.run(look)

    assert CANARY not in said
    assert output_of(await room.run("cat /proc/1/environ")) in {"", "PWD=/\\x00\n"}
    assert {"HOME=/tmp", "PWD=/ws"} <= set(said.splitlines())


async def test_no_descriptor_of_the_daemon_is_open_inside(room: Room) -> None:
    look = "for n in {3..200}; do [[ -e /proc/self/fd/$n ]] && cat <&$n; done 2>/dev/null; :"
    with (room.root / "secret").open() as secret:
        os.set_inheritable(secret.fileno(), True)
        control = run_program("bash", "-c", look, close_fds=False)
        assert CANARY in control.stdout.decode()

        said = await room.run(look)
        listed = await room.run("for n in {3..254}; do [[ -L /proc/self/fd/$n ]] && echo $n; done")
        first = await room.run("ls /proc/1/fd")

    assert output_of(said) == output_of(listed) == ""
    # The event by which bubblewrap's own first process hears that it may end.
    assert set(output_of(first).split()) <= {"0", "1", "2", "3", "4", "5"}
    assert CANARY not in await room.run("cat /proc/1/fd/* 2>&1 < /dev/null & sleep 0.2; kill $!")


async def test_command_has_no_capability(room: Room) -> None:
    free = status_rows(run_unsandboxed(f"unshare --user --map-root-user {STATUS}", room.root))
    assert int(free["CapEff"], 16) > 0

    held = status_rows(await room.run(STATUS))

    assert {held[name] for name in held if name.startswith("Cap")} == {"0" * 16}


async def test_command_cannot_gain_rights_and_is_filtered(room: Room) -> None:
    free = status_rows(run_unsandboxed(STATUS, room.root))
    assert (free["NoNewPrivs"], free["Seccomp"]) == ("0", "0")

    held = status_rows(await room.run(STATUS))

    assert (held["NoNewPrivs"], held["Seccomp"]) == ("1", "2")


@pytest.mark.parametrize("flags", ["--user", "--user --map-root-user --net", "--mount", "--pid"])
async def test_command_makes_no_namespace(room: Room, flags: str) -> None:
    assert "made" in run_unsandboxed(f"unshare --user {flags} true && echo made", room.root)

    said = await room.run(f"unshare {flags} true && echo made")

    assert code_of(said) != 0
    assert "made" not in said


async def test_command_mounts_nothing(room: Room) -> None:
    inside = "mount -t tmpfs none /tmp && echo mounted"
    control = run_unsandboxed(f"unshare --user --map-root-user --mount sh -c '{inside}'", room.root)
    assert "mounted" in control

    said = await room.run(f"{inside}; mount -o remount,rw /usr && echo mounted; umount /proc")

    assert "mounted" not in said
    assert code_of(said) != 0


async def test_command_makes_no_device(room: Room) -> None:
    if os.geteuid() == 0:
        run_unsandboxed("mknod control b 8 0", room.root)
        assert (room.root / "control").is_block_device()

    said = await room.run("mknod /ws/d b 8 0 && echo made; mknod /tmp/d c 1 1 && echo made")

    assert "made" not in said
    assert not (room.folder / "d").exists()


@pytest.mark.parametrize(
    "place", ["/", "/usr", "/usr/bin", "/etc", "/dev", "/proc", "/run", "/lib"]
)
async def test_command_writes_in_the_workspace_and_in_temporary_places_only(
    room: Room, place: str
) -> None:
    assert "made" in run_unsandboxed("touch canary-made && echo made", room.root)

    said = await room.run(
        f"touch {place}/canary-made && echo made; ln -s x {place}/canary-made && echo made"
    )
    allowed = await room.run("touch /ws/a /tmp/a /dev/shm/a && echo made")

    assert "made\n" not in output_of(said)
    assert "canary" not in run_unsandboxed(f"ls {place} | grep canary", room.root)
    assert output_of(allowed) == "made\n"


async def test_settings_of_the_machine_cannot_be_changed(room: Room) -> None:
    """As root outside without any capability, they could: the kernel asks for the user alone."""
    said = await room.run(
        "for f in /proc/sys/vm/swappiness /proc/sys/kernel/core_pattern /proc/sysrq-trigger; do"
        " (exec 3>>$f) 2>/dev/null && echo OPEN; done; chmod 600 /dev/null /dev/zero; "
        "head -c 9 /proc/slabinfo"
    )

    assert "OPEN" not in said
    assert "slabinfo - " not in said
    assert "666" in run_unsandboxed("stat -c %a /dev/null", room.root)


async def test_command_reads_no_file_of_the_machine(room: Room) -> None:
    assert CANARY in run_unsandboxed(f"cat {room.root}/secret", room.root)

    said = await room.run(
        f"cat {room.root}/secret /etc/shadow ~root/.bashrc ~/.ssh/id_rsa ../secret "
        f"../s2/other.txt /proc/1/root{room.root}/secret /proc/self/cwd/../secret ../../kept/k; "
        f"ls /etc /home /root /var /opt /srv /mnt {room.root}; grep -rs {CANARY} /"
        " --exclude-dir=proc --exclude-dir=usr --exclude-dir=sys"
    )

    assert CANARY not in said.replace(f"grep -rs {CANARY}", "")
    assert "root:" not in said
    in_etc = set(output_of(await room.run("ls /etc")).split())
    assert {"group", "passwd"} <= in_etc <= {"alternatives", "group", "ld.so.cache", "passwd"}
    top = set(output_of(await room.run("ls /")).split())
    assert top - {"lib32", "lib64", "libx32"} == {
        *("bin", "dev", "etc", "lib", "proc", "run", "sbin", "tmp", "usr", "ws")
    }


async def test_command_sees_and_reaches_no_other_process(room: Room) -> None:
    word = f"77.{os.getpid()}"
    with started("sleep", f"76.{os.getpid()}") as first, started("sleep", word) as second:
        run_unsandboxed(f"kill -9 {first.pid}", room.root)
        assert first.wait(10) == -9

        said = await room.run(
            f"kill -9 {second.pid}; kill -9 -{second.pid}; kill -9 -1; pkill -9 sleep; "
            "cat /proc/*/cmdline | tr '\\0' ' '"
        )

        assert second.poll() is None
        assert f"sleep\\x00{word}" not in output_of(said)
        assert f"sleep {word}" not in output_of(said)


@pytest.mark.parametrize(
    ("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
)
async def test_command_reaches_no_server_of_the_host(
    room: Room, family: socket.AddressFamily, host: str
) -> None:
    with listening(family, (host, 0)) as sink:
        command = f"exec 3<>/dev/tcp/{host}/{sink.address[1]} && echo connected"
        assert "connected" in run_unsandboxed(command, room.root)

        said = await room.run(command)

        assert "connected" not in said
    assert sink.hits == 1


async def test_command_reaches_no_other_network(room: Room) -> None:
    """The metadata service of clouds, a public address, a resolver: there is no way to any."""
    said = await room.run(
        "for a in 169.254.169.254/80 1.1.1.1/53 192.168.1.1/80 10.0.0.1/22; do"
        " exec 3<>/dev/tcp/$a && echo connected; exec 4<>/dev/udp/$a && echo connected; done;"
        " getent hosts example.com && echo resolved; grep -c : /proc/net/dev"
    )

    assert "connected" not in said
    assert "resolved" not in said
    assert "unreachable" in said
    assert output_of(said).splitlines()[-1] == "1"  # the loopback of its own


async def test_command_reaches_no_abstract_socket(room: Room) -> None:
    name = f"geode-canary-{os.getpid()}"
    code = CONNECT.replace("NAME", name)
    with listening(socket.AF_UNIX, f"\0{name}") as sink:
        control = run_program("perl", "-e", code)
        assert control.stdout == b"connected", control.stderr

        said = await room.perl(code)

        assert "no connection" in said
    assert sink.hits == 1


async def test_command_makes_no_socket_beyond_its_network(room: Room) -> None:
    """A vsock is in no network namespace: it would reach the machine that runs this one."""
    code = 'for (40, 38, 17) { print socket(S, $_, 1, 0) ? "made " : "no:$! " }'

    said = await room.perl(code)

    assert "made" not in said
    assert said.count("Address family not supported") == 3


async def test_number_of_processes_is_bounded(room: Room) -> None:
    control = run_program("perl", "-e", FORKS)
    assert control.stdout == b"forked:400:"

    said = await room.perl(FORKS)

    assert 50 < int(said.split(":")[1]) < Bounds().processes_max


async def test_memory_is_bounded(room: Room) -> None:
    fits = await room.run("dd if=/dev/zero of=/dev/null bs=50M count=1 && echo fits")
    assert "fits" in fits

    one = await room.run("dd if=/dev/zero of=/dev/null bs=2200M count=1 && echo fits")

    assert "fits" not in one
    group = make_group(Bounds())
    bounded = [each for each in group.folders if list(each.glob("memory.*"))]
    group.remove()
    if bounded:
        # Less than one process may have, more than all may have together.
        assert code_of(await room.run("dd if=/dev/zero of=/dev/null bs=1300M count=1")) == 137


@pytest.mark.parametrize(
    ("place", "bound"),
    [("/tmp", Bounds().temporary_bytes_max), ("/dev/shm", Bounds().shared_bytes_max)],
)
async def test_temporary_places_are_bounded(room: Room, place: str, bound: int) -> None:
    command = "for n in {1..9}; do head -c 10000000 /dev/zero > PLACE/$n || break; done"
    with tempfile.TemporaryDirectory() as free:
        run_unsandboxed(command.replace("PLACE", free), room.root)
        assert sum(each.stat().st_size for each in os.scandir(free)) == 90_000_000

    said = await room.run(f"{command.replace('PLACE', place)}; du -sb {place} | cut -f1")

    assert "No space left" in said
    assert bound * 0.8 < int(output_of(said).splitlines()[-1]) <= bound * 1.01


@pytest.mark.parametrize(
    "name",
    [
        *("ptrace", "bpf", "keyctl", "add_key", "request_key", "userfaultfd", "io_uring_setup"),
        *("perf_event_open", "setns", "unshare", "mount", "pivot_root", "open_by_handle_at"),
        *("process_vm_readv", "init_module", "kexec_load", "reboot", "chroot", "fanotify_init"),
    ],
)
async def test_kernel_denies_the_call(room: Room, name: str) -> None:
    number = MACHINES[os.uname().machine].denied[name]

    said = await room.perl(f'print syscall({number}, 0, 0, 0, 0, 0) == -1 ? "no:$!" : "done"')

    assert output_of(said).startswith("no:Operation not permitted")


async def test_nothing_is_typed_into_the_daemons_terminal(room: Room) -> None:
    said = await room.perl('$c = "x"; print ioctl(STDOUT, 0x5412, $c) ? "typed" : "no:$!"')

    assert output_of(said).startswith("no:Operation not permitted")


async def test_nothing_is_left_when_a_command_has_ended(room: Room) -> None:
    word = f"88.{os.getpid()}"
    leaves = f"sleep {word} & setsid sleep {word} & (trap '' TERM HUP; sleep {word}) & echo begun"
    run_unsandboxed(f"({leaves}) > /dev/null 2>&1", room.root)
    await until_many(word, 3)
    kill_all(processes_with(word))
    await until_gone(word)
    before = set(room.root.rglob("*"))

    said = await room.run(leaves)

    assert output_of(said) == "begun\n"
    assert processes_with(word) == []
    assert set(room.root.rglob("*")) - before == {room.folder}
