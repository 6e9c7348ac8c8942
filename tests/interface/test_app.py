"""The application as a person drives it, on the recording that comes with it."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from events.calls.call_values import UnpairedReason
from events.recording.reader import Recording, RecordingWriter
from kernel.connection.open_target import shipped_recording
from kernel.recording.target import FACT_BLOBS
from kernel.watch.watch import Watch
from probes.facts.facts import Trouble
from probes.probe import ProbeEnds
from tests.interface.widget_host import screen_text, until
from tui.app.app import Probewright
from tui.dialogs.target_list import mark_open
from tui.opening import Opening
from tui.views.calls.call_text import CallTexts
from widgets.dialogs.error_dialog import ErrorDialog
from widgets.dialogs.help import HelpScreen
from widgets.dialogs.target_chooser import TargetChooser, TargetRow
from widgets.events.event_detail import EventDetail
from widgets.events.status_bar import LiveLine
from widgets.fields.probe_editor import ProbeEditor
from widgets.functions.function_list import FunctionList
from widgets.lists.tail_table import TailTable
from widgets.spec.spec_pane import SpecPane

SIZE = (120, 40)


def application(spec: object) -> Probewright:
    opening = Opening(str(spec))
    opening.start()
    return Probewright(opening)


@pytest.fixture
def recording() -> Path:
    path = shipped_recording()
    assert path is not None
    return path


def write_kernel(path: Path, **modules: bytes) -> Path:
    """The kernel of the shipped recording, without its events, with the types of some modules."""
    shipped = shipped_recording()
    assert shipped is not None
    found = Recording.open(shipped)
    with path.open("wb") as file:
        writer = RecordingWriter(file)
        writer.meta({"facts": found.facts})
        for kind, name in (*(("facts", name) for name in FACT_BLOBS), ("btf", "")):
            writer.blob(kind, name, found.blob(kind, name) or b"")
        for module, types in modules.items():
            writer.blob("btf", module, types)
        writer.close()
    return path


@pytest.fixture(scope="module")
def kernel_only(tmp_path_factory) -> Path:
    return write_kernel(tmp_path_factory.mktemp("facts") / "kernel.pwr")


def says(app: Probewright, text: str) -> bool:
    return any(text in line for line in screen_text(app))


def records_of(app: Probewright):
    """All events of the watch."""
    store = app.current_watch.store
    return [store.record(seq) for seq in range(store.first_seq, store.next_seq)]


async def open_compose(app: Probewright, pilot) -> None:
    await until(lambda: app.planner is not None and app.places.compose.query_one(ProbeEditor), pilot)


async def pick(app: Probewright, pilot, name: str) -> ProbeEditor:
    functions = app.places.compose.query_one(FunctionList)
    functions.query_text = name
    await until(lambda: functions.current == name, pilot)
    await pilot.press("enter")
    editor = app.places.compose.query_one(ProbeEditor)
    await until(lambda: editor.probe is not None and editor.probe.place.symbol == name, pilot)
    return editor


async def test_what_was_ticked_stays_where_one_comes_back_to_the_function(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        editor = await pick(app, pilot, "vfs_read")
        await pilot.press("x", "3")
        built = str(editor.probe)
        assert built == "f vfs_read%return count $retval"
        await pilot.press("escape", "enter")
        await until(lambda: editor.has_focus_within, pilot)
        assert str(editor.probe) == built
        for name in ("vfs_write", "vfs_read"):
            await pilot.press("escape")
            await pick(app, pilot, name)
        assert str(editor.probe) == "f vfs_read", "another one was built meanwhile"


async def test_a_recording_does_not_take_the_screen_from_who_types(recording):
    free = threading.Event()

    class Late(Opening):
        def run(self) -> None:
            free.wait(60)
            super().run()

    opening = Late(str(recording))
    opening.start()
    app = Probewright(opening)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("f2", *"vfs")
        free.set()
        await until(lambda: app.current_watch and app.current_watch.ended, pilot)
        assert app.places.compose.is_current
        assert app.places.compose.query_one(FunctionList).query_text.endswith("vfs")


async def test_a_recording_opens_at_its_events(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        await until(lambda: app.current_watch and app.current_watch.ended, pilot)
        assert app.current_watch and app.current_watch.store
        assert len(app.current_watch.store) == app.current_watch.store.next_seq > 100
        assert len(app.current_watch.armed.probes) == len(Recording.open(recording).plans)


@pytest.mark.parametrize(
    ("size", "note"),
    [
        (-100, "the recording is cut short here: its end is missing"),
        (2_000_000, "the recording is cut short: its events are missing"),
    ],
)
async def test_a_recording_that_is_cut_short_says_so_in_the_live_place(recording, tmp_path, size, note):
    path = tmp_path / "cut.pwr"
    path.write_bytes(recording.read_bytes()[:size])
    app = application(path)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.current_watch is not None, pilot)
        await pilot.press("f3")
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        assert app.places.live
        line = app.places.live.query_one(LiveLine)
        await until(lambda: line.state.note == note, pilot)


async def test_every_event_of_a_recording_has_its_values(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended, pilot)
        watching = app.current_watch
        assert watching and watching.store
        for seq in range(watching.store.next_seq):
            record = watching.store.record(seq)
            values = dict(watching.event_fields.values(record))
            assert values, record
            if record.event.endswith("vfs_read__exit"):
                assert {"f_pos", "count", "ret"} <= set(values)
                assert int(record.values["ret"]) <= int(record.values["count"])


async def test_nine_keys_from_a_name_to_a_probe(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        editor = await pick(app, pilot, "vfs_read")
        await pilot.press("x", "3", "slash")
        await pilot.pause(0.3)
        await pilot.press("f", "_", "p", "enter")
        await until(lambda: editor.probe and len(editor.probe.fetchargs) == 3, pilot)
        assert editor.probe is not None
        assert editor.probe.when is ProbeEnds.EXIT
        assert str(editor.probe) == "f vfs_read%return file->f_pos count $retval"
        shown = app.places.compose.query_one(SpecPane).shown
        assert shown.verdict is not None and shown.verdict.ok
        assert shown.lowered[0].endswith("vfs_read%return f_pos=file->f_pos count ret=$retval")


async def test_what_a_recording_does_not_hold_is_refused(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        await pilot.press("f2")
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_fsync")
        await pilot.pause(0.3)
        await pilot.press("enter")
        shown = app.places.compose.query_one(SpecPane)
        await until(lambda: shown.shown.verdict and shown.shown.verdict.error, pilot)
        assert shown.shown.verdict is not None and shown.shown.verdict.error is not None
        assert shown.shown.verdict.error.code == "not_recorded"
        assert "vfs_read" in shown.shown.verdict.error.hint
        assert app.places.compose.is_current


async def test_what_it_holds_is_shown_again(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        await pilot.press("f2")
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_read")
        await pilot.pause(0.3)
        await pilot.press("x", "enter")
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        assert app.current_watch is not None
        assert [armed.plan.probe.subject for armed in app.current_watch.armed.probes].count("vfs_read") == 1
        await until(lambda: any("vfs_read__exit" in line for line in screen_text(app)), pilot)


async def test_a_function_that_cannot_be_probed_says_why(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        planner = app.planner
        assert planner is not None
        name = next(name for name in planner.info.catalog.names if not planner.info.function(name).kinds)
        await pick(app, pilot, name)
        shown = app.places.compose.query_one(SpecPane).shown
        assert shown.verdict is not None and shown.verdict.error is not None
        assert shown.verdict.error.hint or shown.verdict.error.message


async def test_a_filter_is_checked_as_it_is_set(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        editor = await pick(app, pilot, "vfs_read")
        await pilot.pause(0.3)
        await pilot.press("3", "f")
        await pilot.press(*"count > 4096", "enter")
        await until(lambda: editor.probe and editor.probe.filter == "count > 4096", pilot)
        spec = app.places.compose.query_one(SpecPane)
        assert spec.shown.verdict is not None and spec.shown.verdict.ok
        editor.probe = (
            None
            if editor.probe is None
            else editor.probe.__class__(
                **{**{f: getattr(editor.probe, f) for f in editor.probe.__slots__}, "filter": "nonsense > 1"}
            )
        )
        app.places.compose.refresh_state()
        app.places.compose.specification.show()
        assert spec.shown.verdict is not None and spec.shown.verdict.error is not None


async def test_details_of_an_event(recording):
    app = application(recording)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended, pilot)
        await pilot.press("enter")
        await until(lambda: app.screen.query(EventDetail), pilot)
        await until(lambda: any("common_pid" in line for line in screen_text(app)), pilot)
        text = "\n".join(screen_text(app))
        assert app.current_watch and app.current_watch.store
        newest = app.current_watch.store.record(app.current_watch.store.next_seq - 1)
        assert f"{newest.event} of {newest.comm}-{newest.pid} on CPU {newest.cpu}" in text
        assert all(name in text for name in newest.values)
        await pilot.press("escape")
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        assert "common_pid" not in "\n".join(screen_text(app))


async def test_calls_of_a_recording(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended, pilot)
        await pilot.press("x")
        table = app.screen.query_one("#calls TailTable", TailTable)
        await until(lambda: table.has_focus and table.rows.next > 50, pilot)
        source = CallTexts(app.current_watch, app.current_watch.store)
        while source.calls.backlog:
            source.tick()
        calls = [source.call(row) for row in range(source.first, source.next)]
        await until(lambda: len(calls) == table.rows.next, pilot)
        assert source.calls.paired > 0.9 * len(calls)
        assert not source.calls.unpaired_counts[UnpairedReason.LOST]  # none was
        writes = [call for call in calls if call.function == "vfs_write" and call.latency is not None]
        for call in writes:
            values = {seen.name: seen for seen in call.values}
            moved = int(values["pos_0"].after) - int(values["pos_0"].before)
            assert moved in (0, int(call.returned))  # a pipe has no position
            assert int(call.returned) <= int(values["count"].before)
        assert any(seen.changed for call in writes for seen in call.values)
        await pilot.press("enter")
        await until(lambda: app.screen.query(EventDetail), pilot)
        await pilot.press("escape", "e")
        await until(lambda: app.screen.query_one("#events TailTable", TailTable).has_focus, pilot)


async def test_pause_and_follow(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended, pilot)
        table = app.screen.query_one("#events TailTable", TailTable)
        await until(lambda: table.has_focus, pilot)
        await pilot.press("space")
        await until(lambda: not table.follow.following, pilot)
        await pilot.press("home")
        await until(lambda: table.cursor == 0, pilot)
        await until(lambda: screen_text(app)[3].startswith("▌"), pilot)
        oldest = screen_text(app)[3]
        await pilot.press("space")
        await until(lambda: table.follow.following, pilot)
        await until(lambda: not screen_text(app)[3].startswith("▌"), pilot)
        assert "■ recorded" in screen_text(app)[1]
        assert oldest[1:] not in "\n".join(screen_text(app))


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_help_is_on_every_screen(recording, size):
    app = application(recording)
    async with app.run_test(size=size) as pilot:
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        for place, title in (("f3", "Watch events"), ("f2", "Build a probe")):
            await pilot.press(place)
            await pilot.pause()
            await pilot.press("f1")
            await until(lambda: isinstance(app.screen, HelpScreen), pilot)
            await until(partial(says, app, title), pilot)
            await pilot.press("escape")
            await until(lambda: not isinstance(app.screen, HelpScreen), pilot)


async def test_the_choice_of_targets_says_what_each_can(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        await pilot.press("f4")
        await until(lambda: app.screen.query(TargetChooser), pilot)
        for text in ("this machine", "lab 7.2", "lab arm64:6.12", "nothing can be armed that it does not hold"):
            await until(partial(says, app, text), pilot)
        await pilot.press("escape")
        await until(lambda: app.places.live and app.places.live.is_current, pilot)


async def test_the_choice_of_targets_begins_on_the_one_that_is_open(recording, kernel_only):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        await pilot.press("f4")
        await until(lambda: any("▌✓ default.pwr" in line for line in screen_text(app)), pilot)
        await pilot.press("escape")
        app.open_target(str(kernel_only))
        await until(lambda: app.planner and app.planner.info.target.name == kernel_only.name, pilot)
        await pilot.press("f4")  # one that was typed is not offered by itself
        await until(lambda: any("▌✓ kernel.pwr" in line for line in screen_text(app)), pilot)
        assert sum("  open  " in line for line in screen_text(app)) == 1


async def test_an_open_target_with_probes_is_not_left_by_mistake(recording, monkeypatch):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        first = app.planner
        with monkeypatch.context() as patch:
            patch.setattr(Watch, "live", True)  # as if its probes were on a kernel that runs
            app._target_chosen(str(recording))
            await until(lambda: "stays open; to open it anew" in "\n".join(screen_text(app)), pilot)
        assert app.planner is first
        app._target_chosen(str(recording))
        await until(lambda: app.planner not in (None, first), pilot)


@pytest.mark.parametrize(
    ("opened", "row"),
    [
        ("auto", "default.pwr"),
        ("local", "local"),
        ("lab", "lab:7.2"),
        ("lab:6.1", "lab:6.1"),
        ("ssh://box", "ssh://box"),
    ],
)
def test_a_word_is_the_target_that_it_came_to(recording, opened, row):
    """This machine can't be probed here, so `auto` is the recording."""
    found = [
        TargetRow("local", "this machine", troubles=(Trouble("no tracefs"),)),
        *(TargetRow(spec, spec) for spec in ("lab:7.2", "lab:6.1", str(recording))),
    ]
    marked = [one.spec for one in mark_open(found, opened) if one.is_open]
    assert marked == [str(recording) if row == "default.pwr" else row]
    assert mark_open(found, "") == found
    usable = [replace(found[0], troubles=()), *found[1:]]
    assert [one.spec for one in mark_open(usable, "auto") if one.is_open] == ["local"]


