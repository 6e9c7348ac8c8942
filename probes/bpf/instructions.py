"""Represent BPF instructions as values, and encode them (Documentation/bpf/standardization/instruction-set.rst)."""

from __future__ import annotations

import enum
import struct
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

LD, LDX, ST, STX, ALU, JMP, ALU64 = 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x07
"""Instruction classes."""
SIZES: Final = {1: 0x10, 2: 0x08, 4: 0x00, 8: 0x18}
"""Size modifiers of loads and stores by bytes."""
IMM, MEM, ATOMIC = 0x00, 0x60, 0xC0
"""Modes of loads and stores."""
FROM_IMMEDIATE, FROM_REGISTER = 0x00, 0x08
"""Sources of the second operand."""
LOAD_IMMEDIATE: Final = LD | IMM | SIZES[8]
"""Code of the only instruction of two slots."""
CALL, EXIT, JUMP = JMP | 0x80, JMP | 0x90, JMP
EXCHANGE: Final = 0xE1
"""Immediate of an atomic instruction that exchanges a register with memory (BPF_XCHG)."""
FRAME_POINTER: Final = 10
"""Register r10: end of the stack, which grows down from it by up to `STACK_BYTES`."""
STACK_BYTES: Final = 512
"""Bytes of a program's stack (MAX_BPF_STACK)."""


class AluOperation(enum.IntEnum):
    """Operation on a register of 64 bits."""

    ADD = 0x00
    SUB = 0x10
    MUL = 0x20
    OR = 0x40
    AND = 0x50
    LSH = 0x60
    RSH = 0x70
    XOR = 0xA0
    MOV = 0xB0
    ARSH = 0xC0


class JumpCondition(enum.IntEnum):
    """Condition of a jump; those with S compare signed numbers."""

    EQ = 0x10
    GT = 0x20
    GE = 0x30
    SET = 0x40
    NE = 0x50
    SGT = 0x60
    SGE = 0x70
    LT = 0xA0
    LE = 0xB0
    SLT = 0xC0
    SLE = 0xD0


class Helper(enum.IntEnum):
    """Kernel function that a program may call, by its number (enum bpf_func_id in include/uapi/linux/bpf.h)."""

    MAP_LOOKUP_ELEM = 1
    MAP_UPDATE_ELEM = 2
    MAP_DELETE_ELEM = 3
    KTIME_GET_NS = 5
    GET_SMP_PROCESSOR_ID = 8
    GET_CURRENT_PID_TGID = 14
    GET_CURRENT_COMM = 16
    GET_STACK = 67
    GET_CURRENT_CGROUP_ID = 80
    PROBE_READ_USER = 112
    PROBE_READ_KERNEL = 113
    PROBE_READ_USER_STR = 114
    PROBE_READ_KERNEL_STR = 115
    RINGBUF_RESERVE = 131
    RINGBUF_SUBMIT = 132
    GET_CURRENT_TASK_BTF = 158
    GET_FUNC_IP = 173
    GET_ATTACH_COOKIE = 174
    GET_FUNC_ARG = 183


class MapRole(enum.IntEnum):
    """Map of a program by its use; a program has at most one of each."""

    CONTROL = 1
    """Array of one element: mode of the probe (`probes.bpf.program.ProgramMode`), u64."""
    COUNTERS = 2
    """Array of one element: the counters of all programs of a plan by CPU (`probes.bpf.counters`)."""
    RINGS = 3
    """Array of ring buffers by CPU."""
    HITS = 4
    """Array of one element: a u64 for each function, by its cookie (`probes.bpf.tracing.hit_counter`)."""
    DEPTHS = 5
    """Hash by thread id: u64, number of calls that are traced and run (`probes.bpf.tracing.call_tracer`)."""
    TASKS = 6
    """Hash by thread id: those that are traced, or recorded."""
    OBJECTS = 7
    """Hash of the objects that are tracked: address, u64 -> the same (`probes.bpf.program.ObjectRole`)."""
    GROUPS = 8
    """Hash by CPU of the groups of a program (`probes.bpf.groups.grouping`)."""
    NEW_GROUP = 9
    """Array of one element: a group without calls, zeros."""
    BEGINS = 10
    """Hash of the calls that run: frame -> time of the entry (`probes.bpf.groups.grouping`)."""
    KEY = 11
    """Array of one element by CPU: memory for a key that is larger than the stack of a program."""
    WATCHED = 12
    """Array of one element: the last value of watched memory (`probes.bpf.watchpoints.watch_writer`)."""


class AddressKind(enum.IntEnum):
    """Use of a 64-bit immediate (BPF_PSEUDO_MAP_FD, BPF_PSEUDO_MAP_VALUE)."""

    NUMBER = 0
    MAP = 1
    MAP_VALUE = 2
    KERNEL_FUNCTION = 2
    """Immediate of a call that is the BTF type of a kfunc (BPF_PSEUDO_KFUNC_CALL)."""


class BpfInstruction(NamedTuple):
    """Instruction as the kernel reads it, but with a `MapRole` in place of a map's file descriptor."""

    code: int
    target: int = 0
    """Register written to, or compared."""
    source: int = 0
    """Register read from; of a 64-bit immediate its `AddressKind`."""
    offset: int = 0
    """Bytes from an address, or instruction slots to jump over."""
    immediate: int = 0

    @property
    def slots(self) -> int:
        """Number of 8-byte slots."""
        return 2 if self.code == LOAD_IMMEDIATE else 1


_SLOT = struct.Struct("<BBhi")


def encode(program: Sequence[BpfInstruction], maps: Mapping[MapRole, int]) -> bytes:
    """Return a program as the kernel of a little-endian machine takes it.

    Args:
        program: the instructions.
        maps: file descriptors of the maps it names.
    """
    return b"".join(_encoded(instruction, maps) for instruction in program)


def _encoded(instruction: BpfInstruction, maps: Mapping[MapRole, int]) -> bytes:
    code, target, source, offset, immediate = instruction
    if code == LOAD_IMMEDIATE and source != AddressKind.NUMBER:
        immediate = maps[MapRole(immediate)]
    low = immediate & 0xFFFFFFFF
    first = _SLOT.pack(code, target | source << 4, offset, low - (1 << 32) if low >> 31 else low)
    if instruction.slots == 1:
        return first
    high = immediate >> 32 & 0xFFFFFFFF
    return first + _SLOT.pack(0, 0, 0, high - (1 << 32) if high >> 31 else high)
