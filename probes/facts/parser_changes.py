"""Changes of the kernel's parser that no README announces, found in BTF: the tracing code is described there itself.

Without BTF the README's lines that came nearest to a change stand in for it.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

from btf.btf import Btf
from btf.kinds import Kind
from btf.layout import members
from btf.types import Array, Enum, Param, Ptr, Struct
from btf.walk import strip


class ParserChanges(NamedTuple):
    """What was found; None: can't be known."""

    event_cast: bool | None = None
    """`struct traceprobe_parse_context` has `struct_btf`: event probes take typecasts (seen from 7.1)."""
    logs_no_match: bool | None = None
    """Says "No matching dynamic event type" (seen from 6.19, with tracing_syscall_buf_write)."""
    event_variable_at_name: bool | None = None
    """BAD_VAR of event probes stands at the argument, its name included (seen in 6.16 to 6.19; 7.0, whose
    trace_print_bitmask_seq takes an iterator, has it at the variable)."""
    late_symbols: bool | None = None
    """Fprobes look for `@SYM` when they are enabled: they are not registered before (seen from 6.17, where
    __register_trace_fprobe has gone)."""
    event_size: bool | None = None
    """The size of an event has a bound: TP_ERR_EVENT_TOO_BIG is there (not in 6.16 to 6.19)."""
    hist_fields_uncounted: bool | None = None
    """`struct hist_field` has no `ref`: histograms were mended together with it (seen from 7.2, and in late 6.1)."""
    whole_filters: bool | None = None
    """A filter must not end in `&&` (seen in late 6.1, with find_synth_event_call)."""
    hist_stack_depth: int | None = None
    """Entries of a stack in a histogram: `entries` of `struct hist_pad` (16 up to 6.12, 31 later)."""
    hist_comm: bool | None = None
    """Histograms know `common_comm`: HIST_FIELD_FL_COMM is there."""


_found: WeakKeyDictionary[Btf, ParserChanges] = WeakKeyDictionary()


def marks_of(btf: Btf | None) -> ParserChanges:
    """Look for the marks; once for each BTF."""
    if btf is None:
        return ParserChanges()
    found = _found.get(btf)
    if found is None:
        found = _found[btf] = _look(btf)
    return found


def _look(btf: Btf) -> ParserChanges:
    context = _context_members(btf)
    histograms = ParserChanges(
        event_size=btf.has_name("TP_ERR_EVENT_TOO_BIG") if btf.has_name("TP_ERR_FILE_NOT_FOUND") else None,
        hist_fields_uncounted=_hist_fields_uncounted(btf),
        hist_stack_depth=_hist_stack_depth(btf),
        hist_comm=_hist_comm(btf),
    )
    if histograms.hist_fields_uncounted is not None:
        histograms = histograms._replace(whole_filters=btf.function("find_synth_event_call") is not None)
    if not context:
        return histograms
    bitmask = _params(btf, "trace_print_bitmask_seq")
    iterator = bitmask[0].name == "iter" if bitmask else None
    return histograms._replace(
        event_cast="struct_btf" in context,
        logs_no_match=btf.function("tracing_syscall_buf_write") is not None,
        event_variable_at_name=None if iterator is None else not iterator,
        late_symbols=btf.function("__register_trace_fprobe") is None
        and btf.function("trace_fprobe_create_cb") is not None,
    )


def _hist_fields_uncounted(btf: Btf) -> bool | None:
    found = btf.find("hist_field", Kind.STRUCT)
    return None if found is None else all(member.name != "ref" for member in members(btf, found))


def _hist_stack_depth(btf: Btf) -> int | None:
    found = btf.find("hist_pad", Kind.STRUCT)
    entries = None if found is None else next((m for m in members(btf, found) if m.name == "entries"), None)
    array = None if entries is None else btf.type(entries.type_id)
    return array.nelems if isinstance(array, Array) else None


def _hist_comm(btf: Btf) -> bool | None:
    found = btf.find("hist_field_flags", Kind.ENUM)
    flags = None if found is None else btf.type(found)
    return any(v.name == "HIST_FIELD_FL_COMM" for v in flags.values) if isinstance(flags, Enum) else None


def _context_members(btf: Btf) -> frozenset[str]:
    """Members of the parser's context; empty where BTF doesn't say."""
    for param in _params(btf, "traceprobe_parse_probe_arg"):
        pointer = btf.type(strip(btf, param.type_id))
        target = btf.type(strip(btf, pointer.type_id)) if isinstance(pointer, Ptr) else None
        if isinstance(target, Struct) and target.name == "traceprobe_parse_context":
            return frozenset(member.name for member in members(btf, target.id))
    return frozenset()


def _params(btf: Btf, function: str) -> tuple[Param, ...]:
    """Parameters of a function; none where BTF doesn't know it."""
    found = btf.function(function)
    return btf.prototype(found).params if found is not None else ()
