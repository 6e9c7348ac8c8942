"""Two recordings compared in the application: the other is asked for, the filter holds for both, Enter has bars."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from textual.widgets import Input

from kernel.connection.open_target import shipped_recording
from tests.export_recordings import recording
from tests.interface.test_app import application, says
from tests.interface.widget_host import screen_text, until
from tui.__main__ import main
from tui.dialogs.target_screen import TargetScreen
from tui.live.details.lines_screen import ChainScreen
from tui.live.event_export import EventExportScreen
from tui.views.compare.view import ComparisonView
from widgets.dialogs.error_dialog import ErrorDialog
from widgets.search_line import SearchLine

HERE = shipped_recording()


async def at_view(app, pilot) -> ComparisonView:
    await until(lambda: app.places.live is not None and app.places.live.is_current, pilot)
    await until(lambda: app.current_watch is not None and app.current_watch.ended, pilot)
    await pilot.press("U")
    await until(lambda: app.places.live.views.current.name == "compare", pilot)
    return app.places.live.views.current


async def choose(app, pilot, path: object) -> None:
    """Compare with a recording whose path is typed."""
    await pilot.press("O")
    await until(lambda: isinstance(app.screen, TargetScreen), pilot)
    await pilot.press("x")  # a letter goes to the line, from the list, too
    await until(lambda: isinstance(app.focused, Input), pilot)
    app.focused.value = str(path)
    await pilot.press("enter")


def printed(capsys, *words: str) -> list[dict[str, object]]:
    """The comparisons that the command prints."""
    capsys.readouterr()
    assert main(["compare", *words, "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [one for one in found if one["compare"] == "difference"]


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return recording("overrun", tmp_path)


async def test_the_other_recording_is_chosen_and_compared(capsys, other, tmp_path):
    whole = printed(capsys, str(HERE), str(other))
    few = printed(capsys, str(HERE), str(other), "--filter", "comm == cat")
    assert 0 < len(few) < len(whole)
    app = application(HERE)
    async with app.run_test(size=(100, 40)) as pilot:
        view = await at_view(app, pilot)
        assert says(app, "no recording to compare with was chosen: O chooses one")
        await choose(app, pilot, other)
        await until(lambda: view._found is not None and says(app, f"B is {other.name}"), pilot)
        rows = view.pane.ordered.rows
        assert len(rows) == len(whole) and not view.note(app.current_watch).startswith("no ")
        assert [one.change.verdict.name.lower() for one in view._found.differences] == [
            one["verdict"] for one in whole
        ]
        at = next(n for n, row in enumerate(rows) if row[1] == "latency p50")
        await pilot.press(*["down"] * at, "enter")
        await until(lambda: isinstance(app.screen, ChainScreen), pilot)
        await until(lambda: says(app, "logarithmic bars"), pilot)
        bars = [line for line in screen_text(app) if "≤" in line]
        assert bars and all("█" in line for line in (bars[0], bars[-1]))
        assert 80 < max(line.rfind("%") for line in bars) < 97, "both sides take the width of the page"
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, ChainScreen), pilot)

        await pilot.press("f", *"comm == cat", "enter")
        await until(lambda: view._condition == "comm == cat" and app.focused is view.focus, pilot)
        await until(lambda: view._found is not None and len(view._found.differences) == len(few), pilot)
        assert view._found.a.events == sum(
            app.current_watch.store.record(seq).comm == "cat"
            for seq in range(app.current_watch.store.first_seq, app.current_watch.store.next_seq)
        )

        await pilot.press("o")
        await until(lambda: isinstance(app.screen, EventExportScreen), pilot)
        assert says(app, "compare: JSON")
        path = tmp_path / "out.jsonl"
        app.screen.query_one(SearchLine).value = str(path)
        await pilot.press("enter")
        await until(path.exists, pilot)
        await until(lambda: len(path.read_text().splitlines()) == len(few), pilot)


def words_of(app) -> str:
    """Return the text on the screen, without borders and ends of lines."""
    return " ".join("\n".join(screen_text(app)).replace("│", " ").split())


async def test_what_can_not_be_compared_says_why(tmp_path):
    app = application(HERE)
    async with app.run_test(size=(100, 30)) as pilot:
        view = await at_view(app, pilot)
        for path, text in ((HERE, "are the same file"), (tmp_path / "none.pwr", "no such recording")):
            await choose(app, pilot, path)
            await until(lambda: isinstance(app.screen, ErrorDialog) and text in words_of(app), pilot)  # noqa: B023
            await pilot.press("escape")
            await until(lambda: not isinstance(app.screen, ErrorDialog), pilot)
        assert view._found is None
        copy = shutil.copy(HERE, tmp_path / "copy.pwr")
        await choose(app, pilot, copy)
        await until(lambda: says(app, "0 of "), pilot)
        await pilot.press("e", "U")
        await until(lambda: app.places.live.views.current is view and says(app, "B is copy.pwr"), pilot)
