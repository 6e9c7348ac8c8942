"""Facts to plain JSON values and back, for recordings; unknown keys of a newer writer are passed over."""

from __future__ import annotations

import dataclasses
from typing import Any

from foreign.text import lines_of
from probes.facts.facts import MOST_FUNCTIONS, Feature, TargetFacts, Trouble
from probes.functions.function_index import shared_list
from probes.plain_types import require_types

_BIG = ("functions", "blacklist", "readme")
"""Fields that a recording keeps as blobs of their own."""


def facts_to_dict(facts: TargetFacts) -> dict[str, Any]:
    """All small fields; the big ones (`functions`, `blacklist`, `readme`) are left to the caller."""
    plain = {f.name: getattr(facts, f.name) for f in dataclasses.fields(facts) if f.name not in _BIG}
    plain["features"] = sorted(facts.features)
    plain["tracers"] = list(facts.tracers)
    plain["bpf_programs"] = list(facts.bpf_programs)
    plain["bpf_helpers"] = list(facts.bpf_helpers)
    plain["troubles"] = [dataclasses.asdict(trouble) for trouble in facts.troubles]
    return plain


def facts_from_dict(plain: dict[str, Any], functions: str = "", blacklist: str = "", readme: str = "") -> TargetFacts:
    """Read what `facts_to_dict` wrote; `functions` and `blacklist` hold one name a line.

    Raises AttributeError, KeyError, TypeError, ValueError.
    """
    known = {f.name for f in dataclasses.fields(TargetFacts)}
    values = {key: value for key, value in plain.items() if key in known and key not in _BIG}
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
    needed = (
        f.name for f in dataclasses.fields(TargetFacts) if f.default is f.default_factory is dataclasses.MISSING
    )
    if lacking := [name for name in needed if name not in values and name not in _BIG]:
        raise ValueError(f"{' and '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} missing")
    return TargetFacts(
        **values,
        functions=shared_list(tuple(lines_of(functions, "functions", MOST_FUNCTIONS))),
        blacklist=frozenset(lines_of(blacklist, "blacklist", MOST_FUNCTIONS)),
        readme=readme,
    )
