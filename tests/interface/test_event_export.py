"""Events given out from the live place: by keys, in steps, never over what is there, never half."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import pyarrow.parquet
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

from events.export.catalogue import FORMATS
from events.export.job import Job
from tests.interface.test_app import application, recording  # noqa: F401 - a fixture
from tests.interface.widget_host import paste, screen_text, until
from tests.pure.full_disk import FullExportFile
from tests.trimmed_recordings import stack_recording
from tui.__main__ import main
from tui.app.app import Probewright
from tui.app.typed_ahead import PAUSE
from tui.live import export_dialog
from tui.live.event_export import EventExportScreen
from widgets.dialogs.progress import ProgressBar
from widgets.search_line import SearchLine

SIZE = (80, 24)


async def opened(app: Probewright, pilot) -> EventExportScreen:
    await until(lambda: app.places.live and app.places.live.is_current, pilot)
    await until(lambda: app.current_watch and app.current_watch.ended, pilot)
    await pilot.press("o")
    await until(lambda: isinstance(app.screen, EventExportScreen), pilot)
    dialog = app.screen
    assert isinstance(dialog, EventExportScreen)
    return dialog


def text(app: Probewright) -> str:
    """The screen in one line."""
    return " ".join(" ".join(screen_text(app)).replace("│", " ").split())


_screen = text


def in_here(dialog: EventExportScreen, folder: Path) -> Path:
    """Have the file in a folder; gives its path."""
    line = dialog.query_one(SearchLine)
    line.value = str(folder / "x") + dialog._suffix
    return Path(line.value)


@pytest.mark.parametrize("number", range(len(FORMATS)))
async def test_each_format_by_keys(recording, tmp_path, number):  # noqa: F811 - the fixture
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        dialog = await opened(app, pilot)
        assert all(form.title in text(app) for form in FORMATS)
        in_here(dialog, tmp_path)
        await pilot.press(*["down"] * number)
        form = FORMATS[number]
        path = tmp_path / f"x{form.suffix}"
        await until(lambda: f"x{form.suffix}" in dialog.query_one(SearchLine).value, pilot)
        assert form.keeps[:40] in text(app)
        await pilot.press("enter")
        await until(lambda: not isinstance(app.screen, EventExportScreen), pilot)
        await until(path.exists, pilot)
        assert [one.name for one in tmp_path.iterdir()] == [path.name]
        await until(lambda: any(str(path) in said.text for said in app.notice_lines), pilot)
        assert app.current_watch and app.current_watch.store
        rows = len(app.current_watch.store)
    data = path.read_bytes()
    if form.name == "jsonl":
        assert len({json.loads(line)["ts"] for line in data.splitlines()}) > rows // 2
        assert data.count(b"\n") == rows
    elif form.name == "parquet":
        assert pyarrow.parquet.read_metadata(path).num_rows == rows
    elif form.name == "perfetto":
        packets = perfetto_trace_pb2.Trace.FromString(data).packet
        assert sum(packet.HasField("track_event") for packet in packets) == rows
    elif form.name == "svg":
        assert data.startswith(b"<svg")
        assert b"vfs_read__exit" in data
        assert b"Parquet" not in data  # the dialog is not in the picture
    elif form.name == "folded":
        assert b"cat;do_sys_openat2 " in data
    else:
        assert data.count(b"\n") == rows + (form.name == "csv")


async def test_what_is_there_is_overwritten_when_told_twice(recording, tmp_path):  # noqa: F811
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        dialog = await opened(app, pilot)
        path = in_here(dialog, tmp_path)
        path.write_text("mine")
        await pilot.press("enter")
        await until(lambda: "is there already" in text(app), pilot)
        assert path.read_text() == "mine"
        await pilot.press("tab", "end", "y", "backspace")  # another name, and back: asked again
        await until(lambda: "is there already" not in text(app), pilot)
        await pilot.press("enter")
        await until(lambda: "Enter once more" in text(app), pilot)
        assert path.read_text() == "mine"
        await pilot.press("enter")
        await until(lambda: not isinstance(app.screen, EventExportScreen), pilot)
        assert path.read_text().startswith('{"ts":')


async def test_it_goes_on_in_steps_with_progress_and_can_be_stopped(recording, tmp_path, monkeypatch):  # noqa: F811
    """A step here takes a few rows, and the last ones wait until the test has seen the first."""
    held = True
    step = Job.step

    def slow(self: Job, budget: float = 0.0) -> bool:
        return False if held and self.done >= 128 else step(self, 0.0)

    monkeypatch.setattr(Job, "step", slow)
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        dialog = await opened(app, pilot)
        path = in_here(dialog, tmp_path)
        await pilot.press("enter")
        bar = dialog.query_one(ProgressBar)
        await until(lambda: bar.fraction is not None and 0 < bar.fraction < 1, pilot)
        assert "128 of 790 events" in text(app)
        assert [one.name for one in tmp_path.iterdir()] == [f"{path.name}.part"]
        await pilot.press("enter")  # does not begin a second one
        await pilot.press("escape")
        await until(lambda: "stopped: nothing was written" in text(app), pilot)
        assert not list(tmp_path.iterdir())
        held = False
        await pilot.press("enter")
        await until(lambda: not isinstance(app.screen, EventExportScreen), pilot)
        assert path.read_text().count("\n") == 790


async def test_while_events_come_the_dialog_says_how_many_would_be_written_now(recording, monkeypatch):  # noqa: F811
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await opened(app, pilot)
        assert "790 events of" in text(app)
        assert app.current_watch and app.current_watch.store
        store = type(app.current_watch.store)
        monkeypatch.setattr(store, "__len__", lambda _: 3888)
        await until(lambda: "3,888 events of" in text(app), pilot)


async def test_leaving_in_the_middle_leaves_no_part(recording, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(Job, "step", lambda self, budget: False)
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        dialog = await opened(app, pilot)
        in_here(dialog, tmp_path)
        await pilot.press("enter")
        await until(lambda: list(tmp_path.iterdir()), pilot)
        await pilot.press("ctrl+q")
    assert not list(tmp_path.iterdir())


async def test_what_stands_in_the_way_is_said(recording, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        dialog = await opened(app, pilot)
        line = dialog.query_one(SearchLine)
        line.value = "/no/such/folder/x.jsonl"
        await pilot.press("enter")
        await until(lambda: "/no/such/folder is no folder" in text(app), pilot)
        line.value = "  "
        await pilot.press("enter")
        await until(lambda: "a file needs a name" in text(app), pilot)
        in_here(dialog, tmp_path)
        await pilot.press("down", "down", "enter")
        await until(lambda: "not installed: pip install" in text(app) and "'pyarrow>=22'" in text(app), pilot)
        assert not list(tmp_path.iterdir())
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, EventExportScreen), pilot)


async def test_a_full_disk_is_said(recording, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(export_dialog, "ExportFile", FullExportFile)
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        dialog = await opened(app, pilot)
        in_here(dialog, tmp_path)
        await pilot.press("enter")
        await until(lambda: "No space left on device" in text(app), pilot)
        assert not list(tmp_path.iterdir())
        assert not dialog.running


async def test_without_events_there_is_nothing_to_give_out(recording):  # noqa: F811
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        await until(lambda: app.current_watch and app.current_watch.ended, pilot)
        await pilot.press("c", "o")
        await until(lambda: any("no events" in said.text for said in app.notice_lines), pilot)
        assert not isinstance(app.screen, EventExportScreen)


@pytest.mark.parametrize("text", ["", "comm == cat"])
@pytest.mark.parametrize(("key", "view"), [("x", "calls"), ("s", "summary"), ("g", "hot-spots")])
async def test_the_table_of_a_view_is_what_the_command_line_writes(recording, tmp_path, capsys, key, view, text):  # noqa: F811
    app = application(recording)
    async with app.run_test(size=(110, 30)) as pilot:
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        await until(lambda: app.current_watch and app.current_watch.ended, pilot)
        if text:
            app.places.live.filter.choose(text, app.current_watch)
        await pilot.press(key)
        await until(lambda: app.places.live.views.current.name in (view, "graph"), pilot)
        if view == "hot-spots":
            await pilot.press("h")
            await until(lambda: app.places.live.views.current.table_name == view, pilot)
        for place, (name, suffix) in enumerate((("jsonl", ".jsonl"), ("csv", ".csv"))):
            dialog = await opened(app, pilot)
            in_here(dialog, tmp_path)
            await pilot.press(*["down"] * place)
            line = dialog.query_one(SearchLine)
            await until(partial(_ends, line, f"x{suffix}"), pilot)
            assert "the table of this view" in _screen(app)
            await pilot.press("enter")
            await until(lambda: not isinstance(app.screen, EventExportScreen), pilot)
            await until((tmp_path / f"x{suffix}").exists, pilot)
            wanted = tmp_path / f"wanted{suffix}"
            more = ["--filter", text] if text else []
            assert main([str(recording), "--export", f"{name}:{wanted}", "--view", view, *more]) == 0
            same = (tmp_path / f"x{suffix}").read_bytes() == wanted.read_bytes()
            assert same


def _ends(line: SearchLine, name: str) -> bool:
    return line.value.endswith(name)


async def test_views_of_events_have_no_table_of_their_own(recording):  # noqa: F811
    app = application(recording)
    async with app.run_test(size=(110, 30)) as pilot:
        dialog = await opened(app, pilot)
        assert len(dialog._offered) == len(FORMATS)


async def test_a_name_typed_over_the_one_of_another_format_has_no_tail(recording):  # noqa: F811 - the fixture
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        for number, form in list(enumerate(FORMATS))[1:]:
            dialog = await opened(app, pilot)
            await pilot.press(*["down"] * number, "tab", "ctrl+u", *f"/tmp/n{form.suffix}")
            assert dialog.query_one(SearchLine).value == f"/tmp/n{form.suffix}"
            await pilot.press("escape")
            await until(lambda: not isinstance(app.screen, EventExportScreen), pilot)


@pytest.mark.parametrize(
    ("key", "name", "title", "begins"),
    [
        ("e", "y.csv", "CSV", b'"ts"'),
        ("s", "y.csv", "CSV", b'"summary"'),
        ("e", "y.svg", "a picture of this screen", b"<svg"),
        ("F", "st.svg", "", b"<"),
        ("F", "st.speedscope.json", "", b"{"),
        ("e", "y.log", "JSON lines", b'{"ts":'),
    ],
)
async def test_the_suffix_of_a_typed_name_chooses_the_format_and_the_message_names_it(
    tmp_path,
    key,
    name,
    title,
    begins,
):
    app = application(stack_recording(tmp_path / "stacks.pwr"))
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        await until(lambda: app.current_watch and app.current_watch.ended, pilot)
        await pilot.press(key)
        view = {"e": "events", "s": "summary", "F": "stacks"}[key]
        await until(lambda: app.places.live.views.current.name == view, pilot)
        await until(lambda: key == "e" or app.places.live.views.current.table_name, pilot)
        await pilot.pause(PAUSE + 0.1)
        dialog = await opened(app, pilot)
        path = tmp_path / name
        await pilot.press("tab", "ctrl+u")
        await paste(pilot, str(path))
        await until(lambda: dialog.query_one(SearchLine).value == str(path), pilot)
        form = dialog._offered[dialog._list.cursor]
        assert form.has_name(name) or name.endswith(".log")
        await pilot.press("enter")
        await until(path.exists, pilot)
        await until(lambda: any(f"{path}: " in one.text and title in one.text for one in app.notice_lines), pilot)
    assert path.read_bytes().lstrip().startswith(begins), path.read_bytes()[:80]


async def test_another_row_is_another_suffix_whatever_was_typed(recording, tmp_path):  # noqa: F811
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        dialog = await opened(app, pilot)
        line = dialog.query_one(SearchLine)
        line.value = str(tmp_path / "y.csv")
        await until(lambda: dialog._offered[dialog._list.cursor].name == "csv", pilot)
        await pilot.press("down")
        await until(lambda: line.value == str(tmp_path / "y.parquet"), pilot)
