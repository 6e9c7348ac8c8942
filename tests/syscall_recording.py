"""A recording of system calls, of a machine of whatever architecture."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from events.batch import Batch, Chunk
from events.format import HeaderPage
from events.recording.reader import RecordingWriter
from probes.check import check_plan
from probes.facts.facts import TargetFacts
from probes.facts.json_values import facts_to_dict
from probes.facts.lookups import Environment, StaticEventField
from probes.plans.json_values import plan_to_dict
from tests.events_data import captured, entry, event, formats_of, page

EXIT, ENTER = "raw_syscalls/sys_exit", "syscalls/sys_enter_openat"
_HEAD = """name: sys_exit
ID: 384
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:long id;	offset:8;	size:8;	signed:1;
	field:long ret;	offset:16;	size:8;	signed:1;

print fmt: "NR %ld = %ld", REC->id, REC->ret
"""


def fields_of(group: str, name: str) -> tuple[StaticEventField, ...] | None:
    """As a target says them."""
    if f"{group}/{name}" == EXIT:
        return StaticEventField("id", "long", 8, True), StaticEventField("ret", "long", 8, True)
    found = (fmt for fmt in formats_of("7.2").values() if fmt.path == f"{group}/{name}")
    fields = next((fmt.fields for fmt in found), None)
    return None if fields is None else tuple(StaticEventField(f.name, f.type, f.size, f.signed) for f in fields)


AROUND = Environment(
    event=fields_of, groups_of=lambda name: ("raw_syscalls",) if fields_of("raw_syscalls", name) else ()
)


def call_recording(path: Path, machine: str, calls: Sequence[tuple[int, int]], opened: int = -1) -> Path:
    """Write one with `on raw_syscalls/sys_exit` for each (number, result), then one entry of openat."""
    facts = TargetFacts(machine, "7.2.0", tracefs="/sys/kernel/tracing")
    header: HeaderPage = captured("7.2", "mixed").decoder.header
    enter = next(fmt for fmt in formats_of("7.2").values() if fmt.path == ENTER)
    plans = [check_plan(f"on {name}", None, facts, "pw_1", AROUND).plan for name in (EXIT, ENTER)]
    records = [entry(384, 812, struct.pack("<qq", *call)) for call in calls]
    records.append(entry(enter.id, 812, struct.pack("<iiqqqqi4x", opened, 0, 3, 0, 0, 0, 0)))
    with path.open("wb") as file:
        writer = RecordingWriter(file)
        writer.meta({"facts": facts_to_dict(facts), "byteorder": "little"})
        writer.meta({"plans": [plan_to_dict(plan) for plan in plans if plan is not None]})
        writer.blob("header_page", "", header.source.encode())
        writer.blob("cmdlines", "", b"812 sh\n")
        writer.blob("format", EXIT, _HEAD.encode())
        writer.blob("format", ENTER, enter.source.encode())
        writer.pages(Batch((Chunk(0, page(1000, b"".join(event(one, 5) for one in records), header)),), True))
        writer.close()
    return path
