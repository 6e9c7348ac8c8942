"""Completion of a place in a program, `/usr/bin/bash:readline`: the path, then its functions and static probes.

Nothing is read here: folders and programs are known, or not yet.
"""

from __future__ import annotations

from collections.abc import Iterator

from probes.completion.choice import Completion, Completions, ItemKind, NameSources, Priority, ranked
from probes.programs.program import Program, SymbolNotPlaced
from probes.syntax.text import Word

_STATIC = "sdt_"
_ENDS = (("", "when it is called"), ("%return", "when it returns, with what it returns"))
_MOST = 60


def complete_program(head: str, word: Word, known: NameSources) -> Completions:
    """Complete the second word of a `p` or `r` command, which has a `/` in it."""
    path, colon, symbol = word.text.partition(":")
    end = word.start + len(word.text)
    if not colon:
        return _path(word, end, known)
    program = _program(path, known)
    if program is None:
        return Completions(end, end, (), Priority.NEEDED, "its symbols are not known here: give an offset, 0x…")
    items = [
        Completion(f"{path}:{text}", ItemKind.PLACE, text.strip(), about=about)
        for text, about in _symbols(head, symbol, program)
    ]
    stands = any(item.text == f"{word.text} " for item in items)
    note = "" if items or symbol[:1].isdigit() else "no function of this program has this in its name"
    return Completions(word.start, end, tuple(items[:_MOST]), Priority.USUAL if stands else Priority.NEEDED, note)


def _program(path: str, known: NameSources) -> Program | None:
    look = known.environment.program
    try:
        return look(path) if look is not None else None
    except SymbolNotPlaced:
        return None


def _path(word: Word, end: int, known: NameSources) -> Completions:
    folder, _, name = word.text.rpartition("/")
    items: list[Completion] = []
    if _program(word.text, known) is not None:
        items.append(Completion(f"{word.text}:", ItemKind.PLACE, f"{name}:", about="a program: its functions"))
    elif name and known.files(word.text) is not None:
        items.append(Completion(f"{word.text}/", ItemKind.PLACE, f"{name}/", about="a folder"))
    listed = known.files(folder or "/")
    names = [one for one in listed or () if one != name and " " not in one and ":" not in one]
    items += [Completion(f"{folder}/{names[n]}", ItemKind.PLACE, names[n]) for n in ranked(names, name)[:_MOST]]
    missing = "no such folder is known" if listed is None else "nothing in this folder has this in its name"
    note = "" if items else missing
    return Completions(word.start, end, tuple(items), Priority.NEEDED, note)


def _symbols(head: str, typed: str, program: Program) -> Iterator[tuple[str, str]]:
    """What may follow the colon: text, and what it is."""
    name = typed.partition("%")[0]
    if _fits(program, name):
        ends = _ENDS if not head.startswith("r") and not name.startswith(_STATIC) else _ENDS[:1]
        yield from ((f"{name}{suffix} ", about) for suffix, about in ends if f"{name}{suffix}".startswith(typed))
    if "%" in typed:
        return
    at_exit = head.startswith("r")
    if typed and not typed.startswith(_STATIC):
        yield from ((one, "") for one in program.like(typed, _MOST) if one != name and _fits(program, one))
    wanted = typed.removeprefix(_STATIC).lower()
    if not at_exit:  # a static probe is no function and does not return
        every = [one for one in program.static if wanted in one.lower()]
        yield from ((f"{_STATIC}{one}", "static probe") for one in sorted(every) if f"{_STATIC}{one}" != name)


def _fits(program: Program, name: str) -> bool:
    """Whether a probe can sit on a symbol."""
    try:
        return bool(name) and bool(program.place(name))
    except SymbolNotPlaced:
        return False
