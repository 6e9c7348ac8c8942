"""Search over the names of functions: ranked, forgiving, at each key.

Names are kept in the order of their lengths, so that hits come out short before long and nothing needs sorting. A
term that stands in no name is taken for a slip of one letter (`vfs_raed`), or for letters in their order (`vfsrd`).
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

_SEPARATORS = re.compile(r"[^\w.$]+")
"""Between terms: blanks, `*`, `()`, `:`, `/`; what people paste along with a name."""
_COMMON = "zjqxwvkyhb0123456789.$gfmulcpdonaisrte_"
"""Letters in the order of how rare they are in the names of a kernel; others (-1) are rarer still."""
_LONG = 6
"""Letters a term needs before a wrong letter is looked for."""
_CANDIDATES = 750
"""Names that are looked at more closely for one term, the shortest first."""
_BLOCK = 4096
"""Names that are looked at before it is asked whether enough were found."""
_RARE = 1500
"""So many hits are found faster one by one than by a look at each name."""


class Found(NamedTuple):
    """What a query found."""

    indices: Sequence[int]
    """Into the names, best first; up to the limit."""
    total: int
    """How many there are without a limit."""


class Search:
    """Search over fixed names. Threads may share one: what it remembers is replaced as a whole."""

    def __init__(self, names: Sequence[str]) -> None:
        lowered = [name.lower().replace("\n", " ") for name in names]
        order = sorted(range(len(lowered)), key=[len(name) for name in lowered].__getitem__)
        self._text = "\n".join([lowered[i] for i in order])
        # Made anew, the strings lie in this order in memory: a pass over them takes a third of the time.
        self._names = self._text.split("\n") if names else []
        """From here on a name is known by its rank, which is its place in here."""
        self._starts = array("I", accumulate([len(name) + 1 for name in self._names], initial=0))
        """Rank -> where the name begins in the text."""
        self._order = array("I", order)
        """Rank -> index."""
        self._alphabet = sorted(range(len(order)), key=self._names.__getitem__)
        """Ranks in the order of the names."""
        self._last: tuple[str, list[int]] = ("", [])
        """The last query of one term that stands in names, and the ranks of those."""

    def find(self, query: str, limit: int | None = None) -> Found:
        """Rank the names that have all terms of a query: beginning, at a word, anywhere; short before long.

        Args:
            query: terms, separated by anything that stands in no name, in any case. Empty: all names, as given.
            limit: for the number of indices, not for the total. Where a term had to be forgiven, the total counts
                those of the nearest that were looked at.
        """
        terms = list(dict.fromkeys(_SEPARATORS.sub(" ", query.lower()).split()))
        if not terms:
            every = range(len(self._names))
            return Found(every[:limit], len(every))
        if (
            max(map(len, terms)) > len(self._names[-1] if self._names else "") + 1
        ):  # no slip makes it one of these; to look for some takes its square
            return Found([], 0)
        hits = self._having(terms[0])
        ranked = self._rank(terms[0], hits) if hits else self._forgive(terms[0], range(len(self._names)))
        names, order = self._names, self._order
        for term in terms[1:]:
            if not ranked:
                break
            ranked = [i for i in ranked if term in names[i]] or self._forgive(term, ranked)
        return Found(list(map(order.__getitem__, ranked[:limit])), len(ranked))

    def forget(self) -> None:
        """Forget the last query, from which the next could be narrowed."""
        self._last = ("", [])

    def _having(self, term: str) -> list[int]:
        """The names in which the term stands."""
        last, before = self._last
        names = self._names
        if last and last in term:
            hits = [i for i in before if term in names[i]]
        elif len(term) > 2 and self._text.count(term) < _RARE:
            hits = self._where(term, _RARE)
        else:
            hits = [i for i, name in enumerate(names) if term in name]
        self._last = (term, hits)
        return hits

    def _where(self, part: str, limit: int) -> list[int]:
        """The first names in which a part stands; quicker than to look at each, as long as they are few."""
        find, starts, found, at = self._text.find, self._starts, list[int](), 0
        while len(found) < limit and (at := find(part, at)) >= 0:
            rank = bisect_right(starts, at)
            found.append(rank - 1)
            at = starts[rank]
        return found

    def _rank(self, term: str, hits: list[int]) -> list[int]:
        begin = bisect_left(self._alphabet, term, key=self._names.__getitem__)
        end = bisect_left(self._alphabet, term + "\U0010ffff", key=self._names.__getitem__)
        first = sorted(self._alphabet[begin:end])
        if len(first) == len(hits):
            return first
        seen = bytearray(len(self._names))
        for i in first:
            seen[i] = 1
        if len(term) == 1:
            # One letter begins a word in most names: there it would sort nothing out.
            return first + [i for i in hits if not seen[i]]
        names, word = self._names, f"_{term}"
        rest = [i for i in hits if not seen[i]]
        at_word = [i for i in rest if word in names[i]]
        for i in at_word:
            seen[i] = 1
        return first + at_word + [i for i in rest if not seen[i]]

    def _forgive(self, term: str, among: Sequence[int]) -> list[int]:
        """Of the names in `among`, which all lack the term, those that come near to it."""
        if len(term) >= _LONG:
            found = self._slips(term)
            if not isinstance(among, range):
                found = sorted(set(found).intersection(among))
            if found:
                return found
        swappable = 3 < len(term) < _LONG
        near = self._with_letters(term, among, 4 * _CANDIDATES if swappable else _CANDIDATES)
        swapped = self._swapped(term, near) if swappable else []
        return swapped + self._scattered(term, near[:_CANDIDATES], set(swapped))

    def _with_letters(self, term: str, among: Sequence[int], limit: int) -> list[int]:
        """The first names that have all letters of a term, in any order."""
        names, near = self._names, list[int]()
        rarest, *others = sorted(set(term), key=_COMMON.find)
        for begin in range(0, len(among), _BLOCK):
            some = [i for i in among[begin : begin + _BLOCK] if rarest in names[i]]
            for letter in others:
                some = [i for i in some if letter in names[i]]
            near += some
            if len(near) >= limit:
                break
        return near[:limit]

    def _swapped(self, term: str, near: list[int]) -> list[int]:
        """The names with two neighbouring letters in the wrong order."""
        names, found = self._names, set[int]()
        for at in range(len(term) - 1):
            variant = _swap(term, at)
            found.update([i for i in near if variant in names[i]])
        return sorted(found)

    def _slips(self, term: str) -> list[int]:
        """The names with two neighbouring letters in the wrong order, one letter wrong, or one too many."""
        names, half = self._names, len(term) // 2
        left, right = term[:half], term[half:]
        swapped = [_swap(term, at) for at in range(len(term) - 1)]
        found = set(self._where(swapped.pop(half - 1), _CANDIDATES))
        # The slip is in one half, so the other is right.
        for i in self._where(left, _CANDIDATES):
            if _one_off(names[i].partition(left)[2], right) or any(s in names[i] for s in swapped):
                found.add(i)
        for i in self._where(right, _CANDIDATES):
            if _one_off(names[i].partition(right)[0][::-1], left[::-1]) or any(s in names[i] for s in swapped):
                found.add(i)
        return sorted(found)

    def _scattered(self, term: str, near: list[int], seen: set[int]) -> list[int]:
        """The names with all letters in their order, close together before far apart."""
        names = self._names
        match = re.compile("".join(f"[^{c}]*+{c}" for c in map(re.escape, term))).match
        matches = ((match(names[i]), i) for i in near)
        spans = [(found.end() - names[i].index(term[0]), i) for found, i in matches if found and i not in seen]
        return [i for _, i in sorted(spans)]


def _swap(term: str, at: int) -> str:
    return term[:at] + term[at + 1] + term[at] + term[at + 2 :]


def _one_off(text: str, typed: str) -> bool:
    """Whether `text` begins with `typed` but for one letter that is another one, or should not be there."""
    same = 0
    for a, b in zip(text, typed, strict=False):
        if a != b:
            break
        same += 1
    rest = typed[same + 1 :]
    return text.startswith(rest, same + 1) or text.startswith(rest, same)
