"""The kernel lies elsewhere after a reboot: what is counted by function has the sum of both boots under its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.events_recording import SHIPPED
from tests.pure.commands import command  # noqa: F401 - a fixture
from tests.real.command import Done
from tests.trimmed_recordings import graph_recording, stack_recording
from tests.two_boots import two_boots
from tui.views.compare.reading import read_file

FAR = 0x5400000
NEAR = 0x55D0
"""By so much `path_openat` is above `path_init`, which lies where that was after a reboot."""
Command = Callable[..., Done]
Counts = Counter[tuple[Any, ...]]


def shipped(_: Path) -> Path:
    return SHIPPED


def failures(path: Path) -> Path:
    return graph_recording(path, "failures")


def rows(run: Command, path: Path, *words: str) -> list[dict[str, Any]]:
    done = run(str(path), "--export", "jsonl", "-o", "-", *words)
    assert done.status == 0, done.err
    return done.objects


def hot_spots(run: Command, path: Path) -> Counts:
    found = rows(run, path, "--view", "hot-spots")
    return Counter(
        {(one["function"], name): one[name] or 0 for one in found for name in ("calls", "total", "errors")}
    )


def first_failures(run: Command, path: Path) -> Counts:
    found = rows(run, path, "--view", "failures")
    return Counter(
        {(one["origin"], one["error"], name): hits for one in found for name, hits in one["calls"].items()}
    )


def summary(run: Command, path: Path) -> Counts:
    """Durations by function, and the values of fields that are no addresses of data."""
    counts: Counts = Counter()
    for one in rows(run, path, "--view", "summary"):
        if one["summary"] == "latency":
            counts.update({("latency", one["function"]): one["total"], ("calls", one["function"]): one["calls"]})
        elif one["summary"] == "values":
            assert one["exact"]
            counts.update({(one["event"], one["field"], value["value"]): value["count"] for value in one["values"]})
    return counts


def sums_by_function(run: Command, path: Path) -> Counts:
    found = rows(run, path, "--by", "func", "--sum", "latency")
    return Counter({(one["by"]["func"],): one["values"]["latency"]["sum"] for one in found if "by" in one})


def folded(run: Command, path: Path) -> Counts:
    done = run(str(path), "--export", "folded", "-o", "-")
    assert done.out, done.err
    lines = (line.rpartition(" ") for line in done.out.splitlines())
    return Counter({(stack,): int(number) for stack, _, number in lines})


def compared(_: Command, path: Path) -> Counts:
    """Events by function, and the named values of their fields."""
    counts: Counts = Counter()
    for labels, group in read_file(str(path), "", lambda *_: None, lambda: False).groups.items():
        counts[labels] = group.events
        for field, values in group.values.items():
            counts.update({(*labels, field, name): one.hits for name, one in (values.names or {}).items()})
    return counts


@pytest.mark.parametrize(
    ("source", "slide", "views"),
    [
        (shipped, NEAR, (hot_spots, summary, sums_by_function, folded, compared)),
        (failures, NEAR, (hot_spots, first_failures)),
        (stack_recording, FAR, (folded, compared)),
    ],
)
def test_each_name_has_the_sum_of_both_boots(
    command: Command,  # noqa: F811
    tmp_path: Path,
    source: Callable[[Path], Path],
    slide: int,
    views: tuple[Callable[[Command, Path], Counts], ...],
) -> None:
    one_boot = source(tmp_path / "one.pwr")
    both = two_boots(one_boot, tmp_path / "two.pwr", slide)
    for view in views:
        expected = view(command, one_boot)
        assert any(expected.values())
        assert view(command, both) == Counter({name: 2 * number for name, number in expected.items()}), view.__name__
