"""Correct slips in an argument."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from probes.corrections.slip import FILTER, Slip, identifier

_MISSING_OFFSET = re.compile(r"([+-]u?)\(")
_CAST = re.compile(r"\(((?:const )?)(struct |)(\w+(?: \w+)*) *(\**)\)(\w[^\s:]*)(?=\s|$)")
_C_WORD = "(?:unsigned|signed|long|short|int|char|void)"
_C_TYPE = re.compile(rf"(?:const )?{_C_WORD}(?: {_C_WORD})*(?: ?\*)?(?=[ \[]|$)")
_CAST_PATH = re.compile(r"\(\(struct \w+ ?\*\) ?(?:arg(\d)|(\w+))\)(?=->|\.)")
_NAME_PATH = re.compile(r"[A-Za-z_]\w*(?:(?:->|\.)\w+)*")
_COMPARED = re.compile(r"(\w+)(==|!=|<=|>=|<|>)(\w+)")
_RESULT_WORDS: Final = frozenset({"ret", "retval", "return"})


def step(slip: Slip) -> Iterator[str]:
    """Yield the text with `.` for `->` or the reverse, at the column or at the step before it."""
    text, (begin, _) = slip.text, slip.span
    operators = [step for step in re.finditer(r"->|\.|-", text) if begin <= step.start() <= slip.column]
    for step in reversed(operators):
        yield f"{text[: step.start()]}{'.' if step[0] == '->' else '->'}{text[step.end() :]}"


def memory(slip: Slip) -> Iterator[str]:
    """Yield `+0(%di):string` for `%di:string`."""
    name, expression, kind = slip.parts
    if kind:
        yield slip.worded(f"{name}+0({expression}){kind}")


def unknown_beginning(slip: Slip) -> Iterator[str]:
    """Yield corrections of an expression with an unknown beginning: `%di` in an fprobe, `8(%di)`, `*pos`, text."""
    name, expression, kind = slip.parts
    if expression.startswith("%") and slip.head[:1] == "f":
        yield f"p{slip.text[1:]}"
    if expression[:1].isdigit():
        yield slip.worded(f"{name}+{expression}{kind}")
    before = slip.text[: slip.span[0]]
    if expression == "*" and (char_type := re.search(r":char $", before)) is not None:
        yield f"{before[: char_type.start()]}:string{slip.text[slip.span[1] :]}"
    elif expression.startswith("*"):
        if _NAME_PATH.fullmatch(expression[1:]):  # as wide as the pointer's target
            yield slip.worded(f"{name}{expression[1:]}[0]{kind}")
        yield slip.worded(f"{name}+0({expression[1:]}){kind}")
    if expression.startswith('"'):
        yield slip.worded(f"{name}\\{expression}{kind}")
    if re.fullmatch(r"&\w+", expression):  # for a member, its address was meant
        yield slip.worded(f"{name}{expression[1:]}{kind}")
    yield from comparison_as_filter(slip)


def brackets(slip: Slip) -> Iterator[str]:
    """Yield corrections of `+8%di`, `+(%di)`, `+8(%di`."""
    name, expression, kind = slip.parts
    yield slip.worded(f"{name}{expression}{')' * (expression.count('(') - expression.count(')'))}{kind}")
    with_offset = _MISSING_OFFSET.sub(r"\g<1>0(", expression)
    yield slip.worded(f"{name}{with_offset}{kind}")
    match = re.fullmatch(r"([+-]u?\d++)(.+)", expression)
    if match is not None:
        yield slip.worded(f"{name}{match[1]}({match[2]}){kind}")


def text(slip: Slip) -> Iterator[str]:
    """Yield a text with both quotes, if it lacks them or a closing one."""
    name, expression, kind = slip.parts
    text = expression.removeprefix("\\").strip('"')
    if text and not text[0].isdecimal():  # a number is not meant as text
        yield slip.worded(f'{name}\\"{text}"{kind}')


def without_type(slip: Slip) -> Iterator[str]:
    """Yield the text without a type that is not needed."""
    name, expression, _ = slip.parts
    yield slip.worded(f"{name}{expression}")


def without_name(slip: Slip) -> Iterator[str]:
    """Yield the text with a valid name in place of an invalid one, then without a name."""
    name, expression, kind = slip.parts
    if len(name) > 1:
        yield slip.worded(f"{identifier(name[:-1])}={expression}{kind}")
    yield slip.worded(f"{expression}{kind}")


def numbered_name(slip: Slip) -> Iterator[str]:
    """Yield the text with a number after a name that is already in use."""
    name, expression, kind = slip.parts
    base = name[:-1] or identifier(expression.lstrip("$%@"))
    yield slip.worded(f"{base}_2={expression}{kind}")


def star(slip: Slip) -> Iterator[str]:
    """Yield `$arg*` for `x=$arg*`."""
    _, expression, _ = slip.parts
    if expression.startswith("$arg*"):
        yield slip.worded("$arg*")


def without(slip: Slip) -> Iterator[str]:
    """Yield the text without the word at the column."""
    yield slip.worded("")


def no_body(slip: Slip) -> Iterator[str]:
    """Yield `x=count` for `x= count`, then the text without the name."""
    end = slip.span[1]
    yield slip.text[:end] + slip.text[end:].removeprefix(" ")
    yield from without(slip)


def array(slip: Slip) -> Iterator[str]:
    """Yield corrections of an array that is not closed, is followed by text, or is too long."""
    name, expression, kind = slip.parts
    for new_type in (f"{kind}]", re.sub("].*", "]", kind), re.sub(r"\[\d+", "[64", kind)):
        yield slip.worded(f"{name}{expression}{new_type}")


def cast(slip: Slip) -> Iterator[str]:
    """Yield `count:u64` for `(u64)count`; a struct's name is not needed where BTF has it."""
    begin = slip.text.find("(", slip.span[0])
    match = _CAST.match(slip.text, begin) if begin >= 0 else None
    if match is None:
        return
    _, struct, kind, stars, value = match.groups()
    before, after = slip.text[:begin], slip.text[match.end() :]
    if struct:
        if stars == "*" and value.isidentifier():  # in a path, the cast names a struct for its members
            yield f"{before}{value}{after}"
    elif stars == "*" and kind == "char":
        yield f"{before}{value}:string{after}"
    elif not stars:  # the target of another pointer is no value of its own
        yield f"{before}{value}:{kind}{after}"


