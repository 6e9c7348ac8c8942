"""Define an export dialect: another tool's way to write the same probes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from btf.btf import Btf
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import UNKNOWN, Environment
from probes.plans.plan import Plan


class CannotExport(Exception):
    """Probes that a dialect can't express.

    Attributes:
        reasons: the reasons, each a line with the name of the event.
    """

    def __init__(self, *reasons: str) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


class ExportText(NamedTuple):
    """An export, as the text of another tool."""

    text: str
    """Content of the file, which ends with a newline. Bytes that are not text are escaped, so it is ASCII."""
    notes: tuple[str, ...] = ()
    """Differences from probewright's own output, each a line; dialects with comments have them in the text too."""


class PlanTypes(NamedTuple):
    """Types and lookups that a plan was lowered with."""

    btf: Btf | None = None
    """Types of the kernel, or of the module that a function is in; None: unknown."""
    environment: Environment = UNKNOWN


TypedWriter = Callable[[Sequence[Plan], TargetFacts, Sequence[PlanTypes]], ExportText]
"""Function that writes plans by the types that each was lowered with."""
Writer = Callable[[Sequence[Plan], TargetFacts], ExportText]
"""Function that writes plans as text; raises CannotExport with every reason."""


@dataclass(frozen=True, slots=True)
class ExportDialect:
    """Another tool's way to write probes."""

    name: str
    """Word after `--as`."""
    title: str
    suffix: str
    """Suffix of a file with the export."""
    write: Writer
    write_typed: TypedWriter | None = None
    """Writer in place of `write` where types are known; None: the dialect names no types."""
    missing_features: frozenset[str] = frozenset()
    """Features that the tool can't express: probes are lowered as for a kernel without them."""
    extra_features: frozenset[str] = frozenset()
    """Features that the tool has where the kernel's tracefs may lack them."""

    def lowered_for(self, facts: TargetFacts) -> frozenset[str]:
        """Return the features to lower the probes for."""
        return (facts.features - self.missing_features) | self.extra_features


KPROBES_ONLY = frozenset({Feature.FPROBE_EVENTS, Feature.TPROBE_EVENTS})
"""`ExportDialect.missing_features` of tools that have kprobes only."""
BY_NUMBER = KPROBES_ONLY | {
    Feature.BTF_ARGS,
    Feature.DENTRY_TYPE,
    Feature.TYPECAST,
    Feature.CURRENT,
    Feature.THIS_CPU,
}
"""`ExportDialect.missing_features` of tools without BTF: registers and offsets remain."""


def gather(reasons: Sequence[str]) -> None:
    """Raise CannotExport if there are reasons."""
    if reasons:
        raise CannotExport(*dict.fromkeys(reasons))
