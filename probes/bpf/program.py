"""Represent the BPF program of one event."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final, NamedTuple

from events.bpf_layout import STACK_BYTES
from probes.bpf.context import ProgramContext
from probes.bpf.filters.condition import Condition
from probes.bpf.filters.filter import compares_functions
from probes.bpf.groups.grouping import CallFrame, Grouping
from probes.bpf.kernel_loads import NO_LOADS, KernelLoads
from probes.bpf.record import RecordLayout, StoredField
from probes.bpf.watchpoints.memory import WatchedMemory
from probes.fetcharg import Expression

COUNTER_NAMES: Final = ("hits", "passed", "lost", "recorded")
"""Counters of a program on one CPU, u64 each: calls, those that the filter let pass, and of those that were to be
recorded the ones without room and the ones recorded; where calls are grouped the last is all of them. A program does
not run on a CPU on which it runs already: it alone writes to them."""
LOST_BYTES: Final = 8
"""Bytes before the counters of the first program on a CPU: u64, the records without room of all programs, which share
the ring buffer."""
PROGRAM_BYTES: Final = 8 * len(COUNTER_NAMES)
"""Bytes of the counters of one program on one CPU."""
_CACHE_LINE = 64
CONTROL_BYTES: Final = 8
"""Bytes of the element of `MapRole.CONTROL`: mode (`ProgramMode`) and id of the event, u32 each."""


class ProgramMode(enum.IntEnum):
    """Effect of a program that is attached."""

    OFF = 0
    RECORD = 1
    """Record calls, or put them into groups."""
    COUNT = 2


class AttachPoint(enum.Enum):
    """Ends of the calls that a program runs at, of any number of functions (kprobe.multi) or of one (fentry); or the
    accesses to memory.
    """

    ENTRY = "kprobe.multi"
    EXIT = "kretprobe.multi"
    SESSION = "kprobe.session"
    """Both ends."""
    FENTRY = "fentry"
    FEXIT = "fexit"
    ACCESS = "watchpoint"
    """Accesses to memory, by a perf event of each CPU."""

    @property
    def at_exit(self) -> bool:
        """True if it is the return of the functions."""
        return self in (AttachPoint.EXIT, AttachPoint.FEXIT)

    @property
    def on_one(self) -> bool:
        """True if a program is on one function, by its number in BTF."""
        return self in (AttachPoint.FENTRY, AttachPoint.FEXIT)


class ObjectRole(enum.Enum):
    """Part of a program in tracking objects by their addresses."""

    BEGIN = "begin"
    """Record the object in the first value, and track it from then on."""
    TOUCH = "touch"
    """Record the calls in which that value is a tracked object."""
    END = "end"
    """Record such a call, and track the object no longer."""


class ProgramValue(enum.Enum):
    """Value that is no fetcharg."""

    FUNCTION = "address of the function"
    CALL = "address of the program's argument, which entry and exit of a call share"
    READ = "watched memory, as read at the hit"
    EARLIER = "watched memory, as read at the hit before"


class StoredValue(NamedTuple):
    """Value that a program records."""

    expression: Expression | ProgramValue
    field: StoredField


class TargetFunction(NamedTuple):
    """Function of a program on one function."""

    type_id: int
    """Number of the function in BTF."""
    module: str = ""
    """Module whose BTF has it; empty: the kernel's."""


NO_FUNCTION: Final = TargetFunction(0)
"""Target of programs on several functions, which are named."""


@dataclass(frozen=True, slots=True)
class BpfProgram:
    """Program for one event of a plan."""

    point: AttachPoint
    functions: tuple[str, ...]
    """Functions that it is attached to, as available_filter_functions names them."""
    layout: RecordLayout
    size: int
    """Bytes of each record in the ring buffer, which the events of a plan share."""
    values: tuple[StoredValue, ...]
    """Recorded values."""
    condition: Condition | None
    """Filter; None: every hit is recorded."""
    context: ProgramContext
    """Places of values in its argument."""
    number: int = 0
    """Number of the program in its plan, from 0."""
    target: TargetFunction = NO_FUNCTION
    """Function of a program on one function."""
    role: ObjectRole | None = None
    """Role in the tracking of objects, whose pointer is the first fetcharg; None: none are tracked."""
    grouping: Grouping | None = None
    """Groups that calls are put into, and not recorded; None: they are recorded."""
    loads: KernelLoads = NO_LOADS
    """Memory that it reads by loads."""
    begins: CallFrame | None = None
    """Frame of the calls whose begin is noted for their exits, and not recorded; None: they are recorded."""
    memory: WatchedMemory | None = None
    """Memory whose accesses it runs at; None: it is on functions."""
    has_stack: bool = False
    """True if the kernel's stack is recorded, behind the fields of the largest event of the plan."""

    @property
    def fields_size(self) -> int:
        """Bytes of each record in the ring buffer without its stack."""
        return self.size - STACK_BYTES if self.has_stack else self.size

    @property
    def object_field(self) -> str:
        """Name of the field with the address of a tracked object; empty: it tracks none."""
        own = (value.field.name for value in self.values if not isinstance(value.expression, ProgramValue))
        return next(own) if self.role is not None else ""

    @property
    def numbered(self) -> bool:
        """True if the number of each function in `functions` has to be its cookie."""
        return len(self.functions) > 1 and compares_functions(self.condition)


def counter_stride(programs: int) -> int:
    """Return the bytes of the counters of some programs on one CPU; those of different CPUs share no cache line."""
    return -(-(LOST_BYTES + programs * PROGRAM_BYTES) // _CACHE_LINE) * _CACHE_LINE
