"""Hostile commands, judged by what they did to canaries around the workspace and on the host."""

from __future__ import annotations

import asyncio
import socket
import string

import pytest
from fakes.sandbox_room import CANARY, Room, listening, run_unsandboxed, said_of, sandbox_room
from hypothesis import given, settings
from hypothesis import strategies as st

READS = [
    "cat {secret}", "cat<{secret}", "cat ${{IFS}}{secret}", "cat {secret_glob}",
    "$(echo cat) {secret}", "`echo cat` {secret}", "c''at {secret}", "c\\at {secret}",
    "X={secret}; cat $X", "env -S 'cat {secret}'", "env -i cat {secret}", "eval cat {secret}",
    "cat <<< $(<{secret})", "while read l; do echo $l; done < {secret}", "source {secret}",
    "bash -c 'cat {secret}'", "sh <<E\ncat {secret}\nE", "exec 3<{secret}; cat <&3",
    "echo Y2F0IA== | base64 -d | {{ read c; $c {secret}; }}", "printf 'cat {secret}' | sh",
    "xargs cat <<< {secret}", "find {folder} -type f -exec cat {{}} +", "tar c {secret}",
    "grep -r CANARY {folder}", "awk 1 {secret}", "sed '' {secret}", "dd if={secret}",
    "perl -pe 1 {secret}", "perl -e 'print `cat {secret}`'", "od -c {secret}; strings {secret}",
    "ln -s {secret} l; cat l", "ln {secret} h; cat h", "cp {secret} c; cat c",
    "mount --bind {folder} /tmp; cat /tmp/secret", "chroot /proc/1/root cat {secret}",
    "cat /proc/*/root{secret}", "cat /proc/self/fd/*", "cd /proc/self/cwd/..; cat secret",
    "nsenter -t 1 -a cat {secret}", "unshare -Urm cat {secret}", "sudo -n cat {secret}",
    "su -c 'cat {secret}'", "busybox cat {secret}", "LD_PRELOAD=x cat {secret}",
    "git diff --no-index /dev/null {secret}", "curl file://{secret}", "wget -i {secret}",
    "cat ../secret ../../secret ../../../secret", "cat ~/../{secret}", "cat //{secret}",
    "debugfs -R 'cat {secret}' /dev/vda", "cat /dev/vda | grep -a CANARY",
    "gdb -batch -p 1; strace -p 1; cat /proc/1/mem",
]  # fmt: skip
WRITES = [
    "echo x > {folder}/new", "touch {folder}/new", "rm -rf {folder}", "rm -rf / --no-preserve-root",
    "mv {secret} gone", "chmod 777 {folder}", "> {secret}", "truncate -s 0 {secret}",
    "dd of={secret} if=/dev/zero count=1", "ln -sf x {secret}", "mkdir -p {folder}/files/s3",
    "echo x >> {folder}/geode.toml", "tee {folder}/new <<< x", "tar xf - -C {folder} < /dev/null",
    "perl -e 'open F, q(>{folder}/new)'", "cp /bin/ls {folder}/new", "find {folder} -delete",
    "ln -s {folder} d; touch d/new", "cd ..; touch new; cd /; touch new",
    "crontab - <<< '* * * * *'",
    "echo 'x' > /etc/cron.d/x; echo x > ~root/.bashrc; echo x > /etc/profile.d/x.sh",
    "git init /ws/..; echo x > /ws/../.git/hooks/pre-commit",
]  # fmt: skip
WILD = [
    "kill -9 -1", "kill -9 1", "kill -9 $PPID", "killall5 -9", "pkill -f .", "shutdown now",
    "reboot -f", "echo b > /proc/sysrq-trigger", "exec -a [kworker] sleep 1", "trap '' 9; kill $$",
    "ulimit -u unlimited; ulimit -v unlimited; ulimit -f unlimited", "nice -n -20 true",
    "renice -20 1", "exec 3<>/dev/tcp/127.0.0.1/{port}", "perl -e 'kill 9, -1'",
    "sync; fsfreeze /",
    "(exec 0<&- 1>&- 2>&-; exec sleep 0.1)", "exec 200<>/dev/ptmx", "stty -a; reset; tput init",
    "printf '\\e]52;c;AAAA\\a'", "set -m; sleep 9 & fg", "coproc cat; disown -a",
    "while :; do :; done &",
    "exit 0; echo after", "exec false", "read -t 1", ":; }}; echo x; {{ :", "'", '"', "$(", "`",
    "<<E",
    "\\", "#", "&&", "((", "[[", "case x in", "\t", "\n\n", ";;", "!!", "!", "~+", "%", "$'\\0'",
]  # fmt: skip


