"""Put the values that a program compares on its stack."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from probes.bpf.assembler import Assembler
from probes.bpf.fetch import FetchCompiler, NotCompiled, fault_bit
from probes.bpf.filters.filter import ComparedValue
from probes.bpf.instructions import FRAME_POINTER, STACK_BYTES, Helper
from probes.bpf.program import ProgramValue, StoredValue
from probes.bpf.record import COMM, StoredField, StoredType
from probes.fetcharg import Comm, Dereference

_SCRATCH_END = -24
"""Highest place on the stack for compared values: below the places of `probes.bpf.fetch`."""
_COMMON: Final = {"comm": COMM, "COMM": COMM}
_NUMBERS: Final = {
    "common_pid": StoredType("s32", 4, "%d", signed=True),
    **dict.fromkeys(("CPU", "cpu", "common_cpu"), StoredType("s32", 4, "%d", signed=True)),
}


class ComparedValues:
    """Values of one program that it compares, each on its stack once."""

    def __init__(self, assembler: Assembler, fetch: FetchCompiler, values: Sequence[StoredValue]) -> None:
        """Take the program, the compiler of its values, and the values that it records."""
        self.places: dict[str, ComparedValue] = {}
        """Values on the stack by name."""
        self._out = assembler
        self._fetch = fetch
        self._values = values

    @property
    def bottom(self) -> int:
        """Lowest place on the stack that they take."""
        return min((one.offset for one in self.places.values()), default=_SCRATCH_END)

    def load(self, names: Iterable[str]) -> None:
        """Put values on the stack that are not there. Raises NotCompiled."""
        fields = {value.field.name: (number, value) for number, value in enumerate(self._values)}
        at = self.bottom
        for name in names:
            if name in self.places:
                continue
            number, value = fields.get(name, (0, None))
            kind = value.field.type if value is not None else (_COMMON.get(name) or _NUMBERS.get(name))
            if kind is None or kind.elements > 1:
                raise NotCompiled(f"{name} in the filter")
            at -= -(-kind.size // 8) * 8
            if -at > STACK_BYTES:
                raise NotCompiled("so many texts in the filter")
            can_fault = value is not None and isinstance(value.expression, Dereference) and not kind.text
            self.places[name] = ComparedValue(kind, at, fault_bit(number) if can_fault else 0)
            if value is None:
                self._load_common(name, kind, at)
            elif isinstance(value.expression, ProgramValue):
                raise NotCompiled(f"{name} in the filter")
            else:
                self._fetch.store(value.expression, value.field, number, FRAME_POINTER, at)

    def _load_common(self, name: str, kind: StoredType, at: int) -> None:
        out = self._out
        if kind is COMM:
            self._fetch.store(Comm(), StoredField(name, kind, 0), 0, FRAME_POINTER, at)
            return
        out.call(Helper.GET_CURRENT_PID_TGID if name == "common_pid" else Helper.GET_SMP_PROCESSOR_ID)
        out.store(FRAME_POINTER, at, 0, kind.size)
