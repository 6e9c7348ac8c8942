"""Check probes for a target, and lower them: the verdict, and the lines or programs that its kernel takes."""

from __future__ import annotations

import contextlib
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from btf.damage import exact_types
from btf.errors import BtfError
from kernel.connection.event_kinds import kind_of, reason_for_number
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.object_plans import ObjectPlanner
from kernel.connection.pattern_notes import with_pattern_notes
from kernel.connection.probe_lookups import ProbeLookups
from kernel.connection.probe_means import MeansChooser, ProbeMeans, has_means
from kernel.errors import KernelError, ProbeRefused
from kernel.recording.plans import readable_plans
from kernel.symbols.symbol_addresses import symbol_environment, with_function_name
from probes.command import Armable, CommandText, UserProbe, is_function
from probes.facts.lookups import UNKNOWN
from probes.names import MAX_EVENT_NAME, event_name, split_name
from probes.objects.request import ObjectProbe
from probes.plans.plan import DEFAULT_GROUP, Via
from probes.probe import Probe
from probes.refusal import CannotLower, own_refusal
from probes.sources.source import has_one_means, is_monitor, is_watchpoint
from probes.static_events import Latency
from probes.verdict import Verdict

# The rules of the kernel are imported with the first probe that is judged: the events of a recording need none.
if TYPE_CHECKING:
    from probes.check import CheckResult
    from probes.facts.lookups import Environment
    from probes.plans.plan import Plan, PlannedEvent


@contextlib.contextmanager
def refused_if_damaged() -> Iterator[None]:
    """Refuse by CannotLower what would be made of types that lie."""
    try:
        with exact_types():
            yield
    except BtfError as error:
        raise CannotLower(own_refusal("damaged_types", hint=str(error))) from None


