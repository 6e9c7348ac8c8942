"""Represent what a hit costs by each means, and compute it from timed calls; the program that counts them, too."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.instructions import AluOperation, BpfInstruction, Helper, JumpCondition, MapRole
from probes.readable.report import Means

COUNT_BYTES: Final = 8
"""Bytes of the counter, in the only element of `MapRole.HITS`."""
SYSTEM_CALL: Final = "getsid"
"""System call that is timed: it changes nothing, and takes no lock that others wait for."""
_HALF: Final = 32


class Spread(NamedTuple):
    """Distribution of the time of one call, in ns."""

    median: float
    low: float
    """First quartile."""
    high: float
    """Third quartile."""

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the distribution of values, at least one."""
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)

    def beside(self, bare: Spread) -> Spread:
        """Return what it is more than a bare call."""
        return Spread(*(value - bare.median for value in self))

    def __str__(self) -> str:
        return f"{self.median:,.0f} ns ({self.low:,.0f} to {self.high:,.0f})"


class MeansCost(NamedTuple):
    """Cost of a hit by one means."""

    means: Means
    cost: Spread | None = None
    """Time that it adds to a call; None: it was not measured."""
    hits: int = 0
    """Hits of our own thread that were recorded or counted."""
    calls: int = 0
    """Calls that our own thread made meanwhile."""
    flags: str = ""
    """Flags of the kernel's lists while it was armed: `[FTRACE]`, `[OPTIMIZED]`, `R`; empty: none."""
    reason: str = ""
    """Reason why it was not measured; empty: it was."""


class CostReport(NamedTuple):
    """Costs of a hit on one machine."""

    function: str
    """Function that was called."""
    bare: Spread
    """Time of the call without any probe of ours."""
    calls: int
    """Calls of each round."""
    costs: tuple[MeansCost, ...]

    def of(self, means: Means) -> MeansCost | None:
        """Return the cost of a means; None: it is not among them."""
        return next((one for one in self.costs if one.means is means), None)


def per_call(times: bytes, calls: int) -> list[float]:
    """Return the ns of a call in each round, from the ns of the rounds (u64)."""
    return [int.from_bytes(times[at : at + 8], "little") / calls for at in range(0, len(times) - 7, 8)]


def calls_for(bare: float, round_ns: float) -> int:
    """Return a number of calls that take about so long; `bare`: ns of one."""
    return max(20, min(5000, int(round_ns / max(bare, 1.0))))


def count_own_hits(thread: int) -> tuple[BpfInstruction, ...]:
    """Return a program that counts the hits of one thread."""
    out, done = Assembler(), JumpLabel()
    out.call(Helper.GET_CURRENT_PID_TGID)
    out.alu(AluOperation.LSH, 0, _HALF)
    out.alu(AluOperation.RSH, 0, _HALF)
    out.jump_if(JumpCondition.NE, 0, thread, done)
    out.map_value(2, MapRole.HITS)
    out.constant(1, 1)
    out.add_in_memory(2, 0, 1)
    out.place(done)
    out.exit()
    return out.program()


def cost_lines(report: CostReport) -> list[str]:
    """Return the costs as lines."""
    head = f"a call of {SYSTEM_CALL}(2), which is {report.function}, takes {report.bare} without a probe;"
    lines = [head, "a hit adds to it, as median and quartiles of rounds on this machine:"]
    for one in report.costs:
        flags = f"  {one.flags}" if one.flags else ""
        text = f"{one.cost}{flags}" if one.cost is not None else f"not measured: {one.reason}"
        lines.append(f"  {one.means:<22} {text}")
    lines.append("events of tracefs are written without values; BPF programs count; only our own thread is recorded")
    return lines


def cost_json(report: CostReport) -> dict[str, Any]:
    """Return the costs as an object for JSON, in ns."""
    return {
        "function": report.function,
        "bare_ns": report.bare._asdict(),
        "calls": report.calls,
        "means": [
            {
                "means": str(one.means),
                "ns": one.cost._asdict() if one.cost is not None else None,
                "hits": one.hits,
                "calls": one.calls,
                "flags": one.flags or None,
                "reason": one.reason or None,
            }
            for one in report.costs
        ],
    }
