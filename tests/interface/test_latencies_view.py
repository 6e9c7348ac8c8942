"""The view of latencies, on a recording of timerlat: its table, a histogram, the worst sample with its stack."""

from __future__ import annotations

import json
from pathlib import Path

from tests.interface.test_app import application
from tests.interface.widget_host import screen_text, until
from tui.__main__ import main
from tui.live.details.lines_screen import ChainScreen
from tui.views.latencies.view import LatenciesView

RECORDING = Path(__file__).parents[1] / "data/latencies.pwr"


async def test_the_table_and_the_worst_sample(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    assert main([str(RECORDING), "--export", f"jsonl:{path}", "--view", "latencies"]) == 0
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    (threads,) = [row for row in rows if row["kind"] == "latency" and (row["name"], row["cpu"]) == ("thread", None)]
    (worst,) = [row for row in rows if row["kind"] == "worst"]
    assert worst["max"] == threads["max"]
    assert worst["stack"][0].startswith("timerlat_save_stack")
    app = application(RECORDING)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.places.live is not None and app.places.live.is_current, pilot)
        await until(lambda: app.current_watch.ended and app.planner.info.symbols.loaded is not None, pilot)
        await pilot.press("J")
        view = app.places.live.views.current
        assert isinstance(view, LatenciesView)
        await until(lambda: view._found is not None and not view._found.rows.backlog and bool(view._measures), pilot)
        await pilot.pause()
        shown = [" ".join(line.replace("▌", " ").split()) for line in screen_text(app)]
        places = [f"{measure.source} {measure.name}" for measure, _, _ in view._measures]
        assert places == ["timerlat irq"] * 3 + ["timerlat thread"] * 3
        assert sum(line.startswith("timerlat thread") for line in shown) == 3
        assert any(line.startswith("irq local_timer") for line in shown)
        assert any(
            f"{sum(row['count'] for row in rows if row['kind'] == 'latency') // 2} samples" in line for line in shown
        )
        await pilot.press(*["down"] * 5, "enter")
        await until(lambda: isinstance(app.screen, ChainScreen), pilot)
        await until(lambda: any("worst timerlat thread" in line for line in screen_text(app)), pilot)
        assert any("timerlat thread, all CPUs" in line for line in screen_text(app))
        assert any("timerlat_save_stack" in line for line in screen_text(app))
