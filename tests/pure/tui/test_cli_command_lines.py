"""Lines of a command among the events of a recording: they have rows, and are in no count of the events of probes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from events.aggregates.request import AggregateRequest
from events.recording.lines_in_time import COMMAND_OUTPUT
from events.summary.summary import Summary
from kernel.connection.open_target import shipped_recording
from tests.export_recordings import lines_recording
from tests.pure.commands import called
from tests.replays import replay_of
from tui.cli.status import DONE, USAGE
from tui.filter.filter import Filter
from tui.present.summary_values import tasks_of
from tui.views.aggregate.model import AggregateModel

HERE = str(shipped_recording())


@pytest.fixture(scope="module")
def with_lines(tmp_path_factory, records) -> Path:
    """The shipped recording, with lines of the task that has most events."""
    pid = Counter(record.pid for record in records).most_common(1)[0][0]
    return lines_recording(tmp_path_factory.mktemp("lines") / "lines.pwr", pid)


def objects(capsys, *words: str) -> list[dict[str, Any]]:
    status, out, _ = called(capsys, *words)
    assert status == DONE
    return [json.loads(line) for line in out.splitlines()]


def test_they_are_rows(capsys, with_lines, records):
    rows = objects(capsys, str(with_lines), "--export", "jsonl")
    assert sum(row["event"] == COMMAND_OUTPUT for row in rows) == len(rows) - len(records) > 9


@pytest.mark.parametrize(
    "words",
    [
        ("--by", "comm"),
        ("--by", "pid,event"),
        ("--by", "cpu", "--filter", "pid > 0"),
        ("--view", "summary"),
        ("--view", "calls"),
    ],
)
def test_no_table_counts_them(capsys, with_lines, words):
    found, own = (objects(capsys, path, *words, "--export", "jsonl") for path in (str(with_lines), HERE))
    assert sorted(map(json.dumps, found)) == sorted(map(json.dumps, own)) != []


def test_no_comparison_counts_them(capsys, with_lines):
    found = objects(capsys, "compare", HERE, str(with_lines), "--by", "comm", "--json")
    groups = [one for one in found if one["compare"] == "group"]
    assert groups and all(one["a"] == one["b"] for one in groups)


def test_their_fields_are_no_keys(capsys, with_lines):
    status, _, err = called(capsys, str(with_lines), "--by", "text")
    assert status == USAGE and "no event has text" in err


def test_the_filter_of_a_row_leaves_them_out(with_lines):
    watch = replay_of(with_lines)
    assert watch.store is not None
    model = AggregateModel(watch, watch.store, AggregateRequest(("pid",)))
    while model.aggregate.backlog:
        model.tick(0.0)
    for row in model.rows(0).rows:
        chosen = Filter()
        chosen.choose(model.condition(row), watch)
        passing = chosen.of(watch, watch.store)
        assert passing is not None
        while passing.looked < watch.store.next_seq:
            passing.tick(1.0)
        records = [watch.store.record(seq) for seq in range(watch.store.first_seq, watch.store.next_seq)]
        assert sum(bool(passing.condition(record)) for record in records) == row.hits
    watch.close()
    watch.info.close()


def test_the_filter_of_a_process_of_the_summary_leaves_them_out(with_lines):
    watch = replay_of(with_lines)
    store = watch.store
    assert store is not None
    summary = Summary(store)
    while summary.backlog:
        summary.tick(1.0)
    columns = store.columns(store.first_seq, store.next_seq)
    for row in tasks_of(store, summary):
        found = Filter().preview(row.condition, watch, store).condition.candidates(columns)
        assert found.sum() == row.hits, row.condition
    watch.close()
    watch.info.close()
