"""Filters to try on a kernel: comparisons of every type, sign, width, text and mask, put together by chance."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

CALL, RENAME = "pwfilter/call", "task/task_rename"
"""The events of `tests/real/filter_writer.py`."""
NUMBERS: Final = {
    **{f"{sign}{bits}": f"%di:{sign}{bits}" for sign in "sux" for bits in (8, 16, 32, 64)},
    "b3": "%di:b3@2/8",
    "b9": "%di:b9@3/16",
}
"""Fields of the call that are numbers, and what they are read from."""
TEXTS: Final = {"text": "+0(%si):string", "user": "+0(%si):ustring"}
ARRAYS: Final = {"bytes": "+0(%cx):u8[4]", "shorts": "+0(%cx):s16[4]", "words": "+0(%cx):u32[2]",
                 "texts": "+0(%r8):string[2]"}  # fmt: skip
FIELDS: Final = {"n": "%dx:u32", **NUMBERS, **TEXTS, **ARRAYS}
_WIDTHS = (3, 7, 8, 9, 15, 16, 31, 32, 63, 64)
EDGES: Final = sorted({edge + step for bits in _WIDTHS for edge in (1 << bits, -(1 << bits)) for step in (-1, 0, 1)})
VALUES: Final = sorted({value % (1 << 64) for value in (0, 1, 2, 4, 10, 100, 0x774, 4096, -2, -11, *EDGES)})
SPELLINGS: Final = (
    "", "a", "ab", "abc", "abcab", "bab", "b", "B", "Ab", "sh", "bash", "dash", "shell", "1", "12", "2ab", "a1",
    "a*b", "a?b", "a[b", "[ab]", "]", "-", "!a", "a\\b", "\\", "ä", "aäb", "a b", " a", "x.c", "x.h",
    "a" * 14, "(fault)",
)  # fmt: skip
"""Texts; each is a name for a task, too."""
TASK: Final = "bash"
"""What the task is called that makes the calls."""
_PIECES = (
    "*",
    "*",
    "?",
    "a",
    "b",
    "ab",
    "sh",
    "[ab]",
    "[a-c]",
    "[!a]",
    "[]a]",
    "[a",
    "\\*",
    "\\",
    "!",
    "1",
    "ä",
    ".c",
    "B",
)
_SIGNS = ("==", "!=", "<", "<=", ">", ">=", "&")


class Generator:
    """Makes filters by chance; the same seed gives the same ones."""

    def __init__(self, seed: int, names: Sequence[tuple[Sequence[str], int]] = (), texts: Sequence[str] = ()) -> None:
        """Take the fields of the call: groups of names, each with its weight, and those that are texts."""
        self._random = random.Random(seed)
        self._texts = tuple(texts) or (*TEXTS, "COMM")
        of_call = ((self._texts, 6), ((*ARRAYS,), 1), (("CPU", "common_pid"), 1), ((*NUMBERS,), 12))
        self._groups, self._weights = zip(*(names or of_call), strict=True)

    def filters(self, count: int) -> list[tuple[str, str]]:
        """Return some filters, each with its event."""
        return [self._filter(CALL if number % 3 else RENAME) for number in range(count)]

    def _filter(self, event: str) -> tuple[str, str]:
        text = self._comparison(event)
        for _ in range(self._random.choice((0, 0, 0, 0, 1, 2))):
            other = self._comparison(event)
            text = self._random.choice((f"{text} && {other}", f"{text} || {other}", f"!({text}) || {other}",
                                        f"({text} || {other}) && !{other}"))  # fmt: skip
        return event, text

    def _comparison(self, event: str) -> str:
        if event == RENAME:
            return self._of_text(self._random.choice(("newcomm", "newcomm", "oldcomm")))
        names = self._random.choices(self._groups, self._weights)
        name = self._random.choice(names[0])
        if name in self._texts:
            return self._of_text(name)
        return f"{name} {self._random.choice(_SIGNS)} {self._number()}"

    def _number(self) -> str:
        value = self._random.choice((*EDGES, *range(-3, 12), 0x774, 4096, 255, 200))
        form = self._random.choice(("d", "d", "#x", "o"))
        text = f"{abs(value):{form}}"
        return ("-" if value < 0 else "") + (f"0{text}" if form == "o" else text)

    def _of_text(self, name: str) -> str:
        sign = self._random.choice(("==", "!=", "~", "~", "~", "~"))
        if sign != "~":
            return f'{name} {sign} "{self._random.choice(SPELLINGS)}"'
        return f'{name} ~ "{self.pattern()}"'

    def pattern(self) -> str:
        """Return a pattern."""
        return "".join(self._random.choice(_PIECES) for _ in range(self._random.choice((0, 1, 1, 2, 2, 3, 3, 4, 5))))
