"""Write the kernel's text of an event from its record, as trace and trace_pipe have it.

Formats: kernel/trace/trace_output.c:trace_print_context, kernel/trace/trace_probe.c:print_probe_args.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from events.decode import Scalar, Value, char_of
from events.format import PROBE_FIELDS
from events.names.kallsyms import Symbols
from events.print_format import Conversion

if TYPE_CHECKING:
    from events.record import Record
from events.text import FAULT, show


def kernel_text(record: Record, symbols: Symbols | None = None, attached: str = "", user: bool = False) -> str:
    """Return the text that the kernel prints after the time stamp, byte for byte for probe events.

    Args:
        record: the event; for text, its text is returned.
        symbols: used for instruction pointers and `symbol` values; None: these are numbers, as without kallsyms.
        attached: `group.event` that an event probe is attached to, which its format does not contain.
        user: True for a probe in a program, whose addresses are no kernel symbols.
    """
    fmt = record.format
    if record.text or fmt is None:
        return record.text
    symbols = symbols or Symbols()
    values = record.values
    if fmt.printing is None or not (fmt.is_probe or attached):
        pairs = " ".join(f"{name}={show(value)}" for name, value in values.items() if name not in PROBE_FIELDS)
        return f"{fmt.name}: {pairs}".rstrip()
    literals, conversions = fmt.printing.literals, fmt.printing.conversions
    parts = [f"{fmt.name}: ", f"({attached})" if attached else ""]
    unquoted = False
    for literal, conversion in zip(literals, conversions, strict=False):
        conversion = _actual_conversion(conversion)
        value = _element(values, conversion)
        head = literal[1:] if unquoted else literal
        unquoted = value is None and conversion.spec == "s"  # (fault) is printed without quotes
        parts.append(head.removesuffix('"') if unquoted else head)
        if user and conversion.field in PROBE_FIELDS and isinstance(value, int):
            parts.append(f"{value:#x}")
        else:
            parts.append(_convert(conversion, value, symbols))
    parts.append(literals[-1][1:] if unquoted else literals[-1])
    return "".join(parts)


def _actual_conversion(conversion: Conversion) -> Conversion:
    """Return the conversion actually printed: return probes print `caller <- function`, but the print fmt has the
    reverse order.
    """
    other = {"__probe_func": "__probe_ret_ip", "__probe_ret_ip": "__probe_func"}.get(conversion.field)
    return replace(conversion, field=other) if other else conversion


def _element(values: Mapping[str, Value], conversion: Conversion) -> Scalar:
    value = values.get(conversion.field)
    if isinstance(value, tuple):
        at = conversion.index or 0
        return value[at] if at < len(value) else None
    return value


def _convert(conversion: Conversion, value: Scalar, symbols: Symbols) -> str:
    if value is None:
        return FAULT
    if isinstance(value, str | bytes):
        return show(value)
    if conversion.field in PROBE_FIELDS:
        return symbols.instruction(value, offset=conversion.field != "__probe_func")
    if conversion.spec.startswith("p") and len(conversion.spec) > 1:
        return symbols.text(value, offset=conversion.spec[1] in "SFB")
    if conversion.spec[-1:] in ("x", "X"):
        return f"{value & 0xFFFFFFFFFFFFFFFF:x}"
    if conversion.spec[-1:] == "c":
        return char_of(value)
    return str(int(value))
