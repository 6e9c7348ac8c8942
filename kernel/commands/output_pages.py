"""Turn lines that a command wrote into events among those of the kernel, which all readers of a recording know.

Their time is that at which the line was read on the machine of the command, a moment after it was written, by the
clock of the events (CLOCK_MONOTONIC). Their task is the command, also where a child of it wrote the line; no CPU is
known of them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Final

from events.batch import NO_CPU, Batch, Chunk
from events.format import EventFormat, HeaderPage, parse_format
from kernel.commands.output_lines import OutputLine
from probes.plans.plan import Plan, PlanColumn, PlannedEvent
from probes.static_events import StaticEvent

MOST_TEXT: Final = 1 << 10
"""Bytes of an event's text: a sub-buffer of the smallest size holds some of them."""
_MARK: Final = "…".encode()
"""Stands at the end of a text that was cut."""
_ID: Final = 0x7FFF
"""Number of their format: below those of BPF programs, above those of a kernel; another event may have it as well."""
_HEAD: Final = "HBBi8sI"
"""Fields in front of the text, whose offset and length are the last of them."""
_LONGEST_DELTA: Final = (1 << 27) - 1
OUTPUT_FORMAT: Final[EventFormat] = parse_format(
    f"""name: output
ID: {_ID}
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:char stream[8];	offset:8;	size:8;	signed:1;
	field:__data_loc char[] text;	offset:16;	size:4;	signed:1;

print fmt: "%s: %s", REC->stream, __get_str(text)
""",
    "command",
)
OUTPUT_PLAN: Final = Plan(
    StaticEvent("command/output"),
    (
        PlannedEvent(
            "command", "output", "", "", columns=(PlanColumn("text", "text"), PlanColumn("stream", "stream"))
        ),
    ),
)
"""Plan of such events, by which their fields have columns."""


def output_batch(lines: Iterable[OutputLine], pid: int, header: HeaderPage) -> Batch:
    """Return lines, the oldest first, as sub-buffers of the layout of a kernel."""
    return Batch((Chunk(NO_CPU, b"".join(_pages(lines, pid, header))),), drained=False)


def _pages(lines: Iterable[OutputLine], pid: int, header: HeaderPage) -> Iterator[bytes]:
    order, events, begin, last = "<" if header.byteorder == "little" else ">", b"", 0, 0
    for line in lines:
        data = _data(line, pid, order)
        if events and (len(events) + 8 + len(data) > header.data_size or line.ts - last > _LONGEST_DELTA):
            yield _page(events, begin, order, header)
            events = b""
        if not events:
            begin = last = line.ts
        delta = max(0, line.ts - last)
        word = delta << 5 if order == "<" else delta
        events += struct.pack(f"{order}II", word, 4 + len(data)) + data
        last = max(last, line.ts)
    if events:
        yield _page(events, begin, order, header)


def _data(line: OutputLine, pid: int, order: str) -> bytes:
    cut = line.data if len(line.data) <= MOST_TEXT and not line.goes_on else _cut(line.data)
    text = cut.replace(b"\0", b" ") + b"\0"
    offset = struct.calcsize(f"{order}{_HEAD}")
    head = struct.pack(
        f"{order}{_HEAD}", _ID, 0, 0, pid, line.stream.removeprefix("std").encode(), len(text) << 16 | offset
    )
    return head + text + bytes(-len(text) % 4)


def _cut(data: bytes) -> bytes:
    """Return the beginning of a line that is too long, with a mark, and no part of a character before it."""
    end = min(len(data), MOST_TEXT - len(_MARK))
    while MOST_TEXT - 8 < end < len(data) and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end] + _MARK


def _page(events: bytes, ts: int, order: str, header: HeaderPage) -> bytes:
    commit = struct.pack(f"{order}Q{'Q' if header.commit_size == 8 else 'I'}", ts, len(events))
    return (commit.ljust(header.data_offset, b"\0") + events).ljust(header.page_size, b"\0")
