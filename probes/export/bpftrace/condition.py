"""Translate a kernel filter to a condition of bpftrace (semantics: kernel/trace/trace_events_filter.c)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from probes.export.bpftrace.constants import NO_NAMES, Names
from probes.export.bpftrace.value import COMM, BpftraceValue, bracketed
from probes.export.dialect import CannotExport
from probes.export.quoting import is_plain

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"[^"]*"|'[^']*')
      | (?P<name>[A-Za-z_]\w*(?:\.\w+)?)
      | (?P<number>-?(?:0[xX][0-9a-fA-F]+|\d+)\b)
      | (?P<join>&&|\|\||[()])
      | (?P<operator>==|!=|<=|>=|<|>|~|&)
      | (?P<no>!))\s*""",
    re.VERBOSE,
)
_TASK, _CPU = BpftraceValue("", (), "tid"), BpftraceValue("", (), "cpu")
_COMMON = {
    "common_pid": _TASK,
    **dict.fromkeys(("common_cpu", "CPU", "cpu"), _CPU),
    **dict.fromkeys(("common_comm", "COMM", "comm"), COMM),
}


def condition(text: str, fields: Mapping[str, BpftraceValue], names: Names = NO_NAMES) -> str:
    """Return the condition, without the slashes around it.

    Args:
        text: the filter.
        fields: values by field name.
        names: names to write for numbers.

    Raises CannotExport with the reason, without the event's name.
    """
    tokens, at = list[tuple[str, str]](), 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None or match.end() == at:
            raise CannotExport(f"the filter can't be said: {text[at:]}")
        tokens.append((match.lastgroup or "", match[match.lastgroup or 0]))
        at = match.end()
    parts, index = list[str](), 0
    while index < len(tokens):
        kind, word = tokens[index]
        if kind in ("join", "no"):
            parts.append(word)
            index += 1
        elif kind == "name" and [k for k, _ in tokens[index + 1 : index + 3]] in (
            ["operator", "number"],
            ["operator", "string"],
        ):
            predicate = _predicate(word, tokens[index + 1][1], tokens[index + 2], fields, names)
            # The kernel's `!` applies to the whole predicate, C's only to its first operand.
            parts.append(f"({predicate})" if parts and parts[-1] == "!" else predicate)
            index += 3
        else:
            raise CannotExport(f"the filter can't be said from `{word}` on: {text}")
    return " ".join(parts)


def _predicate(
    name: str, operator: str, operand: tuple[str, str], fields: Mapping[str, BpftraceValue], names: Names
) -> str:
    field = fields.get(name) or _COMMON.get(name)
    if field is None or not field.compared:
        raise CannotExport(f"{name}: bpftrace can't compare it")
    kind, word = operand
    if field.is_text != (kind == "string"):
        raise CannotExport(f"{name}: a text and a number are compared")
    if not field.is_text:
        if operator == "~":
            raise CannotExport(f"{name}: patterns are for text")
        number = int(word, 0) if not re.fullmatch(r"-?0\d+", word) else int(word, 8)
        said, left = names.get((name, number), str(number)), bracketed(field.compared)
        return f"{left} & {said}" if operator == "&" else f"{field.compared} {operator} {said}"
    words = word[1:-1]
    if not is_plain(words) or "\\" in words:
        raise CannotExport(f"{name}: the text can't be said: {words}")
    quoted = '"' + words.replace('"', '\\"') + '"'
    if operator == "~":
        words = re.sub(r"\A\[(\d)\]", r"\1", words)  # the kernel takes a leading digit of a pattern in brackets
        stem = words.removesuffix("*")
        if not words.endswith("*") or re.search(r"^!|[*?\[]", stem) or not stem:
            raise CannotExport(f"{name}: of patterns bpftrace knows a beginning only (abc*), not {words}")
        return f'strncmp({field.compared}, "{stem.replace(chr(34), chr(92) + chr(34))}", {len(stem)}) == 0'
    if operator not in ("==", "!="):
        raise CannotExport(f"{name}: text is equal or not")
    return f"{field.compared} {operator} {quoted}"
