"""The lines of a specification: found in time that grows as the text does, with the styles of the whole text."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content

from widgets.spec import layout
from widgets.spec.highlight import StyledSpan, spans
from widgets.spec.layout import LONGEST, Specification, broken, head

TEXTS = st.lists(
    st.sampled_from(
        ["f", "vfs_read%return", "file->f_pos", "$retval:s32", "x=$arg1", "if", "a", "==", "-5", "#", "x" * 40]
    ),
    max_size=12,
).map(" ".join)


def styles(line: Content) -> list[str]:
    """Style of each letter."""
    found = [""] * len(line.plain)
    for span in line.spans:
        found[span.start : span.end] = [str(span.style)] * (span.end - span.start)
    return found


@given(TEXTS, st.integers(9, 90))
def test_each_letter_has_the_style_that_it_has_in_the_whole_text(text: str, columns: int) -> None:
    whole = [""] * len(text)
    for span in spans(text):
        whole[span.start : span.end] = [span.style] * (span.end - span.start)
    lines = head(Specification(text), columns).lines
    slices = broken(text, columns)
    assert len(lines) == len(slices)
    for line, part in zip(lines, slices, strict=True):
        assert line.plain == " " * part.indent + text[part.start : part.end]
        assert styles(line) == [""] * part.indent + whole[part.start : part.end]


def test_the_longest_text_is_looked_at_once(monkeypatch) -> None:
    looked: list[str] = []

    def counted(text: str) -> list[StyledSpan]:
        looked.append(text)
        return spans(text)

    monkeypatch.setattr(layout, "spans", counted)
    text = "f " + "a" * (LONGEST - 2)
    shown = head(Specification(text), 80)
    assert looked == [text]
    assert "".join(line.plain.strip() for line in shown.lines) == text.replace(" ", "")


@given(st.text("ab, ", max_size=400), st.integers(9, 40))
def test_lines_are_full_where_they_can_be(text: str, columns: int) -> None:
    slices = broken(text, columns)
    for part, after in pairwise(slices):
        assert 0 < part.end - part.start <= max(8, columns - part.indent)
        assert after.start - part.end in (0, 1) and text[part.end : after.start].strip() == ""
