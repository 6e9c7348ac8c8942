"""The dialog with a function's code: read in a worker, with the hits of armed probes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message

from foreign.refusal import InputRefusal
from kernel.attach.function_body import BodyReader
from kernel.errors import KernelError
from probes.code.body import FunctionBody
from probes.probe import Probe, ProbeEnds
from tui.workbench import Workbench
from widgets.dialogs.code_dialog import CodeChoice, CodeDialog

if TYPE_CHECKING:
    from events.loss_counts import LossCounts
    from kernel.connection.kernel_info import KernelInfo
    from kernel.watch.watch import Watch
    from probes.plans.plan import Plan

_EVERY = 1.0
"""Seconds between two looks at the hits."""


class BodiesRead(Message):
    """The code of a function was read, or can't be."""

    def __init__(self, bodies: tuple[FunctionBody, ...], reason: str = "") -> None:
        super().__init__()
        self.bodies = bodies
        self.reason = reason


class CodeScreen(CodeDialog):
    """Asks the target in a worker, as a remote host takes its time."""

    def __init__(self, bench: Workbench, reader: BodyReader, name: str) -> None:
        super().__init__(name)
        self._bench = bench
        self._reader = reader

    def on_mount(self) -> None:
        """Begin to read."""
        self._look()
        self.set_interval(_EVERY, self._count)

    @work(thread=True, group="code")
    def _look(self) -> None:
        try:
            bodies = self._reader.bodies(self.function)
        except (InputRefusal, KernelError) as error:
            self.post_message(BodiesRead((), str(error)))
        else:
            self.post_message(BodiesRead(bodies))

    @on(BodiesRead)
    def _read(self, event: BodiesRead) -> None:
        event.stop()
        if event.bodies:
            self.show(event.bodies)
            self._count()
        else:
            self.fail(event.reason)

    def _count(self) -> None:
        self.show_hits(hits_by_place(self._bench.current_watch, self._bench.counts))

    @on(CodeDialog.Refused)
    def _refused(self, event: CodeDialog.Refused) -> None:
        event.stop()
        self.notify(event.reason, title=f"no kprobe at {event.place}", severity="warning", markup=False)

    @on(CodeDialog.VariablesAsked)
    def _ask_variables(self, event: CodeDialog.VariablesAsked) -> None:
        from tui.compose.functions.variable_screen import VariableScreen

        event.stop()

        def chosen(values: tuple[str, ...] | None) -> None:
            if values is not None:
                self.dismiss(CodeChoice(event.part.place_at(event.instruction.offset), values=values))

        self.app.push_screen(VariableScreen(self._reader, event.part, event.instruction), chosen)


def hits_by_place(watch: Watch | None, counts: LossCounts | None) -> dict[str, int]:
    """Return the hits of the armed probes that record at one place, by that place as a kprobe names it."""
    if watch is None:
        return {}
    recorded = watch.store.by_event(watch.store.totals) if watch.store else {}
    found: dict[str, int] = {}
    for armed in watch.armed.probes:
        probe = armed.plan.probe
        if not isinstance(probe, Probe) or (name := _only_place(armed.plan, probe)) is None:
            continue
        paths = [event.path for event in armed.plan.events]
        hits = sum(
            (counts.counted.get(path) if counts is not None else None) or recorded.get(path, 0) for path in paths
        )
        found[name] = found.get(name, 0) + hits
    return found


def _only_place(plan: Plan, probe: Probe) -> str | None:
    """Return the place of a probe as a kprobe names it; None: it has several, or is hit elsewhere than it stands."""
    if probe.needs_code:
        return plan.lines[0].split(" ")[1] if len(plan.lines) == 1 else None
    if probe.when is not ProbeEnds.ENTRY:
        return None
    place = probe.place
    module = f"{place.module}:" if place.module else ""
    named = f"{module}{place.symbol}+{place.offset:#x}" if place.offset else f"{module}{place.symbol}"
    return place.kernel_text if place.base is not None else named


def text_of(info: KernelInfo, choice: CodeChoice, name: str) -> str:
    """Return the specification of a choice in the code of a function: its variables, the result at its returns.

    `name`: the function. A function of a module whose types were not read yet may return nothing: no result then.
    """
    is_return = choice.end is ProbeEnds.RETURN_INSTRUCTIONS and not info.unread_module(name)
    has_result = is_return and any(root.at_exit for root in info.tree(name).roots())
    return " ".join(["p", choice.place, *choice.values, *(["$retval"] if has_result else [])])
