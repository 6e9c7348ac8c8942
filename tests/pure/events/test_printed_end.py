"""The end of an event's text is found line by line, as it would be in the whole text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events import text_events
from events.printed_end import PrintedEnd, PrintedText
from tests.pure.events.test_text_events import IP, LAST, STRING, format_of

FORMATS = (
    LAST,
    format_of(
        "two", IP + STRING, r'"(%lx) name=\"%s\" of \"%s\"", REC->__probe_ip, __get_str(name), __get_str(name)', 1
    ),
    format_of("behind", IP + STRING, r'"name=\"%s\" at\n%lx\nend=%lx", __get_str(name), REC->__probe_ip, 1', 2),
    format_of("bare", IP + STRING, r'"%s-%lx", __get_str(name), REC->__probe_ip', 3),
    format_of("last_bare", IP + STRING, r'"at %lx: %s", REC->__probe_ip, __get_str(name)', 4),
)
PIECES = st.sampled_from(
    ["\n", '"', "(fault)", "(1)", " name=", '"', " of ", " at", "end=", "1", "-", ": ", "x", "\n"]
)
TEXTS = st.lists(PIECES, max_size=30).map("".join)


def _is_whole(end: PrintedEnd, body: str) -> bool:
    """Look at a whole text at once."""
    at = 0
    for literal in end.before:
        at = body.find(literal, at)
        if at < 0:
            return False
        at += len(literal)
    if not body.endswith(end.trailing_literals[-1]):
        return False
    stop = len(body)
    for literal in reversed(end.trailing_literals):
        found = body.rfind(literal, at, stop)
        if found < 0 or "\n" in body[found + len(literal) : stop]:
            return False
        stop = found
    text = body[at:stop]
    return not end.quote or text == "(fault)" or (len(text) > 1 and text[0] == text[-1] == end.quote)


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: fmt.name)
@given(TEXTS, st.booleans())
def test_each_line_tells_what_the_whole_text_would(fmt, text, begins) -> None:
    end = PrintedEnd(fmt)
    assert end.is_known
    lines = ((end.before[0] + end.quote) * begins + text).split("\n")
    printed = PrintedText(end)
    for number, line in enumerate(lines, 1):
        assert printed.add(line) == _is_whole(end, "\n".join(lines[:number])), lines[:number]


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: fmt.name)
def test_no_more_is_kept_than_may_tell_the_end(fmt) -> None:
    printed = PrintedText(PrintedEnd(fmt))
    printed.add(printed._end.before[0] + printed._end.quote)
    for _ in range(1000):
        printed.add('x"')
    assert printed._text is not None and len(printed._text) < 30


def test_quotes_of_a_text_without_a_format_are_counted_once_a_line(monkeypatch) -> None:
    looks = 0

    class Text(str):
        """A line that counts how often it is looked through."""

        __slots__ = ()

        def count(self, *words: str) -> int:  # type: ignore[override]
            nonlocal looks
            looks += 1
            return super().count(*words)

    monkeypatch.setattr(text_events, "_decoded", lambda raw: Text(raw.decode()))
    text = b'  cat-5 [000] ..... 1.000001: other: x="' + b"\n" * 1000 + b'"\n'
    (one,) = text_events.TextEvents({}).feed(text, final=True)
    assert one.lines == tuple(text.split(b"\n")[:-1])
    assert looks <= 1001
