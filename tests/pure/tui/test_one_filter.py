"""A filter chooses the same events and calls in all that a recording is printed and exported as."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernel.connection.open_target import shipped_recording
from tests.pattern_recording import pattern_recording
from tests.trimmed_recordings import graph_recording
from tui.__main__ import main

CONDITIONS = {
    "shipped": ("latency > 5us && comm == head", "!(count > 4096)"),
    "pattern": ("ret < 0 || func != vfs_read", "latency > 1us && func ~ *write*"),
    "graph": ("depth < 3 && func ~ *read*",),
}


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder, shipped = tmp_path_factory.mktemp("recordings"), shipped_recording()
    assert shipped is not None
    graph = graph_recording(folder / "graph.pwr", "full")
    return {"shipped": shipped, "pattern": pattern_recording(folder / "pattern.pwr"), "graph": graph}


@pytest.mark.parametrize(
    ("kind", "condition"), [(kind, one) for kind, several in CONDITIONS.items() for one in several]
)
def test_events_and_calls_that_pass_are_the_same_everywhere(
    recordings: dict[str, Path], kind: str, condition: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def rows(*words: str) -> list[dict[str, Any]]:
        main([str(recordings[kind]), *words, "--filter", condition, "--overwrite"])
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    events = rows("--export", "jsonl")
    by_cpu = rows("--by", "cpu,event", "--export", "jsonl")  # without the event each call counts once
    assert sum(row["count"] for row in by_cpu) == len(events)
    hot = rows("--view", "hot-spots", "--export", "jsonl")
    assert events and hot
    if kind == "graph":
        return
    calls = [row for row in rows("--view", "calls", "--export", "jsonl") if row.get("latency") is not None]
    (timed,) = rows("--sum", "latency", "--export", "jsonl")
    total = timed["values"]["latency"]
    assert (timed["count"], int(total["sum"])) == (len(calls), sum(int(row["latency"]) for row in calls))
    assert sum(row["calls"] for row in hot) == len(calls)
    summary = [row for row in rows("--view", "summary", "--export", "jsonl") if row["summary"] == "latency"]
    assert sum(row["calls"] for row in summary) == len(calls)
