"""Slips in an argument."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from probes.corrections.slip import FILTER, Slip, identifier

_NO_OFFSET = re.compile(r"([+-]u?)\(")
_CAST = re.compile(r"\(((?:const )?)(struct |)(\w+(?: \w+)*) *(\**)\)(\w[^\s:]*)(?=\s|$)")
_C_WORD = "(?:unsigned|signed|long|short|int|char|void)"
_C_TYPE = re.compile(rf"(?:const )?{_C_WORD}(?: {_C_WORD})*(?: ?\*)?(?=[ \[]|$)")
_CAST_PATH = re.compile(r"\(\(struct \w+ ?\*\) ?(?:arg(\d)|(\w+))\)(?=->|\.)")
_NAMED = re.compile(r"[A-Za-z_]\w*(?:(?:->|\.)\w+)*")
_COMPARED = re.compile(r"(\w+)(==|!=|<=|>=|<|>)(\w+)")
_RETURNED: Final = frozenset({"ret", "retval", "return"})


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
    before = slip.text[: slip.span[0]]
    if expression == "*" and (pointed := re.search(r":char $", before)) is not None:
        yield f"{before[: pointed.start()]}:string{slip.text[slip.span[1] :]}"
    elif expression.startswith("*"):
        if _NAMED.fullmatch(expression[1:]):  # as wide as what it points to
            yield slip.worded(f"{name}{expression[1:]}[0]{kind}")
        yield slip.worded(f"{name}+0({expression[1:]}){kind}")
    if expression.startswith('"'):
        yield slip.worded(f"{name}\\{expression}{kind}")
    if re.fullmatch(r"&\w+", expression):  # of a member it is the address that was asked for
        yield slip.worded(f"{name}{expression[1:]}{kind}")
    yield from compared(slip)


def brackets(slip: Slip) -> Iterator[str]:
    """`+8%di`, `+(%di)`, `+8(%di`."""
    name, expression, kind = slip.parts
    yield slip.worded(f"{name}{expression}{')' * (expression.count('(') - expression.count(')'))}{kind}")
    numbered = _NO_OFFSET.sub(r"\g<1>0(", expression)
    yield slip.worded(f"{name}{numbered}{kind}")
    found = re.fullmatch(r"([+-]u?\d++)(.+)", expression)
    if found is not None:
        yield slip.worded(f"{name}{found[1]}({found[2]}){kind}")


def text(slip: Slip) -> Iterator[str]:
    """Text that is not closed, or has no quotes."""
    name, expression, kind = slip.parts
    text = expression.removeprefix("\\").strip('"')
    if text and not text[0].isdecimal():  # a number is not meant as a text
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


def no_body(slip: Slip) -> Iterator[str]:
    """`x= count`; a name for nothing."""
    end = slip.span[1]
    yield slip.text[:end] + slip.text[end:].removeprefix(" ")
    yield from without(slip)


def array(slip: Slip) -> Iterator[str]:
    """An array that is not closed, has something behind it, is too long."""
    name, expression, kind = slip.parts
    for changed in (f"{kind}]", re.sub("].*", "]", kind), re.sub(r"\[\d+", "[64", kind)):
        yield slip.worded(f"{name}{expression}{changed}")


def cast(slip: Slip) -> Iterator[str]:
    """`(u64)count` is `count:u64`; a structure's name is not needed where BTF has it."""
    begin = slip.text.find("(", slip.span[0])
    found = _CAST.match(slip.text, begin) if begin >= 0 else None
    if found is None:
        return
    _, struct, kind, stars, value = found.groups()
    before, after = slip.text[:begin], slip.text[found.end() :]
    if struct:
        if stars == "*" and value.isidentifier():  # of a path it is another structure's member
            yield f"{before}{value}{after}"
    elif stars == "*" and kind == "char":
        yield f"{before}{value}:string{after}"
    elif not stars:  # what another pointer leads to is no value of its own
        yield f"{before}{value}:{kind}{after}"


def c_type(slip: Slip) -> str:
    """What stands at the column where it is a type of C, as it is written there; empty: it is none."""
    found = _C_TYPE.match(slip.text, slip.column)
    return found[0] if found is not None else ""


def of_c(slip: Slip) -> Iterator[str]:
    """`unsigned long`, of some words: `ulong`, whose width is the kernel's; `const char *`."""
    written = c_type(slip)
    words = written.removeprefix("const ").replace("*", " *").split()
    if not words:
        return
    if "*" in words:
        kind = "string" if words == ["char", "*"] else ""
    elif "void" in words:
        kind = ""
    else:
        letter = "u" if "unsigned" in words else "s"
        width = 8 if "char" in words else 16 if "short" in words else 64 if words.count("long") > 1 else 32
        kind = {"u": "ulong", "s": "long"}[letter] if words.count("long") == 1 else f"{letter}{width}"
    if kind and kind != written:
        yield f"{slip.text[: slip.column]}{kind}{slip.text[slip.column + len(written) :]}"


def of_bpftrace(slip: Slip) -> Iterator[str]:
    """`args.count` of fentry, `arg0` that is counted from 0, `((struct file *)arg0)->f_pos`, `regs->di`."""
    name, expression, kind = slip.parts
    if (found := re.fullmatch(r"args(?:->|\.)(\w.*)", expression)) is not None:
        yield slip.worded(f"{name}{found[1]}{kind}")
    if expression in ("arg0", "$arg0"):
        yield slip.worded(f"{name}$arg1{kind}")
    if slip.head[:1] in "pr" and (found := re.fullmatch(r"(?:regs|ctx)->(\w+)", expression)) is not None:
        yield slip.worded(f"{name}%{found[1]}{kind}")
    if (cast_away := _CAST_PATH.search(slip.text)) is not None:
        value = f"$arg{int(cast_away[1]) + 1}" if cast_away[1] else cast_away[2]
        yield f"{slip.text[: cast_away.start()]}{value}{slip.text[cast_away.end() :]}"


def spaced(slip: Slip) -> Iterator[str]:
    """`file -> f_pos`."""
    head, word, condition = slip.text.partition(FILTER)
    yield re.sub(r"(?<=\w) ?(->|\.) ?(?=\w)", r"\1", head) + word + condition


def compared(slip: Slip) -> Iterator[str]:
    """`count>5` is a condition."""
    word = slip.text[slice(*slip.span)]
    found = _COMPARED.fullmatch(word)
    if found is not None and slip.span[1] == len(slip.text) and FILTER not in slip.text:
        yield slip.worded(f"{found[1]} if {found[1]} {found[2]} {found[3]}")


def not_an_argument(slip: Slip) -> Iterator[str]:
    """What is returned; a condition; what stands behind a comma; a condition behind another word than `if`."""
    name, expression, kind = slip.parts
    if expression in _RETURNED:
        yield slip.worded(f"{name}$retval{kind}")
    yield from compared(slip)
    yield from comma(slip)


def comma(slip: Slip) -> Iterator[str]:
    """Arguments stand behind blanks; a condition behind `if`."""
    word = slip.text[slice(*slip.span)]
    if "," in word or ";" in word:
        yield slip.worded(re.sub("[,;]+", " ", word).strip())
    if word.lower() in ("where", "when", "filter"):
        yield slip.worded("if")
