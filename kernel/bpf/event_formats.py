"""Formats of the events that BPF programs record, as the store decodes them."""

from __future__ import annotations

import contextlib

from events.bpf_layout import SAMPLE_BYTES, stack_format
from events.format import EventFormat, FormatError, parse_format
from probes.plans.plan import Plan


def formats_of(plan: Plan, ids: list[int], stacks: int) -> dict[int, EventFormat]:
    """Return the formats by id; `stacks`: id of the events with their stacks, 0: there are none."""
    formats: dict[int, EventFormat] = {}
    if stacks:
        formats[stacks] = parse_format(stack_format(stacks), "ftrace")
    records = [choice.layout for _, choice in plan.object.records] if plan.object is not None else []
    for place, (event, number) in enumerate(zip(plan.events, ids, strict=True)):
        if event.programs:
            layout, size = event.programs[0].layout, event.programs[0].fields_size
        elif place < len(records):
            layout, size = records[place], records[place].size
        elif plan.sampled is not None:
            layout, size = plan.sampled.layout, SAMPLE_BYTES
        else:
            continue
        text = layout.format_text(event.event, number, size)
        with contextlib.suppress(FormatError):  # the store counts their records as undecodable
            formats[number] = event.describe(parse_format(text, event.group))
    return formats
