"""List the targets to offer: this machine, hosts of SSH, the lab, recordings; none is opened."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from foreign.files import home_path
from kernel.connection.open_target import shipped_recording
from kernel.lab.needs import command, missing
from kernel.lab.target import DEFAULT
from kernel.local.target import LocalTarget
from probes.facts.facts import Feature, TargetFacts, Trouble
from widgets.dialogs.target_chooser import TargetRow

LAB_SERIES = ("7.2", "6.12", "6.1", "arm64:6.12", "riscv64:7.2", "full")
_RECORDINGS = 8
"""Recordings of the current folder that are offered."""


def choices() -> list[TargetRow]:
    """List all targets that can be offered; examines this machine, which takes some 30 ms."""
    return [_local(), *_lab(), *_ssh(), *_recordings()]


def other_recordings(opened: str) -> list[TargetRow]:
    """List the recordings to offer beside the one that is open, those of its folder too."""
    found = [*_recordings(), *_files_of(home_path(opened).parent)]
    rows = {str(Path(row.spec).resolve()): row for row in reversed(found)}
    return [replace(row, title=row.spec) for row in reversed(rows.values()) if not _same(row.spec, opened)]


def mark_open(found: Sequence[TargetRow], opened: str) -> list[TargetRow]:
    """Mark the open target; add it if it is not offered.

    Args:
        found: offered targets.
        opened: the word of the target that is open; empty: none is.
    """
    if not opened:
        return list(found)
    here = any(choice.spec == "local" and choice.usable for choice in found)
    opened = str(shipped_recording() or "local") if opened == "auto" and not here else word_of(opened)
    marked = [replace(choice, is_open=_same(choice.spec, opened)) for choice in found]
    if not any(choice.is_open for choice in marked):
        name = opened if "://" in opened else opened.rstrip("/").rpartition("/")[2]
        marked.append(TargetRow(opened, name, is_open=True))
    return marked


def word_of(spec: str) -> str:
    """Return the word under which a running target is offered: `local` for `auto`, `lab:7.2` for `lab`."""
    return {"auto": "local", "lab": f"lab:{DEFAULT}"}.get(spec, spec)


def _same(spec: str, other: str) -> bool:
    """Return whether two words are the same target: of a recording its file."""
    if spec == other or not spec.endswith(other.rpartition("/")[2]):
        return spec == other
    try:
        return Path(spec).resolve() == home_path(other).resolve()
    except (OSError, RuntimeError):  # no such user, links in a circle
        return False


def _local() -> TargetRow:
    facts = LocalTarget().facts()
    return TargetRow("local", "this machine", facts.title, abilities(facts), facts.troubles)


def abilities(facts: TargetFacts) -> tuple[tuple[str, bool], ...]:
    """Return the abilities of a target that matter most, each with whether it is there."""
    return (
        ("function probes (fprobe)", facts.has(Feature.FPROBE_EVENTS)),
        ("kprobes", facts.has(Feature.KPROBE_EVENTS)),
        ("arguments and fields by name", facts.has(Feature.BTF_ARGS)),
        ("entry arguments at exit", facts.has(Feature.ENTRY_ARGS_AT_EXIT)),
    )


def _lab() -> list[TargetRow]:
    found = []
    for series in LAB_SERIES:
        gone = missing(series.partition(":")[0] if ":" in series else "amd64")
        names = ", ".join(need.name for need in gone)
        troubles = (Trouble(f"missing: {names}", command(gone)),) if gone else ()
        title = "built from source with every tracer on" if series == "full" else f"Linux {series} in QEMU"
        found.append(TargetRow(f"lab:{series}", f"lab {series}", title, (), troubles))
    return found


def _ssh() -> list[TargetRow]:
    """List the hosts named in ~/.ssh/config, without patterns."""
    if shutil.which("ssh") is None:
        return []
    from kernel.hosts.errors import GroupError
    from kernel.hosts.sshconfig import aliases

    try:
        hosts = aliases()
    except (GroupError, RuntimeError):  # none, or one that can't be read; no home
        hosts = ()
    return [TargetRow(f"ssh://{host}", host, "over SSH") for host in hosts]


def _recordings() -> list[TargetRow]:
    shipped = shipped_recording()
    try:
        here = _files_of(Path.cwd())
    except OSError:  # the folder is gone
        here = []
    return [*([_row(shipped)] if shipped else []), *here]


def _files_of(folder: Path) -> list[TargetRow]:
    """List the first recordings of a folder."""
    try:
        return [_row(path) for path in sorted(folder.glob("*.pwr"))[:_RECORDINGS]]
    except OSError:
        return []


def _row(path: Path) -> TargetRow:
    return TargetRow(str(path), path.name, "a recording: nothing can be armed that it does not hold")
