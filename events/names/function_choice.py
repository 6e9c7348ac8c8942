"""Read the text that stands for several functions: patterns, lists, regular expressions, types, files and calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from events.names.glob import Glob
from events.names.name_pattern import NamePattern, names_among
from foreign.count_text import shortened

RETURNS: Final = "returns "
"""Beginning of a type that functions return, where another is one that they take."""
CALLED: Final = "called by "
"""Beginning of the functions, in brackets, whose calls are followed: `[called by vfs_read 2]`."""
DEEPEST: Final = 9
"""Levels of calls that are followed at most."""
_WAYS: Final = {"*": 8, "+": 8, "{": 8, "?": 2}
"""Ways to match one unit of a name by a regular expression, about."""
_MOST_WAYS: Final = 64
"""Ways to match a name: the names of a kernel take some seconds then."""
_UNIT = re.compile(r"\\.|\[\^?+\]?+(?:\\.|[^\]\\])*+\]|.", re.DOTALL)
"""One unit of a regular expression: an escaped character, a class, or a character."""
_TYPE = re.compile(r"\[[^\[\]]*+\](?:,!.*+)?+")
_LONGEST_NAME: Final = 512
"""Characters of a symbol (KSYM_NAME_LEN); no expression is tried on what is longer."""
_MOST_NAMED: Final = 4
"""Names of a list that a message has in full."""
_SETS = ("[[", "--", "&&", "||", "~~")
"""Letters of a class that `re` warns of."""


class ChoiceError(ValueError):
    """A text that stands for no functions; `offset` is the column of the word responsible."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.offset = offset


@dataclass(frozen=True, slots=True)
class FunctionChoice:
    """Text that stands for several functions, as the place of an `f` probe has it."""

    text: str
    patterns: tuple[NamePattern, ...] = ()
    """`vfs_*,ext4:*,!vfs_fsync`; of one of the following only those that are left out: `/^tcp_/,!tcp_ack`."""
    expression: re.Pattern[str] | None = None
    """`/^tcp_(send|recv)/`."""
    type: str = ""
    """`[struct file *]`, `[returns struct file *]`: a C type that functions take or return."""
    returns: bool = False
    file: str = ""
    """`@FILE`: path of a file with a name or pattern a line."""
    callers: tuple[str, ...] = ()
    """`[called by vfs_read,vfs_write 2]`: functions whose calls are followed in the kernel's code."""
    depth: int = 1
    """Levels of calls that are followed."""

    @classmethod
    def parse(cls, text: str) -> FunctionChoice:
        """Read a text. Raises ChoiceError."""
        if text.startswith("[") and "]" not in text:
            raise ChoiceError("A type ends with a bracket: [struct file *]")
        if not text.startswith(("@", "/")) and not _is_bracketed(text):
            if text.startswith("[") and "]," in text:
                raise ChoiceError("Behind a type, functions can only be left out: ,!NAME", text.index("],") + 2)
            return cls(text, _patterns(text, 0))
        first, rest = _without_exclusions(text)
        excluded = _patterns(rest, len(first) + 1) if rest else ()
        if not all(one.excluded for one in excluded):
            raise ChoiceError("Behind a type, expression or file, names can only be left out: !NAME", len(first) + 1)
        if first.startswith("@"):
            if not first[1:]:
                raise ChoiceError("The path of a file with names follows the @", 1)
            return cls(text, excluded, file=first[1:])
        if first.startswith("/"):
            return cls(text, excluded, expression=_expression(first))
        name = " ".join(first[1:-1].split())
        if f"{name} ".startswith(CALLED):
            callers, depth = _callers(name.removeprefix(CALLED.strip()).split())
            return cls(text, excluded, callers=callers, depth=depth)
        returns = f"{name} ".startswith(RETURNS)
        name = name.removeprefix(RETURNS.strip()).strip() if returns else name
        if not name:
            raise ChoiceError("A type stands between the brackets: [struct file *]", 1)
        return cls(text, excluded, type=name, returns=returns)

    @property
    def is_list(self) -> bool:
        """True for names and patterns."""
        return not (self.type or self.file or self.expression or self.callers)

    @property
    def short_text(self) -> str:
        """Text for a message: of a list of many names the first few, the number of the others, what is left out."""
        names = self.text.split(",") if self.is_list else []
        chosen = [name for name in names if not name.startswith("!")]
        left_out = [name for name in names if name.startswith("!")]
        if len(chosen) <= _MOST_NAMED:
            return self.text
        return ", ".join(filter(None, (shortened(chosen), shortened(left_out))))

    @property
    def is_one_pattern(self) -> bool:
        """True for a plain pattern, which the kernel matches itself."""
        return (
            self.is_list
            and len(self.patterns) == 1
            and self.patterns[0].module is None
            and not self.patterns[0].excluded
        )

    def matches(self, name: str, module: str | None = None) -> bool:
        """Return whether a function's name is one of those meant; True where types or a file decide.

        Args:
            name: of the function.
            module: that has it, empty for the kernel itself; None: unknown.
        """
        if self.expression is not None and (len(name) > _LONGEST_NAME or self.expression.search(name) is None):
            return False
        excluded = [one for one in self.patterns if one.excluded]
        chosen = [one for one in self.patterns if not one.excluded]
        wanted = not chosen or any(one.matches(name, module) for one in chosen)
        return wanted and not any(one.matches(name, module) for one in excluded)

    def among(self, modules: Mapping[str, str | None]) -> list[str]:
        """Return those of some functions that are meant, in their order; `modules`: as `NamePattern.among`."""
        found = list(modules)
        if (like := self.expression) is not None:
            found = [name for name in found if len(name) <= _LONGEST_NAME and like.search(name) is not None]
        return names_among(found, [(one, one.among(modules)) for one in self.patterns])


