"""Show the signature and fields of a function; read the types of its module in a worker."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from textual.screen import Screen

from kernel.errors import KernelError
from tui.compose.attach_control import AttachControl
from tui.compose.panes import ProbePanes
from tui.messages import TypesRead
from tui.workbench import Workbench, open_planner

if TYPE_CHECKING:
    from kernel.connection.kernel_info import KernelInfo
    from probes.attaching.values import Alternative
    from probes.probe import Probe


class SignatureControl:
    """The function whose fields can be ticked."""

    def __init__(self, screen: Screen[None], bench: Workbench, panes: ProbePanes, attach: AttachControl) -> None:
        self._screen = screen
        self._bench = bench
        self._panes = panes
        self._attach = attach
        self._unread = ""
        """The place that is shown while the types of its module, or its fields, are being read; empty: none is."""

    @property
    def unread(self) -> bool:
        """True while types are being read, without which there is no verdict."""
        return bool(self._unread)

    def forget(self) -> None:
        """Wait for no types: another target is open."""
        self._unread = ""

    def show(self, name: str, probe: Probe) -> None:
        """Show the fields of a place, with those ticked that a probe records; the keyboard stays.

        `name`: of a function, or of a tracepoint or event as in the list of places.
        """
        from events.names.function_choice import is_choice
        from probes.command import is_function
        from probes.functions.function_index import STUB
        from probes.probe import ProbeKind
        from tui.compose.signature import signature_of, signature_unread

        info = open_planner(self._bench).info
        of_tracepoint = probe.kind is ProbeKind.TRACEPOINT
        of_event = probe.kind in (ProbeKind.EVENT, ProbeKind.UPROBE)  # whose values are read of the target
        module = "" if of_event else info.unread_module(f"{STUB}{probe.place.symbol}" if of_tracepoint else name)
        unread = bool(module) or of_event
        self._unread = name if unread else ""
        self._panes.editor.show(signature_unread(name, module) if unread else signature_of(info, name), probe)
        if unread:
            self._screen.run_worker(lambda: self._read(info, module, name), thread=True, group="types")
        elif is_function(probe) and not is_choice(name):
            self._attach.explain(info, name)

    def show_twin(self, function: str, way: Alternative) -> None:
        """Show the fields of one of several functions of a name, with the keyboard."""
        from probes.probe import Probe
        from tui.compose.signature import signature_of

        editor = self._panes.editor
        editor.show(signature_of(open_planner(self._bench).info, function, way), Probe(way.place))
        editor.focus_fields()

    def _read(self, info: KernelInfo, module: str, name: str) -> None:
        """Read the types of a module, the fields of an event, or the symbols of a program, which are kept."""
        from events.names.place_kinds import IN_PROGRAMS, kind_of_place

        with contextlib.suppress(KernelError):  # a lost connection is told by what comes next
            if module:
                info.btf_of(module)
            elif kind_of_place(name) in IN_PROGRAMS:
                info.program_values(name)
            else:
                info.event_values(name)
        self._screen.post_message(TypesRead(info, name))

    def types_read(self, event: TypesRead) -> bool:
        """Show the fields that have types now; return False where another function was picked meanwhile."""
        from tui.compose.signature import signature_of

        probe = self._panes.editor.probe
        if event.function != self._unread or event.info is not open_planner(self._bench).info or probe is None:
            return False
        self._unread = ""
        self._panes.editor.show(signature_of(event.info, event.function), probe)
        return True
