"""Repeats of a regular expression that share characters, in the tree that `re` itself makes of it."""

from __future__ import annotations

import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

Letters = frozenset[str]

_ALL: Letters = frozenset(map(chr, range(256))) | frozenset("漢٣\u2003\u2028İ")
"""Characters that stand for all others."""
_CATEGORIES = {
    codes.CATEGORY_SPACE: str.isspace,
    codes.CATEGORY_WORD: lambda letter: letter.isalnum() or letter == "_",
    codes.CATEGORY_DIGIT: str.isdecimal,
    codes.CATEGORY_NOT_SPACE: lambda letter: not letter.isspace(),
    codes.CATEGORY_NOT_WORD: lambda letter: not letter.isalnum() and letter != "_",
    codes.CATEGORY_NOT_DIGIT: lambda letter: not letter.isdecimal(),
}
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_LETTERS = (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN)


class _Repeat(NamedTuple):
    """A repeat without end that can give back what it took."""

    round: tuple[Letters, ...]
    """Letters of each place that one round has for sure."""
    letters: Letters
    """All that it takes."""
    behind: tuple[Letters, ...] = ()
    """Places between its end and where one looks from."""


def quadratic(text: str | bytes, flags: int = 0) -> bool:
    """Return whether two endless repeats of a pattern can share a run of letters in as many ways as it has letters.

    That is where nothing stands between them, or what both of them take, and the first can give back; but not where
    the second takes everything up to the end of the text, so that nothing is ever tried again.
    """
    tree = parser.parse(text, flags)
    search = _Search(_ALL if tree.state.flags & codes.SRE_FLAG_DOTALL else _ALL - {"\n"})
    search.flow(list(tree), (), last=True)
    return search.found


def restarts(text: str | bytes, flags: int = 0) -> bool:
    """Return whether a search begins anew within a run of letters that it went through in vain before.

    That is where an endless repeat comes first, with no `(?<!...)` before it, and what is behind it may fail.
    """
    return _begins_anew(list(parser.parse(text, flags)))


def _begins_anew(sequence: Sequence[Any], rest: Sequence[Any] = ()) -> bool:
    for at, (op, argument) in enumerate(sequence):
        behind = [*sequence[at + 1 :], *rest]
        if op in (codes.SUBPATTERN, codes.ATOMIC_GROUP):
            return _begins_anew(argument[3] if op is codes.SUBPATTERN else argument, behind)
        if op is codes.BRANCH:
            return any(_begins_anew(way, behind) for way in argument[1])
        if op not in _REPEATS:
            return False
        least, most, body = argument
        if most is codes.MAXREPEAT:
            return any(kind is codes.AT for kind, _ in behind) or bool(_Search(_ALL).round(behind))
        if least or _begins_anew(body, behind):
            return _begins_anew(body, behind)
    return False


