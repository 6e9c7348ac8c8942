"""Kernels of the matrix with their features, as `make kernels` found them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources

from probes.facts.facts import Feature, TargetFacts

KEPT = ("machine", "release", "byteorder", "long_size", "readme")
"""Fields of `TargetFacts` that are stored beside the features."""


def kernels(here: TargetFacts) -> Mapping[str, TargetFacts]:
    """Return the lab's kernels by name; functions, which differ little, are those of the kernel that is `here`."""
    stored = json.loads((resources.files("tui") / "kernels.json").read_text())
    known = {str(feature) for feature in Feature}
    return {
        name: replace(
            here,
            **{key: values[key] for key in KEPT},
            features=frozenset(Feature(feature) for feature in values["features"] if feature in known),
        )
        for name, values in stored.items()
    }
