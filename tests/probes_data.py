"""Three real kernels, cut down (tests/data/make_probes.py says how): facts, types, and what they answered."""

from __future__ import annotations

import functools
import json
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from btf.btf import Btf
from kernel.facts import parse_blacklist, readme_features
from probes.facts import Feature, TargetFacts

KERNELS = ("6.1", "6.12", "7.2")


class Case(NamedTuple):
    """A command and what the kernel answered."""

    id: int
    command: str
    ok: bool
    log: tuple[tuple[str, int], ...]


class Known(NamedTuple):
    """One kernel."""

    btf: Btf
    facts: TargetFacts
    cases: tuple[Case, ...]


@functools.cache
def kernel(name: str) -> Known:
    """Load a kernel; `arm64` is 6.12 as its arm64 build has it: no fprobe events."""
    if name == "arm64":
        btf, facts, _ = kernel("6.12")
        return Known(btf, replace(facts, machine="aarch64", features=facts.features - {Feature.FPROBE_EVENTS}), ())
    with tarfile.open(Path(__file__).parent / "data" / "probes.tar.xz") as tar:
        files = {}
        for part in ("btf", "functions", "blacklist", "README", "cases"):
            member = tar.extractfile(f"{name}/{part}")
            assert member is not None
            files[part] = member.read()
    readme = files["README"].decode()
    facts = TargetFacts(
        "x86_64",
        name,
        features=readme_features(readme) | {Feature.DYNAMIC_EVENTS, Feature.KPROBE_EVENTS},
        functions=tuple(files["functions"].decode().splitlines()),
        blacklist=parse_blacklist(files["blacklist"].decode()),
        readme=readme,
    )
    rows = [json.loads(line) for line in files["cases"].decode().splitlines()]
    cases = tuple(Case(r["id"], r["cmd"], r["ok"], tuple((m, p) for m, p in r["log"])) for r in rows)
    return Known(Btf.load(files["btf"]), facts, cases)
