"""Figures by name: `MODULE`, or `MODULE:PART` for one part of it."""

from __future__ import annotations

from collections.abc import Sequence

from tests.bench._measure import Part


class NoSuchFigure(Exception):
    """A name that is none; its text says which there are."""


def chosen_modules(words: Sequence[str], modules: Sequence[str]) -> dict[str, list[str]]:
    """Return the wanted parts by module, in the order of the words; an empty list stands for all of a module.

    Raises:
        NoSuchFigure: there is no such module.
    """
    chosen: dict[str, list[str]] = {}
    for word in words or modules:
        name, _, part = word.partition(":")
        if name not in modules:
            raise NoSuchFigure(f"no bench named {name}; there are {', '.join(modules)}")
        wanted = chosen.setdefault(name, [part] if part else [])
        if not part:
            wanted.clear()
        elif wanted and part not in wanted:
            wanted.append(part)
    return chosen


def chosen_parts(module: str, wanted: Sequence[str], parts: Sequence[Part]) -> list[Part]:
    """Return the parts of a module that are wanted, all of them for an empty list. Raises NoSuchFigure."""
    names = [part.name for part in parts]
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise NoSuchFigure(f"{module} has no part {', '.join(unknown)}; there are {', '.join(names)}")
    return [part for part in parts if not wanted or part.name in wanted]
