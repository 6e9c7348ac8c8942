"""Slips in the first two words of a text: its kind, the name of its event, the place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from probes.corrections.slip import FILTER, Slip, identifier

_KINDS: Final = {
    "kprobe": "p {}",
    "kretprobe": "r {}",
    "kfunc": "f {}",
    "kretfunc": "f {}%return",
    "fentry": "f {}",
    "fexit": "f {}%return",
    "fprobe": "f {}",
    "uprobe": "p {}",
    "uretprobe": "r {}",
    "tracepoint": "t {}",
    "event": "e {}",
    "k": "p {}",
    "kr": "r {}",
    "fr": "f {}%return",
    "u": "p {}",
    "ur": "r {}",
    "rawtracepoint": "t {}",
    "rt": "t {}",
    "P": "p {}",
    "R": "r {}",
    "F": "f {}",
    "T": "t {}",
    "E": "e {}",
}
"""Words of other tools for the kinds of probe."""
_GROUPED = re.compile(r"(\w+)[:/.](\w+)")


def no_kind(slip: Slip) -> Iterator[str]:
    """The letter is missing, or another tool's word stands for it."""
    word, sign, place = slip.head.partition(":")
    if word in _KINDS:
        where, behind = (place, f" {slip.rest}") if sign else (slip.place, slip.behind)
        if word in ("tracepoint", "event") and (found := _GROUPED.fullmatch(where)) is not None:
            yield (_of_event(found[1], found[2], word == "event") + behind).rstrip()
            return
        where = where if "/" in where else where.rpartition(":")[2]
        yield (_KINDS[word].format(where) + behind).rstrip()
        return
    if word == "t" and (found := _GROUPED.fullmatch(place)) is not None:
        yield (_of_event(found[1], found[2]) + (f" {slip.rest}" if slip.rest else "")).rstrip()
    yield from named(slip)
    if slip.head == "s":
        yield f"s:{slip.rest}"
    elif "/" in slip.head:
        yield f"p {slip.text}"
    else:
        yield f"f {slip.text}"
        yield f"p {slip.text}"
    if len(slip.head) > 1 and slip.head[0] in "fpr":
        yield f"{slip.head[0]} {slip.text[1:]}"
    if slip.rest:
        yield f"{'p' if '/' in slip.place else 'f'} {slip.rest}"


def _of_event(group: str, name: str, event: bool = False) -> str:
    """A tracepoint by its name alone; an event that is made of no tracepoint of its own, by both."""
    return f"e {group}.{name}" if event or group == "syscalls" else f"t {name}"


def named(slip: Slip) -> Iterator[str]:
    """The function stands where the event's name would: `p:vfs_read count`."""
    letter, colon, name = slip.head.partition(":")
    if colon and letter in ("f", "p", "r") and name.isidentifier():
        yield f"{letter} {name} {slip.rest}".rstrip()


def no_place(slip: Slip) -> Iterator[str]:
    """A place that is none: as a call in C, an offset in an fprobe, a path with its offset apart."""
    place = slip.place
    called = re.fullmatch(r"([\w.]+)\(([^()]*)(?:\)(.*))?", f"{place}{slip.behind}")
    if called is not None and FILTER not in called[2]:
        yield " ".join([slip.head, called[1], *re.findall(r"[^\s,]+", called[2])]) + (called[3] or "")
    if place.startswith("/") and ":" not in place and slip.behind:
        yield f"{slip.head} {place}:{slip.behind.strip()}"
    module, colon, symbol = place.partition(":")
    if colon and slip.head.startswith("f"):
        yield slip.placed(symbol)
    if colon:
        yield slip.placed(f"{module} {symbol}")
    if "+" in place and slip.head.startswith("f"):
        yield slip.placed(place, f"p{slip.head[1:]}")


def at_exit(slip: Slip) -> Iterator[str]:
    """What is returned is there at the exit only.

    Not at a number in a program: where no function begins the kernel takes what lies on the stack for the return
    address, and the program breaks.
    """
    if "/" in slip.place and slip.place.rpartition(":")[2][:1].isdigit():
        return
    yield slip.placed(f"{slip.place}%return")


def bad_suffix(slip: Slip) -> Iterator[str]:
    """`%exit`, `%ret`; `%entry` is said by nothing."""
    place, _, suffix = slip.place.partition("%")
    if suffix[:2] in ("en", ""):
        yield slip.placed(place)
    elif suffix[:1] in ("e", "r"):
        yield slip.placed(f"{place}%return")


def tracepoint(slip: Slip) -> Iterator[str]:
    """A tracepoint with its group."""
    found = _GROUPED.fullmatch(slip.place)
    if found is not None and found[1] == "syscalls":
        yield f"{_of_event(found[1], found[2])}{slip.behind}"
    else:
        yield slip.placed(re.split("[/.:]", slip.place)[-1])


def no_name(slip: Slip) -> Iterator[str]:
    """Nothing before the slash, or behind the colon."""
    letter, _, name = slip.head.partition(":")
    name = name.strip("/.")
    yield f"{letter}{':' if name else ''}{name} {slip.rest}"


def bad_name(slip: Slip) -> Iterator[str]:
    """Signs in a name that C has not."""
    letter, colon, name = slip.head.partition(":")
    group, slash, event = name.rpartition("/")
    yield f"{letter}{colon}{group}{slash}{identifier(event)} {slip.rest}"
    yield f"{letter}{colon}{identifier(group)}{slash}{identifier(event)} {slip.rest}"
