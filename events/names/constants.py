"""Names of the numbers that system calls take: `O_CREAT`, `AF_INET`, `SIGKILL`.

`constants.txt` has them in sets, as compiled into programs (`python -m tests.data.make_constants`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from events.names.number_names import NamedNumber, NumberNames
from events.names.print_names import Constant, parse_names
from events.names.syscalls import MACHINE_ALIASES


def names_of(naming: str, machine: str, constant: Constant = lambda _: None) -> NumberNames | None:
    """Return the names of a field's numbers; None: there are none.

    Args:
        naming: argument of a print format (`events.names.print_names`), or a set of constants: `open`.
        machine: `uname -m` of the kernel, for constants.
        constant: of names that the print format has as they are.
    """
    return parse_names(naming, constant) if "(" in naming else constants(naming, machine)


@cache
def constants(name: str, machine: str) -> NumberNames | None:
    """Return the names of a set on an architecture, by `uname -m`; None: it or the set is unknown."""
    machines, sets = _file()
    machine = MACHINE_ALIASES.get(machine, machine)
    if name not in sets or machine not in machines:
        return None
    words, named = sets[name][0], list[NamedNumber]()
    for shown, usual, *others in sets[name][1:]:
        special = dict(other.split("=") for other in others)
        value = special.get(machine, usual)
        if value != "-":
            named.append(NamedNumber(int(value, 0), shown, int(special.get("mask", "0"), 0)))
    return NumberNames(tuple(named), are_flags="flags" in words, rest_octal="octal" in words)


class _File(NamedTuple):
    machines: list[str]
    sets: Mapping[str, list[list[str]]]
    """Words of each set's lines, of which the first are those of the set: `flags octal`."""


@cache
def _file() -> _File:
    lines = Path(__file__).with_name("constants.txt").read_text().splitlines()
    machines, *rest = (line for line in lines if not line.startswith("#"))
    sets: dict[str, list[list[str]]] = {}
    for line in rest:
        if line.startswith("["):
            name, _, words = line[1:].partition("]")
            current = sets[name] = [words.split()]
        else:
            current.append(line.split())
    return _File(machines.split(), sets)