async def test_a_target_that_is_not_there_is_explained(tmp_path):
    app = application(tmp_path / "nothing.pwr")
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: isinstance(app.screen, ErrorDialog), pilot)
        await until(lambda: any("neither a kind of target nor a file" in line for line in screen_text(app)), pilot)
        assert any("F4 chooses another target" in line for line in screen_text(app))
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, ErrorDialog), pilot)


async def test_a_damaged_recording_is_explained(tmp_path, recording):
    data = bytearray(recording.read_bytes())
    data[200:260] = b"\xff" * 60
    path = tmp_path / "damaged.pwr"
    path.write_bytes(data)
    app = application(path)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: isinstance(app.screen, ErrorDialog), pilot)
        await until(lambda: any("wrong checksum" in line for line in screen_text(app)), pilot)
        assert app.planner is None and app.current_watch is None


async def test_a_recording_that_was_cut_shows_what_it_has(tmp_path, recording):
    data = recording.read_bytes()
    path = tmp_path / "cut.pwr"
    path.write_bytes(data[: len(data) - 64])
    app = application(path)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.current_watch and app.current_watch.store, pilot)
        await until(lambda: any("cut short" in line for line in screen_text(app)), pilot)
        assert app.current_watch and app.current_watch.store
        assert len(app.current_watch.store) > 100


