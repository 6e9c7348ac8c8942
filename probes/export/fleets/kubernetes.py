"""Write Kubernetes manifests: a DaemonSet that records headless on every node, and sends the events to a sink.

The probes are in a ConfigMap as a preset, as they were written: each node lowers them for its own kernel. Another
ConfigMap has the sink (`otlp:URL`, or `parquet:FOLDER/` on a volume).
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
_MAX_BYTES = 1 << 20
"""Largest number of bytes in a ConfigMap (validateConfigMap(): MaxSecretSize)."""


def write(plans: Sequence[Plan], facts: TargetFacts) -> ExportText:
    """Return manifests for the plans. Raises CannotExport."""
    return with_ways(plans, facts, [(str(plan.probe),) for plan in plans])


def with_ways(plans: Sequence[Plan], facts: TargetFacts, ways: Sequence[Sequence[str]]) -> ExportText:
    """Return manifests for probes that have alternative specifications. Raises CannotExport.

    Args:
        plans: plans of the specifications that this kernel accepts.
        facts: facts of this kernel.
        ways: each probe's specifications, of which a node arms the first that its kernel accepts.
    """
    events_of(plans)
    gather(
        [f"{plan.probe.subject}: its file would be looked for in the container" for plan in plans if _is_file(plan)]
    )
    preset = preset_of(ways)
    if len(preset) > _MAX_BYTES:
        raise CannotExport("a ConfigMap holds 1 MiB at most")
    header = [
        f"DaemonSet for Kubernetes, made by probewright on {facts.title}",
        *(f"  {plan.probe}" for plan in plans),
    ]
    comments = "".join(f"# {one_line(line)}".rstrip() + "\n" for line in header)
    image = f"probewright:{importlib.metadata.version('probewright')}"
    text = MANIFESTS.replace("@IMAGE@", quoted(image)).replace("@PRESET@", block(preset, 4))
    return ExportText(comments + text)


def _is_file(plan: Plan) -> bool:
    return isinstance(plan.probe, UserProbe)


def preset_of(ways: Sequence[Sequence[str]]) -> str:
    """Return the text of a preset that means exactly these specifications. Raises CannotExport."""
    # tomlkit takes long to import, and the other dialects do not need it.
    from probes.presets.errors import PresetError
    from probes.presets.read import read_preset
    from probes.presets.schema import Preset
    from probes.presets.substitute import substitute
    from probes.presets.write import new_text

    probes = tuple(tuple(map(collapsed, texts)) for texts in ways)
    try:
        text = _ascii(new_text(Preset(_NAME, "Exported for Kubernetes", probes)))
        parsed = substitute(read_preset(text), {})
    except UnicodeEncodeError:
        raise CannotExport("a preset is text: it can't hold a byte that is no UTF-8") from None
    except PresetError as error:
        raise CannotExport(f"no preset holds this: {error}") from None
    if parsed != probes:
        raise CannotExport("no preset holds this: it would be read as something else")
    return text


def _ascii(text: str) -> str:
    """Return TOML with non-ASCII characters, which can only be in strings, escaped. Raises UnicodeEncodeError."""
    text.encode()
    return "".join(ch if ch.isascii() else f"\\U{ord(ch):08x}" for ch in text)
