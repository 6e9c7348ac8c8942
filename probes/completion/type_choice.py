"""List the types worth offering for a field, its own first, with descriptions."""

from __future__ import annotations

import re

_WIDTHS = ("8", "16", "32", "64")
_NUMBER = re.compile(r"([usxb])([0-9]+)")
_DESCRIPTIONS = {
    "char": "one character",
    "string": "text in the kernel's memory",
    "ustring": "text in the task's memory",
    "symbol": "name of what is at the address",
    "symstr": "name of what is at the address, kept as text",
    "%pd": "name of the dentry",
    "%pD": "name of the file",
}
_NUMBERS = {"u": "unsigned", "s": "signed", "x": "hexadecimal"}


def sensible_types(kernel_type: str, c_type: str = "", default: str | None = None) -> tuple[str | None, ...]:
    """Return the types worth offering for a field, beginning with its own (`default`; None: left to the kernel).

    Integers keep their width; a pointer may be a symbol, a pointer to characters a string.
    """
    base = kernel_type.partition("[")[0]
    kinds: list[str] = []
    if base[:1] in ("s", "u", "x") and base[1:] in _WIDTHS and base == kernel_type:
        kinds = [f"{letter}{base[1:]}" for letter in "sux"]
        if base[1:] == "8":
            kinds.append("char")
    if "*" in c_type or kernel_type in ("string", "ustring", "symbol"):
        kinds = ["x64", "symbol"]
        if "char" in c_type.split("*")[0].split() or kernel_type.endswith("string"):
            kinds = ["string", "ustring", "x64"]
    own = kernel_type if default is None else default
    return (default, *(kind for kind in kinds if kind != own))


def shows(kind: str) -> str:
    """Return a description of a type: `signed, 64 bits`; empty for an unknown type."""
    base, bracket, count = kind.partition("[")
    number = _NUMBER.match(base)
    if number is None:
        description = _DESCRIPTIONS.get(base, "")
    elif number[1] == "b":
        description = "one bit" if number[2] == "1" else f"{number[2]} bits"
    else:
        description = f"{_NUMBERS[number[1]]}, {number[2]} bits"
    return f"{count.rstrip(']')} elements: {description}" if bracket and description else description
