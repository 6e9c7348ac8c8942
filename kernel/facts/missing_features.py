"""Explain why a kernel lacks a feature, feature by feature. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from probes.facts.facts import Feature, TargetFacts


class FeatureNeed(NamedTuple):
    """Requirements of a feature."""

    since: str
    """First release of Linux with the feature; for users only, as no decision depends on it."""
    config: str
    """Name of its configuration option, without CONFIG_."""


NEEDS: Mapping[Feature, FeatureNeed] = {
    Feature.DYNAMIC_EVENTS: FeatureNeed("5.0", "DYNAMIC_EVENTS"),
    Feature.KPROBE_EVENTS: FeatureNeed("2.6.33", "KPROBE_EVENTS"),
    Feature.UPROBE_EVENTS: FeatureNeed("3.5", "UPROBE_EVENTS"),
    Feature.FPROBE_EVENTS: FeatureNeed("6.5", "FPROBE_EVENTS"),
    Feature.TPROBE_EVENTS: FeatureNeed("6.5", "FPROBE_EVENTS"),
    Feature.EPROBE_EVENTS: FeatureNeed("5.15", "EPROBE_EVENTS"),
    Feature.EPROBE_FILTER: FeatureNeed("6.0", "EPROBE_EVENTS"),
    Feature.SYNTHETIC_EVENTS: FeatureNeed("4.17", "SYNTH_EVENTS"),
    Feature.BTF_ARGS: FeatureNeed("6.5", "PROBE_EVENTS_BTF_ARGS"),
    Feature.ENTRY_ARGS_AT_EXIT: FeatureNeed("6.10", "PROBE_EVENTS"),
    Feature.CHAR_TYPE: FeatureNeed("6.3", "PROBE_EVENTS"),
    Feature.SYMSTR_TYPE: FeatureNeed("6.2", "PROBE_EVENTS"),
    Feature.USTRING_TYPE: FeatureNeed("5.3", "PROBE_EVENTS"),
    Feature.DENTRY_TYPE: FeatureNeed("6.10", "PROBE_EVENTS"),
    Feature.TYPECAST: FeatureNeed("7.3", "PROBE_EVENTS_BTF_ARGS"),
    Feature.CURRENT: FeatureNeed("7.3", "PROBE_EVENTS_BTF_ARGS"),
    Feature.THIS_CPU: FeatureNeed("7.3", "PROBE_EVENTS"),
    Feature.FUNCTION_GRAPH_ARGS: FeatureNeed("6.15", "FUNCTION_TRACE_ARGS"),
    Feature.SUBBUF_SIZE: FeatureNeed("6.8", "TRACING"),
    Feature.HIST_TRIGGERS: FeatureNeed("4.7", "HIST_TRIGGERS"),
    Feature.USER_EVENTS: FeatureNeed("6.4", "USER_EVENTS"),
}

_BELOW = {
    "KPROBE_EVENTS": ("KPROBES",),
    "FPROBE_EVENTS": ("FPROBE", "DYNAMIC_FTRACE"),
    "PROBE_EVENTS_BTF_ARGS": ("DEBUG_INFO_BTF", "BPF_SYSCALL", "KPROBES"),
    "FUNCTION_TRACE_ARGS": ("FUNCTION_TRACER", "FUNCTION_GRAPH_TRACER", "DEBUG_INFO_BTF"),
}
"""Dependencies of options: if an option is missing in a .config, one of these is off (kernel/trace/Kconfig)."""


def explain_missing(facts: TargetFacts, config: Mapping[str, str]) -> dict[Feature, str]:
    """Return the requirements of each feature that was not found, in a line.

    Args:
        facts: facts of the target.
        config: its .config, `n` for options that are not set; empty: unknown.
    """
    return {feature: _reason(feature, facts, config) for feature in Feature if not facts.has(feature)}


def features_unknown(facts: TargetFacts) -> bool:
    """Return whether tracefs was unreadable, so that features not found may exist."""
    return not facts.readme


def _reason(feature: Feature, facts: TargetFacts, config: Mapping[str, str]) -> str:
    need = NEEDS[feature]
    below = () if need.config in config else _BELOW.get(need.config, ())
    for name in (need.config, *below):
        if config.get(name) == "n":
            return f"CONFIG_{name} is not set in this kernel"
    if features_unknown(facts):
        return (
            "cannot be seen: tracefs is not reachable" if not facts.tracefs else "cannot be seen: tracefs is closed"
        )
    if config.get(need.config) in ("y", "m"):
        return f"Linux {need.since} or newer has it"
    return f"Linux {need.since} or newer has it, with CONFIG_{need.config}"
