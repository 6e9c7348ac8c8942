"""Markdown: escape our own texts for cells of a table."""

from __future__ import annotations

from collections.abc import Iterable

MADE = "<!-- Made by `make docs` from {source}: change it there. -->\n\n"


def cell(text: str) -> str:
    """Return the text of a cell with all Markdown and HTML escaped, except `code`."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:  # without pairs the backquotes are text
        return _escaped(text, "\\|<>*`")
    return "`".join(_escaped(piece, "|" if n % 2 else "\\|<>*") for n, piece in enumerate(pieces))


def _escaped(text: str, signs: str) -> str:
    return "".join(f"\\{letter}" if letter in signs else letter for letter in text)


def code(text: str) -> str:
    """Return text as code, for a cell."""
    ticks = "``" if "`" in text else "`"
    space = " " if "`" in text else ""
    return f"{ticks}{space}{text.replace('|', chr(92) + '|')}{space}{ticks}"


def table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    head = list(titles)
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
