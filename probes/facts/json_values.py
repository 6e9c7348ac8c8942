"""Convert facts to plain JSON values and back, for recordings; keys of a newer writer are ignored."""

from __future__ import annotations

import dataclasses
from typing import Any

from foreign.text import lines_of
from probes.facts.facts import MOST_FUNCTIONS, Feature, TargetFacts, Trouble, shared_list
from probes.plain_types import require_types

_BLOBS = ("functions", "blacklist", "readme")
"""Fields that a recording stores as separate blobs."""


def facts_to_dict(facts: TargetFacts) -> dict[str, Any]:
    """Return all small fields; the large ones (`functions`, `blacklist`, `readme`) are left to the caller."""
    plain = {f.name: getattr(facts, f.name) for f in dataclasses.fields(facts) if f.name not in _BLOBS}
    plain["features"] = sorted(facts.features)
    plain["tracers"] = list(facts.tracers)
    plain["bpf_programs"] = list(facts.bpf_programs)
    plain["bpf_helpers"] = list(facts.bpf_helpers)
    plain["troubles"] = [dataclasses.asdict(trouble) for trouble in facts.troubles]
    return plain


def facts_from_dict(plain: dict[str, Any], functions: str = "", blacklist: str = "", readme: str = "") -> TargetFacts:
    """Build facts from the values of `facts_to_dict`; `functions` and `blacklist` have a name in each line.

    Raises AttributeError, KeyError, TypeError, ValueError.
    """
    field_names = {f.name for f in dataclasses.fields(TargetFacts)}
    values = {key: value for key, value in plain.items() if key in field_names and key not in _BLOBS}
    require_types(TargetFacts, values)
    features = {str(feature) for feature in Feature}
    values["features"] = frozenset(Feature(name) for name in plain.get("features", ()) if name in features)
    values["tracers"] = tuple(plain.get("tracers", ()))
    values["bpf_programs"] = tuple(plain.get("bpf_programs", ()))
    values["bpf_helpers"] = tuple(plain.get("bpf_helpers", ()))
    values["troubles"] = tuple(
        Trouble(str(t["what"]), str(t.get("remedy", "")), bool(t.get("fatal", True)), str(t.get("code", "")))
        for t in plain.get("troubles", ())
    )
    required = (
        f.name for f in dataclasses.fields(TargetFacts) if f.default is f.default_factory is dataclasses.MISSING
    )
    if missing := [name for name in required if name not in values and name not in _BLOBS]:
        raise ValueError(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    return TargetFacts(
        **values,
        functions=shared_list(tuple(lines_of(functions, "functions", MOST_FUNCTIONS))),
        blacklist=frozenset(lines_of(blacklist, "blacklist", MOST_FUNCTIONS)),
        readme=readme,
    )
