"""Manifests for Kubernetes: a DaemonSet that records on every node without a screen, and gives the events to a store.

The probes travel as a preset in a ConfigMap, as they were written: each node lowers them for its own kernel. Where
the events go stands in another ConfigMap (`otlp:URL`, or `parquet:FOLDER/` on a volume).
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence

from probes.command import UserProbe
from probes.export.dialect import CannotExport, ExportText, gather
from probes.export.fleets.kubernetes_parts import MANIFESTS
from probes.export.fleets.yaml_text import block, quoted
from probes.export.names import events_of
from probes.export.quoting import one_line
from probes.facts.facts import TargetFacts
from probes.plans.plan import Plan
from probes.syntax.text import collapsed

_NAME = "exported"
_MOST = 1 << 20
"""Bytes in a ConfigMap (validateConfigMap(): MaxSecretSize)."""


def write(plans: Sequence[Plan], facts: TargetFacts) -> ExportText:
    """See the module. Raises CannotExport."""
    return with_ways(plans, facts, [(str(plan.probe),) for plan in plans])


def with_ways(plans: Sequence[Plan], facts: TargetFacts, ways: Sequence[Sequence[str]]) -> ExportText:
    """As `write`, of probes that may be taken in several ways. Raises CannotExport.

    Args:
        plans: of the ways that this kernel takes.
        facts: of this kernel.
        ways: for each probe its specifications, of which a node takes the first that its kernel does.
    """
    events_of(plans)
    gather(
        [f"{plan.probe.subject}: its file would be looked for in the container" for plan in plans if _is_file(plan)]
    )
    preset = preset_of(ways)
    if len(preset) > _MOST:
        raise CannotExport("a ConfigMap holds 1 MiB at most")
    told = [f"DaemonSet for Kubernetes, made by probewright on {facts.title}", *(f"  {plan.probe}" for plan in plans)]
    comments = "".join(f"# {one_line(line)}".rstrip() + "\n" for line in told)
    image = f"probewright:{importlib.metadata.version('probewright')}"
    text = MANIFESTS.replace("@IMAGE@", quoted(image)).replace("@PRESET@", block(preset, 4))
    return ExportText(comments + text)


def _is_file(plan: Plan) -> bool:
    return isinstance(plan.probe, UserProbe)


def preset_of(ways: Sequence[Sequence[str]]) -> str:
    """The file of a preset that means these specifications and nothing else. Raises CannotExport."""
    # tomlkit takes long to import, and the other dialects have no use for it.
    from probes.presets.errors import PresetError
    from probes.presets.read import read_preset
    from probes.presets.schema import Preset
    from probes.presets.substitute import substituted
    from probes.presets.write import new_text

    probes = tuple(tuple(map(collapsed, texts)) for texts in ways)
    try:
        text = _ascii(new_text(Preset(_NAME, "Exported for Kubernetes", probes)))
        means = substituted(read_preset(text), {})
    except UnicodeEncodeError:
        raise CannotExport("a preset is text: it can't hold a byte that is no UTF-8") from None
    except PresetError as error:
        raise CannotExport(f"no preset holds this: {error}") from None
    if means != probes:
        raise CannotExport("no preset holds this: it would be read as something else")
    return text


def _ascii(text: str) -> str:
    """TOML in which what is not ASCII, and can stand in strings only, is escaped. Raises UnicodeEncodeError."""
    text.encode()
    return "".join(ch if ch.isascii() else f"\\U{ord(ch):08x}" for ch in text)
