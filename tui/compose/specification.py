"""Make a value of a typed probe: parse, verdict, translation, lines for other kernels; no screen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from events.names.function_choice import is_choice, is_own_choice, is_type
from foreign.refusal import InputRefusal
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.errors import KernelError
from probes.attaching.explain import explain_refusal, refused_function
from probes.attaching.places import probe_at, with_values
from probes.attaching.values import ReasonKind
from probes.check import CheckResult, refuse_unknown_tracepoint
from probes.command import Armable, CommandText, UserProbe, is_function
from probes.corrections.corrections import corrected, with_correction
from probes.facts.facts import TargetFacts
from probes.lowering.other_kernels import OtherKernelLines, lower_for_others
from probes.probe import Probe, ProbeEnds, ProbeKind
from probes.programs.program import SymbolNotPlaced
from probes.static_events import StaticEvent, is_static
from probes.translation.source_line import SourceLineSpec, source_line_of
from probes.translation.translate import translate
from probes.translation.translated import Translation
from probes.verdict import Refusal, Verdict
from tui.present.option_keys import WHERE_BUILT
from tui.present.ways_out import SHOW_LINES
from widgets.spec.layout import OtherKernel, Specification

_TRIED = 12
"""Texts that are looked at for one that is right."""
_CAST = re.compile(r"[ =(]\(")


class TypedText(NamedTuple):
    """The reading of a text."""

    shown: Specification
    probe: Armable | None
    """The probe, also where the kernel would reject it; None: the text is none."""
    function: Probe | None
    """The probe, where the fields of its function can be ticked."""


def specification_of(planner: Planner, probe: Probe) -> Specification:
    """Return the text of a probe with the verdict, the lines, and notes, for the specification pane."""
    try:
        return _specification(str(probe), probe, _explained(planner.info, planner.check(probe)))
    except KernelError as error:  # what programs can be attached to is tried there: the connection is lost
        return Specification(str(probe), notes=(str(error),))


def refused(shown: Specification, by_kernel: Verdict) -> Specification:
    """Add the verdict of the kernel itself, which goes before the one that we compute.

    Where both are about the same word, ours stays: it has the names that are near.
    """
    ours, theirs = shown.verdict.error if shown.verdict else None, by_kernel.error
    same = ours is not None and theirs is not None and ours.token == theirs.token != ""
    return shown if same else replace(shown, verdict=WHERE_BUILT.verdict(by_kernel))


def typed(planner: Planner, typed_text: CommandText) -> TypedText:
    """Read a text. Of what is no function probe the target is asked, which may take long (`asks_target`)."""
    text = typed_text.text
    if not text.strip():
        return TypedText(Specification(text), None, None)
    if (meant := translate(text, planner.info.facts.machine)) is not None:
        return TypedText(Specification(text, _of_another_tool(text, meant)), None, None)
    try:
        if (of_line := source_line_of(text)) is not None:
            return TypedText(Specification(text, _of_source_line(planner.info, text, of_line)), None, None)
        return _judged(planner, typed_text)
    except KernelError as error:  # the connection is lost: there is no more to say
        found = unchecked(planner.info, typed_text)
        return found._replace(shown=replace(found.shown, notes=(str(error),)))


def _judged(planner: Planner, text: CommandText) -> TypedText:
    checked = _put_right(planner, text.text, _explained(planner.info, planner.check_typed(text)))
    shown = _specification(text.text, text.armable, checked)
    return TypedText(shown, text.armable, _with_fields(planner.info, text.armable))


def unchecked(info: KernelInfo, text: CommandText) -> TypedText:
    """Return a text without a verdict; one about a line of source is no probe before its instructions are known."""
    if source_line_of(text.text) is not None:
        return TypedText(Specification(text.text), None, None)
    return TypedText(Specification(text.text), text.armable, _with_fields(info, text.armable))


def asks_target(typed_text: CommandText) -> bool:
    """Return whether a verdict on a text takes long: it asks the target for events or files, or looks at the types of
    many functions.
    """
    probe, text = typed_text.armable, typed_text.text
    head, place = [*text.split()[:2], "", ""][:2]
    if (head[:1] == "f" and is_own_choice(place.partition("%")[0])) or source_line_of(text) is not None:
        return True
    if probe is None:
        return is_static(text) or head[:1] in ("t", "e", "-", "!") or (head[:1] in ("p", "r") and "/" in place)
    # Of variables, of offsets, of a part such as `vfs_read.cold` the symbols know; of a typecast all types.
    by_symbols = "." in probe.subject or "+" in place or "@" in text
    # To read a value of the functions of a pattern may take programs, and the signature of each.
    has_values = isinstance(probe, Probe) and bool(probe.fetchargs or probe.filter)
    by_signatures = has_values and is_choice(probe.subject)
    by_code = isinstance(probe, Probe) and probe.needs_code
    return not is_function(probe) or by_symbols or by_code or by_signatures or _CAST.search(text) is not None


def _with_fields(info: KernelInfo, probe: Armable | None) -> Probe | None:
    """Return the probe whose fields can be ticked; None: there are none. Of an event as it is, no field is ticked."""
    if isinstance(probe, UserProbe):
        return _with_values(info, probe)
    if isinstance(probe, StaticEvent):
        event = replace(probe_at(probe.path), filter=probe.filter)
        return event if info.places.has(event) else None
    if isinstance(probe, Probe) and not is_function(probe):
        # An event probe without fields records none, and one that is ticked would record all.
        return probe if info.places.has(probe) and (probe.kind is ProbeKind.TRACEPOINT or probe.fetchargs) else None
    if not isinstance(probe, Probe) or not is_function(probe) or probe.place.offset or probe.needs_code:
        return None
    if is_type(probe.place.symbol):
        return probe
    function = info.function(probe.place.symbol)
    return probe if function.kinds or function.prototype else None


def _with_values(info: KernelInfo, probe: UserProbe) -> Probe | None:
    """Return a probe in a program whose values can be ticked; None: it has others, or the program was not read."""
    program = info.programs.program(probe.path) if info.programs is not None else None
    try:
        return with_values(probe) if program is not None and program.place(probe.symbol) else None
    except SymbolNotPlaced:
        return None


def _explained(info: KernelInfo, checked: CheckResult) -> CheckResult:
    """Add the reason from the list of functions, where the function itself is refused."""
    name = refused_function(checked.verdict)
    about = info.catalog.attachability(name) if name else None
    if about is None:
        return checked
    near = info.catalog.near(name) if about.has(ReasonKind.UNKNOWN) else ()
    return checked._replace(verdict=explain_refusal(checked.verdict, about, near))


def counted_by(info: KernelInfo, text: str) -> dict[Armable, tuple[str, ...]]:
    """Return the probes of another tool's text that count, with their hist triggers; none: it is no such text."""
    meant = translate(text, info.facts.machine)
    each = meant.triggers_by_probe if meant is not None else {}
    texts = {CommandText.parse(spec): triggers for spec, triggers in each.items() if triggers}
    return {text.armable: triggers for text, triggers in texts.items() if text.armable is not None}