def c_type(slip: Slip) -> str:
    """Return the C type at the column, as written; empty: none."""
    match = _C_TYPE.match(slip.text, slip.column)
    return match[0] if match is not None else ""


def from_c_type(slip: Slip) -> Iterator[str]:
    """Yield a fetcharg type for a C type: `ulong` for `unsigned long`, `string` for `const char *`."""
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


def from_bpftrace(slip: Slip) -> Iterator[str]:
    """Yield translations of bpftrace: `args.count`, `arg0`, counted from 0, `((struct file *)arg0)->f_pos`,
    `regs->di`.
    """
    name, expression, kind = slip.parts
    if (match := re.fullmatch(r"args(?:->|\.)(\w.*)", expression)) is not None:
        yield slip.worded(f"{name}{match[1]}{kind}")
    if expression in ("arg0", "$arg0"):
        yield slip.worded(f"{name}$arg1{kind}")
    if slip.head[:1] in "pr" and (match := re.fullmatch(r"(?:regs|ctx)->(\w+)", expression)) is not None:
        yield slip.worded(f"{name}%{match[1]}{kind}")
    if (cast_path := _CAST_PATH.search(slip.text)) is not None:
        value = f"$arg{int(cast_path[1]) + 1}" if cast_path[1] else cast_path[2]
        yield f"{slip.text[: cast_path.start()]}{value}{slip.text[cast_path.end() :]}"


def joined_path(slip: Slip) -> Iterator[str]:
    """Yield `file->f_pos` for `file -> f_pos`."""
    head, word, condition = slip.text.partition(FILTER)
    yield re.sub(r"(?<=\w) ?(->|\.) ?(?=\w)", r"\1", head) + word + condition


def comparison_as_filter(slip: Slip) -> Iterator[str]:
    """Yield `count if count > 5` for `count>5`."""
    word = slip.text[slice(*slip.span)]
    match = _COMPARED.fullmatch(word)
    if match is not None and slip.span[1] == len(slip.text) and FILTER not in slip.text:
        yield slip.worded(f"{match[1]} if {match[1]} {match[2]} {match[3]}")


def not_an_argument(slip: Slip) -> Iterator[str]:
    """Yield corrections of a word that is no argument: `ret`, a comparison, a list with commas, another word for
    `if`.
    """
    name, expression, kind = slip.parts
    if expression in _RESULT_WORDS:
        yield slip.worded(f"{name}$retval{kind}")
    yield from comparison_as_filter(slip)
    yield from comma(slip)


def comma(slip: Slip) -> Iterator[str]:
    """Yield blanks in place of commas, and `if` in place of `where` and the like."""
    word = slip.text[slice(*slip.span)]
    if "," in word or ";" in word:
        yield slip.worded(re.sub("[,;]+", " ", word).strip())
    if word.lower() in ("where", "when", "filter"):
        yield slip.worded("if")
