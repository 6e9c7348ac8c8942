"""The flame graph of stacks that a real kernel recorded: its widths, its keys, its search, and what is compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

import pytest

from events.export.catalogue import STACK_FORMATS, TABLE_FORMATS
from events.record import Record
from events.stacks.call_tree import ROOT
from events.stacks.stack import kernel_frames
from kernel.connection.open_target import shipped_recording
from tests.interface.test_app import application, records_of
from tests.interface.widget_host import screen_text, until
from tests.trimmed_recordings import stack_recording
from tui.__main__ import main
from tui.live.event_export import EventExportScreen
from tui.live.export_dialog import tables_of
from tui.views.stacks.view import StacksView
from widgets.dialogs.event_export_dialog import EventExportDialog
from widgets.dialogs.pick_list import PickList
from widgets.stacks.flame_lines import EDGE

SIZES = [(80, 24), (120, 40), (200, 60)]


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return stack_recording(tmp_path_factory.mktemp("stacks") / "stacks.pwr")


def text(app) -> str:
    return "\n".join(screen_text(app))


async def shown(app, pilot) -> StacksView:
    await until(lambda: app.places.live is not None and app.places.live.is_current, pilot)
    await until(lambda: app.current_watch.ended and app.planner.info.symbols.loaded is not None, pilot)
    await pilot.press("F")
    view = app.places.live.views.current
    assert isinstance(view, StacksView)
    await settled(view, pilot)
    return view


async def settled(view, pilot) -> None:
    await until(lambda: view._model is not None and not view._model.backlog and view._weighed is not None, pilot)
    await until(lambda: not view._next_picture.is_due, pilot)


def stack_of(app, record: Record) -> tuple[str, ...]:
    """The functions of an event's stack, the outermost first."""
    frames = kernel_frames(record, lambda _: app.planner.info.symbols.loaded)
    return tuple(frame.function for frame in reversed(frames or ()))


def prefixes(stacks: Iterable[tuple[tuple[str, ...], int]]) -> Counter[tuple[str, ...]]:
    """The weight of each beginning of a stack."""
    found = Counter[tuple[str, ...]]()
    for stack, weight in stacks:
        for end in range(len(stack) + 1):
            found[stack[:end]] += weight
    return found


def totals(view) -> dict[tuple[str, ...], int]:
    weighed = view._weighed
    tree = weighed.tree
    names = {node: tuple(frame.name for frame in tree.path(node)) for node in range(len(tree))}
    return {names[node]: weight for node, weight in enumerate(weighed.totals) if weight}


def frame(app) -> str:
    """The line about the frame under the cursor."""
    return str(app.places.live.views.current.pane._frame.content)


@pytest.mark.parametrize("size", SIZES)
async def test_frames_are_as_wide_as_the_stacks_are_many(recording, size):
    app = application(recording)
    async with app.run_test(size=size) as pilot:
        view = await shown(app, pilot)
        true = prefixes((stack_of(app, record), 1) for record in records_of(app))
        assert totals(view) == dict(true) and true[()] == len(records_of(app)) > 1000
        graph = view.pane.graph
        columns = graph.scrollable_content_region.width
        assert size[0] - 2 <= columns <= size[0] and graph.lines is not None
        top = next(n for n, line in enumerate(screen_text(app)) if "all: 1," in line)
        lines = [strip.text for strip in app.screen._compositor.render_strips()]
        for number, cells in enumerate(graph.lines.lines[: graph.size.height]):
            for before, cell in pairwise(cells):
                assert before.after <= cell.start
            for cell in cells:
                name = graph.lines.picture.name(cell.node)
                drawn = lines[top + number][cell.start : cell.after]
                assert drawn[0] in (EDGE, "▌") and len(drawn) == cell.after - cell.start
                if len(name) < len(drawn):
                    assert drawn[1:].startswith(name)
                path = tuple(one.name for one in view._weighed.tree.path(cell.node))
                assert abs(len(drawn) - true[path] * columns / true[()]) < 1
        assert f"count by stack, {true[()]:,} events in " in text(app)


