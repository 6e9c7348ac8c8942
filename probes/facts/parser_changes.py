"""Find unannounced changes of the kernel's parser in BTF, which describes the tracing code itself.

Without BTF, the README's line that appeared closest to a change stands for it.
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
    """Changes found; each None: unknown."""

    event_cast: bool | None = None
    """True if `struct traceprobe_parse_context` has `struct_btf`: event probes take typecasts (seen from 7.1)."""
    logs_no_match: bool | None = None
    """True if the kernel logs "No matching dynamic event type" (seen from 6.19, with tracing_syscall_buf_write)."""
    event_variable_at_name: bool | None = None
    """True if BAD_VAR of event probes is at the argument, including its name (seen in 6.16 to 6.19; in 7.0, whose
    trace_print_bitmask_seq takes an iterator, it is at the variable)."""
    late_symbols: bool | None = None
    """True if fprobes look up `@SYM` when they are enabled, because they are not registered before (seen from 6.17,
    where __register_trace_fprobe is gone)."""
    event_size: bool | None = None
    """True if the size of an event has a bound: TP_ERR_EVENT_TOO_BIG exists (not in 6.16 to 6.19)."""
    hist_fields_uncounted: bool | None = None
    """True if `struct hist_field` has no `ref`: histograms were fixed with it (seen from 7.2, and in late 6.1)."""
    whole_filters: bool | None = None
    """True if a filter must not end in `&&` (seen in late 6.1, with find_synth_event_call)."""
    hist_stack_depth: int | None = None
    """Entries of a stack in a histogram: `entries` of `struct hist_pad` (16 up to 6.12, 31 later)."""
    hist_comm: bool | None = None
    """True if histograms have `common_comm`: HIST_FIELD_FL_COMM exists."""


_changes_by_btf: WeakKeyDictionary[Btf, ParserChanges] = WeakKeyDictionary()


def parser_changes_of(btf: Btf | None) -> ParserChanges:
    """Return the changes found in BTF, computed once for each BTF."""
    if btf is None:
        return ParserChanges()
    changes = _changes_by_btf.get(btf)
    if changes is None:
        changes = _changes_by_btf[btf] = _find_changes(btf)
    return changes


def _find_changes(btf: Btf) -> ParserChanges:
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
    struct = btf.find("hist_field", Kind.STRUCT)
    return None if struct is None else all(member.name != "ref" for member in members(btf, struct))


def _hist_stack_depth(btf: Btf) -> int | None:
    struct = btf.find("hist_pad", Kind.STRUCT)
    entries = None if struct is None else next((m for m in members(btf, struct) if m.name == "entries"), None)
    array = None if entries is None else btf.type(entries.type_id)
    return array.nelems if isinstance(array, Array) else None


def _hist_comm(btf: Btf) -> bool | None:
    enum = btf.find("hist_field_flags", Kind.ENUM)
    flags = None if enum is None else btf.type(enum)
    return any(v.name == "HIST_FIELD_FL_COMM" for v in flags.values) if isinstance(flags, Enum) else None


def _context_members(btf: Btf) -> frozenset[str]:
    """Return the names of the members of the parser's context; empty where BTF lacks it."""
    for param in _params(btf, "traceprobe_parse_probe_arg"):
        pointer = btf.type(strip(btf, param.type_id))
        target = btf.type(strip(btf, pointer.type_id)) if isinstance(pointer, Ptr) else None
        if isinstance(target, Struct) and target.name == "traceprobe_parse_context":
            return frozenset(member.name for member in members(btf, target.id))
    return frozenset()


def _params(btf: Btf, function: str) -> tuple[Param, ...]:
    """Return the parameters of a function; empty where BTF lacks it."""
    func = btf.function(function)
    return btf.prototype(func).params if func is not None else ()