@lru_cache(maxsize=64)
def choice_or_any(text: str) -> FunctionChoice:
    """Return the choice of a text from a recording; one that fits each name where the text is none."""
    try:
        return FunctionChoice.parse(text)
    except ChoiceError:
        return FunctionChoice(text)


def module_of(text: str) -> str:
    """Return the only module whose functions a text stands for; empty: there is no such one."""
    if not is_choice(text) or ":" not in text:
        return ""
    modules = {one.module for one in choice_or_any(text).patterns if not one.excluded}
    name = modules.pop() if len(modules) == 1 else None
    return name if name and name.isidentifier() else ""


def is_choice(text: str) -> bool:
    """Return whether a text stands for several functions rather than for the one that has this name."""
    return text.startswith(("/", "@", "!")) or any(letter in text for letter in "*?[") or _is_list(text)


def _is_list(text: str) -> bool:
    return "," in text and "(" not in text  # with brackets it is a call as C has it


def is_own_choice(text: str) -> bool:
    """Return whether a text stands for several functions in a way that no kernel knows."""
    if text.startswith("["):
        return _is_bracketed(text) or "]" not in text
    return is_choice(text) and (text.startswith(("/", "@")) or "," in text or ":" in text)


def is_typed_place(text: str) -> bool:
    """Return whether a text in a search for functions is a complete place that stands for several of them.

    Prototypes and paths of sources, as they are pasted along with a name, are none.
    """
    text = text.strip()
    if text.startswith("["):
        return _is_bracketed(text) or ("]" in text and is_choice(text) and not any(sign in text for sign in " ("))
    if text.startswith("/"):
        return len(text) > 2 and ("/,!" in text or text.endswith("/")) and " " not in text
    if text.startswith("@"):
        return len(text) > 1
    return is_choice(text) and not any(sign in text for sign in " ();&=")


def is_type(text: str) -> bool:
    """Return whether a text is a type in brackets, not a pattern that begins with a class (`[a-z]*`)."""
    return _is_bracketed(text) and not is_called(text)


def is_called(text: str) -> bool:
    """Return whether a text stands for the functions that others call: `[called by vfs_read 2]`."""
    return _is_bracketed(text) and f"{' '.join(text[1 : text.index(']')].split())} ".startswith(CALLED)


