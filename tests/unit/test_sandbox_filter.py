"""The system call filter denies what it must on each processor, judged by running it."""

from __future__ import annotations

import errno
import struct

import pytest

from geode.tools.sandbox.bpf import ALLOW, INSTRUCTIONS_MAX, KILL_PROCESS, Machine, Rule, assemble
from geode.tools.sandbox.syscalls import LAST_NUMBER, MACHINES, build_filter

X86, ARM = 0xC000003E, 0xC00000B7
I386 = 0x40000003


def judge(program: bytes, arch: int, number: int, *arguments: int) -> int | str:
    """What the kernel would do with a call: "allow", "kill" or the error's number."""
    given = [*arguments, *([0] * (6 - len(arguments)))]
    call = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, arch, 0, *given)
    rows = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    loaded, at = 0, 0
    while True:
        code, yes, no, value = rows[at]
        at += 1
        match code:
            case 0x20:
                (loaded,) = struct.unpack_from("<I", call, value)
            case 0x15:
                at += yes if loaded == value else no
            case 0x25:
                at += yes if loaded > value else no
            case 0x45:
                at += yes if loaded & value else no
            case 0x06:
                return {ALLOW: "allow", KILL_PROCESS: "kill"}.get(value, value & 0xFFFF)
            case _:
                raise AssertionError(f"the kernel has no instruction {code:#x}")


@pytest.fixture(params=[("x86_64", X86), ("aarch64", ARM)], ids=["x86_64", "aarch64"])
def machine(request: pytest.FixtureRequest) -> tuple[str, int]:
    return request.param


def program_for(machine: tuple[str, int]) -> bytes:
    program = build_filter(machine[0])
    assert program is not None
    return program


def test_filter_fits_the_kernel(machine: tuple[str, int]) -> None:
    assert 0 < len(program_for(machine)) // 8 <= INSTRUCTIONS_MAX


def test_every_named_call_is_denied(machine: tuple[str, int]) -> None:
    program, calls = program_for(machine), MACHINES[machine[0]]

    verdicts = {name: judge(program, machine[1], n) for name, n in calls.denied.items()}

    assert len(verdicts) > 50
    assert set(verdicts.values()) == {errno.EPERM}
    assert len(set(calls.denied.values())) == len(calls.denied)


def test_what_honest_programs_call_is_allowed(machine: tuple[str, int]) -> None:
    program = program_for(machine)
    honest = {
        "x86_64": {"read": 0, "write": 1, "mmap": 9, "execve": 59, "exit": 60, "wait4": 61,
                   "kill": 62, "futex": 202, "getrandom": 318, "prlimit64": 302, "connect": 42},
        "aarch64": {"read": 63, "write": 64, "mmap": 222, "execve": 221, "exit": 93,
                    "wait4": 260, "kill": 129, "futex": 98, "getrandom": 278, "connect": 203},
    }[machine[0]]  # fmt: skip

    assert {judge(program, machine[1], n) for n in honest.values()} == {"allow"}


def test_call_of_another_processor_mode_ends_the_process(machine: tuple[str, int]) -> None:
    program = program_for(machine)

    assert judge(program, I386, 1) == "kill"
    assert judge(program, ARM if machine[1] == X86 else X86, 1) == "kill"


@pytest.mark.parametrize("number", [LAST_NUMBER + 1, 500, 0x40000000, 0x40000000 | 101, 0xFFFFFFFF])
def test_unknown_number_answers_as_on_an_older_kernel(
    machine: tuple[str, int], number: int
) -> None:
    assert judge(program_for(machine), machine[1], number) == errno.ENOSYS


@pytest.mark.parametrize(
    "flag", [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]
)
def test_clone_makes_no_namespace(machine: tuple[str, int], flag: int) -> None:
    program, clone = program_for(machine), MACHINES[machine[0]].clone

    assert judge(program, machine[1], clone, 0x01200011) == "allow"  # what fork gives
    assert judge(program, machine[1], clone, 0x003D0F00) == "allow"  # what a thread gives
    assert judge(program, machine[1], clone, 0x11 | flag) == errno.EPERM
    assert judge(program, machine[1], clone, 0xFFFF_0000_0000_0011 | flag) == errno.EPERM


@pytest.mark.parametrize("number", [435, 437])
def test_calls_whose_arguments_lie_in_memory_do_not_exist(
    machine: tuple[str, int], number: int
) -> None:
    assert judge(program_for(machine), machine[1], number) == errno.ENOSYS


def test_nothing_is_typed_into_a_terminal(machine: tuple[str, int]) -> None:
    program, ioctl = program_for(machine), MACHINES[machine[0]].ioctl

    for command in (0x5412, 0x541C, 0x1_0000_5412, 0xDEAD_BEEF_0000_541C):
        assert judge(program, machine[1], ioctl, 0, command) == errno.EPERM
    for command in (0x5401, 0x5413, 0x5411, 0x541B):
        assert judge(program, machine[1], ioctl, 0, command) == "allow"


@pytest.mark.parametrize(
    ("family", "verdict"),
    [
        *((family, "allow") for family in (1, 2, 10, 16)),
        *((family, 97) for family in (0, 17, 38, 40, 44, 0x1_0000_0028, 0xFFFFFFFF)),
    ],
)
def test_only_sockets_of_the_own_network_are_made(
    machine: tuple[str, int], family: int, verdict: int | str
) -> None:
    program = program_for(machine)

    for number in MACHINES[machine[0]].sockets:
        assert judge(program, machine[1], number, family) == verdict


@pytest.mark.parametrize("bits", [0o4000, 0o2000, 0o6000])
def test_no_file_takes_its_owners_rights(machine: tuple[str, int], bits: int) -> None:
    program, calls = program_for(machine), MACHINES[machine[0]]

    for number, mode in calls.modes:
        plain, marked = [0] * 6, [0] * 6
        plain[mode], marked[mode] = 0o755, 0o755 | bits
        assert judge(program, machine[1], number, *plain) == "allow"
        assert judge(program, machine[1], number, *marked) == errno.EPERM
    for number, flags in calls.opens:
        makes, reads = [0] * 6, [0] * 6
        makes[flags], makes[flags + 1] = 0o1101, 0o755 | bits
        reads[flags], reads[flags + 1] = 0o2000000, 0o755 | bits
        assert judge(program, machine[1], number, *makes) == errno.EPERM
        assert judge(program, machine[1], number, *reads) == "allow"


def test_processor_that_is_not_known_has_no_filter() -> None:
    assert build_filter("riscv64") is None


def test_program_that_the_kernel_would_not_take_is_refused() -> None:
    rules = [Rule(number, 1) for number in range(INSTRUCTIONS_MAX)]

    with pytest.raises(ValueError, match="is the most"):
        assemble(Machine(X86, LAST_NUMBER, 38), rules)