def state_of(room: Room) -> dict[str, bytes | str]:
    """Everything around the session's own folder."""
    found: dict[str, bytes | str] = {}
    for place in sorted(room.root.rglob("*")):
        if not place.is_relative_to(room.folder):
            found[str(place)] = place.read_bytes() if place.is_file() else oct(place.stat().st_mode)
    return found


def fill_in(command: str, room: Room, port: int = 9) -> str:
    folder = str(room.root)
    words = {
        "secret": f"{folder}/secret",
        "secret_glob": f"{folder[:-3]}*/secr?t",
        "folder": folder,
        "port": str(port),
    }
    return command.format(**words)


@pytest.mark.parametrize("command", READS)
async def test_command_reads_nothing_outside(command: str) -> None:
    with sandbox_room() as room:
        end = await room.end(fill_in(command, room))

    assert CANARY not in said_of(end)


@pytest.mark.parametrize("command", [*READS[:13], *READS[15:18]])
def test_without_the_sandbox_such_a_command_reads(command: str) -> None:
    with sandbox_room() as room:
        assert CANARY in run_unsandboxed(fill_in(command, room), room.root / "files")


@pytest.mark.parametrize("command", WRITES)
async def test_command_changes_nothing_outside(command: str) -> None:
    with sandbox_room() as room:
        before = state_of(room)

        await room.end(fill_in(command, room))

        assert state_of(room) == before


@pytest.mark.parametrize("command", [WRITES[0], WRITES[1], WRITES[4], WRITES[6]])
def test_without_the_sandbox_such_a_command_changes(command: str) -> None:
    with sandbox_room() as room:
        before = state_of(room)

        run_unsandboxed(fill_in(command, room), room.root / "kept")

        assert state_of(room) != before


@pytest.mark.parametrize("command", WILD)
async def test_wild_command_harms_nobody_and_the_next_one_works(command: str) -> None:
    with listening(socket.AF_INET, ("127.0.0.1", 0)) as sink, sandbox_room(run_s_max=4) as room:
        before = state_of(room)

        end = await room.end(fill_in(command, room, int(sink.address[1])))
        after = await room.run("echo works")

        assert said_of(end)
        assert after == "works\n[exit code 0]"
        assert state_of(room) == before
        assert sink.hits == 0


PIECES = st.sampled_from(
    [
        *("cat", "ls", "rm -rf", "ln -s", "touch", "echo", "cd", "exec", "eval", "kill -9", "cp"),
        *("/", "..", "../..", "/proc/self/root", "/proc/1", "/ws", "/tmp", "~", "-1", "1", "*"),
        *("SECRET", "FOLDER", "|", "&", "&&", ";", ">", ">>", "<", "<<<", "$(", ")", "`", "'", '"'),
        *(
            "\n",
            "{",
            "}",
            "$HOME",
            "$PPID",
            "\\",
            "!",
            "3<>/dev/tcp/127.0.0.1/9",
            "2>&1",
            "sleep 1",
        ),
    ]
)
COMMANDS = st.one_of(
    st.lists(PIECES, min_size=1, max_size=12).map(" ".join),
    st.text(string.printable, min_size=1, max_size=60),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1),
)


@settings(max_examples=25)
@given(COMMANDS)
@pytest.mark.timeout(240)
def test_no_command_has_an_effect_outside(command: str) -> None:
    with sandbox_room(run_s_max=2) as room:
        words = command.replace("SECRET", f"{room.root}/secret").replace("FOLDER", str(room.root))
        before = state_of(room)

        end = asyncio.run(room.end(words))

        assert CANARY not in said_of(end)
        assert state_of(room) == before