async def test_a_frame_gets_the_whole_width_and_gives_it_back(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        view = await shown(app, pilot)
        graph = view.pane.graph
        whole = text(app)
        await pilot.press("down", "down", "right", "left", "down")
        node = graph.cursor
        assert len(view._weighed.tree.path(node)) == 3
        assert frame(app).startswith(f"{view._weighed.tree.frames[node].name}: ")
        await pilot.press("enter")
        assert graph.zoom == node
        assert [len(cells) for cells in graph.lines.lines[:4]] == [1] * 4, "those around it have whole lines, too"
        await pilot.press("up", "up", "up", "down", "down", "down")
        assert graph.cursor == node
        await pilot.press("backspace", "home")
        assert graph.zoom == ROOT and text(app) == whole
        await pilot.press("down", "enter", "escape", "home")
        assert text(app) == whole
        await pilot.press("end", "pagedown")
        assert not graph.lines.picture.tree.children[graph.cursor] or graph.cursor in graph.lines.line_of
        await pilot.press("pageup", "pageup")
        assert graph.cursor == ROOT


async def test_a_click_zooms_in_and_out(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        view = await shown(app, pilot)
        graph = view.pane.graph
        cell = graph.lines.lines[2][-1]
        await pilot.click(graph, offset=(cell.start, 2))
        assert graph.zoom == graph.cursor == cell.node
        await pilot.click(graph, offset=(50, 0))
        assert graph.zoom == ROOT
        await pilot.click(graph, offset=(50, graph.size.height - 1))
        assert graph.zoom == ROOT, "nothing is there"


async def test_the_share_of_a_search_is_of_the_stacks_that_have_the_text(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        view = await shown(app, pilot)
        await pilot.press("/", *"MMPUT")
        found = sum("mmput" in " ".join(stack_of(app, record)) for record in records_of(app))
        share = f"{100 * found / len(records_of(app)):.1f}%"
        assert 0 < found < len(records_of(app)) and f"{share}, {found:,} events" in text(app)
        await pilot.press("enter")
        assert "mmput" in frame(app)
        first = view.pane.graph.cursor
        await pilot.press("n")
        assert "mmput" in frame(app) and view.pane.graph.cursor != first
        await pilot.press("N")
        assert view.pane.graph.cursor == first
        await pilot.press("escape")
        assert share not in screen_text(app)[-2] and view.pane.graph.zoom == ROOT
        await pilot.press("/", *"no such")
        assert "in no stack" in text(app)


async def test_bottom_up_by_module_and_by_task(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        view = await shown(app, pilot)
        stacks = [stack_of(app, record) for record in records_of(app)]
        await pilot.press("i")
        assert totals(view) == dict(prefixes((stack[::-1], 1) for stack in stacks))
        assert "count by stack, bottom-up" in text(app)
        await pilot.press("i", "m")
        modules = {name for path in totals(view) for name in path}
        assert "kernel" in modules and any(name.startswith("[") for name in modules)
        assert totals(view)[()] == len(stacks)
        assert not any(a == b for path in totals(view) for a, b in pairwise(path))
        await pilot.press("m", "t")
        await settled(view, pilot)
        comms = [record.comm for record in records_of(app)]
        assert totals(view) == dict(prefixes(((comm, *stack), 1) for comm, stack in zip(comms, stacks, strict=True)))


async def test_the_sum_of_a_value_is_the_weight(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        view = await shown(app, pilot)

        async def weigh(name: str) -> None:
            from tui.views.stacks.choice import is_possible, values_of

            watch = app.current_watch
            rows = ["", *(value for value in values_of(watch) if is_possible(watch, value))]
            await pilot.press("Y")
            await until(lambda: isinstance(app.screen, PickList), pilot)
            await pilot.press(*["down"] * rows.index(name), "enter")
            await until(lambda: not isinstance(app.screen, PickList), pilot)
            await settled(view, pilot)

        await weigh("count")
        counts = [(stack_of(app, one), one.values["count"]) for one in records_of(app) if "count" in one.values]
        assert totals(view) == {path: weight for path, weight in prefixes(counts).items() if weight}
        assert "sum(count) by stack" in text(app)
        assert f"{len(records_of(app)) - len(counts):,} without a stack or count" in text(app)
        await weigh("latency")
        begins = [one for one in records_of(app) if one.event.endswith("vfs_read__entry")]
        assert f"{len(begins)} calls in 1 stack" in text(app) and "sum(latency) by stack" in text(app)
        assert "ms" in frame(app) or "us" in frame(app)
        await weigh("")
        assert totals(view)[()] == len(records_of(app))


async def test_only_events_that_pass_the_filter_are_in_the_graph(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        view = await shown(app, pilot)
        await pilot.press("down", "down", "f", *"event ~ *write*", "enter")
        await until(lambda: view.filter.text != "", pilot)
        await settled(view, pilot)
        await until(lambda: view._weighed.totals[ROOT] < 1000, pilot)
        own = [record for record in records_of(app) if "write" in record.event]
        assert totals(view) == dict(prefixes((stack_of(app, record), 1) for record in own))
        assert f"{len(own)} of {len(records_of(app)):,}" in text(app)


async def test_two_halves_are_compared(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        view = await shown(app, pilot)
        await pilot.press("z")
        await until(lambda: view._frames.comparison is not None, pilot)
        await settled(view, pilot)
        every = records_of(app)
        halves = every[: len(every) // 2], every[len(every) // 2 :]
        old, new = (prefixes((stack_of(app, record), 1) for record in half) for half in halves)
        tree, compared = view._weighed.tree, view._frames.comparison
        for node in range(len(tree)):
            path = tuple(one.name for one in tree.path(node))
            change = new[path] / len(halves[1]) - old[path] / len(halves[0])
            assert compared.change(node) == pytest.approx(change)
        await pilot.press("down", "down")
        path = tuple(one.name for one in tree.path(view.pane.graph.cursor))
        points = 100 * (new[path] / len(halves[1]) - old[path] / len(halves[0]))
        assert f"before {old[path]:,} events" in frame(app) and f"share {points:+.1f} points" in frame(app)
        assert f"{points:+.1f}% {path[-1]}" in text(app), "a sign is seen without colour"
        await pilot.press("z")
        await until(lambda: view._frames.comparison is None, pilot)
        await settled(view, pilot)
        assert totals(view)[()] == len(every)


async def test_a_probe_is_built_on_a_frame(recording):
    app = application(recording)
    async with app.run_test(size=(100, 30)) as pilot:
        await shown(app, pilot)
        await pilot.press("/", *"vfs_read", "enter", "p")
        await until(lambda: not app.places.live.is_current and "vfs_read" in text(app), pilot)


async def test_a_recording_without_stacks_says_what_gives_them():
    app = application(shipped_recording())
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(app, pilot)
        assert "no event has a stack: F4 chooses a kernel that runs" in text(app)
        await pilot.press("down", "up", "enter", "backspace", "escape", "i", "m", "t", "n", "z", "z", "/", "enter")
        assert "no event has a stack" in text(app)


@pytest.mark.parametrize(("keys", "words"), [((), ()), (("i", "m"), ("--bottom-up", "--by-module"))])
async def test_the_dialog_writes_what_the_command_does(recording, tmp_path, keys, words):
    app = application(recording)
    written = {}
    async with app.run_test(size=(120, 40)) as pilot:
        await shown(app, pilot)
        await pilot.press(*keys, "o")
        await until(lambda: isinstance(app.screen, EventExportScreen), pilot)
        titles = {one.name for one in tables_of("stacks")}
        assert {name.partition(" of ")[0] for name in titles} == {*STACK_FORMATS, *TABLE_FORMATS}
        for name in (f"{form} of stacks" for form in STACK_FORMATS):
            path = tmp_path / name
            app.screen.post_message(EventExportDialog.Requested(name, str(path), overwrite=False))
            await until(lambda: not isinstance(app.screen, EventExportScreen), pilot)
            written[name] = path.read_bytes()
            await pilot.press("o")
            await until(lambda: isinstance(app.screen, EventExportScreen), pilot)
    for name, data in written.items():
        form, path = name.partition(" ")[0], tmp_path / f"{name}.again"
        assert main([str(recording), "--stacks", *words, "--export", f"{form}:{path}"]) == 0
        assert path.read_bytes() == data and len(data) > 50
