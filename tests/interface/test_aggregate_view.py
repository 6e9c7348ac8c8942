"""The table by key of the recording that comes with the application, on the screen."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from functools import partial

import pytest

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import shipped_recording
from tests.events_recording import SHIPPED
from tests.interface.test_app import application, records_of
from tests.interface.widget_host import paste, screen_text, until
from tests.pattern_recording import pattern_recording
from tests.pure.commands import called
from tests.pure.tui.test_cli_aggregate import each_call_once
from tui.live.details.detail_screen import DetailScreen
from tui.live.event_export import EventExportScreen
from tui.live.export_dialog import tables_of
from tui.present.ways_out import RUNNING_KERNEL
from widgets.aggregates.chooser import AggregateChooser


def text(app) -> str:
    return "\n".join(screen_text(app))


async def _table(app, pilot):
    await until(lambda: app.current_watch and app.current_watch.ended and app.places.live.is_current, pilot)
    await pilot.press("y")
    await until(lambda: "[by key]" in text(app) and "count by " in text(app), pilot)
    return app.places.live.views.current


async def _choose(app, pilot, *keys: str) -> None:
    await pilot.press("Y")
    await until(lambda: isinstance(app.screen, AggregateChooser), pilot)
    await pilot.press(*keys, "enter")
    await until(lambda: not isinstance(app.screen, AggregateChooser), pilot)


def _down_to(view, name: str) -> list[str]:
    """Keys that go to a name in the list of keys and values."""
    from tui.present.call_ends import ends_of
    from tui.views.aggregate.plan_columns import PlanColumns, choices_of

    watch = view._model.watch
    keys, values = choices_of(PlanColumns(watch), ends_of(watch.event_fields.plans))
    names = list(dict.fromkeys((*view._model.request.keys, *keys, *values)))
    return ["home", *["down"] * names.index(name)]


def _once(app):
    """The events without the exits of calls whose entries are among them, too."""
    return each_call_once(records_of(app))


def _row(app, *cells: str) -> str:
    """The line of the screen that begins with some cells; empty: there is none."""
    lines = (line.lstrip("▌ ") for line in screen_text(app))
    return next((line for line in lines if line.split()[: len(cells)] == list(cells)), "")


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_rows_are_what_a_count_gives(size):
    app = application(shipped_recording())
    async with app.run_test(size=size) as pilot:
        view = await _table(app, pilot)
        hits_of = Counter(record.comm for record in _once(app))
        assert len(hits_of) > 3
        for comm, hits in hits_of.items():
            assert _row(app, comm, f"{hits:,}")
        assert "count by comm, over " in text(app) and "each call once" in text(app)
        note = view.note(app.current_watch)
        assert note.startswith("each call once") and not note.rstrip().endswith(","), note


async def test_the_filters_line_counts_what_the_command_and_an_export_count(capsys, tmp_path):
    """Of 53 events that pass, 24 have a function and are counted once: the numbers of the rows add up to these."""
    words, keys = "ret == -ENOENT", "func,comm"
    _, printed, _ = called(capsys, str(SHIPPED), "--by", keys, "--filter", words)
    file = f"csv:{tmp_path / 'x.csv'}"
    _, _, exported = called(capsys, str(SHIPPED), "--by", keys, "--filter", words, "--export", file)
    number, lacking = printed.splitlines()[0].partition(": ")[0].split(", ", 1)
    app = application(SHIPPED)
    async with app.run_test(size=(120, 40)) as pilot:
        view = await _table(app, pilot)
        await pilot.press("f")
        await paste(pilot, words)
        await pilot.press("enter")
        await until(lambda: view.filter.text == words and number in text(app), pilot)
        await until(lambda: view.filtered.text == number, pilot)
        assert ", ".join(view._model.lacking) == lacking and view.note(app.current_watch).startswith(lacking)
        assert sum(row.hits for row in view._rows.rows) == view.filtered.passing
        assert f"of {number}, {lacking}" in exported
        await pilot.press("f", "ctrl+u")
        await paste(pilot, "event ~ sys_exit")
        await pilot.press("enter")
        await until(lambda: view.filter.text == "event ~ sys_exit" and view.filtered.left_out, pilot)
        assert not view.filtered.passing and "the filter hides" not in text(app), "it does not: they have no function"


async def test_statistics_of_a_value_by_two_keys_are_those_of_the_events():
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        view = await _table(app, pilot)
        await _choose(app, pilot, *_down_to(view, "event"), "space", *_down_to(view, "count"), "s", "a", "i", "x")
        await until(lambda: "sum(count), avg(count), min(count), max(count) by comm, event" in text(app), pilot)
        values: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for record in records_of(app):
            if isinstance(count := record.values.get("count"), int):
                values[record.comm, record.event.rpartition("/")[2]].append(count)
        assert len(values) > 1
        await until(lambda: all(_row(app, *key) for key in values), pilot)
        for key, numbers in values.items():
            figures = (len(numbers), sum(numbers), sum(numbers) / len(numbers), min(numbers), max(numbers))
            texts = [f"{n:,.1f}" if isinstance(n, float) else f"{n:,}" for n in figures]
            assert _row(app, *key).split()[2:7] == texts
        lacking = sum("count" not in record.values for record in records_of(app))
        assert f"{lacking:,} without comm or event or count" in text(app), "what is not in the table is told"


async def test_powers_of_two_of_a_value_are_letters_of_its_row():
    app = application(shipped_recording())
    async with app.run_test(size=(160, 40)) as pilot:
        view = await _table(app, pilot)
        await _choose(app, pilot, *_down_to(view, "count"), "l")
        await until(lambda: "log2(count) by comm" in text(app) and view._rows.rows[0].totals, pilot)
        found: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for record in _once(app):
            if isinstance(count := record.values.get("count"), int):
                found[record.comm][(count - 1).bit_length()] += 1
        first, last = min(map(min, found.values())), max(map(max, found.values()))
        assert f"log2(count) ≤ {1 << first:,} … ≤ {1 << last:,}" in text(app) and last > first
        for comm, powers in found.items():
            most = max(powers.values())
            heights = [-(-8 * powers[exponent] // most) for exponent in range(first, last + 1)]
            letters = "".join(" ▁▂▃▄▅▆▇█"[height] for height in heights)
            await until(lambda: letters.rstrip() in _row(app, comm), pilot)  # noqa: B023 - it is waited for


async def test_a_key_and_a_value_are_taken_away_again():
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        view = await _table(app, pilot)
        await _choose(app, pilot, *_down_to(view, "count"), "s", "space")
        await until(lambda: "sum(count) by comm, count" in text(app), pilot)
        await _choose(app, pilot, *_down_to(view, "count"), "s", "space")
        await until(lambda: "count by comm, over" in text(app), pilot)
        await _choose(app, pilot, *_down_to(view, "comm"), "space")
        await until(lambda: " count, over" in text(app), pilot)
        assert _row(app, str(len(_once(app)))), "without a key all events are one row"


async def test_what_is_no_number_is_not_summed_and_more_than_three_keys_are_refused():
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        view = await _table(app, pilot)
        keys = _down_to(view, "filename")
        await pilot.press("Y")
        await until(lambda: isinstance(app.screen, AggregateChooser), pilot)
        await pilot.press(*keys, "s")
        await until(lambda: "filename is no number that can be summed" in text(app), pilot)
        await pilot.press("space", *_down_to(view, "pid"), "space", *_down_to(view, "cpu"), "space")
        await until(lambda: "at most 3 keys are possible" in text(app), pilot)


async def test_keys_that_no_event_has_together_are_told_at_once():
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        view = await _table(app, pilot)
        await _choose(app, pilot, *_down_to(view, "filename"), "space", *_down_to(view, "f_pos"), "s")
        await until(lambda: "no event has all of comm, filename, f_pos" in text(app), pilot)
        assert view._model.request.keys == ("comm",), "the table stays"


async def test_calls_are_aggregated_where_a_value_is_their_duration():
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        view = await _table(app, pilot)
        await _choose(app, pilot, *_down_to(view, "func"), "space", *_down_to(view, "latency"), "x")
        await until(lambda: "max(latency) by comm, func" in text(app), pilot)
        await until(lambda: view._rows.rows and view._rows.rows[0].totals, pilot)
        live = app.places.live
        await pilot.press("x")
        await until(lambda: live.views.current.name == "calls" and live.views.current.pane.shown.counts[0], pilot)
        items = live.views.current.pane.shown.items
        longest: defaultdict[str, int] = defaultdict(int)
        for number in range(items.first, items.next):
            call = items.item(number)
            if call.latency is not None:
                longest[call.function] = max(longest[call.function], call.latency)
        assert longest
        await pilot.press("y")
        found: defaultdict[str, int] = defaultdict(int)
        for row in view._rows.rows:
            found[row.labels[1]] = max(found[row.labels[1]], row.totals["latency"].most)
        assert found == longest


@pytest.mark.parametrize("keys", [("func",), ("errno",), ("cpu",), ("event", "pid")])
async def test_enter_shows_the_events_of_a_row(keys):
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        view = await _table(app, pilot)
        await _choose(app, pilot, *(key for name in keys for key in (*_down_to(view, name), "space")))
        await until(lambda: view._model.request.keys == ("comm", *keys) and view._rows.rows, pilot)
        row = view._rows.rows[0]
        await pilot.press("home", "enter")
        live = app.places.live
        await until(lambda: live.views.current.name == "events" and live.filter.text, pilot)
        await until(lambda: f"{row.hits} of 790" in text(app), pilot)


async def test_the_column_beside_sorts_and_the_order_is_reversed():
    app = application(shipped_recording())
    async with app.run_test(size=(80, 24)) as pilot:
        view = await _table(app, pilot)
        hits = [row.hits for row in view._rows.rows]
        assert hits == sorted(hits, reverse=True) and len(set(hits)) > 3
        await pilot.press("S")
        assert [row.hits for row in view._rows.rows] == hits[::-1]
        await pilot.press("left")
        names = [row.labels[0] for row in view._rows.rows]
        assert names == sorted(names)
        await pilot.press("right")
        assert [row.hits for row in view._rows.rows] == hits
        await _choose(app, pilot, *_down_to(view, "pid"), "space")
        await until(lambda: "count by comm, pid" in text(app), pilot)
        table = view.pane.groups
        assert table.cursor == 0 and table.rows.next > 2 * table.window.page
        for key in ("S", "left", "right"):
            await pilot.press("end")
            assert table.cursor == table.rows.next - 1 and "▌" in text(app)
            await pilot.press(key)
            assert table.cursor == 0 and "▌" in text(app), "the first row of another order is seen"


async def test_the_filter_holds_and_what_it_leaves_out_is_told():
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        await _table(app, pilot)
        await pilot.press("f", *"comm == cat", "enter")
        hits = sum(record.comm == "cat" for record in _once(app))
        await until(lambda: _row(app, "cat", str(hits)) and not _row(app, "head"), pilot)
        await until(lambda: f"{hits} of {len(_once(app))}" in text(app), pilot)


async def test_only_what_comes_from_now_on_is_counted_until_z_is_pressed_again(monkeypatch):
    app = application(shipped_recording())
    async with app.run_test(size=(80, 24)) as pilot:
        view = await _table(app, pilot)
        every = len(view._rows.rows)
        await pilot.press("z")
        await until(lambda: f"no more events come of a recording; {RUNNING_KERNEL}" in text(app), pilot)
        assert len(view._rows.rows) == every
        monkeypatch.setattr(KernelInfo, "holds_events", False)  # as of a kernel
        await pilot.press("z")
        await until(lambda: not view._rows.rows and "since now" in text(app), pilot)
        await pilot.press("z")
        await until(partial(_row, app, "head"), pilot)


async def test_the_table_is_exported_with_all_its_rows(tmp_path):
    app = application(shipped_recording())
    file = tmp_path / "table.jsonl"
    async with app.run_test(size=(120, 40)) as pilot:
        view = await _table(app, pilot)
        await _choose(app, pilot, *_down_to(view, "ret"), "space", "s")
        await until(lambda: "sum(ret) by comm, ret" in text(app), pilot)
        await pilot.press("o")
        await until(lambda: isinstance(app.screen, EventExportScreen), pilot)
        offered = [one.name for one in tables_of("aggregate")]
        assert offered == ["jsonl of aggregate", "csv of aggregate", "parquet of aggregate"]
        app.screen.post_message(app.screen.Requested("jsonl of aggregate", str(file), False))
        await until(lambda: not isinstance(app.screen, EventExportScreen) and file.exists(), pilot)
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        records = [record for record in records_of(app) if "ret" in record.values]
        true = Counter(record.values["ret"] for record in records)
        assert sum(row["count"] for row in rows) == true.total() > 0
        numbers: Counter[int] = Counter()
        for row in rows:
            number = row["by"]["ret"] if isinstance(row["by"]["ret"], int) else row["numbers"]["ret"]
            numbers[number] += row["count"]
            assert row["values"]["ret"]["sum"] == number * row["count"]
        assert numbers == true


async def test_of_several_functions_the_table_is_by_function_and_process_at_once(tmp_path):
    app = application(pattern_recording(tmp_path / "several.pwr"))
    async with app.run_test(size=(80, 24)) as pilot:
        await _table(app, pilot)
        await until(lambda: "count by func, comm" in text(app), pilot)
        assert _row(app, "vfs_read", "head")


async def test_the_view_needs_no_event():
    app = application(shipped_recording())
    async with app.run_test(size=(80, 24)) as pilot:
        view = await _table(app, pilot)
        await pilot.press("c")
        await until(lambda: not len(app.current_watch.store), pilot)
        app.places.live.tick()
        await until(lambda: not _row(app, "head"), pilot)
        await pilot.press("enter", "S", "left", "Y", "escape")
        assert view is app.places.live.views.current and not isinstance(app.screen, DetailScreen)
