"""What an export is made of and comes to: one dialect is one other tool's way to say the same probes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from probes.facts.facts import Feature, TargetFacts
from probes.plans.plan import Plan


class CannotExport(Exception):
    """A dialect that can't say these probes.

    Attributes:
        reasons: one line each, with the name of the event.
    """

    def __init__(self, *reasons: str) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


class ExportText(NamedTuple):
    """The text of another tool."""

    text: str
    """As a file holds it, with a line's end at its end. Bytes that are no text are escaped in it: it is ASCII."""
    notes: tuple[str, ...] = ()
    """What differs from what probewright itself would show, one line each; they stand in the text too where the
    dialect has comments."""


Writer = Callable[[Sequence[Plan], TargetFacts], ExportText]
"""Raises CannotExport with every reason."""


@dataclass(frozen=True, slots=True)
class ExportDialect:
    """One way to say probes."""

    name: str
    """The word behind `--as`."""
    title: str
    suffix: str
    """Of a file that holds it."""
    write: Writer
    without: frozenset[str] = frozenset()
    """Features of the target that this tool has no words for: the probes are lowered as for a kernel without them."""
    beyond: frozenset[str] = frozenset()
    """Features that the tool has where the kernel's tracefs may lack them."""

    def lowered_for(self, facts: TargetFacts) -> frozenset[str]:
        """Features to lower the probes for."""
        return (facts.features - self.without) | self.beyond


KPROBES_ONLY = frozenset({Feature.FPROBE_EVENTS, Feature.TPROBE_EVENTS})
"""`ExportDialect.without` of what knows kprobes only."""
BY_NUMBER = KPROBES_ONLY | {
    Feature.BTF_ARGS,
    Feature.DENTRY_TYPE,
    Feature.TYPECAST,
    Feature.CURRENT,
    Feature.THIS_CPU,
}
"""`ExportDialect.without` of what has no BTF: registers and offsets are left."""


def gather(reasons: Sequence[str]) -> None:
    """Raise CannotExport where there is a reason."""
    if reasons:
        raise CannotExport(*dict.fromkeys(reasons))