def _is_bracketed(text: str) -> bool:
    return _TYPE.fullmatch(text) is not None


def _callers(words: list[str]) -> tuple[tuple[str, ...], int]:
    """Return the functions whose calls are followed, and the levels. Raises ChoiceError."""
    depth = int(words.pop()) if words and words[-1].isascii() and words[-1].isdigit() and len(words[-1]) < 3 else 1
    names = tuple(filter(None, ",".join(words).split(",")))
    if not names:
        raise ChoiceError("The functions whose calls are followed stand here: [called by vfs_read 2]", 1)
    if not 1 <= depth <= DEEPEST:
        raise ChoiceError(f"Calls are followed 1 to {DEEPEST} levels down", 1)
    return names, depth


def _without_exclusions(text: str) -> tuple[str, str]:
    """Return a file, an expression or a type, and the list of what is left out of it; empty: nothing is."""
    if text.startswith("["):
        end = text.index("]") + 1
    else:
        end = text.find("/,!", 1) + 1 if text.startswith("/") else text.find(",!")
    return (text[:end], text[end + 1 :]) if end > 0 else (text, "")


def _patterns(text: str, at: int) -> tuple[NamePattern, ...]:
    """Return the patterns of a list that begins at a column. Raises ChoiceError."""
    patterns = []
    for part in text.split(","):
        patterns.append(_pattern(part, at))
        at += len(part) + 1
    return tuple(patterns)


def _pattern(part: str, at: int) -> NamePattern:
    body = part.removeprefix("!")
    module, colon, name = body.rpartition(":")
    if not name or (colon and not module):
        raise ChoiceError("A name or a pattern stands between the commas", at)
    modules = Glob.plain(module) if colon else None
    return NamePattern(
        name, Glob.plain(name), module if colon else None, modules, body != part, at + len(part) - len(name)
    )


def _expression(text: str) -> re.Pattern[str]:
    """Return a regular expression that takes no long time for any name. Raises ChoiceError."""
    if len(text) < 3 or not text.endswith("/"):
        raise ChoiceError("A regular expression stands between two slashes: /^tcp_(send|recv)/")
    units = [(unit.group(), unit.start() + 1) for unit in _UNIT.finditer(text[1:-1])]
    for number, (sign, at) in enumerate(units):
        if (sign[0] == "\\" and sign[1:2].isdigit()) or (sign == "?" and number and units[number - 1][0] == "("):
            raise ChoiceError("No groups that begin with (?, and no references to groups", at)
        if sign == "[" or any(pair in sign for pair in _SETS):
            raise ChoiceError("A class is a list of letters in brackets: [a-z_]", at)
    try:
        expression = re.compile(text[1:-1])
    except re.error as error:
        raise ChoiceError(f"No regular expression: {error.msg}", (error.pos or 0) + 1) from None
    _count_ways(iter(units))
    return expression


def _count_ways(units: Iterator[tuple[str, int]]) -> int:
    """Return an upper bound for the ways to match a name, up to the end of a group. Raises ChoiceError: too many."""
    alternatives, firsts, is_group = [1], [""], False
    for sign, at in units:
        if sign == ")":
            break
        if sign == "|":
            alternatives.append(1)
            firsts.append("")
            continue
        if sign == "(":
            alternatives[-1] *= _count_ways(units)
        elif sign in ("*", "+", "{") and is_group:
            raise ChoiceError("A group in brackets can't be repeated", at)
        elif sign in _WAYS:
            alternatives[-1] *= _WAYS[sign]
        firsts[-1] = firsts[-1] or sign
        is_group = sign == "("
        if alternatives[-1] > _MOST_WAYS:
            raise ChoiceError(
                "A regular expression has at most two repeats (* and +), or six optional letters (?)", at
            )
    # Of alternatives that begin with different letters one at most goes on.
    differ = len(set(firsts)) == len(firsts) and all(first.isalnum() or first == "_" for first in firsts)
    return max(alternatives) if differ else sum(alternatives)
