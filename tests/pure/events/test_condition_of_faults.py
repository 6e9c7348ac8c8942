"""A condition says of a value that could not be read, or that is no text, the same of a record as of its column."""

from __future__ import annotations

from random import Random

import pytest

from events.batch import Batch, Chunk
from events.conditions.condition_parser import ConditionError, parse_condition
from events.conditions.field_kinds import value_kinds
from events.decode import Decoder
from events.format import EventFormat, HeaderPage, parse_format
from events.store.store import Store
from tests.events_data import entry, event, page

HEAD = """name: {name}
ID: {number}
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;
	field:u32 common_faults;	offset:8;	size:4;	signed:0;
"""
SORTS = {
    "number": ("u32 {name}", 4, "%u"),
    "long": ("s64 {name}", 8, "%d"),
    "letter": ("char {name}", 1, "%c"),
    "text": ("char {name}[8]", 8, "%s"),
    "structure": ("struct one {name}", 12, "%d"),
    "function": ("void * {name}", 8, "%pS"),
}
VALUES = (b"", b"1", b"x", b"sh\0", b"\xff" * 8)
NAMES = ("pid", "cpu", "comm", "a")
OPERATORS = ("==", "!=", "<", ">=", "&", "~")
WORDS = ("0", "1", "-1", "7", "x", "sh", "'(fault)'", "'*'")


def made_format(number: int, random: Random) -> EventFormat:
    """Return a format with fields of any sort, the names of which other events have for other sorts."""
    lines, printed, at = [], [], 12
    for name in random.sample(NAMES, 3):
        declared, size, spec = SORTS[random.choice(tuple(SORTS))]
        lines.append(f"\tfield:{declared.format(name=name)};\toffset:{at};\tsize:{size};\tsigned:1;\n")
        printed.append((f"{name}={spec}", f"REC->{name}"))
        at += size
    texts, arguments = zip(*printed, strict=True)
    end = f'\nprint fmt: "{" ".join(texts)}", {", ".join(arguments)}\n'
    return parse_format(HEAD.format(name=f"e{number}", number=number) + "".join(lines) + end, "pw")


def made_record(fmt: EventFormat, random: Random) -> bytes:
    """Return a record whose numbers may be unreadable, and which may end early."""
    data = random.randrange(8).to_bytes(4, "little")
    data += b"".join(random.choice(VALUES)[: field.size].ljust(field.size, b"\0") for field in fmt.fields)
    return data if random.random() < 0.8 else data[: random.randrange(0, len(data), 4)]


@pytest.mark.parametrize("seed", range(12))
def test_columns_say_what_records_say_of_whatever_was_recorded(seed: int) -> None:
    random, header = Random(seed), HeaderPage()
    formats = {number: made_format(number, random) for number in (1, 2, 3)}
    records = [entry(number, 7, made_record(formats[number], random)) for number in (1, 2, 3) for _ in range(8)]
    store = Store(Decoder(formats, header), 1 << 30)
    data = page(1000, b"".join(event(record, 5) for record in records), header)
    store.feed(Batch((Chunk(3, data),), drained=True))
    store.flush()
    kinds = value_kinds(formats.values(), {name for fmt in formats.values() for name in fmt.names})
    columns, compared = store.columns(0, store.next_seq), 0
    for text in (f"{name} {sign} {word}" for name in NAMES for sign in OPERATORS for word in WORDS):
        try:
            condition = parse_condition(text, kinds, store.task_names.name)
        except ConditionError:
            continue
        by_record = [condition(store.record(row)) for row in range(len(store))]
        assert (text, condition.candidates(columns).tolist()) == (text, by_record)
        compared += 1
    assert compared > 20
