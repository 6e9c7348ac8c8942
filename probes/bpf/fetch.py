"""Compile a fetcharg to BPF instructions, which read what the kernel's own fetch code reads.

Sources: process_fetch_insn in kernel/trace/trace_kprobe.c and trace_probe_tmpl.h. A bad address is a fault of one
field. A load that finds 0 may have failed: helpers tell.
"""

from __future__ import annotations

from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.context import ProgramContext
from probes.bpf.instructions import SIZES, AluOperation, Helper, JumpCondition
from probes.bpf.kernel_loads import NO_LOADS, AddressCast, KernelLoads
from probes.bpf.record import COMM_BYTES, StoredField
from probes.fetcharg import Comm, Dereference, Expression
from probes.syntax.text import kstrtol

CONTEXT, RECORD, FAULT_BITS = 6, 7, 9
"""Registers of a program: its argument, the record, and the bits of the fields that could not be read."""
SCRATCH = -16
"""Place on the stack for one number."""
_FAULT = int.from_bytes(b"(fault)\0", "little")
_ADDRESS = 3
"""Register with the address or value that is being computed; also the third argument of the helpers that read."""


class NotCompiled(Exception):
    """An expression that no program here computes; the text says which part."""


def fault_bit(number: int) -> int:
    """Return the bit of a field among the faults, as a signed number of 32 bits; fields from 31 on share one."""
    return 1 << number if number < 31 else -(1 << 31)


