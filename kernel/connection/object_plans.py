"""Read the compiled BPF objects that probes name, and plan them for one kernel."""

from __future__ import annotations

import os
from collections.abc import Container
from dataclasses import replace
from typing import TYPE_CHECKING

from foreign.files import read_file
from foreign.refusal import InputRefusal
from kernel.connection.kernel_info import KernelInfo
from probes.functions.function_index import index_of
from probes.objects.request import ObjectProbe
from probes.refusal import CannotLower
from probes.verdict import Refusal

if TYPE_CHECKING:
    from btf.btf import Btf
    from probes.objects.object_file import BpfObject
    from probes.plans.plan import Plan

CODE = "object_refused"
"""Code of the refusal of an object."""
_MOST_KEPT = 8


class ObjectFiles:
    """Objects that were read, each as long as its file is the same."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, int, int], BpfObject] = {}

    def read(self, path: str) -> BpfObject:
        """Return the object in a file of this machine. Raises CannotLower: the reason, in a line."""
        from probes.objects.elf_object import ObjectError
        from probes.objects.object_file import MAX_BYTES, read_object

        place = os.path.expanduser(path)
        try:
            status = os.stat(place)
            key = (os.path.abspath(place), status.st_mtime_ns, status.st_size)
            if key not in self._read:
                for old in list(self._read)[: max(0, len(self._read) - _MOST_KEPT + 1)]:
                    del self._read[old]
                self._read[key] = read_object(read_file(place, MAX_BYTES))
            return self._read[key]
        except InputRefusal as error:
            raise refusal_of(path, str(error)) from None
        except OSError as error:
            raise refusal_of(path, f"{path}: {os.strerror(error.errno or 0)}") from None
        except ObjectError as error:
            raise refusal_of(path, f"{path}: {error}") from None


def refusal_of(token: str, hint: str) -> CannotLower:
    """Return the refusal of an object for a reason."""
    return CannotLower(Refusal(CODE, "This object can't be attached", token=token, hint=hint))


class ObjectPlanner:
    """Planner of objects for one kernel."""

    def __init__(self, info: KernelInfo) -> None:
        self.files = ObjectFiles()
        self._info = info

    def types_of(self, probe: ObjectProbe) -> Btf | None:
        """Return the types of an object; None: its file can't be read any more."""
        try:
            return self.files.read(probe.path).btf
        except CannotLower:
            return None

    def has_known_function(self, name: str) -> bool:
        """Return whether the kernel has a function, as far as that is known: of those that can't be traced only once
        its symbols were read.
        """
        symbols = self._info.symbols.loaded
        return index_of(self._info.facts).count(name) > 0 or bool(symbols is not None and symbols.named(name))

    def _has_function(self, name: str) -> bool:
        """Return whether the kernel has a function: kprobes are on functions, too, that no tracer lists."""
        if index_of(self._info.facts).count(name):
            return True
        symbols = self._info.symbols.current
        return symbols is not None and bool(symbols.named(name))

    def plan(self, probe: ObjectProbe, group: str, taken: Container[str] = ()) -> Plan:
        """Return the plan of an object. Raises CannotLower."""
        from probes.objects.elf_object import ObjectError
        from probes.objects.kernel_settings import KernelSettings, kernel_settings
        from probes.objects.plan_object import plan_object

        found = self.files.read(probe.path)
        kernel = KernelSettings(self._info.facts.release, self._has_function)
        try:
            plan = plan_object(probe, found, group, taken, self._has_function)
            settings = kernel_settings(found, kernel)
            return replace(plan, object=replace(plan.object, kconfig=settings)) if plan.object is not None else plan
        except ObjectError as error:
            raise refusal_of(probe.path, f"{probe.path}: {error}") from None
