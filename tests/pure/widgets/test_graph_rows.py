"""A line of the tree of calls takes the columns there are, whatever letters foreign text has."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from widgets.events.graph_pane import nanoseconds
from widgets.events.graph_rows import GraphRows, GraphText
from widgets.safe_text import width

FOREIGN = st.text(st.sampled_from("ab漢字ｆé\u0301\x1b\u202e "), max_size=60)


class One:
    """A source of one line."""

    first, next, all_tasks, slow = 0, 1, True, 0

    def __init__(self, line: GraphText) -> None:
        self.line = line

    def text(self, place: int) -> GraphText:
        return self.line


@given(FOREIGN, FOREIGN, FOREIGN, FOREIGN, st.integers(0, 40), st.integers(60, 160))
def test_wide_letters_move_no_column(name, arguments, task, note, level, columns):
    rows = GraphRows(One(GraphText(1, task, level, None, name, arguments, "0", duration=1_234, note=note)))  # type: ignore[arg-type]
    rows.prepare(0, 1)
    texts = [piece.text for piece in rows.pieces(0, columns)]
    assert sum(map(width, texts)) == columns
    took = next(n for n, text in enumerate(texts) if text.endswith("1.23 us"))
    header = "".join(piece.text for piece in rows.header(columns))
    assert sum(map(width, texts[: took + 1])) == header.index("took") + len("took")


def test_what_no_number_can_hold_is_no_time():
    assert nanoseconds("9" * 400 + " s") is None
    assert nanoseconds("1.5 ms") == 1_500_000
