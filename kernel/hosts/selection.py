"""Select the hosts of a command line: its targets and groups, in their order."""

from __future__ import annotations

from collections.abc import Sequence

from kernel.connection.open_target import names_file, require_target
from kernel.errors import SingleTargetOnly
from kernel.hosts.groups import HostGroups


def selected_specs(
    targets: Sequence[str], groups: Sequence[str], all_groups: HostGroups | None = None
) -> tuple[str, ...]:
    """Return the targets of `--target` and `--group`; a machine in two groups is one host, a lab named twice is two.

    Raises:
        SingleTargetOnly: one of them is ambiguous, or is no running kernel.
        TargetUnusable: one of them can be no target.
        GroupError: there is no such group, or its file can't be read.
    """
    all_groups = all_groups or HostGroups()
    specs: list[str] = []
    for spec in (*targets, *(spec for group in groups for spec in all_groups.targets(group))):
        if spec == "auto":
            raise SingleTargetOnly("auto: among several it is not clear which machine that is", "say local")
        require_target(spec)
        if names_file(spec):
            raise SingleTargetOnly(
                f"{spec}: a recording has no clock that runs, so it is none of several targets",
                f"open it alone: probewright {spec}",
            )
        if spec not in specs or spec.startswith("lab"):
            specs.append(spec)
    return tuple(specs)
