"""Find tracepoints that have some of a function's arguments: by type for structures, by name and type else.

They share several arguments, or one and a word of the name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from btf.render import c_type
from btf.types import Ptr, Struct
from btf.walk import strip
from probes.facts.facts import Feature
from probes.fetcharg import FetchArg, Variable
from probes.functions.function_index import index_of
from probes.functions.signature import Signature, tracepoint_of
from probes.probe import ProbePlace
from probes.readable.judge import MeansJudge, probe_by
from probes.readable.report import Means, MeansReport, ReadableValue
from probes.static_events import StaticEvent

_MOST: Final = 3
"""Tracepoints that are named: those with most of the arguments."""
_PREFIXES: Final = ("__x64_sys_", "__arm64_sys_", "__do_sys_", "__se_sys_", "ksys_", "do_sys_", "sys_")
_NOT_THIS_CALL: Final = "it is another place than this function: the values are those there"
NONE_ALIKE: Final = "no tracepoint has several of its arguments, or one of them and a word of its name"


def tracepoint_reports(
    function: str, signature: Signature | None, judge: MeansJudge, events: Sequence[str]
) -> list[MeansReport]:
    """Return reports of the tracepoints with most of a function's arguments; one with the reason where there is none.

    `events`: events of the kernel, as `group/event`.
    """
    if signature is None:
        return [MeansReport(Means.TRACEPOINT, refusal="its arguments are unknown")]
    found = [*_of_system_call(function, signature, judge, frozenset(events))]
    if judge.facts.has(Feature.TPROBE_EVENTS):
        found += _with_arguments(signature, judge)
    if found:
        return found
    reason = NONE_ALIKE
    if not judge.facts.has(Feature.TPROBE_EVENTS):
        reason = "this kernel has no tracepoint probes, and no event of a system call has its arguments"
    return [MeansReport(Means.TRACEPOINT, refusal=reason)]


def _of_system_call(
    function: str, signature: Signature, judge: MeansJudge, events: frozenset[str]
) -> Iterator[MeansReport]:
    """Yield the report of the event at the entry of the system call that a function serves."""
    prefix = next((one for one in _PREFIXES if function.startswith(one)), "")
    path = f"syscalls/sys_enter_{function.removeprefix(prefix)}"
    if not prefix or path not in events or judge.environment.event is None:
        return
    fields = {one.name for one in judge.environment.event(*path.split("/")) or ()}
    same = [param.name for param in signature.params if param.name in fields]
    if same:
        values = tuple(
            ReadableValue(param.name, param.name if param.name in same else "", "" if param.name in same else _LACKS)
            for param in signature.params
        )
        yield MeansReport(
            Means.TRACEPOINT, str(StaticEvent(path)), values=values, registers_note=_NONE, notes=(_NOT_THIS_CALL,)
        )


_LACKS: Final = "this tracepoint does not have it"
_NONE: Final = "a tracepoint has arguments, no registers"


def _with_arguments(signature: Signature, judge: MeansJudge) -> Iterator[MeansReport]:
    """Yield the reports of the tracepoints that share most arguments with a function, a structure among them."""
    btf = signature.btf
    wanted = {(param.name, c_type(btf, param.type_id)): param.name for param in signature.params}
    structures = {kind: name for (name, kind) in wanted if _is_structure(signature, name)}
    if not structures:
        return
    scored, words = [], {*signature.name.strip("_").split("_")}
    for name in index_of(judge.facts).tracepoints:
        tracepoint = tracepoint_of(btf, name)
        if tracepoint is None:
            continue
        shared: dict[str, str] = {}
        for param in tracepoint.params:
            kind = c_type(btf, param.type_id)
            mine = structures.get(kind) or wanted.get((param.name, kind))
            if mine is not None:
                shared.setdefault(mine, param.name)
        alike = len(words & {*name.split("_")})
        # A structure alone says little: most tracepoints with a file have nothing to do with vfs_read.
        if any(one in shared for one in structures.values()) and (len(shared) > 1 or alike):
            scored.append((-len(shared), -alike, name, shared))
    for *_, name, shared in sorted(scored)[:_MOST]:
        place = ProbePlace(name)
        values = []
        for param in signature.params:
            theirs = shared.get(param.name)
            fetcharg = FetchArg(Variable(theirs)) if theirs else None
            reason = judge.refusal(Means.TRACEPOINT, place, fetcharg) if fetcharg is not None else _LACKS
            values.append(ReadableValue(param.name, "" if reason else str(fetcharg), reason))
        spec = str(probe_by(Means.TRACEPOINT, place))
        yield MeansReport(Means.TRACEPOINT, spec, values=tuple(values), registers_note=_NONE, notes=(_NOT_THIS_CALL,))


def _is_structure(signature: Signature, name: str) -> bool:
    """Return whether a parameter points to a structure."""
    number = signature.number_of(name)
    if number is None:
        return False
    btf = signature.btf
    kind = btf.type(strip(btf, signature.params[number].type_id))
    return isinstance(kind, Ptr) and isinstance(btf.type(strip(btf, kind.type_id)), Struct)
