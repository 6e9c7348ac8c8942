"""Complete a place that stands for several functions: the last name of a list, the type in brackets."""

from __future__ import annotations

import re
from collections.abc import Sequence

from events.names.function_choice import CALLED, RETURNS, ChoiceError, FunctionChoice
from probes.completion.choice import Completion, Completions, ItemKind, NameSources, Priority
from probes.syntax.text import Word

_UNCLOSED = re.compile(r"\s*+f\S*+\s++\[([^\[\]]*+)\Z")
_MAX_ITEMS = 60


def unclosed_type(before: str) -> str | None:
    """Return the text behind the bracket that begins a type; None: the cursor is elsewhere."""
    match = _UNCLOSED.match(before)
    return match[1] if match is not None else None


def complete_type(typed: str, cursor: int, sources: NameSources) -> Completions:
    """Complete `[struct file *]` behind its bracket."""
    if typed.lstrip().startswith(CALLED):
        return _complete_caller(typed, cursor, sources)
    returns = RETURNS if typed.lstrip().startswith(RETURNS) else ""
    query = typed.lstrip().removeprefix(returns).lstrip().removeprefix("struct").strip(" *")
    names = sources.structs(query)[:_MAX_ITEMS] if query else ()
    items = [
        Completion(f"{returns}struct {name} *]", ItemKind.TYPE, f"struct {name} *", description=_about(returns))
        for name in names
    ]
    if not returns and RETURNS.startswith(typed.lstrip()):
        items.append(Completion(RETURNS, ItemKind.WORD, RETURNS.strip(), description="a type that functions return"))
    if CALLED.startswith(typed.lstrip()):
        items.append(Completion(CALLED, ItemKind.WORD, CALLED.strip(), description="what a function calls"))
    note = (
        ""
        if items
        else "part of a structure's name; then * and ]"
        if not query
        else "no structure has this in its name"
    )
    return Completions(cursor - len(typed), cursor, tuple(items), Priority.NEEDED, note)


def _complete_caller(typed: str, cursor: int, sources: NameSources) -> Completions:
    """Complete `[called by vfs_read 2]` behind its first words."""
    name = re.split("[ ,]", typed)[-1]
    if name.isdigit() or not name:
        note = "a function's name; then, or not, the levels of calls, and ]"
        return Completions(cursor, cursor, (), Priority.NEEDED, note)
    known = sources.function(name)
    end = (
        [Completion(f"{name}]", ItemKind.PLACE, f"{name}]", description="what it calls itself")]
        if known.kinds
        else []
    )
    items = tuple(
        Completion(one.name, ItemKind.PLACE, one.name, one.prototype)
        for one in sources.functions(name)
        if one.name != name and one.kinds
    )[:_MAX_ITEMS]
    note = "" if end or items else "no function has this in its name"
    return Completions(cursor - len(name), cursor, (*end, *items), Priority.NEEDED, note)


def _about(returns: str) -> str:
    return "all functions that return it" if returns else "all functions that take it"


def complete_choice(word: Word, ends: Sequence[tuple[str, str]], sources: NameSources) -> Completions:
    """Complete a list of functions, or the end of their calls behind another choice.

    Args:
        word: the place as far as it is typed.
        ends: suffixes of a place with descriptions.
        sources: sources of names.
    """
    symbol, percent, _ = word.text.partition("%")
    end = word.start + len(word.text)
    try:
        choice = FunctionChoice.parse(symbol)
    except ChoiceError as error:
        return _of_list(word, None, sources) if symbol.endswith((",", "!")) else _noted(word, str(error))
    suffixes = tuple(
        Completion(f"{symbol}{suffix} ", ItemKind.PLACE, f"{symbol}{suffix}", description=about)
        for suffix, about in ends
        if f"{symbol}{suffix}".startswith(word.text)
    )
    if not percent and choice.patterns and choice.patterns[-1].name:
        return _of_list(word, choice.patterns[-1].name, sources, suffixes)
    return Completions(word.start, end, suffixes, Priority.STANDS)


def _of_list(
    word: Word, name: str | None, sources: NameSources, suffixes: tuple[Completion, ...] = ()
) -> Completions:
    """Complete the last name of a list."""
    end = word.start + len(word.text)
    if name is None:
        return _noted(word, "part of a function's name, or a pattern")
    before = word.text.removesuffix(name)
    known = bool(sources.function(name).kinds)
    items = tuple(
        Completion(f"{before}{one.name}", ItemKind.PLACE, one.name, one.prototype, description=one.reason)
        for one in sources.functions(name)
        if one.name != name and one.kinds
    )[:_MAX_ITEMS]
    note = "" if items or known else "no function has this in its name"
    return Completions(
        word.start, end, (*(suffixes if known else ()), *items), Priority.USUAL if known else Priority.NEEDED, note
    )


def _noted(word: Word, note: str) -> Completions:
    end = word.start + len(word.text)
    return Completions(end, end, (), Priority.NEEDED, note[:1].lower() + note[1:])