class Planner:
    """Verdicts of one kernel on probes, and the lines it takes for them, before anything is armed."""

    def __init__(self, info: KernelInfo, via: Via = Via.AUTO) -> None:
        self.info = info
        self.via = via
        """Means by which probes on functions are recorded."""
        self.lookups = ProbeLookups(info)
        """Types, symbols and files that a probe is read with."""
        self.objects = ObjectPlanner(info)
        """Plans of compiled BPF objects."""
        self._chooser = MeansChooser(info)

    def check(self, probe: Armable | CommandText | str, group: str = "", look: bool = False) -> CheckResult:
        """Return the verdict of this kernel on a probe, and the lines it would get; nothing is written.

        Args:
            probe: probe as a person means it.
            group: group of its events.
            look: ask the target for events, symbols and files too, each once; that may take long.
        """
        from probes.check import CheckResult

        try:
            with refused_if_damaged():
                read = CommandText.parse(probe) if isinstance(probe, str) else probe
                return self._check(read, group, look)
        except CannotLower as error:
            return CheckResult(Verdict(str(probe), error.refusal), None)

    def _check(self, probe: Armable | CommandText, group: str, look: bool) -> CheckResult:
        from probes.check import CheckResult, check_plan

        probe = self.lookups.settled(probe)
        if (kept := self._recorded(probe)) is not None:
            return CheckResult(Verdict(str(kept.probe)), kept)
        known = probe.armable if isinstance(probe, CommandText) else probe
        if isinstance(known, ObjectProbe):
            return CheckResult(Verdict(str(known)), self.objects.plan(known, group or DEFAULT_GROUP))
        means = self._means_of(probe)
        if means.via is Via.BPF or not look:
            btf, facts = self.lookups.types_of(probe), self.info.facts
            around = self._with_programs(self.lookups.around(probe), means)
            checked = check_plan(probe, btf, facts, group, around, via=means.via)
            return checked._replace(plan=means.told(checked.plan)) if checked.plan is not None else checked
        asked, types = self.lookups.asked(), self.lookups.types_of(probe)
        existing = self.info.environment.existing
        found = check_plan(probe, types, self.info.facts, group, asked, existing, means.via)
        return found if found.plan is None else found._replace(plan=with_pattern_notes(found.plan, self.info))

    def check_typed(self, typed: CommandText | str) -> CheckResult:
        """Return the verdict on a text while it is typed; a text that this kernel rejects may still be lowered for
        it.
        """
        from probes.check import CheckResult, check_typed

        text = CommandText.parse(typed) if isinstance(typed, str) else typed
        try:
            with refused_if_damaged():
                probe = self.lookups.settled(text)
                is_code = isinstance(text.armable, Probe) and text.armable.needs_code
                if is_code and (kept := self._recorded(probe)) is not None:
                    return CheckResult(Verdict(str(kept.probe)), kept)
                if text.text and isinstance(text.armable, ObjectProbe):
                    return self._check(text, "", False)
                if not isinstance(probe, CommandText) or self._means_of(text).via is Via.BPF:
                    return self._check(probe, "", False)
                if text.text.lstrip().startswith(("-", "!")):
                    return self._check(text, "", True)  # what is there is all that a deletion is about
                return check_typed(
                    text, self.lookups.types_of(text), self.info.facts, environment=self.lookups.around(text)
                )
        except CannotLower as error:
            return CheckResult(Verdict(str(typed), error.refusal), None)

    def kinds(self, plans: Iterable[Plan]) -> dict[str, Hashable]:
        """Return what the events of plans are, by path: only probes of one kind can share an event."""
        types = self.lookups.types_of
        return {event.path: kind_of(event, types(plan.probe)) for plan in plans for event in plan.events}

    @refused_if_damaged()
    def lower(
        self,
        probe: Armable,
        group: str,
        taken: Container[str] = (),
        gone: Container[str] = (),
        kinds: Mapping[str, object] = MappingProxyType({}),
    ) -> Plan:
        """Return the plan of a probe for this kernel. Raises `probes.refusal.CannotLower`.

        Args:
            probe: probe as a person means it.
            group: group of its events.
            taken: paths of events that are armed. Another probe on the same function gets a number behind its name,
                unless the user chose that name.
            gone: paths of events that were another probe's, which may still be seen: even a name that the user chose
                gets a number then, and the plan says so.
            kinds: `kinds` of what is armed.
        """
        from probes.facts.dialect import dialect_of
        from probes.lowering.lower import lower

        probe = with_function_name(probe, lambda: self.info.symbols.current)
        if (kept := self._recorded(probe)) is not None:
            return kept
        if isinstance(probe, ObjectProbe):
            return self.objects.plan(probe, group, taken)
        btf, facts = self.lookups.types_of(probe), self.info.facts
        if not is_function(probe):
            self.info.environment.forget()
        if isinstance(probe, Latency) or (isinstance(probe, Probe) and probe.needs_code):
            self.lookups.bodies.forget()
        means = self._means_of(probe)
        plan, around = self._lowered(probe, group, means)
        notes = with_pattern_notes(plan, self.info).losses
        chosen = _chosen_name(probe)
        # Of two events each puts its end behind the name it is given.
        name = chosen or plan.events[0].event.removesuffix("__entry").removesuffix("__exit")
        number, not_free, why = 2, gone if chosen else taken, ""
        alone = kinds if dialect_of(facts, self.info.btf).late_symbols else ()
        while _can_be_numbered(probe) and (held := reason_for_number(plan, not_free, kinds, alone, btf)):
            why = why or held
            numbered = event_name(name, f"_{number}", MAX_EVENT_NAME - len("__entry"))
            plan = means.told(lower(probe, btf, facts, group, numbered, around, means.via))
            number += 1
        if chosen and number > 2:
            notes = (*notes, f"{chosen}: {why}; the events of this probe are called {numbered}")
        return replace(plan, losses=notes)

    def lower_like(self, plan: Plan, probe: Armable, group: str) -> Plan:
        """Return the plan of a probe by the means of another plan. Raises CannotLower."""
        via = Via.BPF if plan.by_programs else Via.TRACEFS
        planner = self if self._means_of(probe).via is via else Planner(self.info, via)
        return planner.lower(probe, group)

    def tracefs_refusal(self, probe: Armable) -> str:
        """Return why tracefs can't record a probe, in a line; empty: it can. Raises TargetLost."""
        if isinstance(probe, ObjectProbe):
            return "its own programs make the events of a compiled object"
        if is_monitor(probe):
            return "the samples are no events of the kernel"
        if is_watchpoint(probe):
            return "a BPF program records what the debug registers report"
        try:
            Planner(self.info, Via.TRACEFS).lower(probe, DEFAULT_GROUP)
        except CannotLower as error:
            return f"{error.refusal.message[:1].lower()}{error.refusal.message[1:]}"
        return ""

    def _lowered(self, probe: Armable, group: str, means: ProbeMeans) -> tuple[Plan, Environment]:
        """Lower a probe, and tell by which lookups.

        Where the tracer doesn't list its function the symbols are read before it is refused: its code may be listed
        by another name. Raises CannotLower.
        """
        from probes.lowering.lower import lower

        btf, facts, around = self.lookups.types_of(probe), self.info.facts, self.lookups.around(probe)
        if around.bodies is not None and isinstance(probe, Probe) and not probe.needs_code:
            around = replace(around, bodies=self.lookups.bodies.kept)  # the kernel itself says what begins there
        try:
            asked = self._with_programs(around, means)
            return means.told(lower(probe, btf, facts, group, environment=asked, via=means.via)), asked
        except CannotLower as error:
            if error.refusal.code == "not_traceable" and around is UNKNOWN and self.info.symbols.current is not None:
                asked = self._with_programs(symbol_environment(self.info.symbols.current), means)
                with contextlib.suppress(CannotLower):  # what was refused first says more
                    return lower(probe, btf, facts, group, environment=asked, via=means.via), asked
            raise

    def _with_programs(self, around: Environment, means: ProbeMeans) -> Environment:
        """Return lookups with what this kernel attaches programs to, where a probe is recorded by them."""
        shown = self.via is Via.BPF and not self.info.target.is_kernel  # for another kernel: all there may be
        return around if shown or means.via is not Via.BPF else replace(around, programs=self.info.program_support)

    def forget_refused(self, error: ProbeRefused) -> None:
        """Plan no program any more for functions that the kernel refused one at their entry or exit."""
        self.info.note_refused_programs(error.functions)
        self._chooser.forget()

    def _means_of(self, probe: Armable | CommandText) -> ProbeMeans:
        """Return the means by which a probe is recorded, and why. Raises TargetLost."""
        known = probe.armable if isinstance(probe, CommandText) else probe
        if known is None:
            return ProbeMeans(Via.TRACEFS)
        if self.via is Via.TRACEFS or not (has_means(known) or self.via is Via.BPF):
            return ProbeMeans(Via.TRACEFS)
        if not (isinstance(known, Probe) and is_function(known)):
            return ProbeMeans(self.via)
        return self._chooser.choose(known, self.lookups.types_of(known), self.lookups.around(known), self.via)

    @refused_if_damaged()
    def with_triggers(self, plan: Plan, triggers: Sequence[str]) -> Plan:
        """Put triggers on each of its events that takes them. Raises CannotLower where none takes one of them."""
        from probes.bpf.lower import NO_TRIGGERS, STACKTRACE, no_tracefs_note, program_refusal, with_stacks
        from probes.lowering.check_planned import trigger_refusal

        if not triggers:
            return plan
        if plan.programs and all(text.strip() == STACKTRACE for text in triggers):
            return with_stacks(plan)
        if plan.by_programs:
            if reason := self.tracefs_refusal(plan.probe):
                raise CannotLower(own_refusal("no_program", triggers[0], None, no_tracefs_note(NO_TRIGGERS, reason)))
            raise program_refusal(triggers[0], None, NO_TRIGGERS)
        btf, around = self.lookups.types_of(plan.probe), self.lookups.around(plan.probe)
        events = list(plan.events)
        for text in (trigger.strip() for trigger in triggers):
            texts = [self.lowered_trigger(plan, event, text) for event in events]
            refusals = [
                trigger_refusal(event, lowered, btf, self.info.facts, around)
                for event, lowered in zip(events, texts, strict=True)
            ]
            refused = [refusal for refusal in refusals if refusal is not None]
            if len(refused) == len(events):
                raise CannotLower(replace(refused[0], column=None, token=text))
            for number, event in enumerate(events):
                if refusals[number] is None:
                    events[number] = replace(event, triggers=(*event.triggers, texts[number]))
        return replace(plan, events=tuple(events))

    @refused_if_damaged()
    def lowered_trigger(self, plan: Plan, event: PlannedEvent, text: str) -> str:
        """Return a trigger of an event in the kernel's words. Raises CannotLower."""
        from probes.lowering.check_planned import lowered_trigger

        return lowered_trigger(
            event, text, self.lookups.types_of(plan.probe), self.info.facts, self.lookups.around(plan.probe)
        )

    def trigger_verdict(self, plan: Plan, event: PlannedEvent, text: str) -> Verdict:
        """Return the verdict of this kernel on one more trigger of an armed event; nothing is written."""
        from probes.bpf.lower import NO_TRIGGERS, program_refusal
        from probes.lowering.check_planned import trigger_refusal
        from probes.lowering.filters.filter_words import written_column

        if plan.by_programs:
            return Verdict(text, program_refusal(text, None, NO_TRIGGERS).refusal)
        try:
            with refused_if_damaged():
                btf, around = self.lookups.types_of(plan.probe), self.lookups.around(plan.probe)
                lowered = self.lowered_trigger(plan, event, text)
                refusal = trigger_refusal(event, lowered, btf, self.info.facts, around)
        except CannotLower as error:
            return Verdict(text, error.refusal)
        except KernelError:  # the connection is lost: adding it will tell
            return Verdict(text)
        if refusal is not None and refusal.column is not None:
            refusal = replace(refusal, column=written_column(text, lowered, refusal.column))
        return Verdict(text, refusal)

    def _recorded(self, probe: Armable | CommandText) -> Plan | None:
        """Return the plan of a probe as a recording holds it: files, events and code of its machine are not there."""
        if self.info.target.recording is None:
            return None
        text = " ".join(probe.text.split()) if isinstance(probe, CommandText) else str(probe)
        plans = readable_plans(self.info.target.recording)
        return next((plan for plan in plans if _is_kept_whole(plan.probe) and str(plan.probe) == text), None)


def _is_kept_whole(probe: Armable) -> bool:
    """Return whether a recording alone knows the events of a probe: files and code of its machine are elsewhere."""
    return not is_function(probe) or (isinstance(probe, Probe) and probe.needs_code)


def _can_be_numbered(probe: Armable) -> bool:
    """Return whether events of a probe may get another name; names of others are fixed, or chosen by their user."""
    return isinstance(probe, Probe | UserProbe) or has_one_means(probe)


def _chosen_name(probe: Armable) -> str:
    """Return the event's name if the user chose it."""
    if isinstance(probe, UserProbe):
        return split_name(probe.name or "")[1]
    return probe.event if isinstance(probe, Probe) else ""
