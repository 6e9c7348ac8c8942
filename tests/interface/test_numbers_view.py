"""The view of monitored numbers, on a recording of some beside a probe; and the form that begins one."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from tests.interface.test_app import application
from tests.interface.widget_host import screen_text, until
from tests.trimmed_recordings import stack_recording
from tui.__main__ import main
from tui.live.details.lines_screen import ChainScreen
from tui.present.ways_out import RUNNING_KERNEL
from tui.views.numbers.view import NumbersView

DATA = Path(__file__).parents[1] / "data/monitors-7.2.pwr"
LATENCIES = Path(__file__).parents[1] / "data/latencies.pwr"
NUMBERS = [
    "jiffies_64",
    "/proc/meminfo:MemFree",
    "vm_event_states.event[PGFAULT] CPU 0",
    "vm_event_states.event[PGFAULT] CPU 1",
    "/proc/loadavg",
    "init_mm.pgd",
]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return stack_recording(tmp_path / "monitors.pwr", DATA)


async def test_each_number_is_a_row(recording: Path, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    assert main([str(recording), "--export", f"jsonl:{path}"]) == 0
    values = defaultdict(list)
    for line in path.read_text().splitlines():
        event = json.loads(line)
        if event["event"].startswith("mon_"):
            cpu = event["cpu"] if "PGFAULT" in event["event"] else None
            values[event["event"], cpu].append(int(event["values"]["value"]))
    app = application(recording)
    async with app.run_test(size=(150, 40)) as pilot:
        await until(lambda: app.places.live is not None and app.places.live.is_current, pilot)
        await until(lambda: app.current_watch.ended, pilot)
        await pilot.press("I")
        view = app.places.live.views.current
        assert isinstance(view, NumbersView)
        await until(
            lambda: view._found is not None and not view._found.rows.backlog and view._rows == len(NUMBERS), pilot
        )
        await pilot.pause()
        rows = view.pane.ordered.rows
        assert [row[0] for row in rows] == NUMBERS
        jiffies = values["mon_jiffies_64", None]
        cells = [str(cell).strip() for cell in rows[0]]
        assert [cells[1], *cells[4:6]] == [f"{one:,}" for one in (jiffies[-1], min(jiffies), max(jiffies))]
        assert cells[2] == "+250"  # CONFIG_HZ of that kernel
        assert cells[3][0] == "▁" and cells[3][-1] == "█"
        for cpu in (0, 1):
            faults = values["mon_vm_event_states_event_PGFAULT", cpu]
            assert str(rows[2 + cpu][1]).strip() == f"{faults[-1]:,}"
        (address,) = set(values["mon_init_mm_pgd", None])
        assert [str(rows[5][at]).strip() for at in (1, 2, 4, 5)] == [hex(address), "", hex(address), hex(address)]
        shown = "\n".join(screen_text(app))
        assert "[numbers]" in shown and f"{sum(map(len, values.values()))} of" in shown
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, ChainScreen), pilot)
        assert any(f"{jiffies[-1]:,}" in line for line in screen_text(app))


async def test_on_a_recording_the_view_says_that_a_kernel_is_needed() -> None:
    app = application(str(LATENCIES))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.places.live is not None and app.places.live.is_current, pilot)
        await pilot.press("I")
        await until(lambda: any("no number is sampled" in line for line in screen_text(app)), pilot)
        assert any(str(RUNNING_KERNEL) in line for line in screen_text(app))
