"""Programs in the search: paths are completed, places of a program picked, and nothing is taken that was not read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from events.names.place_kinds import PlaceKind, kind_of_place
from kernel.attach.program_files import ProgramFiles
from probes.attaching.places import place_row
from tests.interface.test_widgets_function_list import CSS, HERE, NAMES, search
from tests.interface.widget_host import Host, until
from tests.pure.kernel.test_program_files import Files
from widgets.functions.function_list import FunctionList
from widgets.functions.function_marks import NoPlaces, ProgramRows
from widgets.functions.function_rows import Attachable


class Programs(NoPlaces):
    """Programs of a target made of folders, each text read at once where `reads` is set."""

    reads = True

    def __init__(self) -> None:
        target = Files()
        self.files = ProgramFiles(target, "x86_64", target.read)
        self._text = ""

    @property
    def kinds(self) -> Sequence[PlaceKind]:  # type: ignore[override]
        return self.files.kinds(self._text)

    def program_rows(self, query: str) -> ProgramRows | None:  # type: ignore[override]
        self._text = query.strip()
        if self.reads:
            self.files.learn(self._text)
        found = self.files.search(self._text, 100, self.kind)
        return ProgramRows(found.names, found.total, found.part, found.note, found.unread) if found else None


def describe(name: str) -> Attachable:
    return HERE if kind_of_place(name) is PlaceKind.FUNCTION else place_row(name)


def host(programs: Programs) -> Host:
    def make() -> FunctionList:
        functions = FunctionList()
        functions.call_after_refresh(functions.show, NAMES, search, describe, programs)
        return functions

    return Host(make, FunctionList.Picked, FunctionList.SpecificationWanted, css=CSS)


def picked(app: Any) -> list[str]:
    return [getattr(message, "name", None) or message.text for message in app.heard]


async def test_a_path_is_completed_to_a_place_in_a_program() -> None:
    app = host(Programs())
    async with app.run_test(size=(80, 24)) as pilot:
        functions = app.widget
        functions.focus_search()
        await pilot.press(*"/us", "tab")
        await until(lambda: functions.query_text == "/usr:" and functions.current == "/usr/bin", pilot)
        await pilot.press("enter")
        await until(lambda: functions.query_text == "/usr/bin:", pilot)
        await pilot.press(*"pi", "enter")
        await until(lambda: functions.query_text == "/usr/bin/pie:", pilot)
        await until(lambda: "made:twice" in app.text and "[usdt]" in app.text, pilot)
        assert "sdt_" not in app.text
        await pilot.press(*"wor", "enter")
        assert picked(app) == ["/usr/bin/pie:work"]


async def test_a_whole_path_lists_the_places_and_enter_goes_there() -> None:
    app = host(Programs())
    async with app.run_test(size=(80, 24)) as pilot:
        functions = app.widget
        functions.focus_search()
        await pilot.press(*"/usr/bin/pie")
        assert (functions.current or "").startswith("/usr/bin/pie:")
        await pilot.press("enter")
        assert functions.query_text == "/usr/bin/pie:" and not app.heard, "none of its places was named"
        await pilot.press("ctrl+n", "ctrl+n")
        assert functions.border_title == "usdts alone"
        rows = functions._list.rows
        assert all("sdt_" in rows.name(row) for row in range(rows.next))
        await pilot.press(*"twice", "enter")
        assert picked(app) == ["/usr/bin/pie:sdt_made:twice"]
        functions.query_text = "vfs_rea"
        await until(lambda: functions.current == "vfs_read", pilot)
        assert functions.border_title == "functions", "a kind of the program alone would list nothing"


async def test_nothing_is_taken_before_the_program_was_read() -> None:
    programs = Programs()
    programs.reads = False
    app = host(programs)
    async with app.run_test(size=(80, 24)) as pilot:
        functions = app.widget
        functions.focus_search()
        await pilot.press(*"/usr/bin/pie:work", "enter")
        assert not app.heard and "reading the symbols of" in app.text
        programs.reads = True
        functions.find_again()
        await until(lambda: functions.current == "/usr/bin/pie:work", pilot)
        await pilot.press("enter")
        assert picked(app) == ["/usr/bin/pie:work"]


async def test_what_is_no_program_leads_to_the_specification() -> None:
    """There an offset can be given, or the path of another file."""
    app = host(Programs())
    async with app.run_test(size=(80, 24)) as pilot:
        app.widget.focus_search()
        await pilot.press(*"/usr/bin/text:a")
        assert "no program" in app.text
        await pilot.press("enter")
        assert picked(app) == ["p /usr/bin/text:a"]