class _Search:
    """One walk through a pattern, from left to right."""

    def __init__(self, any_letter: Letters) -> None:
        self.found = False
        self._any = any_letter
        self._groups: dict[int, Letters] = {}
        """Letters of each group that is behind us."""
        self._unlike: Letters = frozenset()
        """Letters that don't stand before the next place, by a `(?<!...)`."""

    def flow(self, sequence: Sequence[Any], before: tuple[_Repeat, ...], last: bool) -> tuple[_Repeat, ...]:
        """Look for repeats that share letters; return those that one behind the sequence may share some with.

        Args:
            sequence: of the tree.
            before: repeats that one in the sequence may share letters with.
            last: nothing must come behind the sequence.
        """
        for at, (op, argument) in enumerate(sequence):
            ends = last and not self.round(sequence[at + 1 :])
            unlike, self._unlike = self._unlike, frozenset()
            if op in _LETTERS:
                before = _past(before, (self._letters(op, argument),))
            elif op in _REPEATS:
                before = self._repeat(op, argument, before, ends, unlike)
            elif op is codes.SUBPATTERN:
                before = self.flow(argument[3], before, ends)
                self._groups[argument[0]] = self._union(argument[3])
            elif op is codes.ATOMIC_GROUP:
                self.flow(argument, before, ends)
                before = _past(before, self.round(argument))
            elif op is codes.BRANCH:
                before = tuple({one for way in argument[1] for one in self.flow(way, before, ends)})
            elif op in (codes.ASSERT, codes.ASSERT_NOT):
                self.flow(argument[1], before if argument[0] > 0 else (), last=False)
                if op is codes.ASSERT_NOT and argument[0] < 0:
                    self._unlike = self._union(argument[1])
            elif op is codes.GROUPREF:
                before = _past(before, (self._groups[argument],))
            elif op is not codes.AT:  # a condition
                before = _past(before, (_ALL,))
        return before

    def _repeat(
        self, op: Any, argument: Any, before: tuple[_Repeat, ...], ends: bool, unlike: Letters
    ) -> tuple[_Repeat, ...]:
        least, most, body = argument
        endless = most is codes.MAXREPEAT
        inside = self.flow(body, () if endless and len(body) == 1 else before, ends and not endless)
        if not endless:
            kept = _past(before, self.round(body)) if op is codes.POSSESSIVE_REPEAT else inside
            return kept if least else tuple({*before, *kept})
        repeat = _Repeat(self.round(body), self._union(body))
        # It begins where its letters begin, or takes all that is left: there is one way.
        if not (repeat.letters <= unlike or (ends and repeat.letters == _ALL)):
            self.found |= any(_share(one, repeat) for one in before)
        passed = _past(before, repeat.round) if least else before
        return passed if op is codes.POSSESSIVE_REPEAT else (*passed, repeat)

    def round(self, sequence: Iterable[Any]) -> tuple[Letters, ...]:
        """Return the letters of each place that a sequence has for sure."""
        places: tuple[Letters, ...] = ()
        for op, argument in sequence:
            if op in _LETTERS:
                places += (self._letters(op, argument),)
            elif op in _REPEATS and argument[0]:
                places += self.round(argument[2])
            elif op is codes.SUBPATTERN:
                places += self.round(argument[3])
            elif op is codes.ATOMIC_GROUP:
                places += self.round(argument)
            elif op is codes.BRANCH and all(self.round(way) for way in argument[1]):
                places += (frozenset().union(*(self._union(way) for way in argument[1])),)
        return places

    def _union(self, sequence: Iterable[Any]) -> Letters:
        """Return all letters that a sequence takes."""
        found: Letters = frozenset()
        for op, argument in sequence:
            if op in _LETTERS:
                found |= self._letters(op, argument)
            elif op in _REPEATS:
                found |= self._union(argument[2])
            elif op is codes.SUBPATTERN:
                found |= self._union(argument[3])
            elif op is codes.ATOMIC_GROUP:
                found |= self._union(argument)
            elif op is codes.BRANCH:
                found = found.union(*(self._union(way) for way in argument[1]))
            elif op is codes.GROUPREF:
                found |= self._groups.get(argument, _ALL)
        return found

    def _letters(self, op: Any, argument: Any) -> Letters:
        """Return what one place takes; small and capital letters are the same."""
        if op is codes.ANY:
            return self._any
        if op is codes.LITERAL:
            return frozenset({chr(argument), chr(argument).swapcase()})
        if op is codes.NOT_LITERAL:
            return _ALL - {chr(argument)}
        found: Letters = frozenset()
        for kind, value in argument:
            if kind is codes.LITERAL:
                found |= {chr(value)}
            elif kind is codes.RANGE:
                found |= {letter for letter in _ALL if value[0] <= ord(letter) <= value[1]}
            elif kind is codes.CATEGORY:
                found |= {letter for letter in _ALL if _CATEGORIES[value](letter)}
        return _ALL - found if argument[0][0] is codes.NEGATE else found


def _share(one: _Repeat, other: _Repeat) -> bool:
    """Return whether some word can be taken by both, with what stands between them."""
    both = one.letters & other.letters
    return bool(both) and all(place & both for place in (*one.round, *other.round, *one.behind))


def _past(before: tuple[_Repeat, ...], places: tuple[Letters, ...]) -> tuple[_Repeat, ...]:
    """Return the repeats whose letters can stand at some more places."""
    return tuple(
        one._replace(behind=one.behind + places) for one in before if all(place & one.letters for place in places)
    )
