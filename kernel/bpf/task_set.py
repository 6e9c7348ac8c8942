"""Keep a set of tasks in a BPF map, to which the kernel adds what they make; programs of probes look into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from btf.btf import Btf
from btf.errors import BtfError
from btf.kinds import Kind
from btf.layout import PathError, find_field
from kernel.bpf import calls
from kernel.bpf.calls import BpfRefused, MapType
from kernel.errors import TargetUnusable
from kernel.target import Target
from probes.bpf.instructions import MapRole, encode
from probes.bpf.program import NO_FUNCTION, AttachPoint, TargetFunction
from probes.bpf.registers import SavedRegisters
from probes.bpf.tracing.call_tracer import follow_forks

_MOST_TASKS: Final = 1 << 15
_FORK: Final = "wake_up_new_task"


def pid_offset(btf: Btf) -> int:
    """Return the bytes before `pid` in struct task_struct. Raises TargetUnusable."""
    try:
        return find_field(btf, btf.find("task_struct", Kind.STRUCT) or 0, "pid").bit_offset // 8
    except (PathError, BtfError):
        raise TargetUnusable("the kernel's types have no task_struct.pid") from None


def fork_function(btf: Btf) -> TargetFunction:
    """Return the function that each fork calls for the new task; NO_FUNCTION: the types lack it."""
    found = btf.function(_FORK)
    return TargetFunction(found.id) if found is not None else NO_FUNCTION


class TaskSet:
    """Set of some tasks and of those that they make, for as long as its files are open on the target."""

    def __init__(
        self,
        target: Target,
        registers: SavedRegisters,
        pid_place: int,
        tasks: Sequence[int],
        fork: TargetFunction = NO_FUNCTION,
    ) -> None:
        """Make the map, and follow forks by kprobe.multi, or else by fentry.

        Args:
            target: the kernel.
            registers: of its machine.
            pid_place: `pid_offset`.
            tasks: thread ids.
            fork: `fork_function`; NO_FUNCTION: without kprobe.multi it is refused.

        Raises BpfRefused, FileRefused, TargetLost: nothing is left of it.
        """
        self._target = target
        self._files = [calls.create_map(target, MapType.HASH, 4, 8, _MOST_TASKS, "pw_tasks")]
        try:
            self.add(tasks, 0)
            try:
                self._load(registers, pid_place, AttachPoint.ENTRY, NO_FUNCTION)
                self._files.append(calls.attach(target, self._files[-1], (_FORK,)))
            except BpfRefused:
                if fork == NO_FUNCTION:
                    raise
                # Such a program gets an array of the arguments.
                self._load(registers._replace(arguments=(0,)), pid_place, AttachPoint.FENTRY, fork)
                self._files.append(calls.attach_to_function(target, self._files[-1]))
        except BaseException:
            self.close()
            raise

    def _load(self, registers: SavedRegisters, pid_place: int, point: AttachPoint, function: TargetFunction) -> None:
        code = encode(follow_forks(registers, pid_place), {MapRole.TASKS: self.file})
        self._files.append(calls.load_program(self._target, code, "pw_forks", point, function))

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
