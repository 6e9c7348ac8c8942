"""Search over the names of functions: ranked, tolerant of typing errors, fast enough for each keystroke.

Names are stored in the order of their lengths, so that short hits precede long ones without sorting. A term found in
no name is searched with one wrong letter (`vfs_raed`), or as a subsequence (`vfsrd`).
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

_SEPARATORS = re.compile(r"[^\w.$]+")
"""Separators of terms: blanks, `*`, `()`, `:`, `/`, as are often pasted along with a name."""
_BY_RARITY = "zjqxwvkyhb0123456789.$gfmulcpdonaisrte_"
"""Characters from rare to frequent in the names of a kernel; others (-1) are rarer still."""
_MIN_WORD_LENGTH = 3
"""Minimum length of a term that is ranked as a word: a shorter one is the beginning of too many."""
_DIGITS = "0123456789"
_MIN_TOLERANT_LENGTH = 6
"""Minimum length of a term for which wrong letters are tolerated."""
_CANDIDATES = 750
"""Maximum number of names examined closely for one term, the shortest first."""
_BLOCK = 4096
"""Names examined between checks whether enough were found."""
_FEW_HITS = 1500
"""Number of hits below which individual search is faster than examining each name."""


class SearchResult(NamedTuple):
    """Result of a query."""

    indices: Sequence[int]
    """Indexes into the names, best first; up to the limit."""
    total: int
    """Number of matches without a limit."""


class Search:
    """Search over fixed names. Thread-safe: the cache is replaced as a whole."""

    def __init__(self, names: Sequence[str], lengths: Sequence[int] | None = None) -> None:
        """Take the texts to search, with the lengths by which they are ranked; None: each has its own."""
        lowered = [name.lower().replace("\n", " ") for name in names]
        order = sorted(range(len(lowered)), key=(lengths or [len(name) for name in lowered]).__getitem__)
        self._text = "\n".join([lowered[i] for i in order])
        # Newly created strings are adjacent in memory in this order: a pass over them takes a third of the time.
        self._names = self._text.split("\n") if names else []
        """Names by length; the index in this list is a name's rank."""
        self._longest = max(map(len, self._names), default=0)
        self._starts = array("I", accumulate([len(name) + 1 for name in self._names], initial=0))
        """Offset of each name in the text, by rank."""
        self._order = array("I", order)
        """Original index, by rank."""
        self._alphabet = sorted(range(len(order)), key=self._names.__getitem__)
        """Ranks in alphabetical order of the names."""
        self._last: tuple[str, list[int]] = ("", [])
        """Last single-term query that occurs in names, and the ranks of those names."""

    def find(self, query: str, limit: int | None = None) -> SearchResult:
        """Return the names that contain all terms of a query, ranked: prefix; system call of that name; whole word;
        beginning of a word; anywhere; short before long.

        Args:
            query: terms in any case, separated by characters that no name contains. Empty: all names, in the given
                order.
            limit: maximum number of indexes; does not affect the total. If a term matched only approximately, the
                total counts the examined near matches.
        """
        terms = list(dict.fromkeys(_SEPARATORS.sub(" ", query.lower()).split()))
        if not terms:
            every = range(len(self._names))
            return SearchResult(every[:limit], len(every))
        # No correction makes a longer term fit a name, and trying takes quadratic time.
        if max(map(len, terms)) > self._longest + 1:
            return SearchResult([], 0)
        hits = self._containing(terms[0])
        ranked = self._rank(terms[0], hits) if hits else self._near_matches(terms[0], range(len(self._names)))
        names, order = self._names, self._order
        for term in terms[1:]:
            if not ranked:
                break
            ranked = [i for i in ranked if term in names[i]] or self._near_matches(term, ranked)
        return SearchResult(list(map(order.__getitem__, ranked[:limit])), len(ranked))

    def forget(self) -> None:
        """Clear the cache of the last query, which speeds up its extension."""
        self._last = ("", [])

    def _containing(self, term: str) -> list[int]:
        """Return the names that contain the term."""
        last, before = self._last
        names = self._names
        if last and last in term:
            hits = [i for i in before if term in names[i]]
        elif len(term) > 2 and self._text.count(term) < _FEW_HITS:
            hits = self._first_containing(term, _FEW_HITS)
        else:
            hits = [i for i, name in enumerate(names) if term in name]
        self._last = (term, hits)
        return hits

    def _first_containing(self, part: str, limit: int) -> list[int]:
        """Return the first names that contain a part; faster than examining each name if there are few."""
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
            # A single letter begins a word in most names: ranking by words would not help.
            return first + [i for i in hits if not seen[i]]
        names, word = self._names, f"_{term}"
        rest = [i for i in hits if not seen[i]]
        at_word = [i for i in rest if word in names[i]]
        for i in at_word:
            seen[i] = 1
        return first + self._by_word(term, at_word) + [i for i in rest if not seen[i]]

    def _by_word(self, term: str, hits: list[int]) -> list[int]:
        """Return hits at the beginning of a word with the functions of a system call of that name first, as
        `do_sys_openat2` and `__x64_sys_openat` for `openat`, then those that have the term as a whole word.
        """
        if len(term) < _MIN_WORD_LENGTH:
            return hits
        names, call = self._names, f"sys_{term}"
        whole = re.compile(f"_{re.escape(term)}(?![a-z])").search
        classes: tuple[list[int], list[int], list[int]] = ([], [], [])
        for i in hits:
            name = names[i]
            is_call = name.endswith(call) or name.rstrip(_DIGITS).endswith(call)
            classes[0 if is_call else 1 if whole(name) else 2].append(i)
        return [i for ranks in classes for i in ranks]

    def _near_matches(self, term: str, among: Sequence[int]) -> list[int]:
        """Return the names in `among`, none of which contains the term, that nearly match it."""
        if len(term) >= _MIN_TOLERANT_LENGTH:
            found = self._slips(term)
            if not isinstance(among, range):
                found = sorted(set(found).intersection(among))
            if found:
                return found
        swappable = 3 < len(term) < _MIN_TOLERANT_LENGTH
        near = self._with_letters(term, among, 4 * _CANDIDATES if swappable else _CANDIDATES)
        swapped = self._with_swap(term, near) if swappable else []
        return swapped + self._as_subsequence(term, near[:_CANDIDATES], set(swapped))

    def _with_letters(self, term: str, among: Sequence[int], limit: int) -> list[int]:
        """Return the first names that have all letters of a term, in any order."""
        names, near = self._names, list[int]()
        rarest, *others = sorted(set(term), key=_BY_RARITY.find)
        for begin in range(0, len(among), _BLOCK):
            matching = [i for i in among[begin : begin + _BLOCK] if rarest in names[i]]
            for letter in others:
                matching = [i for i in matching if letter in names[i]]
            near += matching
            if len(near) >= limit:
                break
        return near[:limit]

    def _with_swap(self, term: str, near: list[int]) -> list[int]:
        """Return the names that contain the term with two adjacent letters swapped."""
        names, found = self._names, set[int]()
        for at in range(len(term) - 1):
            variant = _swap(term, at)
            found.update([i for i in near if variant in names[i]])
        return sorted(found)

    def _slips(self, term: str) -> list[int]:
        """Return the names that match if the term has two letters swapped, one wrong letter, or one letter too
        many.
        """
        names, half = self._names, len(term) // 2
        left, right = term[:half], term[half:]
        swapped = [_swap(term, at) for at in range(len(term) - 1)]
        found = set(self._first_containing(swapped.pop(half - 1), _CANDIDATES))
        # The error is in one half, so the other half is right.
        for i in self._first_containing(left, _CANDIDATES):
            if _one_off(names[i].partition(left)[2], right) or any(s in names[i] for s in swapped):
                found.add(i)
        for i in self._first_containing(right, _CANDIDATES):
            if _one_off(names[i].partition(right)[0][::-1], left[::-1]) or any(s in names[i] for s in swapped):
                found.add(i)
        return sorted(found)

    def _as_subsequence(self, term: str, near: list[int], seen: set[int]) -> list[int]:
        """Return the names that have all letters in order, closest together first."""
        names = self._names
        match = re.compile("".join(f"[^{c}]*+{c}" for c in map(re.escape, term))).match
        matches = ((match(names[i]), i) for i in near)
        spans = [(found.end() - names[i].index(term[0]), i) for found, i in matches if found and i not in seen]
        return [i for _, i in sorted(spans)]


def _swap(term: str, at: int) -> str:
    return term[:at] + term[at + 1] + term[at] + term[at + 2 :]


def _one_off(text: str, typed: str) -> bool:
    """Return whether `text` begins with `typed`, except that one letter differs or is superfluous in `typed`."""
    same = 0
    for a, b in zip(text, typed, strict=False):
        if a != b:
            break
        same += 1
    rest = typed[same + 1 :]
    return text.startswith(rest, same + 1) or text.startswith(rest, same)