def _of_another_tool(text: str, meant: Translation) -> Verdict:
    """Return a refusal of another tool's text, with its translation; of several probes the first."""
    more = f"{len(meant.probes)} probes: paste it for all" if len(meant.probes) > 1 else ""
    hint = WHERE_BUILT.text("; ".join(filter(None, (more, meant.notes_text))))
    right = meant.probes[0] if meant.probes else ""
    error = Refusal("of_another_tool", f"This is {meant.tool}'s", 0, text.split()[0], hint, (), right)
    return Verdict(" ".join(text.split()), error)


def _of_source_line(info: KernelInfo, text: str, of_line: SourceLineSpec) -> Verdict:
    """Return a refusal of a line of source, with a probe on its first instruction. Raises TargetLost."""
    from kernel.attach.debug_places import find_source_places

    right = ""
    try:
        found = find_source_places(info, of_line.file, of_line.line)
    except InputRefusal as refusal:
        message, hint = "This is a line of source", str(refusal)
    else:
        right, *others = of_line.specs(found.places)
        message = f"{found.source} begins at {found.places[0]}"
        hint = f"and at {', '.join(found.places[1:])}: a probe each" if others else ""
    column = text.index(of_line.file)
    words = " ".join(text.split())
    return Verdict(words, Refusal("of_source_line", message, column, words.split(" ")[1], hint, (), right))


def _put_right(planner: Planner, text: str, checked: CheckResult) -> CheckResult:
    """Return a refusal with the whole text corrected, where no name does; tries few, for each key calls it."""
    verdict, error = checked.verdict, checked.verdict.error
    if error is None:
        return checked

    def judged(other: str) -> Verdict:
        read = CommandText.parse(other)
        found = planner.check_typed(read)
        return refuse_unknown_tracepoint(read, _explained(planner.info, found).verdict, planner.info.facts)

    right = corrected(text, verdict, judged, _TRIED)
    if right and not (error.nearest and error.nearest[0] in right):
        error = replace(error, nearest=())  # a name that is merely like the word is another one
    return checked._replace(verdict=replace(verdict, error=with_correction(error, right)))


def _specification(text: str, probe: Armable | None, checked: CheckResult) -> Specification:
    plan = checked.plan
    notes = plan.losses if plan else ()
    if checked.written is not None and checked.written.error is not None:
        notes = (f"as written this kernel refuses it ({checked.written.error.code}): {SHOW_LINES}", *notes)
    at_exit = isinstance(probe, Probe) and probe.when is ProbeEnds.EXIT
    if at_exit and any("->" in word for word in text.split()):
        notes += ("fields are read after the call; b reads them at both ends",)
    return Specification(
        text,
        WHERE_BUILT.verdict(checked.verdict),
        plan.shown_lines if plan else (),
        notes,
        lowered_only=checked.written is not None,
    )


def others_of(
    planner: Planner, probe: Armable, own: tuple[str, ...], kernels: Mapping[str, TargetFacts]
) -> tuple[OtherKernel, ...]:
    """Return the lines of a probe for other kernels; kernels with equal lines together."""
    found: dict[OtherKernelLines, list[str]] = {}
    for name, lines in lower_for_others(probe, planner.lookups.types_of(probe), kernels).items():
        found.setdefault(lines, []).append(name)
    like = sorted(found, key=lambda one: (one.error is not None, one.lines != own))  # those that are alike first
    return tuple(_other(", ".join(found[lines]), lines, own) for lines in like)


def _other(names: str, found: OtherKernelLines, own: tuple[str, ...]) -> OtherKernel:
    if found.error is not None:
        return OtherKernel(
            names, (), f"no: {WHERE_BUILT.text(found.error.hint) or found.error.message}", refused=True
        )
    if found.lines == own:
        return OtherKernel(names, (), "the same")
    return OtherKernel(names, found.lines, "; ".join(found.losses))
