"""Search over 60,000 names as the list asks for it: the worst query of those a person types, right or wrong."""

from __future__ import annotations

import functools
import random

from btf.btf import Btf
from btf.search import Search
from tests.bench._measure import Figure, Part, Row, Timer, cpu_timer, together
from tests.btf_writer import stored
from tui.compose.functions.function_index import MOST_FOUND

NAMES = 60_000
PLAIN = [
    "r",
    "s",
    "t",
    "e",
    "_",
    "re",
    "vf",
    "vfs",
    "vfs_r",
    "vfs_read",
    "tcp_send",
    "sched_switch",
    "ext4 read inode",
]
FORGIVEN = [
    "vfsrd",
    "vfs_raed",
    "tcp_sned",
    "vfs_reax",
    "setan",
    "enrts",
    "trcae",
    "netstatsen",
    "zzzq",
    "schedule_tiemout",
]
QUERIES = {"found": len(PLAIN), "forgiven": len(FORGIVEN), "random": 100}
"""How many of each sort."""
FIGURES = {
    sort: Figure(f"worst of {number} queries {sort} in {NAMES:,} names", "ms", most=8)
    for sort, number in QUERIES.items()
}


def _beginnings(names: list[str]) -> list[str]:
    """Beginnings of names as they are typed, one in two with a slip."""
    dice = random.Random(1)
    queries = []
    for _ in range(QUERIES["random"]):
        letters = list(dice.choice(names)[: dice.randint(2, 14)])
        if dice.random() < 0.5:
            letters[dice.randrange(len(letters))] = dice.choice("etrsianoc_")
        queries.append("".join(letters))
    return queries


def forgetful(search: Search, query: str) -> Timer:
    """A timer of a query that remembers nothing of the last one."""
    timer = cpu_timer(lambda: search.find(query, MOST_FOUND))

    def timed() -> float:
        search.forget()
        return timer()

    return timed


def measured(sort: str) -> list[Row]:
    """The worst query of a sort."""
    real = Btf.load(stored("btf-7.2")).functions
    names = (real + [f"x_{name}" for name in real])[:NAMES]
    search = Search(names)
    queries = {"found": PLAIN, "forgiven": FORGIVEN}.get(sort) or _beginnings(names)
    taken = together([forgetful(search, query) for query in queries])
    worst, query = max(zip(taken, queries, strict=True), key=lambda one: one[0].median)
    return [FIGURES[sort].of(worst.each(lambda seconds: seconds * 1e3), repr(query))]


PARTS = tuple(Part(sort, (figure,), functools.partial(measured, sort)) for sort, figure in FIGURES.items())
