"""Assembles a filter of system calls as the kernel's classic BPF; pure."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_IF_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_IF_GREATER = 0x25  # BPF_JMP | BPF_JGT | BPF_K
_IF_ANY_BIT = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K

ALLOW = 0x7FFF0000
KILL_PROCESS = 0x80000000
_ERRNO = 0x00050000

_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16
INSTRUCTIONS_MAX = 4096
"""What the kernel takes of one filter (BPF_MAXINSNS)."""

Instruction: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Check:
    """A condition on the lower 32 bits of one argument, which is all that the kernel reads."""

    argument: int
    kind: Literal["equal", "any_bit", "none_of"]
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A system call that answers with an error, whenever all checks hold."""

    number: int
    errno: int
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class Machine:
    """What the filter must know of a processor."""

    arch: int
    """AUDIT_ARCH_*: a call made in another mode of the processor ends the process."""
    last_number: int
    """Calls beyond it are not known here and answer as on an older kernel."""
    unknown_errno: int


def assemble(machine: Machine, rules: Iterable[Rule]) -> bytes:
    """The program as `struct sock_filter` rows; what no rule names is allowed."""
    rows: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH_AT),
        (_IF_EQUAL, 1, 0, machine.arch),
        (_RETURN, 0, 0, KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER_AT),
        # Numbers with the x32 bit set lie beyond the last one too.
        (_IF_GREATER, 0, 1, machine.last_number),
        _fail(machine.unknown_errno),
    ]
    for rule in rules:
        rows += _rows_of(rule)
    rows.append((_RETURN, 0, 0, ALLOW))
    if len(rows) > INSTRUCTIONS_MAX:
        raise ValueError(
            f"The filter has {len(rows)} instructions; {INSTRUCTIONS_MAX} is the most."
        )
    return b"".join(struct.pack("<HBBI", *row) for row in rows)


def _rows_of(rule: Rule) -> list[Instruction]:
    """Skip all of it unless the number is the rule's; leave with the number loaded again."""
    if not rule.checks:
        return [(_IF_EQUAL, 0, 1, rule.number), _fail(rule.errno)]
    body: list[Instruction] = [_fail(rule.errno), (_LOAD, 0, 0, _NUMBER_AT)]
    for check in reversed(rule.checks):
        # From any row of a check, the last row of the body is where the rule does not hold.
        body = [*_rows_of_check(check, holds_rows=len(body) - 1), *body]
    return [(_IF_EQUAL, 0, len(body), rule.number), *body]


def _rows_of_check(check: Check, holds_rows: int) -> Sequence[Instruction]:
    """Go on behind these rows when the check holds, else jump over the `holds_rows` after them."""
    load = (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * check.argument)
    if check.kind == "any_bit":
        return load, (_IF_ANY_BIT, 0, holds_rows, check.values[0])
    count = len(check.values)
    if check.kind == "equal":
        tests = [
            (_IF_EQUAL, left, 0 if left else holds_rows, value)
            for left, value in zip(range(count - 1, -1, -1), check.values, strict=True)
        ]
    else:
        tests = [
            (_IF_EQUAL, left + holds_rows, 0, value)
            for left, value in zip(range(count - 1, -1, -1), check.values, strict=True)
        ]
    return load, *tests


def _fail(errno: int) -> Instruction:
    return _RETURN, 0, 0, _ERRNO | errno
