"""Check that the kernel has the symbols named in commands (traceprobe_update_arg in kernel/trace/trace_probe.c)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from probes.facts.lookups import Environment, SymbolCount
from probes.rules.site import Site
from probes.syntax.refused import Refused
from probes.syntax.text import kstrtol

_NAMED = re.compile(r"@([A-Za-z_][\w.]*)")


def check_symbols(symbols: Sequence[str], site: Site) -> None:
    """Look up each `SYM+offset` of an argument. Raises Refused, or stores the error in `site.registration_error`.

    The kernel looks symbols of an event probe up at once and logs nothing; those of a function probe at registration.
    """
    for text in symbols:
        code = _problem(text, site)
        if code is None:
            continue
        if site.on_event:
            raise Refused("refused_without_message", 0, text)
        if not (site.fprobe and site.dialect.late_symbols) and site.registration_error is None:
            site.registration_error = Refused(code, 0, text)


def _problem(text: str, site: Site) -> str | None:
    sign = re.search(r"[+-]", text)
    name = text if sign is None else text[: sign.start()]
    if sign is not None and kstrtol(text[sign.start() :]) is None:
        return "FAIL_REG_PROBE"
    if not name:
        return "BAD_PROBE_ADDR"
    if site.environment.symbol is None:
        return None
    return None if site.environment.code_only or has_symbol(name, site.environment.symbol) else "BAD_PROBE_ADDR"


def has_symbol(name: str, look_up: Callable[[str], SymbolCount]) -> bool:
    """Return whether the kernel or a module has a symbol of this name."""
    counts = look_up(name)
    return bool(counts.kernel or counts.modules)


def unverifiable_symbols(word: str, environment: Environment) -> tuple[str, ...]:
    """Return the symbols in an argument for which it is unknown whether the kernel has them."""
    look_up = environment.symbol
    if look_up is None or not environment.code_only:
        return ()
    return tuple(name for name in _NAMED.findall(word) if not has_symbol(name, look_up))
