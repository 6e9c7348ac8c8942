"""A target with what is known of it: facts, types, functions and symbols, each read when first asked for."""

from __future__ import annotations

import contextlib
import functools
import importlib
import threading
from collections.abc import Container, Sequence
from dataclasses import replace
from functools import cached_property

from btf.btf import Btf
from btf.errors import BtfError
from btf.render import prototype
from events.kallsyms import Symbols
from events.naming import Namer
from kernel.addresses import by_name, counted
from kernel.errors import FileRefused, KernelError
from kernel.recording import RecordingTarget
from kernel.replay import recorded_plans
from kernel.surroundings import Surroundings
from kernel.target import Target
from probes.attaching.catalog import Catalog, Function
from probes.check import Checked, armable, check_plan, check_typed, is_function
from probes.command import Armable, Deletion, UserProbe, is_own, parse_command
from probes.environment import UNKNOWN, Environment
from probes.facts import TargetFacts
from probes.fields import Tree
from probes.functions import index_of
from probes.lowering.check_planned import trigger_refusal
from probes.lowering.lower import lower
from probes.lowering.tracepoint import STUB
from probes.names import MAX_EVENT_NAME, event_name, split_name
from probes.plan import Plan, PlannedEvent
from probes.probe import Kind, Probe
from probes.refusal import CannotLower
from probes.syntax.parse import ParseError
from probes.verdict import Verdict


