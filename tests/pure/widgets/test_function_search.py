"""What a text in the search of functions finds, and what Enter takes: what is written, nothing only like it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from events.names.place_kinds import PlaceKind
from tui.compose.functions.function_index import NOT_YET
from widgets.functions.function_marks import NoPlaces, ProgramRows
from widgets.functions.function_rows import FunctionRows
from widgets.functions.function_search import FunctionSearch, PickKind

NAMES = ("do_readv", "vfs_read", "vfs_readv", "vfs_write")


class Places(NoPlaces):
    """Patterns are places, and one program has a kind of places that no other has."""

    in_program = False

    @property
    def kinds(self) -> Sequence[PlaceKind]:  # type: ignore[override]
        return (PlaceKind.FUNCTION, PlaceKind.SYMBOL) if self.in_program else (PlaceKind.FUNCTION, PlaceKind.EVENT)

    def is_place(self, query: str) -> bool:
        return "*" in query

    def program_rows(self, query: str) -> ProgramRows | None:  # type: ignore[override]
        self.in_program = query.startswith("/bin/pie")
        if not self.in_program:
            return None
        return ProgramRows(("/bin/pie:main",) if ":" in query else (), 1, "main", "reading", unread=":" not in query)


def search(*marked: str) -> FunctionSearch:
    made = FunctionSearch()
    made.use(
        NAMES, lambda text: ([n for n, name in enumerate(NAMES) if text in name], 3), lambda _: NOT_YET, Places()
    )
    for name in marked:
        made.marks.toggle(name)
    return made


def listed(made: FunctionSearch, text: str) -> list[str]:
    found = made.find(text, {})
    assert found is not None and isinstance(found.rows, FunctionRows)
    return [found.rows.name(row) for row in range(found.rows.next)]


@pytest.mark.parametrize(
    ("text", "current", "taken"),
    [
        ("vfs_read", "vfs_read", (PickKind.ROW, "")),
        ("read", "do_readv", (PickKind.ROW, "")),
        ("", "do_readv", (PickKind.ROW, "")),
        ("nosuch", None, (PickKind.ROW, "")),
        ("vfs_raed", "vfs_read", (PickKind.REFUSED, "no name has vfs_raed in it: Tab takes vfs_read, ↓ chooses")),
        ("vfs_*", "vfs_read", (PickKind.PLACE, "vfs_*")),
        ("f vfs_read count", None, (PickKind.SPECIFICATION, "f vfs_read count")),
        ("/bin/cat", None, (PickKind.SPECIFICATION, "p /bin/cat:")),
        ("/bin/cat:main", None, (PickKind.SPECIFICATION, "p /bin/cat:main")),
        ("/bin/pie", "/bin/pie:main", (PickKind.PROGRAM, "/bin/pie")),
    ],
)
def test_enter_takes_what_is_written(text: str, current: str | None, taken: tuple[PickKind, str]) -> None:
    assert search().taken_by_enter(text, current) == taken


def test_a_chosen_row_is_taken_though_it_is_only_similar() -> None:
    made = search()
    made.moved = True
    assert made.taken_by_enter("vfs_raed", "vfs_read") == (PickKind.ROW, "")
    assert made.taken_by_enter("vfs_*", "vfs_read") == (PickKind.ROW, ""), "of a pattern the row alone, too"


def test_marks_are_taken_before_what_is_under_the_cursor() -> None:
    made = search("vfs_read", "vfs_write")
    assert made.taken_by_enter("do", "do_readv") == (PickKind.MARKED, "")
    assert made.taken_by_enter("f vfs_open", "do_readv")[0] is PickKind.SPECIFICATION, "a whole probe was typed since"
    assert made.offers_tab("do", "do_readv"), "the row alone is taken by Tab"
    made.lists_marks = True
    assert sorted(listed(made, "do")) == ["vfs_read", "vfs_write"]


def test_nothing_is_taken_of_a_program_while_it_is_read() -> None:
    made = search()
    found = made.find("/bin/pie", {})
    assert found is not None and found.note == "reading"
    assert made.taken_by_enter("/bin/pie", None) == (PickKind.ROW, "")
    assert listed(made, "/bin/pie:main") == ["/bin/pie:main"]
    assert made.taken_by_enter("/bin/pie:nosuch", None)[0] is PickKind.SPECIFICATION


def test_a_kind_is_listed_alone_as_long_as_there_is_one() -> None:
    made = search()
    titles = []
    for _ in range(3):
        made.next_kind()
        titles.append(made.title)
    assert titles == ["functions alone", "events alone", "functions and events"]
    made.find("/bin/pie:", {})
    made.places.kind = PlaceKind.SYMBOL
    made.find("vfs", {})
    assert made.title == "functions and events", "a kind of the program alone would list nothing"
