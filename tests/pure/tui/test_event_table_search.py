"""What is searched in the table of events is what stands in it."""

from __future__ import annotations

import functools
import random
from dataclasses import replace
from types import SimpleNamespace

import pytest

from events.kernel_time import seconds
from events.loss_counts import LossCounts, LossTotals
from events.search.text_match import TextMatch
from events.store.cgroups import TaskCgroup
from kernel.connection.open_target import shipped_recording
from kernel.watch.watch import Watch
from probes.command import parse_armable
from probes.plans.plan import titles_of
from tests.pure.events.test_export_calls import stack_record
from tests.replays import replay_of
from tui.present.status import detail_of, fields_of, losses_of
from tui.views.events.model import EventItems, event_table
from tui.views.filtered_table import FilteredTable
from widgets.events.event_rows import FIXED, MARK, EventColumn, EventRows


@functools.cache
def shown() -> tuple[Watch, FilteredTable[EventItems], list[str]]:
    watch = replay_of(shipped_recording())
    store = watch.store
    assert store is not None
    rows = range(store.first_seq, min(store.next_seq, store.first_seq + 3000))
    return watch, event_table(watch, store), [watch.event_fields.text(store.record(seq)) for seq in rows]


def test_lines_have_what_the_cells_have():
    _, events, lines = shown()
    for seq, line in enumerate(lines[:300], events.first):
        assert line.endswith(
            " ".join(f"{name}={text}" for name, text in events.items.cells(events.item(seq)).items())
        )


@pytest.mark.parametrize("marked", [frozenset(), frozenset({3, 4})])
def test_times_are_whole_at_every_width_also_those_of_marked_events(marked):
    watch, events, _ = shown()
    columns = (*FIXED, *(EventColumn(name) for name in fields_of(watch)))
    rows = EventRows(events, columns, events.items.cells, marked)
    rows.prepare(0, 30)
    for width in range(30, 160):
        for row in range(30):
            time = MARK * (row in marked) + seconds(events.item(row).ts)
            assert "".join(piece.text for piece in rows.pieces(row, width)).lstrip().startswith(f"{time} ")


def test_the_details_of_a_stack_have_every_caller_not_the_eight_of_its_format():
    watch, _, _ = shown()
    rows = detail_of(watch, stack_record([*range(0x1000, 0x1009)]))
    stack = [row.value for row in rows if row.name in ("stack", "")]
    assert len(stack) == 9
    assert "caller" not in {row.name for row in rows}
    assert next(row.value for row in rows if row.name == "size") == "9"


def test_no_row_is_missed():
    watch, events, lines = shown()
    assert watch.store is not None
    rng = random.Random(5)
    columns = watch.store.columns(events.first, events.first + len(lines))
    for _ in range(60):
        line = rng.choice(lines)
        start = rng.randrange(len(line))
        needle = line[start : start + rng.randrange(1, 12)]
        match = TextMatch(needle, watch.event_fields, watch.store.task_names.name, watch.store.task_names.all_names)
        candidates = match.candidates(columns).tolist()
        folded = needle.lower() == needle
        for text, may in zip(lines, candidates, strict=True):
            assert may or needle not in (text.lower() if folded else text)


@pytest.mark.parametrize("text", ["count > 512", "f_pos<1024", "dfd==-100"])
def test_comparisons_find_numbers(text):
    _, events, _ = shown()
    found = events.find(text, events.first, budget=60)
    name = text.split("<")[0].split(">")[0].split("=")[0].strip()
    values = [events.item(seq).values.get(name) for seq in range(events.first, events.next)]
    holds = {"count > 512": lambda v: v > 512, "f_pos<1024": lambda v: v < 1024, "dfd==-100": lambda v: v == -100}[
        text
    ]
    assert found.seq == next(n for n, v in enumerate(values, events.first) if isinstance(v, int) and holds(v))


def test_a_comparison_with_no_such_field_is_a_text():
    _, events, _ = shown()
    assert events.find("nosuch > 1", events.first, budget=60).seq is None


def test_losses_that_only_the_events_tell_of_are_told():
    """As of a recording that was cut before its counts were written, or whose counts are damaged."""
    store = SimpleNamespace(lost_events=3, undecodable=5)
    watch = SimpleNamespace(store=store, outages=(), armed=SimpleNamespace(probes=("one",)))
    assert losses_of(watch, None) == LossTotals(lost=3, unread=5, missed_counted=False)
    zeros = LossCounts(overrun={}, full={}, nmissed={}, dropped=0, dropped_bytes=0, read_errors=0)
    assert losses_of(watch, zeros) == LossTotals(lost=3, unread=5)
    fprobe = replace(zeros, nmissed={"pw_1/kprobe": 2, "pw_1/fprobe": None})
    assert losses_of(watch, fprobe).text == "lost 3, missed ≥ 2, dropped 0, unread 5"


def test_several_probes_of_one_function_are_told_apart():
    first = shown()[0].event_fields.plans[0]
    other = replace(first, events=tuple(replace(one, event=one.event.replace("__", "_2__")) for one in first.events))
    name = first.probe.subject
    assert titles_of([first]) == [name]
    assert titles_of([first, other]) == [name, f"{name} ({name}_2)"]
    chosen = replace(first, events=tuple(replace(one, event="x") for one in first.events))
    assert titles_of([chosen, first]) == [f"{name} (x)", name]
    many = replace(first, probe=parse_armable("f a,b,c,d,e,f"))
    assert titles_of([many, first]) == ["a, b, c, d and 2 more", name]
    assert titles_of([other], beside=[first]) == titles_of([other], beside=[first, other]) == [f"{name} ({name}_2)"]


def test_what_was_asked_for_comes_first_in_the_details_and_the_cgroup_is_said():
    watch, events, _ = shown()
    record = events.item(events.first)
    before = [field.name for field in detail_of(watch, record)]
    events.store.cgroups.know({record.pid: TaskCgroup("/web")}, 0)
    fields = {field.name: field.value for field in detail_of(watch, record)}
    names = list(fields)
    assert fields["cgroup"] == "/web" and "cgroup" not in before
    kinds = [2 if name.startswith("common_") else 1 if name.startswith("__probe_") else 0 for name in names]
    assert kinds == sorted(kinds) and set(kinds) == {0, 1, 2}
