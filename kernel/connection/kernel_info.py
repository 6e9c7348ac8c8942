"""Facts, types, functions and symbols of a target, each read when first asked for.

The code that reads them is imported just then as well: the first rows of a recording need little of it.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from btf.btf import Btf
from btf.damage import Damage
from btf.errors import BtfError
from events.names.value_names import Namer
from events.recording.reader import RecordingError
from foreign.refusal import InputRefusal
from kernel.connection.shared_types import shared_btf
from kernel.errors import FileRefused, KernelError, TargetUnusable
from kernel.recording.target import holds_events
from kernel.symbols.kernel_symbols import KernelSymbols

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from events.format import EventFormat
    from kernel.attach.program_files import ProgramFiles
    from kernel.connection.environment import HostEnvironment
    from kernel.target import Target
    from probes.attaching.catalog import Catalog, Function
    from probes.attaching.places import TargetPlaces
    from probes.facts.facts import TargetFacts
    from probes.facts.program_support import ProgramSupport
    from probes.functions.capture_tree import CaptureNode, CaptureTree


_OF_TRACER = "ftrace/"
"""Beginning of the paths of events that the tracer adds, such as stacks."""


class KernelInfo:
    """Knowledge about one target, read on demand; closing it closes the target."""

    def __init__(self, target: Target, damage: Damage | None = None) -> None:
        """Take a target; with a `damage` that raises nothing, types that lie are told once and read as empty ones."""
        self.target = target
        self.damage = damage or Damage()
        self.btf_error = ""
        """Why there is no BTF; empty where there is."""
        self._modules: dict[str, Btf | None] = {}
        self._reading_module = threading.Lock()
        self._places: TargetPlaces | None = None
        self.symbols = KernelSymbols(target)

    @cached_property
    def facts(self) -> TargetFacts:
        """Facts about the target. Raises TargetUnusable, TargetLost."""
        try:
            return self.target.facts()
        except InputRefusal as error:
            raise TargetUnusable(f"{self.target.name}: {error}") from None

    @cached_property
    def btf(self) -> Btf | None:
        """Types of the kernel itself; None where it has none (`btf_error` says why)."""
        try:
            return shared_btf(self.target.btf(), self.damage)
        except (FileRefused, BtfError) as error:
            self.btf_error = str(error)
            return None

    @cached_property
    def catalog(self) -> Catalog:
        """Every function, and what can attach to it."""
        from probes.attaching.catalog import Catalog

        return Catalog(self.btf, self.facts)

    @property
    def places(self) -> TargetPlaces:
        """Functions, tracepoints and events that a probe can be on; `renew_places` reads those that came since."""
        if self._places is None:
            self.renew_places()
        assert self._places is not None  # noqa: S101
        return self._places

    def renew_places(self) -> bool:
        """Read the events that there are now, for a worker; return whether they are others than before."""
        from kernel.cleanup.owner import GROUP_PREFIX
        from kernel.connection import name_cache
        from probes.attaching.places import TargetPlaces

        known = self.environment.read_events()
        events = tuple(event for event in known if not event.startswith(GROUP_PREFIX))  # ours are shown armed
        events = tuple(sorted({*events, *self.recorded_events}))
        if self._places is not None and self._places.events == events:
            return False
        self._places = TargetPlaces.of(self.catalog.names, self.facts, events)
        name_cache.save(name for name in self._places.names if not name.startswith(GROUP_PREFIX))
        return True

    @cached_property
    def recorded_events(self) -> Mapping[str, EventFormat]:
        """Formats of the events that a recording holds by their paths; those of the tracer itself are left out."""
        recording = self.target.recording
        with contextlib.suppress(RecordingError):  # a damaged recording is reported where it is read
            if recording is not None and self.holds_events:
                found = {fmt.path: fmt for fmt in recording.formats.values()}
                return {path: fmt for path, fmt in found.items() if not path.startswith(_OF_TRACER)}
        return {}

    @property
    def holds_events(self) -> bool:
        """True: the target is a recording of events, not a kernel."""
        return holds_events(self.target)

    @property
    def is_truncated(self) -> bool:
        """True: the target is a recording whose end is missing."""
        return self.target.recording is not None and self.target.recording.truncated

    def btf_of(self, module: str | None) -> Btf | None:
        """Return the types to read a function of `module` with: its split BTF, or the kernel's.

        The types of a module are read at the first call, which may take long; the screens ask `unread_module` before.
        """
        if not module or self.btf is None:
            return self.btf
        if module not in self._modules:
            with self._reading_module:  # who comes second waits for what the first one reads
                if module not in self._modules:
                    self._modules[module] = self._read_module(module, self.btf)
        return self._modules[module] or self.btf

    def unread_module(self, function: str) -> str:
        """Return the module whose types must be read before a probe on a function is checked; empty: none."""
        module = self.function(function).module
        return module if self.btf is not None and module not in self._modules else ""

    def function(self, name: str) -> Function:
        """Return one function; a name that no list has is a function without kinds.

        The prototype of a function in a module is there once the types of the module were read.
        """
        function = self.catalog.function(name)
        types = self._modules.get(function.module)
        return replace(function, prototype=_prototype(types, name)) if types is not None else function

    def tree(self, function: str) -> CaptureTree:
        """Return the tree of fields that a probe on a function, or on those of a type in brackets, can capture; of a
        tracepoint (`t sched_switch`) its arguments.
        """
        from events.names.function_choice import is_type
        from events.names.place_kinds import TRACEPOINT_LETTER
        from probes.functions.capture_tree import CaptureTree
        from probes.functions.function_index import STUB
        from probes.functions.function_shapes import type_signature
        from probes.functions.signature import certain_signature_of, tracepoint_of

        if function.startswith(TRACEPOINT_LETTER):
            own = function.removeprefix(TRACEPOINT_LETTER)
            module = self.function(f"{STUB}{own}").module
            return CaptureTree(self.btf_of(module), own, self.facts.machine, tracepoint_of)
        look_up = type_signature if is_type(function) else certain_signature_of
        return CaptureTree(self.btf_of(self.function(function).module), function, self.facts.machine, look_up)

    def event_values(self, path: str) -> Sequence[CaptureNode]:
        """Return the values that a probe on an event (`group/event`) can record; none where its fields are unknown.

        The fields are read at the first call. Raises TargetLost.
        """
        from kernel.connection.environment import event_fields
        from probes.lowering.arguments.event_values import event_values
        from probes.names import split_name

        group, event = split_name(path)
        if (recorded := self.recorded_events.get(path)) is not None:
            return event_values(group, event_fields(group, event, recorded.fields), self.facts)
        look_up = self.environment.nearby.event
        fields = look_up(group, event) if look_up is not None else None
        return event_values(group, fields, self.facts) if fields else ()

    @cached_property
    def programs(self) -> ProgramFiles | None:
        """Programs and libraries there; None: the target has no files."""
        from kernel.attach.program_files import ProgramFiles

        look_up = self.environment.nearby.program
        if not self.target.is_kernel or look_up is None:
            return None
        return ProgramFiles(self.target, self.facts.machine, look_up)

    def program_values(self, name: str) -> Sequence[CaptureNode]:
        """Return the values that a probe on a place in a program can record; none where it can't be read.

        The program is read at the first call. Raises TargetLost.
        """
        from probes.facts.dialect import dialect_of
        from probes.programs.program import SymbolNotPlaced
        from probes.programs.program_values import program_values

        path, _, symbol = name.partition(":")
        program = self.programs.read(path) if self.programs is not None else ""
        with contextlib.suppress(SymbolNotPlaced):
            if not isinstance(program, str):
                return program_values(program, symbol, len(dialect_of(self.facts, self.btf).argument_registers))
        return ()

    @cached_property
    def environment(self) -> HostEnvironment:
        """Events, symbols and files there, each looked up when it is asked for."""
        from kernel.connection.environment import HostEnvironment

        return HostEnvironment(self.target, self.facts.tracefs)

    @cached_property
    def program_support(self) -> ProgramSupport:
        """Attach types of BPF programs that this kernel takes, which is tried. Raises TargetLost."""
        from kernel.bpf.attaching import program_support

        return program_support(self.target, self.facts, self.btf)

    @property
    def knows_programs(self) -> bool:
        """True if `program_support` was tried. Never waits."""
        return "program_support" in self.__dict__

    def try_programs(self) -> None:
        """Try now what programs are attached to, so that nobody waits later; for a worker. Raises TargetLost."""
        _ = self.program_support

    def note_refused_programs(self, functions: Mapping[str, str]) -> None:
        """Keep in mind that the kernel refused functions a program at an end, with its reasons."""
        support = self.program_support
        self.__dict__["program_support"] = replace(support, refused={**support.refused, **functions})

    def namer(self, boot: int | None) -> Namer:
        """Return the namer of the values of a boot; addresses have names once its symbols are loaded. None: of
        several boots, in which an address has no name.
        """
        return Namer(self.btf, lambda: self.symbols.loaded_of(boot), self.facts.machine)

    def warm(self) -> None:
        """Read what the first screen needs."""
        _ = self.places
        if self.holds_events:  # they are shown at once: numpy must not be imported while a picture waits
            importlib.import_module("events.store.store")

    def close(self) -> None:
        self.target.close()

    def _read_module(self, module: str, base: Btf) -> Btf | None:
        with contextlib.suppress(KernelError, BtfError):  # a lost connection is reported by the next request
            return Btf.load(self.target.btf(module), base=base)
        return None


def _prototype(types: Btf, name: str) -> str:
    """Return the prototype in C; empty: the types do not have the function."""
    from btf.render import prototype

    with contextlib.suppress(BtfError):
        found = types.function(name)
        return prototype(types, found) if found is not None else ""
    return ""
