"""Complete a place in a program, `/usr/bin/bash:readline`: the path, then its functions and static probes.

The module reads no files: the sources have folders and programs, or don't have them yet.
"""

from __future__ import annotations

from collections.abc import Iterator

from probes.completion.choice import Completion, Completions, ItemKind, NameSources, Priority, ranked
from probes.programs.program import Program, SymbolNotPlaced
from probes.syntax.text import Word

_STATIC = "sdt_"
_ENDS = (("", "when it is called"), ("%return", "when it returns, with what it returns"))
_MAX_ITEMS = 60


def complete_program(head: str, word: Word, sources: NameSources) -> Completions:
    """Complete the second word of a `p` or `r` command, which contains a `/`."""
    path, colon, symbol = word.text.partition(":")
    end = word.start + len(word.text)
    if not colon:
        return _path(word, end, sources)
    program = _program(path, sources)
    if program is None:
        return Completions(end, end, (), Priority.NEEDED, "its symbols are not known here: give an offset, 0x…")
    items = [
        Completion(f"{path}:{text}", ItemKind.PLACE, text.strip(), description=about)
        for text, about in _symbols(head, symbol, program)
    ]
    is_complete = any(item.text == f"{word.text} " for item in items)
    note = "" if items or symbol[:1].isdigit() else "no function of this program has this in its name"
    return Completions(
        word.start, end, tuple(items[:_MAX_ITEMS]), Priority.USUAL if is_complete else Priority.NEEDED, note
    )


def _program(path: str, sources: NameSources) -> Program | None:
    look_up = sources.environment.program
    try:
        return look_up(path) if look_up is not None else None
    except SymbolNotPlaced:
        return None


def _path(word: Word, end: int, sources: NameSources) -> Completions:
    folder, _, name = word.text.rpartition("/")
    items: list[Completion] = []
    if _program(word.text, sources) is not None:
        items.append(Completion(f"{word.text}:", ItemKind.PLACE, f"{name}:", description="a program: its functions"))
    elif name and sources.files(word.text) is not None:
        items.append(Completion(f"{word.text}/", ItemKind.PLACE, f"{name}/", description="a folder"))
    entries = sources.files(folder or "/")
    names = [entry for entry in entries or () if entry != name and " " not in entry and ":" not in entry]
    items += [Completion(f"{folder}/{names[n]}", ItemKind.PLACE, names[n]) for n in ranked(names, name)[:_MAX_ITEMS]]
    missing = "no such folder is known" if entries is None else "nothing in this folder has this in its name"
    note = "" if items else missing
    return Completions(word.start, end, tuple(items), Priority.NEEDED, note)


def _symbols(head: str, typed: str, program: Program) -> Iterator[tuple[str, str]]:
    """Yield the texts that may follow the colon, each with a description."""
    name = typed.partition("%")[0]
    if _can_attach(program, name):
        ends = _ENDS if not head.startswith("r") and not name.startswith(_STATIC) else _ENDS[:1]
        yield from ((f"{name}{suffix} ", about) for suffix, about in ends if f"{name}{suffix}".startswith(typed))
    if "%" in typed:
        return
    at_exit = head.startswith("r")
    if typed and not typed.startswith(_STATIC):
        yield from (
            (symbol, "")
            for symbol in program.like(typed, _MAX_ITEMS)
            if symbol != name and _can_attach(program, symbol)
        )
    part = typed.removeprefix(_STATIC).lower()
    if not at_exit:  # a static probe is no function and has no return
        matching = [symbol for symbol in program.static if part in symbol.lower()]
        yield from (
            (f"{_STATIC}{symbol}", "static probe") for symbol in sorted(matching) if f"{_STATIC}{symbol}" != name
        )


def _can_attach(program: Program, name: str) -> bool:
    """Return whether a probe can attach to a symbol."""
    try:
        return bool(name) and bool(program.place(name))
    except SymbolNotPlaced:
        return False
