"""Keep a set of tasks in a BPF map, to which the kernel adds what they make; programs of probes look into it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from btf.btf import Btf
from btf.errors import BtfError
from btf.kinds import Kind
from btf.layout import PathError, find_field
from kernel.bpf import calls
from kernel.bpf.calls import BpfRefused, MapType
from kernel.errors import TargetUnusable
from kernel.target import Target
from probes.bpf.instructions import BpfInstruction, MapRole, encode
from probes.bpf.program import NO_FUNCTION, AttachPoint, TargetFunction
from probes.bpf.registers import SavedRegisters
from probes.bpf.tracing.call_tracer import follow_exits, follow_forks

_MOST_TASKS: Final = 1 << 15
_FORK: Final = "wake_up_new_task"
_RELEASE: Final = "release_task"
_Program = Callable[[SavedRegisters], tuple[BpfInstruction, ...]]


class TaskFunctions(NamedTuple):
    """Functions of the kernel that have a task as their first argument; NO_FUNCTION: the types lack one."""

    fork: TargetFunction = NO_FUNCTION
    """`wake_up_new_task`, that each fork calls for the new task."""
    release: TargetFunction = NO_FUNCTION
    """`release_task`, that is called for each task before its number is free."""


NO_TASK_FUNCTIONS: Final = TaskFunctions()


def pid_offset(btf: Btf) -> int:
    """Return the bytes before `pid` in struct task_struct. Raises TargetUnusable."""
    try:
        return find_field(btf, btf.find("task_struct", Kind.STRUCT) or 0, "pid").bit_offset // 8
    except (PathError, BtfError):
        raise TargetUnusable("the kernel's types have no task_struct.pid") from None


def task_functions(btf: Btf) -> TaskFunctions:
    """Return the functions by a kernel's types."""
    found = map(btf.function, (_FORK, _RELEASE))
    return TaskFunctions(*(TargetFunction(one.id) if one is not None else NO_FUNCTION for one in found))


class TaskSet:
    """Set of some tasks and of those that they make, for as long as its files are open on the target."""

    def __init__(
        self,
        target: Target,
        registers: SavedRegisters,
        pid_place: int,
        tasks: Sequence[int],
        functions: TaskFunctions = NO_TASK_FUNCTIONS,
    ) -> None:
        """Make the map, and follow forks and ends of tasks by kprobe.multi, or else by fentry.

        Where a kernel lets no program see the ends, tasks that have ended take up the map.

        Args:
            target: the kernel.
            registers: of its machine.
            pid_place: `pid_offset`.
            tasks: thread ids.
            functions: `task_functions`; without them and without kprobe.multi it is refused.

        Raises BpfRefused, FileRefused, TargetLost: nothing is left of it.
        """
        self._target = target
        self._files = [calls.create_map(target, MapType.HASH, 4, 8, _MOST_TASKS, "pw_tasks")]
        try:
            self.add(tasks, 0)
            self._attach(registers, lambda them: follow_forks(them, pid_place), _FORK, functions.fork)
            with contextlib.suppress(BpfRefused):
                self._attach(registers, lambda them: follow_exits(them, pid_place), _RELEASE, functions.release)
        except BaseException:
            self.close()
            raise

    def _attach(
        self, registers: SavedRegisters, made: _Program, name: str, function: TargetFunction = NO_FUNCTION
    ) -> None:
        """Attach a program to the entry of a function; `made` returns it. Raises BpfRefused."""
        try:
            self._load(made(registers), AttachPoint.ENTRY, NO_FUNCTION)
            self._files.append(calls.attach(self._target, self._files[-1], (name,)))
        except BpfRefused:
            if function == NO_FUNCTION:
                raise
            # Such a program gets an array of the arguments.
            self._load(made(registers._replace(arguments=(0,))), AttachPoint.FENTRY, function)
            self._files.append(calls.attach_to_function(self._target, self._files[-1]))

    def _load(self, program: tuple[BpfInstruction, ...], point: AttachPoint, function: TargetFunction) -> None:
        code = encode(program, {MapRole.TASKS: self.file})
        self._files.append(calls.load_program(self._target, code, "pw_tasks", point, function))

    def add(self, tasks: Sequence[int], number: int) -> None:
        """Add tasks (thread ids) with a number, which what they make gets, too. Raises BpfRefused, TargetLost."""
        for task in tasks:
            calls.write_element(self._target, self.file, task, number.to_bytes(8, "little"))

    @property
    def file(self) -> int:
        """File of the map, on the target."""
        return self._files[0]

    def close(self) -> None:
        """Follow no more forks. Raises TargetLost."""
        files, self._files = self._files[::-1], []
        if files:
            self._target.close_bpf(files)
