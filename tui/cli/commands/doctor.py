"""`probewright doctor`: print what this target supports, what it lacks, and remedies."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from foreign.count_text import counted
from kernel.cleanup import leftovers
from kernel.connection.kernel_info import KernelInfo
from kernel.facts.gather import read_config
from kernel.facts.missing_features import explain_missing, features_unknown
from probes.facts.facts import Feature, TargetFacts
from probes.facts.json_values import facts_to_dict
from probes.lowering.sources.lower_source import missing_reason
from probes.sources.kinds import KINDS
from tui.cli.console.output import connect, emit, plain, require_connection
from tui.cli.status import DONE, UNUSABLE


def run(arguments: argparse.Namespace) -> int:
    info = connect(arguments.target)
    try:
        facts = info.facts
        is_live = info.target.is_kernel
        usable = facts.usable and is_live
        dead = leftovers.find(info.target) if facts.tracefs else []
        missing = explain_missing(facts, read_config(info.target, facts.release))
        if arguments.json:
            _ = info.btf  # read for its error
            emit(
                facts_to_dict(facts)
                | {
                    "target": info.target.name,
                    "usable": usable,
                    "functions": len(facts.functions),
                    "btf_error": info.btf_error or None,
                    "sources": {kind.name: missing_reason(kind, facts) or None for kind in KINDS.values()},
                    "lacks": {str(feature): why for feature, why in missing.items()},
                    "leftovers": [leftover.group for leftover in dead],
                }
            )
        else:
            _print(info, facts)
            _print_features(facts, missing, is_live=is_live)
            for leftover in dead:
                print(
                    plain(f"\nleft behind by a session that died: {leftover.group}; `probewright clean` removes it")
                )
            print(f"\n{_summary(usable=usable, is_live=is_live)}")
        require_connection(info)
        return DONE if usable else UNUSABLE
    finally:
        info.close()


def _print(info: KernelInfo, facts: TargetFacts) -> None:
    btf = info.btf
    # Only libbpf of this machine is looked for (`kernel.local.libbpf_facts`).
    here = "not found; only BPF programs need it (Debian: apt-get install libbpf1)"
    not_found = here if info.target.name == "local" else "looked for on this machine only"
    rows = [
        ("target", info.target.name),
        ("kernel", facts.title),
        ("tracefs", facts.tracefs or "not reachable"),
        ("functions", f"{len(facts.functions):,} traceable" if facts.functions else "none that can be read"),
        ("BTF", info.btf_error or (counted(len(btf.functions), "function") if btf else "none")),
        ("tracers", " ".join(facts.tracers) or "-"),
        ("lockdown", facts.lockdown or "not in this kernel"),
        ("libbpf", facts.libbpf or not_found),
        ("BPF", " ".join(facts.bpf_programs) or "-"),
        ("BPF helpers", " ".join(facts.bpf_helpers) or "-"),
    ]
    for name, value in rows:
        print(plain(f"{name:<13}{value}"))


def _print_features(facts: TargetFacts, missing: Mapping[Feature, str], *, is_live: bool = True) -> None:
    """Print each feature with its reason where it is missing, then the target's problems; remedies only for a live
    kernel.
    """
    print()
    for feature in Feature:
        # A feature disabled in the kernel's configuration is missing even if tracefs can't be read.
        why = missing.get(feature, "")
        word = "yes" if not why else "?" if features_unknown(facts) and "CONFIG_" not in why else "no"
        print(plain(f"  {word:<5}{feature:<26}{why}".rstrip()))
    for kind in KINDS.values():
        why = missing_reason(kind, facts)
        word = "yes" if not why else "?" if features_unknown(facts) else "no"
        print(plain(f"  {word:<5}{kind.name:<26}{why}".rstrip()))
    for trouble in facts.troubles:
        print(plain(f"\n{'!' if trouble.fatal else '-'} {trouble.what}"))
        if trouble.remedy and is_live:
            print(plain(f"  {trouble.remedy}"))


def _summary(*, usable: bool, is_live: bool) -> str:
    if usable:
        return "probes can be armed here"
    if is_live:
        return "no probe can be armed here"
    return "no probe can be armed here: it is not a living kernel (list, show and check work)"
