"""A target with what is known of it: facts, types, functions and symbols, each read when first asked for."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Container
from functools import cached_property

from btf.btf import Btf
from btf.errors import BtfError
from events.kallsyms import Symbols
from events.naming import Namer
from kernel.errors import FileRefused, KernelError
from kernel.recording import RecordingTarget
from kernel.surroundings import Surroundings
from kernel.target import Target
from probes.catalog import Catalog, Function
from probes.check import Checked, check_plan
from probes.facts import TargetFacts
from probes.fields import Tree
from probes.lower import lower
from probes.names import MAX_EVENT_NAME, event_name
from probes.parse import ParseError, parse_probe
from probes.plan import Plan
from probes.probe import Probe


class Connection:
    """What the screens and the commands ask of a kernel before anything is armed."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.btf_error = ""
        """Why there is no BTF; empty where there is."""
        self._modules: dict[str, Btf | None] = {}
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
        return isinstance(self.target, RecordingTarget) and bool(self.target.recording.plans)

    def btf_of(self, module: str | None) -> Btf | None:
        """Types to read a function of `module` with: its split BTF, or the kernel's."""
        if not module or self.btf is None:
            return self.btf
        if module not in self._modules:
            self._modules[module] = None
            with contextlib.suppress(KernelError, BtfError):  # a line that is gone is told by whoever needs it next
                self._modules[module] = Btf.load(self.target.btf(module), base=self.btf)
        return self._modules[module] or self.btf

    def function(self, name: str) -> Function:
        """One function; a name that nobody knows has no kinds and says so."""
        return self.catalog.function(name)

    def tree(self, function: str) -> Tree:
        """What a probe on a function can capture."""
        return Tree(self.btf_of(self.function(function).module), function, self.facts.machine)

    def check(self, probe: Probe | str, group: str = "", look: bool = False) -> Checked:
        """What this kernel will answer, and the lines it would get; nothing is written.

        Args:
            probe: what is wanted.
            group: of its events.
            look: ask the target for events, symbols and files too, each once; that may take long.
        """
        if not look:
            return check_plan(probe, self._btf_for(probe), self.facts, group)
        around = self.surroundings
        return check_plan(probe, self._btf_for(probe), self.facts, group, around.environment, around.existing)

    @cached_property
    def surroundings(self) -> Surroundings:
        """Events, symbols and files there, each looked up when it is asked for."""
        return Surroundings(self.target, self.facts.tracefs)

    def lower(self, probe: Probe, group: str, taken: Container[str] = ()) -> Plan:
        """The lines this kernel takes for the probe. Raises `probes.refusal.CannotLower`.

        Args:
            probe: what is wanted.
            group: of its events.
            taken: paths of events that are armed. Another probe on the same function gets a number behind its name,
                unless the user chose that name.
        """
        btf = self._btf_for(probe)
        plan = lower(probe, btf, self.facts, group)
        # Of two events each puts its end behind the name it is given.
        name = plan.events[0].event if len(plan.events) == 1 else probe.place.symbol
        number = 2
        while not probe.event and any(event.path in taken for event in plan.events):
            plan = lower(
                probe, btf, self.facts, group, event_name(name, f"_{number}", MAX_EVENT_NAME - len("__entry"))
            )
            number += 1
        return plan

    def load_symbols(self) -> None:
        """Read the symbols now, so that nobody has to wait for them later; for a worker."""
        if self.symbols is not None:
            self.symbols.prepare()
            self._symbols_loaded = True

    def namer(self) -> Namer:
        """What gives values their names; addresses have names once the symbols are loaded."""
        return Namer(self.btf, lambda: self.symbols if self._symbols_loaded else None)

    def warm(self) -> None:
        """Read what the first screen needs."""
        _ = self.catalog.names
        if self.holds_events:  # they are shown at once: numpy must not be imported while a picture waits
            importlib.import_module("events.store")

    def close(self) -> None:
        self.target.close()

    def _btf_for(self, probe: Probe | str) -> Btf | None:
        if isinstance(probe, str):
            try:
                probe = parse_probe(probe)
            except ParseError:
                return self.btf
        return self.btf_of(probe.place.module or self.function(probe.place.symbol).module)
