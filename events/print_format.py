"""Parse the `print fmt:` line of a format file, as far as probe events use it.

kernel/trace/trace_probe.c:__set_print_fmt writes `"(%lx) a=%Lu b={%d,%d}", REC->__probe_ip, REC->a, REC->b[0], ...`.
Other events have C expressions there; such an argument keeps its conversion and has no field. Of them only names of
numbers (`__print_flags(...)`) are read, by `events.names.print_names`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from events.names.print_names import field_of_names

_CONVERSION = re.compile(r"%[-+ #0]*+\d*+(?:\.\d++)?(?:hh|h|ll|l|L|z|t|j|q)?(?:p[A-Za-z0-9]*|[diuxXocs])|%%")
_TYPE = re.compile(r"[-+ #0\d.%]*+(.*)")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "\\": "\\", '"': '"'}
_REC = re.compile(r"^(?:\([\w ]++\*{0,4}\)|\(|\s)*+REC->(\w+)(?:\[(\d{1,6})\])?\)*$")
_NAMES = "__print_"
_STRING = re.compile(r"^__get_(?:rel_)?str\((\w+)(?:\[(\d{1,6})\])?\)$")


@dataclass(frozen=True, slots=True)
class Conversion:
    """Conversion (`%...`) with the field that it prints."""

    spec: str
    """Conversion without the percent sign and width: `Lu`, `x`, `s`, `c`, `pS`."""
    text: str
    """Conversion as written: `%03d`."""
    field: str
    """Field name; empty if the argument is not a single field."""
    index: int | None
    """Array index, for one element of an array."""
    naming: str = ""
    """Argument that names the numbers of a field (`events.names.print_names`); empty: it is another one."""


class PrintFormat(NamedTuple):
    """Alternating literals and conversions: `literals[0] conversions[0] literals[1] ... literals[-1]`."""

    literals: tuple[str, ...]
    conversions: tuple[Conversion, ...]

    def specs(self) -> dict[str, str]:
        """Return the conversion type by field name; of several conversions the first."""
        found: dict[str, str] = {}
        for conversion in self.conversions:
            if conversion.field:
                found.setdefault(conversion.field, conversion.spec)
        return found

    def namings(self) -> dict[str, str]:
        """Return the argument that names a field's numbers by field; of several the first."""
        found: dict[str, str] = {}
        for conversion in self.conversions:
            if conversion.naming and (name := field_of_names(conversion.naming)):
                found.setdefault(name, conversion.naming)
        return found


def parse_print_fmt(text: str) -> PrintFormat | None:
    """Parse the text after `print fmt: `; return None if it does not start with one string literal."""
    end = _string_end(text)
    if end is None:
        return None
    template = text[1:end]
    arguments = _arguments(text[end + 1 :])
    literals: list[str] = []
    conversions: list[Conversion] = []
    literal, position = "", 0
    for match in _CONVERSION.finditer(template):
        literal += template[position : match.start()]
        position = match.end()
        if match.group() == "%%":
            literal += "%"
            continue
        literals.append(_unescape(literal))
        literal = ""
        argument = arguments[len(conversions)] if len(conversions) < len(arguments) else ""
        conversions.append(_conversion(match.group(), argument))
    literals.append(_unescape(literal + template[position:]))
    return PrintFormat(tuple(literals), tuple(conversions))


def _conversion(text: str, argument: str) -> Conversion:
    match = _TYPE.match(text)
    spec = match.group(1) if match else text[1:]
    found = _STRING.match(argument) or _REC.match(argument)
    if not found:
        return Conversion(spec, text, "", None, argument if _NAMES in argument else "")
    index = found.group(2)
    return Conversion(spec, text, found.group(1), None if index is None else int(index))


def _string_end(text: str) -> int | None:
    """Return the position of the quote that closes the literal at the start of `text`."""
    if not text.startswith('"'):
        return None
    at = 1
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == '"':
            return at
        at += 1
    return None


def _arguments(text: str) -> list[str]:
    """Split `, a, f(b, c)` at the commas outside of brackets and strings."""
    found: list[str] = []
    depth, quoted, start = 0, False, 0
    at = 0
    while at < len(text):
        char = text[at]
        if quoted:
            if char == "\\":
                at += 1
            quoted = char != '"'
        elif char == '"':
            quoted = True
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and not depth:
            found.append(text[start:at].strip())
            start = at + 1
        at += 1
    found.append(text[start:].strip())
    return found[1:]


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match.group(1), match.group(0)), text)
