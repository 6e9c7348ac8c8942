"""Slips in an argument."""

from __future__ import annotations

import re
from collections.abc import Iterator

from probes.slips.slip import Slip, identifier

_NO_OFFSET = re.compile(r"([+-]u?)\(")
_CAST = re.compile(r"\((?:struct |union |enum )?(\w+)[ *]*\)(\w[^\s:]*)")


def step(slip: Slip) -> Iterator[str]:
    """`.` for `->` and the other way round, at the column or the step before it."""
    text, (begin, _) = slip.text, slip.span
    steps = [step for step in re.finditer(r"->|\.|-", text) if begin <= step.start() <= slip.column]
    for step in reversed(steps):
        yield f"{text[: step.start()]}{'.' if step[0] == '->' else '->'}{text[step.end() :]}"


def memory(slip: Slip) -> Iterator[str]:
    """`%di:string` is `+0(%di):string`."""
    name, expression, kind = slip.parts
    if kind:
        yield slip.worded(f"{name}+0({expression}){kind}")


def begins(slip: Slip) -> Iterator[str]:
    """What begins with nothing that the kernel knows: a register of an fprobe, `8(%di)`, `*pos`, text."""
    name, expression, kind = slip.parts
    if expression.startswith("%") and slip.head[:1] == "f":
        yield f"p{slip.text[1:]}"
    if expression[:1].isdigit():
        yield slip.worded(f"{name}+{expression}{kind}")
    if expression.startswith("*"):
        yield slip.worded(f"{name}+0({expression[1:]}){kind}")
    if expression.startswith('"'):
        yield slip.worded(f"{name}\\{expression}{kind}")
    if expression.startswith("&"):
        yield slip.worded(f"{name}{expression[1:]}{kind}")


def brackets(slip: Slip) -> Iterator[str]:
    """`+8%di`, `+(%di)`, `+8(%di`."""
    name, expression, kind = slip.parts
    yield slip.worded(f"{name}{expression}{')' * (expression.count('(') - expression.count(')'))}{kind}")
    numbered = _NO_OFFSET.sub(r"\g<1>0(", expression)
    yield slip.worded(f"{name}{numbered}{kind}")
    found = re.fullmatch(r"([+-]u?\d+)(.+)", expression)
    if found is not None:
        yield slip.worded(f"{name}{found[1]}({found[2]}){kind}")


def text(slip: Slip) -> Iterator[str]:
    """Text that is not closed, or has no quotes."""
    name, expression, kind = slip.parts
    text = expression.removeprefix("\\").strip('"')
    if text:
        yield slip.worded(f'{name}\\"{text}"{kind}')


def without_type(slip: Slip) -> Iterator[str]:
    """A type where none is needed."""
    name, expression, _ = slip.parts
    yield slip.worded(f"{name}{expression}")


def without_name(slip: Slip) -> Iterator[str]:
    """A name that can't be one; another one."""
    name, expression, kind = slip.parts
    if len(name) > 1:
        yield slip.worded(f"{identifier(name[:-1])}={expression}{kind}")
    yield slip.worded(f"{expression}{kind}")


def renamed(slip: Slip) -> Iterator[str]:
    """A name that is there already gets a number."""
    name, expression, kind = slip.parts
    base = name[:-1] or identifier(expression.lstrip("$%@"))
    yield slip.worded(f"{base}_2={expression}{kind}")


def star(slip: Slip) -> Iterator[str]:
    """`x=$arg*`."""
    _, expression, _ = slip.parts
    if expression.startswith("$arg*"):
        yield slip.worded("$arg*")


def without(slip: Slip) -> Iterator[str]:
    """A word too many."""
    yield slip.worded("")


def array(slip: Slip) -> Iterator[str]:
    """An array that is not closed, has something behind it, is too long."""
    name, expression, kind = slip.parts
    for changed in (f"{kind}]", re.sub("].*", "]", kind), re.sub(r"\[\d+", "[64", kind)):
        yield slip.worded(f"{name}{expression}{changed}")


def cast(slip: Slip) -> Iterator[str]:
    """`(u64)count` is `count:u64`; a type of C is not needed where BTF has it."""
    found = _CAST.search(slip.text)
    if found is None:
        return
    before, after = slip.text[: found.start()], slip.text[found.end() :]
    yield f"{before}{found[2]}:{found[1]}{after}"
    yield f"{before}{found[2]}{after}"


def comma(slip: Slip) -> Iterator[str]:
    """Arguments stand behind blanks; a condition behind `if`."""
    word = slip.text[slice(*slip.span)]
    if "," in word or ";" in word:
        yield slip.worded(re.sub("[,;]+", " ", word).strip())
    if word.lower() in ("where", "when", "filter"):
        yield slip.worded("if")
