"""Filters by chance in BPF programs: what a program records beside what the live condition chooses of all records."""

from __future__ import annotations

import struct
from collections import Counter

import pytest

from events.batch import Batch, Chunk
from events.bpf_layout import STAMP
from events.bpf_records import RecordConverter
from events.conditions.condition_parser import parse_condition
from events.conditions.field_kinds import value_kinds
from events.decode import Decoder
from events.format import HeaderPage, parse_format
from events.store.store import Store
from probes.bpf.program import BpfProgram
from probes.refusal import CannotLower
from tests.fake_target import HEADER_PAGE
from tests.filter_generator import SPELLINGS, VALUES, Generator
from tests.pure.probes.bpf.test_programs import RECORD, Hit, program_of

COUNT = 80
READ = {f"m{sign}{bits}": f"+0($arg3):{sign}{bits}" for sign in "sux" for bits in (8, 16, 32, 64)}
"""Numbers in memory, which can't be read in some of the calls."""
GIVEN = {f"{sign}{bits}": f"$arg1:{sign}{bits}" for sign in "sux" for bits in (8, 16, 32, 64)}
BITS = {"b3": "$arg1:b3@2/8", "b9": "$arg1:b9@3/16", "mb": "+0($arg3):b5@1/32", "plain": "$arg1"}
TEXTS = {"text": "+0($arg2):string", "name": "$comm"}
FIELDS = {**READ, **GIVEN, **BITS, **TEXTS}
SPEC = f"f vfs_read {' '.join(f'{name}={value}' for name, value in FIELDS.items())}"
TEXT, NUMBER = 0xB000, 0xC000
Call = tuple[int, str, bool, bool]
"""A number, a text, and whether the text and the number can be read in memory."""
CALLS: list[Call] = [(value, SPELLINGS[n % len(SPELLINGS)], n % 7 != 0, n % 5 != 0) for n, value in enumerate(VALUES)]


def _hit(program: BpfProgram, call: Call) -> Hit:
    number, text, has_text, has_number = call
    memory = {"text": (TEXT, text.encode() + b"\0")} if has_text else {}
    if has_number:
        memory["number"] = (NUMBER, struct.pack("<Q", number))
    return Hit(program, [number, TEXT, NUMBER], **memory)


def _records() -> Store:
    """Return what a program without a filter records of all calls."""
    program, records = program_of(SPEC), b""
    for n, call in enumerate(CALLS):
        hit = _hit(program, call)
        hit.run()
        record = bytearray(hit.machine.memory[RECORD + at] for at in range(program.size))
        record[STAMP : STAMP + 8] = struct.pack("<Q", n * 1000)
        records += struct.pack("<II", program.size, 0) + record
    header = HeaderPage.parse(HEADER_PAGE)
    fmt = parse_format(program.layout.format_text("event", 0x8005, program.size), "pw")
    converter = RecordConverter(header)
    converter.sizes[1] = program.size
    store = Store(Decoder({fmt.id: fmt}, header))
    store.feed(converter.converted(Batch((Chunk(0, records, ring=1),), drained=True)))
    store.flush()
    return store


@pytest.mark.parametrize("seed", [1, 2])
def test_programs_record_what_the_condition_chooses(seed: int) -> None:
    store, counts = _records(), Counter[str]()
    assert len(store) == len(CALLS)
    columns = store.columns(0, store.next_seq)
    (fmt,) = store.decoder.formats.values()
    kinds = value_kinds([fmt], [field.name for field in fmt.fields])
    groups = (((*TEXTS,), 4), ((*READ,), 4), ((*GIVEN,), 4), ((*BITS,), 2), (("common_pid",), 1))
    for _, text in Generator(seed, groups, (*TEXTS,)).filters(COUNT):
        try:
            program = program_of(f"{SPEC} if {text}")
        except CannotLower:
            counts["refused"] += 1
            continue
        recorded = [n for n, call in enumerate(CALLS) if _hit(program, call).run()["recorded"]]
        chosen = parse_condition(text, kinds, str).candidates(columns).nonzero()[0].tolist()
        assert recorded == chosen, text
        counts["some"] += 0 < len(chosen) < len(CALLS)
    assert counts["some"] > COUNT / 10, counts
