"""The hosts that a command line means: targets and groups of them, in the order in which they were said."""

from __future__ import annotations

from collections.abc import Sequence

from kernel.connection.open_target import names_file, require_target
from kernel.errors import SingleTargetOnly
from kernel.hosts.groups import Groups


def specs_of(targets: Sequence[str], groups: Sequence[str], known: Groups | None = None) -> tuple[str, ...]:
    """What `--target` and `--group` name; a machine that is in two groups is one host, a lab said twice is two.

    Raises:
        NotAmongSeveral: one of them is not clear, or does not run.
        TargetUnusable: one of them can be no target.
        GroupError: there is no such group, or its file can't be read.
    """
    known = known or Groups()
    found: list[str] = []
    for spec in (*targets, *(spec for group in groups for spec in known.targets(group))):
        if spec == "auto":
            raise SingleTargetOnly("auto: among several it is not clear which machine that is", "say local")
        require_target(spec)
        if names_file(spec):
            raise SingleTargetOnly(
                f"{spec}: a recording has no clock that runs, so it is none of several targets",
                f"open it alone: probewright {spec}",
            )
        if spec not in found or spec.startswith("lab"):
            found.append(spec)
    return tuple(found)
