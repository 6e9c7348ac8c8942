"""Three real kernels, cut down (tests/data/make_probes.py says how): facts, types, and what they answered."""

from __future__ import annotations

import functools
import json
import lzma
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from btf.btf import Btf
from kernel.facts.gather import parse_blacklist, readme_features
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import Environment, StaticEventField, SymbolCount

KERNELS = ("6.1", "6.12", "7.2")


class Case(NamedTuple):
    """A command and what the kernel answered."""

    id: int
    command: str
    ok: bool
    log: tuple[tuple[str, int], ...]
    interface: str = "dynamic_events"
    setup: tuple[str, ...] = ()
    """Commands that were written before."""


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
        without = {Feature.FPROBE_EVENTS, Feature.TPROBE_EVENTS}
        return Known(btf, replace(facts, machine="aarch64", features=facts.features - without), ())
    files = _files(name)
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
    cases = tuple(
        Case(
            r["id"],
            r["cmd"],
            r["ok"],
            tuple((m, p) for m, p in r["log"]),
            r.get("iface", "dynamic_events"),
            tuple(r.get("setup", ())),
        )
        for r in rows
    )
    return Known(Btf.load(files["btf"]), facts, cases)


@functools.cache
def whole_types() -> Btf:
    """All types of a kernel, 7.2; those of `kernel` are the few that probes need."""
    return Btf.load(lzma.decompress((Path(__file__).parent / "data" / "btf-7.2.xz").read_bytes()))


@functools.cache
def environment(name: str) -> Environment:
    """What the commands of a kernel's cases ask about."""
    known = json.loads(_files(name)["environment"])
    events = {path: tuple(StaticEventField(*field) for field in fields) for path, fields in known["events"].items()}
    symbols = {symbol: SymbolCount(*count) for symbol, count in known["symbols"].items()}
    return Environment(
        lambda group, event: events.get(f"{group}:{event}"), lambda symbol: symbols.get(symbol, SymbolCount(0))
    )


@functools.cache
def _files(name: str) -> dict[str, bytes]:
    files = {}
    with tarfile.open(Path(__file__).parent / "data" / "probes.tar.xz") as tar:
        for part in ("btf", "functions", "blacklist", "README", "environment", "cases"):
            member = tar.extractfile(f"{name}/{part}")
            assert member is not None
            files[part] = member.read()
    return files
