"""Symbols named in commands: whether the kernel has them (traceprobe_update_arg in kernel/trace/trace_probe.c)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from probes.facts.lookups import Environment, SymbolCount
from probes.rules.site import Site
from probes.syntax.refused import Refused
from probes.syntax.text import kstrtol

_NAMED = re.compile(r"@([A-Za-z_][\w.]*)")


def check_symbols(symbols: Sequence[str], site: Site) -> None:
    """Look up the `SYM+offset` of one argument. Raises Refused, or leaves it in `site.late` until registering.

    An event probe looks at once and says nothing; function probes do when they register.
    """
    for text in symbols:
        code = _problem(text, site)
        if code is None:
            continue
        if site.on_event:
            raise Refused("refused_without_message", 0, text)
        if not (site.fprobe and site.dialect.late_symbols) and site.late is None:
            site.late = Refused(code, 0, text)


def _problem(text: str, site: Site) -> str | None:
    sign = re.search(r"[+-]", text)
    name = text if sign is None else text[: sign.start()]
    if sign is not None and kstrtol(text[sign.start() :]) is None:
        return "FAIL_REG_PROBE"
    if not name:
        return "BAD_PROBE_ADDR"
    if site.environment.symbol is None:
        return None
    return None if site.environment.code_only or is_there(name, site.environment.symbol) else "BAD_PROBE_ADDR"


def is_there(name: str, look_up: Callable[[str], SymbolCount]) -> bool:
    """Whether there is a symbol of a name, in the kernel or in a module."""
    found = look_up(name)
    return bool(found.kernel or found.modules)


def untold(word: str, environment: Environment) -> tuple[str, ...]:
    """Name the symbols in an argument of which nobody here can say whether the kernel has them."""
    look_up = environment.symbol
    if look_up is None or not environment.code_only:
        return ()
    return tuple(name for name in _NAMED.findall(word) if not is_there(name, look_up))
