"""Read the code of a function for its dialog, with the hits of armed probes; specify what is chosen there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreign.refusal import InputRefusal
from kernel.attach.function_body import BodyReader
from kernel.errors import KernelError
from probes.code.body import FunctionBody
from probes.probe import Probe, ProbeEnds
from widgets.dialogs.code_dialog import CodeChoice

if TYPE_CHECKING:
    from events.loss_counts import LossCounts
    from kernel.connection.kernel_info import KernelInfo
    from kernel.watch.watch import Watch
    from probes.plans.plan import Plan


def read_bodies(reader: BodyReader, name: str) -> tuple[FunctionBody, ...] | str:
    """Return the code of each function of a name, or why it can't be read."""
    try:
        return reader.bodies(name)
    except (InputRefusal, KernelError) as error:
        return str(error)


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
