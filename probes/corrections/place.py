"""Correct slips in the first two words of a text: kind, event name and place."""

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
"""Commands by the words of other tools for kinds of probes."""
_GROUPED = re.compile(r"(\w+)[:/.](\w+)")


def no_kind(slip: Slip) -> Iterator[str]:
    """Yield the text with a letter in place of a missing one or of another tool's word."""
    word, sign, place = slip.head.partition(":")
    if word in _KINDS:
        target, rest = (place, f" {slip.rest}") if sign else (slip.place, slip.trailing_text)
        if word in ("tracepoint", "event") and (match := _GROUPED.fullmatch(target)) is not None:
            yield (_event_probe(match[1], match[2], word == "event") + rest).rstrip()
            return
        target = target if "/" in target else target.rpartition(":")[2]
        yield (_KINDS[word].format(target) + rest).rstrip()
        return
    if word == "t" and (match := _GROUPED.fullmatch(place)) is not None:
        yield (_event_probe(match[1], match[2]) + (f" {slip.rest}" if slip.rest else "")).rstrip()
    yield from function_as_event_name(slip)
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


def _event_probe(group: str, name: str, event: bool = False) -> str:
    """Return a probe on a tracepoint by its name; on an event without a tracepoint of its own, by `group.event`."""
    return f"e {group}.{name}" if event or group == "syscalls" else f"t {name}"


def function_as_event_name(slip: Slip) -> Iterator[str]:
    """Yield `p vfs_read count` for `p:vfs_read count`, where the function has the place of the event's name."""
    letter, colon, name = slip.head.partition(":")
    if colon and letter in ("f", "p", "r") and name.isidentifier():
        yield f"{letter} {name} {slip.rest}".rstrip()


def no_place(slip: Slip) -> Iterator[str]:
    """Yield corrections of an invalid place: a call in C, an offset in an fprobe, a path before its offset."""
    place = slip.place
    call = re.fullmatch(r"([\w.]+)\(([^()]*)(?:\)(.*))?", f"{place}{slip.trailing_text}")
    if call is not None and FILTER not in call[2]:
        yield " ".join([slip.head, call[1], *re.findall(r"[^\s,]+", call[2])]) + (call[3] or "")
    if place.startswith("/") and ":" not in place and slip.trailing_text:
        yield f"{slip.head} {place}:{slip.trailing_text.strip()}"
    module, colon, symbol = place.partition(":")
    if colon and slip.head.startswith("f"):
        yield slip.placed(symbol)
    if colon:
        yield slip.placed(f"{module} {symbol}")
    if "+" in place and slip.head.startswith("f"):
        yield slip.placed(place, f"p{slip.head[1:]}")


def at_exit(slip: Slip) -> Iterator[str]:
    """Yield the text with `%return`, for a return value.

    Not for a numeric offset in a program: where no function begins, the kernel would take the top of the stack for
    the return address and break the program.
    """
    if "/" in slip.place and slip.place.rpartition(":")[2][:1].isdigit():
        return
    yield slip.placed(f"{slip.place}%return")


def bad_suffix(slip: Slip) -> Iterator[str]:
    """Yield `%return` for `%exit` or `%ret`, `%retinsn` for `%kretinsn`, and no suffix for `%entry`."""
    place, _, suffix = slip.place.partition("%")
    if "insn" in suffix or suffix.startswith("tail"):
        yield slip.placed(f"{place}%{'tailcall' if suffix.startswith('tail') else 'retinsn'}", f"p{slip.name}")
    elif suffix[:2] in ("en", ""):
        yield slip.placed(place)
    elif suffix[:1] in ("e", "r"):
        yield slip.placed(f"{place}%return")


def bad_instructions(slip: Slip) -> Iterator[str]:
    """Yield a kprobe on the return instructions or tail calls of the function itself."""
    place, _, suffix = slip.place.partition("%")
    yield slip.placed(f"{place.partition('+')[0]}%{suffix}", f"p{slip.name}")


def tracepoint(slip: Slip) -> Iterator[str]:
    """Yield a tracepoint without its group."""
    match = _GROUPED.fullmatch(slip.place)
    if match is not None and match[1] == "syscalls":
        yield f"{_event_probe(match[1], match[2])}{slip.trailing_text}"
    else:
        yield slip.placed(re.split("[/.:]", slip.place)[-1])


def no_name(slip: Slip) -> Iterator[str]:
    """Yield the text without an empty group or event name."""
    letter, _, name = slip.head.partition(":")
    name = name.strip("/.")
    yield f"{letter}{':' if name else ''}{name} {slip.rest}"


def bad_name(slip: Slip) -> Iterator[str]:
    """Yield the text with characters that C identifiers lack replaced."""
    letter, colon, name = slip.head.partition(":")
    group, slash, event = name.rpartition("/")
    yield f"{letter}{colon}{group}{slash}{identifier(event)} {slip.rest}"
    yield f"{letter}{colon}{identifier(group)}{slash}{identifier(event)} {slip.rest}"
