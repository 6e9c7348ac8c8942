"""Markdown: text of ours, safe in a cell of a table."""

from __future__ import annotations

from collections.abc import Iterable

MADE = "<!-- Made by `make docs` from {source}: change it there. -->\n\n"


def cell(text: str) -> str:
    """Text of a cell: what Markdown, or HTML in it, would read as more than text is escaped, but for `code`."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:  # no pairs: they are themselves
        return _escaped(text, "\\|<>*`")
    return "`".join(_escaped(piece, "|" if n % 2 else "\\|<>*") for n, piece in enumerate(pieces))


def _escaped(text: str, signs: str) -> str:
    return "".join(f"\\{letter}" if letter in signs else letter for letter in text)


def code(text: str) -> str:
    """Text as it is typed, for a cell."""
    ticks = "``" if "`" in text else "`"
    space = " " if "`" in text else ""
    return f"{ticks}{space}{text.replace('|', chr(92) + '|')}{space}{ticks}"


def table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown."""
    head = list(titles)
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
