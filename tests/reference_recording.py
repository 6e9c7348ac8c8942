"""A recording of references: one leaked, one held by a task that lives, one used after its end, and many put."""

from __future__ import annotations

import struct
from pathlib import Path

from events.batch import Batch, Chunk
from events.recording.reader import RecordingWriter
from probes.facts.facts import TargetFacts
from probes.facts.json_values import facts_to_dict
from tests.events_data import captured, entry, event, page

LEAKED, OPEN, USED = 0xFFFF_8880_0000_1000, 0xFFFF_8880_0000_2000, 0xFFFF_8880_0000_3000
_HEAD = """name: {name}
ID: {number}
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

{fields}
print fmt: ""
"""
_FIELDS = """	field:u64 object;	offset:8;	size:8;	signed:0;
	field:s64 {count};	offset:16;	size:8;	signed:1;
"""
_EVENTS = {
    "pw_1_a/file_new__alloc_empty_file": (901, _FIELDS.format(count="after")),
    "pw_1_a/file_get__fget": (902, _FIELDS.format(count="after")),
    "pw_1_a/file_put__fput": (903, _FIELDS.format(count="before")),
    "sched/sched_process_exit": (904, "	field:pid_t pid;	offset:8;	size:4;	signed:1;\n"),
}
_NEW, _GET, _PUT, _END = (number for number, _ in _EVENTS.values())


def reference_recording(path: Path, *, fault: bool = True) -> Path:
    """Write one; without a `fault` it has the balanced objects alone."""
    header = captured("7.2", "mixed").decoder.header
    records = []

    def add(number: int, task: int, address: int, count: int) -> None:
        records.append(entry(number, task, struct.pack("<Qq", address, count)))

    for number in range(8):
        add(_NEW, 700, OPEN + number * 64, 1)
        add(_GET, 701, OPEN + number * 64, 2)
        add(_PUT, 701, OPEN + number * 64, 2)
        add(_PUT, 700, OPEN + number * 64, 1)
    if fault:
        add(_NEW, 812, LEAKED, 1)
        add(_NEW, 813, OPEN, 1)
        add(_NEW, 700, USED, 1)
        add(_PUT, 700, USED, 1)
        add(_PUT, 701, USED, 0)
    records.append(entry(_END, 812, struct.pack("<i4x", 812)))
    with path.open("wb") as file:
        writer = RecordingWriter(file)
        facts = TargetFacts("x86_64", "7.2.0", tracefs="/sys/kernel/tracing")
        writer.meta({"facts": facts_to_dict(facts), "byteorder": "little", "plans": []})
        writer.blob("header_page", "", header.source.encode())
        writer.blob("cmdlines", "", b"812 leaky\n813 keeper\n700 opener\n701 user\n")
        for name, (number, fields) in _EVENTS.items():
            head = _HEAD.format(name=name.partition("/")[2], number=number, fields=fields)
            writer.blob("format", name, head.encode())
        writer.pages(Batch((Chunk(0, page(1000, b"".join(event(one, 5) for one in records), header)),), True))
        writer.close()
    return path