class Connection:
    """What the screens and the commands ask of a kernel before anything is armed."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.btf_error = ""
        """Why there is no BTF; empty where there is."""
        self._modules: dict[str, Btf | None] = {}
        self._reading_module = threading.Lock()
        self._symbols_loaded = False

    @cached_property
    def facts(self) -> TargetFacts:
        return self.target.facts()

    @cached_property
    def btf(self) -> Btf | None:
        """Types of the kernel itself; None where it has none (`btf_error` says why)."""
        try:
            return Btf.load(self.target.btf())
        except (FileRefused, BtfError) as error:
            self.btf_error = str(error)
            return None

    @cached_property
    def catalog(self) -> Catalog:
        """Every function, and what can attach to it."""
        return Catalog(self.btf, self.facts)

    @cached_property
    def symbols(self) -> Symbols | None:
        """Names of kernel addresses; None where the kernel hides them."""
        with contextlib.suppress(KernelError):
            return Symbols.parse(self.target.read("/proc/kallsyms")) or None
        return None

    @property
    def holds_events(self) -> bool:
        """It is a recording of events, not a kernel."""
        if not isinstance(self.target, RecordingTarget):
            return False
        recording = self.target.recording
        return bool(recording.plans or recording.names("format"))

    @property
    def cut_short(self) -> bool:
        """It is a recording whose end is missing."""
        return isinstance(self.target, RecordingTarget) and self.target.recording.truncated

    def btf_of(self, module: str | None) -> Btf | None:
        """Types to read a function of `module` with: its split BTF, or the kernel's.

        A module's are read at the first question, which may take long; the screens ask `unread_module` before.
        """
        if not module or self.btf is None:
            return self.btf
        if module not in self._modules:
            with self._reading_module:  # who comes second waits for what the first one reads
                if module not in self._modules:
                    self._modules[module] = self._read_module(module, self.btf)
        return self._modules[module] or self.btf

    def unread_module(self, function: str) -> str:
        """The module whose types have to be read before a probe on this function is looked at; empty: none."""
        module = self.function(function).module
        return module if self.btf is not None and module not in self._modules else ""

    def function(self, name: str) -> Function:
        """One function; a name that nobody knows has no kinds and says so.

        One of a module has its prototype once the module's types were read.
        """
        function = self.catalog.function(name)
        types = self._modules.get(function.module)
        return replace(function, prototype=_prototype(types, name)) if types is not None else function

    def tree(self, function: str) -> Tree:
        """What a probe on a function can capture."""
        return Tree(self.btf_of(self.function(function).module), function, self.facts.machine)

    def check(self, probe: Armable | str, group: str = "", look: bool = False) -> Checked:
        """What this kernel will answer, and the lines it would get; nothing is written.

        Args:
            probe: what is wanted.
            group: of its events.
            look: ask the target for events, symbols and files too, each once; that may take long.
        """
        probe = self._settled(probe)
        if (kept := self._recorded(probe)) is not None:
            return Checked(Verdict(str(kept.probe)), kept)
        if not look:
            return check_plan(probe, self.types_of(probe), self.facts, group, self._around(probe))
        around = self.surroundings
        return check_plan(probe, self.types_of(probe), self.facts, group, around.environment, around.existing)

    def check_typed(self, text: str) -> Checked:
        """What comes of a text as a person types it: also what this kernel refuses may yet be lowered for it."""
        probe = self._settled(text)
        if not isinstance(probe, str):
            return self.check(probe)
        if text.lstrip().startswith(("-", "!")):
            return self.check(text, look=True)  # what is there is all that a deletion is about
        return check_typed(text, self.types_of(text), self.facts, environment=self._around(text))

    @cached_property
    def surroundings(self) -> Surroundings:
        """Events, symbols and files there, each looked up when it is asked for."""
        return Surroundings(self.target, self.facts.tracefs)

    def lower(self, probe: Armable, group: str, taken: Container[str] = (), gone: Container[str] = ()) -> Plan:
        """The lines this kernel takes for the probe. Raises `probes.refusal.CannotLower`.

        Args:
            probe: what is wanted.
            group: of its events.
            taken: paths of events that are armed. Another probe on the same function gets a number behind its name,
                unless the user chose that name.
            gone: paths of events that were another probe's, which may still be seen: even a name that the user chose
                gets a number then, and the plan says so.
        """
        probe = by_name(probe, lambda: self.symbols)
        if (kept := self._recorded(probe)) is not None:
            return kept
        btf, facts = self.types_of(probe), self.facts
        if not is_function(probe):
            self.surroundings.forget()
        around = self._around(probe)
        plan = lower(probe, btf, facts, group, environment=around)
        chosen = _chosen_name(probe)
        # Of two events each puts its end behind the name it is given.
        name = chosen or (plan.events[0].event if len(plan.events) == 1 else probe.subject)
        number, not_free = 2, gone if chosen else taken
        while _can_be_numbered(probe) and any(event.path in not_free for event in plan.events):
            numbered = event_name(name, f"_{number}", MAX_EVENT_NAME - len("__entry"))
            plan = lower(probe, btf, facts, group, numbered, around)
            number += 1
        if not chosen or number == 2:
            return plan
        why = f"{chosen}: events of an earlier probe of this name may still be seen; this one's are called {numbered}"
        return replace(plan, losses=(*plan.losses, why))

    def with_triggers(self, plan: Plan, triggers: Sequence[str]) -> Plan:
        """Put triggers on each of its events that takes them. Raises CannotLower where none takes one of them."""
        if not triggers:
            return plan
        btf, around = self.types_of(plan.probe), self._around(plan.probe)
        events = list(plan.events)
        for text in (trigger.strip() for trigger in triggers):
            refusals = [trigger_refusal(event, text, btf, self.facts, around) for event in events]
            refused = [refusal for refusal in refusals if refusal is not None]
            if len(refused) == len(events):
                raise CannotLower(replace(refused[0], column=None, token=text))
            for number, event in enumerate(events):
                if refusals[number] is None:
                    events[number] = replace(event, triggers=(*event.triggers, text))
        return replace(plan, events=tuple(events))

    def trigger_verdict(self, plan: Plan, event: PlannedEvent, text: str) -> Verdict:
        """What this kernel will answer to one more trigger of an event that is armed; nothing is written."""
        refusal = trigger_refusal(event, text, self.types_of(plan.probe), self.facts, self._around(plan.probe))
        return Verdict(text, refusal)

    def load_symbols(self) -> None:
        """Read the symbols now, so that nobody has to wait for them later; for a worker."""
        if self.symbols is not None:
            self.symbols.named("_text")  # makes its index of names too
            self._symbols_loaded = True

    @property
    def loaded_symbols(self) -> Symbols | None:
        """The symbols, where `load_symbols` was called already; for who must not wait."""
        return self.symbols if self._symbols_loaded else None

    def namer(self) -> Namer:
        """What gives values their names; addresses have names once the symbols are loaded."""
        return Namer(self.btf, lambda: self.loaded_symbols)

    def warm(self) -> None:
        """Read what the first screen needs."""
        _ = self.catalog.names
        if self.holds_events:  # they are shown at once: numpy must not be imported while a picture waits
            importlib.import_module("events.store")

    def close(self) -> None:
        self.target.close()

    def _read_module(self, module: str, base: Btf) -> Btf | None:
        with contextlib.suppress(KernelError, BtfError):  # a line that is gone is told by whoever needs it next
            return Btf.load(self.target.btf(module), base=base)
        return None

    def _settled(self, probe: Armable | str) -> Armable | str:
        """A probe at an address gets its function's name; a text in the kernel's own syntax stays what it is."""
        if not isinstance(probe, str):
            return by_name(probe, lambda: self.symbols)
        if not is_own(probe):
            return probe
        try:
            known = armable(probe)
        except ParseError:
            return probe
        settled = by_name(known, lambda: self.symbols)
        return probe if settled is known else settled

    def _recorded(self, probe: Armable | str) -> Plan | None:
        """The plan of a probe that a recording holds: files and events of that machine can't be asked any more."""
        if not isinstance(self.target, RecordingTarget):
            return None
        text = " ".join(probe.split()) if isinstance(probe, str) else str(probe)
        plans = recorded_plans(self.target.recording)
        return next((plan for plan in plans if not is_function(plan.probe) and str(plan.probe) == text), None)

    def _around(self, probe: Armable | str) -> Environment:
        """What lowering asks about; for function probes nothing is read."""
        try:
            known = parse_command(probe) if isinstance(probe, str) else probe
        except ParseError:
            return UNKNOWN
        if isinstance(known, Deletion):
            return UNKNOWN
        if is_function(known):
            symbols = self.symbols if self._symbols_loaded or self._is_split_off(known) else None
            return Environment(symbol=functools.partial(counted, symbols)) if symbols is not None else UNKNOWN
        return self.surroundings.nearby

    def _is_split_off(self, probe: Armable) -> bool:
        """Whether a place looks like `vfs_read.cold`: of such parts only the symbols tell which there are."""
        symbol = probe.subject.partition("+")[0]
        return "." in symbol and not index_of(self.facts).count(symbol)

    def types_of(self, probe: Armable | str) -> Btf | None:
        """Types to read a probe with: those of the module it sits in too."""
        try:
            known = parse_command(probe) if isinstance(probe, str) else probe
        except ParseError:
            return self.btf
        if not isinstance(known, Probe) or known.kind is Kind.EVENT:
            return self.btf
        symbol = known.place.symbol
        if known.kind is Kind.TRACEPOINT:
            symbol = f"{STUB}{symbol}"
        return self.btf_of(known.place.module or self.function(symbol).module)


def _can_be_numbered(probe: Armable) -> bool:
    """Whether its events can have another name; those of others are what they are, or are named by what uses them."""
    return isinstance(probe, Probe | UserProbe)


def _chosen_name(probe: Armable) -> str:
    """The event's name where the user chose it."""
    if isinstance(probe, UserProbe):
        return split_name(probe.name or "")[1]
    return probe.event if isinstance(probe, Probe) else ""


def _prototype(types: Btf, name: str) -> str:
    """In C; empty where the types do not know it."""
    with contextlib.suppress(BtfError):
        found = types.function(name)
        return prototype(types, found) if found is not None else ""
    return ""
