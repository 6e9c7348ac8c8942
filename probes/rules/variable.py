"""Parse a word with a `$` as the kernel does: parse_probe_vars of kernel/trace/trace_probe.c."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from probes.rules.btf_walk import walk
from probes.rules.cast import current
from probes.rules.messages.error_remedies import WAYS_OUT
from probes.rules.messages.guesses import guess_argument, guess_name, name_hint
from probes.syntax.refused import Refused
from probes.syntax.text import kstrtoul

if TYPE_CHECKING:
    from probes.rules.fetch_state import Fetch
    from probes.rules.site import Site


def variable(fetch: Fetch, text: str) -> None:
    """Parse a variable. Raises Refused."""
    name, site = text[1:], fetch.site
    if site.on_event:
        _event_field(fetch, text)
    elif _is_retval(name, site):
        if not site.at_exit:
            raise Refused("RETVAL_ON_PROBE", fetch.offset, text)
        if site.user or not site.dialect.btf_args:
            fetch.store("RETVAL")
        else:
            walk(fetch, text)
    elif site.dialect.typecast and not site.user and re.match(r"current(?:-|\Z)", name):
        current(fetch, text)
    elif name.startswith("stack"):
        _stack(fetch, text, name[5:])
    elif name in ("comm", "COMM"):
        fetch.store("COMM")
    elif name.startswith("arg") and (site.at_entry or site.dialect.btf_args or site.dialect.entry_at_exit):
        _argument(fetch, text, name[3:])
    else:
        raise _unknown_variable(fetch, text)


_INSIDE_HINT = WAYS_OUT["NOFENTRY_ARGS"]
_ENTRY_ONLY_HINT = "This kernel has arguments at a function's entry only"


def _unknown_variable(fetch: Fetch, text: str) -> Refused:
    """Return the error for an unknown variable, with similar names and certain meanings."""
    site, name = fetch.site, text.lstrip("$")
    numbered = re.fullmatch(r"arg\d+", name) is not None
    hint = (
        (_program_hint(site) or (_ENTRY_ONLY_HINT if site.at_exit else _INSIDE_HINT)) if numbered else name_hint(name)
    )
    params = tuple(param.name for param in site.signature.params) if site.signature is not None else ()
    if name in params:
        return Refused(
            "BAD_VAR", fetch.offset, text, hint="An argument's name stands without a $", corrections=(name,)
        )
    meant = () if site.user or numbered else guess_name(name, None)
    return Refused("BAD_VAR", fetch.offset, text, hint=hint, names=_variables(site), corrections=meant)


def _variables(site: Site) -> tuple[str, ...]:
    """Return the variables that exist here, without those that have a number."""
    returns = site.at_exit or (site.at_entry and not site.tracepoint)  # at an entry, adding %return makes it valid
    current = site.dialect.typecast and not site.user
    return ("$comm", "$stack", *(("$retval",) if returns else ()), *(("$current",) if current else ()))


def _event_field(fetch: Fetch, text: str) -> None:
    """Parse a field of the event, else the task's name. Raises Refused."""
    site, name = fetch.site, text[1:]
    if not site.dialect.btf_args:
        fetch.field = name
    if site.has_field(name) or not site.dialect.btf_args:
        fetch.store("TP_ARG")
    elif name in ("comm", "COMM"):
        fetch.store("COMM")
    else:
        at = 0 if site.dialect.event_variable_at_name else fetch.offset
        hint = "The event has no field of this name" if site.fields else ""
        raise Refused("BAD_VAR", at, name, names=tuple(site.fields or ()), hint=hint)


def _is_retval(name: str, site: Site) -> bool:
    """Return whether a name is the return value: older kernels compare the whole word, newer ones its beginning."""
    return name.startswith("retval") if site.dialect.btf_args else name == "retval"


def _stack(fetch: Fetch, text: str, number: str) -> None:
    if not number:
        fetch.store("STACKP")
        return
    value = kstrtoul(number, 10) if number[0].isascii() and number[0].isdigit() else None
    if value is None:
        raise Refused("BAD_VAR", fetch.offset, text)
    if value > fetch.site.dialect.stack_longs and not fetch.site.user:
        raise Refused("BAD_STACK_NUM", fetch.offset, text)
    fetch.store("STACK")


def _argument(fetch: Fetch, text: str, number: str) -> None:
    site, value = fetch.site, kstrtoul(number, 10)
    if value is None:
        hint, meant = guess_argument(text, site.signature)
        raise Refused("BAD_VAR", fetch.offset, text, hint=hint, names=_variables(site), corrections=meant)
    if not 0 < value <= site.dialect.stack_longs:
        raise Refused("BAD_ARG_NUM", fetch.offset, text)
    if site.at_entry:
        fetch.store("ARG")
    elif site.at_exit and site.dialect.entry_at_exit and not site.user:
        fetch.keep_entry(str(value))
    else:
        code = "NOFENTRY_ARGS" if site.dialect.btf_args else "BAD_VAR"
        raise Refused(code, fetch.offset, text, hint=_program_hint(site))


def _program_hint(site: Site) -> str:
    """Return a hint with the registers that hold a program's arguments, which the kernel doesn't know by number."""
    registers = site.dialect.argument_registers
    if not site.user or not registers:
        return ""
    return f"In a program arguments are in registers where a function begins: %{' %'.join(registers)}"