class FetchCompiler:
    """Compiler of the fetchargs of one program."""

    def __init__(self, assembler: Assembler, context: ProgramContext, loads: KernelLoads = NO_LOADS) -> None:
        self._assembler = assembler
        self._context = context
        self._loads = loads

    def store(self, expression: Expression, field: StoredField, number: int, target: int, offset: int) -> None:
        """Write a value to memory; where it can't be read zeros, or `(fault)` for a string.

        Args:
            expression: the fetcharg's expression.
            field: the field it is recorded in.
            number: number of the field, of its bit among the faults.
            target: register with the address of the memory.
            offset: bytes from there.

        Raises:
            NotCompiled: no program computes it.
        """
        out, kind = self._assembler, field.type
        if isinstance(expression, Comm):
            self._comm(target, offset)
            return
        if kind.text:
            self._string(expression, kind.text == "ustring", field, number, target, offset)
            return
        if isinstance(expression, Dereference):
            self._address(expression.inner)
            self._add_offset(expression)
            if kind.bits is None:
                self._read(target, offset, kind.size * kind.elements, expression.user, number)
                return
            self._read(10, SCRATCH, kind.size, expression.user, number)
            out.load(_ADDRESS, 10, SCRATCH, kind.size)
        elif kind.elements > 1:
            raise NotCompiled(str(expression))
        elif kind.bits is not None or kind.size < 8:
            self._number(expression)
        else:
            self._address(expression)
        if kind.bits is not None:
            # As the kernel's fetch code: the upper bits go left out of the container, then all to the right.
            width = kind.bits.container
            out.alu(AluOperation.LSH, _ADDRESS, 64 - width + width - kind.bits.size - kind.bits.first)
            out.alu(AluOperation.RSH, _ADDRESS, 64 - kind.bits.size)
        out.store(target, offset, _ADDRESS, kind.size)

    def ids(self, place: int) -> None:
        """Set register 0 to the id of the current process, and write that of the thread, s32, to the stack."""
        out, task = self._assembler, self._loads.task
        if task is None:
            out.call(Helper.GET_CURRENT_PID_TGID)
            out.store(10, place, 0, 4)
            out.alu(AluOperation.RSH, 0, 32)
            return
        out.call(Helper.GET_CURRENT_TASK_BTF)
        out.load(1, 0, task.thread, 4)
        out.store(10, place, 1, 4)
        out.load(0, 0, task.process, 4)

    def _comm(self, target: int, offset: int) -> None:
        out, task = self._assembler, self._loads.task
        if task is None:
            self._aim(target, offset)
            out.constant(2, COMM_BYTES)
            out.call(Helper.GET_CURRENT_COMM)
            return
        out.call(Helper.GET_CURRENT_TASK_BTF)
        for at in range(0, COMM_BYTES, 8):
            out.load(1, 0, task.comm + at, 8)
            out.store(target, offset + at, 1, 8)

    def _string(
        self, expression: Expression, user: bool, field: StoredField, number: int, target: int, offset: int
    ) -> None:
        out, size = self._assembler, field.type.size
        if not isinstance(expression, Dereference):
            raise NotCompiled(str(expression))
        user = user or expression.user
        self._address(expression.inner)
        self._add_offset(expression)
        out.store(10, SCRATCH - 8, _ADDRESS, 8)
        done = JumpLabel()
        for helper in self._helpers(user, Helper.PROBE_READ_KERNEL_STR, Helper.PROBE_READ_USER_STR):
            self._aim(target, offset)
            out.constant(2, size)
            out.load(_ADDRESS, 10, SCRATCH - 8, 8)
            out.call(helper)
            out.jump_if(JumpCondition.SGE, 0, 0, done)
        out.constant(1, _FAULT)
        out.store(target, offset, 1, 8)
        self._note_fault(number)
        out.place(done)

    def _helpers(self, user: bool, kernel_helper: Helper, user_helper: Helper) -> tuple[Helper, ...]:
        """Return the helpers to try: the kernel's fetch code takes addresses of the process for what they are."""
        if user:
            return (user_helper,)
        return (kernel_helper, user_helper) if self._context.has_user_range else (kernel_helper,)

    def _read(self, target: int, offset: int, size: int, user: bool, number: int) -> None:
        """Read memory at the computed address into memory; zeros where it can't be read."""
        out, done = self._assembler, JumpLabel()
        helpers = self._helpers(user, Helper.PROBE_READ_KERNEL, Helper.PROBE_READ_USER)
        cast = self._loads.cast if not user and size in SIZES else None
        if len(helpers) > 1 or cast is not None:
            out.store(10, SCRATCH - 8, _ADDRESS, 8)
        if cast is not None:
            self._load_kernel(cast, 1, size)
            out.store(target, offset, 1, size)
            out.jump_if(JumpCondition.NE, 1, 0, done)
        for at, helper in enumerate(helpers):
            self._aim(target, offset)
            out.constant(2, size)
            if at or cast is not None:
                out.load(_ADDRESS, 10, SCRATCH - 8, 8)
            out.call(helper)
            out.jump_if(JumpCondition.EQ, 0, 0, done)
        self._note_fault(number)
        out.place(done)

    def _note_fault(self, number: int) -> None:
        self._assembler.alu(AluOperation.OR, FAULT_BITS, fault_bit(number))

    def _aim(self, target: int, offset: int) -> None:
        self._assembler.move(1, target)
        self._assembler.alu(AluOperation.ADD, 1, offset)

    def _add_offset(self, expression: Dereference) -> None:
        number = kstrtol(expression.offset)
        if number is None or expression.rest or not -(1 << 31) <= number < 1 << 31:
            raise NotCompiled(str(expression))
        if number:
            self._assembler.alu(AluOperation.ADD, _ADDRESS, number)

    def _address(self, expression: Expression) -> None:
        """Compute a value of 8 bytes; 0 where memory on the way to it can't be read. Raises NotCompiled."""
        out = self._assembler
        if isinstance(expression, Dereference):
            self._address(expression.inner)
            self._add_offset(expression)
            self._load_long(expression.user)
            return
        value = self._context.find(expression)
        if value is None:
            raise NotCompiled(str(expression))
        out.load(_ADDRESS, CONTEXT, value.offset, 8)
        if value.stack_entry is not None:
            self._stack_entry(value.stack_entry)

    def _number(self, expression: Expression) -> None:
        """Compute a value of 8 bytes whose parts are wanted. Raises NotCompiled."""
        value, out = self._context.find(expression), self._assembler
        if value is None or value.pointer_slot is None:
            self._address(expression)
            return
        out.move(1, CONTEXT)
        out.constant(2, value.pointer_slot)
        out.stack_address(3, SCRATCH)
        out.call(Helper.GET_FUNC_ARG)
        out.load(_ADDRESS, 10, SCRATCH, 8)

    def _stack_entry(self, number: int) -> None:
        if number > 1000:
            raise NotCompiled("$stack")
        self._assembler.alu(AluOperation.ADD, _ADDRESS, 8 * number)
        self._load_long(user=False)

    def _load_long(self, user: bool) -> None:
        """Replace the computed address by the 8 bytes there, or by 0."""
        out = self._assembler
        if self._loads.cast is not None and not user:
            self._load_kernel(self._loads.cast, _ADDRESS, 8)
            return
        out.stack_address(1, SCRATCH)
        out.constant(2, 8)
        out.call(Helper.PROBE_READ_USER if user else Helper.PROBE_READ_KERNEL)
        out.load(_ADDRESS, 10, SCRATCH, 8)

    def _load_kernel(self, cast: AddressCast, register: int, size: int) -> None:
        """Set a register to 1, 2, 4 or 8 bytes of kernel memory at the computed address; to 0 where that fails."""
        out = self._assembler
        out.move(1, _ADDRESS)
        out.constant(2, cast.structure)
        out.call_kernel_function(cast.function)
        out.load(register, 0, 0, size)