async def test_another_target_can_be_opened(recording, kernel_only):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        app.open_target(str(kernel_only))
        await until(lambda: app.planner and app.planner.info.target.name == kernel_only.name, pilot)
        assert app.current_watch is not None and app.current_watch.store is None


async def test_foreign_names_reach_the_screen_harmless(tmp_path, recording):
    """A process may call itself as it likes: markup, escape sequences, bidi marks."""
    hostile = "[red]\x1b[31m\u202eevil[/bad]"
    found = Recording.open(recording)
    path = tmp_path / "hostile.pwr"
    with path.open("wb") as file:
        writer = RecordingWriter(file)
        facts = json.loads(json.dumps(found.facts))
        facts["release"] = hostile
        writer.meta({"facts": facts, "plans": found.plans})
        for name in FACT_BLOBS:
            writer.blob("facts", name, found.blob("facts", name) or b"")
        for name in found.names("format"):
            writer.blob("format", name, found.blob("format", name) or b"")
        writer.blob("header_page", "", found.blob("header_page") or b"")
        pids = "".join(f"{pid} {hostile}\n" for pid in found.cmdlines)
        writer.blob("cmdlines", "", pids.encode())
        for batch in found.batches():
            writer.pages(batch)
        writer.close()
    app = application(path)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended, pilot)
        await until(lambda: "evil" in app.export_screenshot(), pilot)
        picture = app.export_screenshot()
        assert "\x1b" not in picture
        assert "\u202e" not in picture
        assert "evil" in picture
