"""Find in the code of an object how long the records are that it puts into each ring or perf buffer."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from probes.objects.elf_object import ObjectElf, ObjectSymbol

_INSTRUCTION = struct.Struct("<BBhi")
_MOVE_NUMBER, _MOVE_NUMBER_32, _MOVE, _LOAD_64, _CALL = 0xB7, 0xB4, 0xBF, 0x18, 0x85
_FAR_BACK = 256
"""Instructions before a call in which its arguments are looked for."""


class _OutputCall(NamedTuple):
    """Registers of a helper's arguments."""

    map: int
    size: int


_OUTPUTS: Final = {25: _OutputCall(2, 5), 130: _OutputCall(1, 3), 131: _OutputCall(1, 2)}
"""bpf_perf_event_output, bpf_ringbuf_output, bpf_ringbuf_reserve (enum bpf_func_id)."""


def record_sizes(elf: ObjectElf) -> dict[str, frozenset[int]]:
    """Return the sizes in bytes by map; a size or a map that is computed is left out."""
    found: dict[str, set[int]] = {}
    for number, section in enumerate(elf.sections):
        if not section.is_code:
            continue
        code = list(_INSTRUCTION.iter_unpack(section.data[: len(section.data) // 8 * 8]))
        references = elf.relocations.get(number, {})
        for at, (operation, registers, _, helper) in enumerate(code):
            output = _OUTPUTS.get(helper) if operation == _CALL and not registers >> 4 else None
            if output is None:
                continue
            symbol, size = _map_before(code, at, output.map, references), _number_before(code, at, output.size)
            if symbol is not None and size is not None:
                found.setdefault(symbol.name, set()).add(size)
    return {name: frozenset(sizes) for name, sizes in found.items()}


def _writer(code: Sequence[tuple[int, int, int, int]], at: int, register: int) -> tuple[int, int] | None:
    """Return the place and the register of the last instruction before `at` that sets a register, behind copies."""
    for place in range(at - 1, max(-1, at - _FAR_BACK), -1):
        operation, registers, _, _ = code[place]
        if registers & 15 == register and operation & 7 in (0, 1, 4, 7):
            if operation != _MOVE:
                return place, register
            register = registers >> 4
    return None


def _map_before(
    code: Sequence[tuple[int, int, int, int]], at: int, register: int, references: Mapping[int, ObjectSymbol]
) -> ObjectSymbol | None:
    found = _writer(code, at, register)
    return references.get(found[0] * 8) if found is not None and code[found[0]][0] == _LOAD_64 else None


def _number_before(code: Sequence[tuple[int, int, int, int]], at: int, register: int) -> int | None:
    found = _writer(code, at, register)
    if found is None or code[found[0]][0] not in (_MOVE_NUMBER, _MOVE_NUMBER_32):
        return None
    number = code[found[0]][3]
    return number if 0 < number < 1 << 20 else None
