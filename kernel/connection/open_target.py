"""Open the target that a `--target` value names."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from foreign.files import home_path
from kernel.errors import KernelError, TargetUnusable

if TYPE_CHECKING:
    from kernel.target import Target

Progress = Callable[[str, float | None], None]
HELP = "auto, local, ssh://[user@]host[:port], lab[:SERIES|IMAGE], a recording or saved facts"
"""Accepted values of `--target`."""


class TargetChoice(NamedTuple):
    """An opened target, and the reason for its choice."""

    target: Target
    reason: str = ""
    """Reason why `auto` is not the local kernel, in a line; empty: the target was named, or is the local kernel."""
    remedy: str = ""
    """Remedy for that reason, in a line."""


def open_target(
    spec: str,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    default_recording: Path | str | None = None,
) -> Target:
    """Open a target as `choose` does; return the target alone."""
    return choose(spec, progress, cancel, default_recording).target


def choose(
    spec: str,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    default_recording: Path | str | None = None,
    tell: Callable[[str], None] | None = None,
) -> TargetChoice:
    """Open the target named by `spec`. ssh may prompt for passwords meanwhile, so no screen may hold the terminal.

    Args:
        spec: see HELP. `auto`: the local kernel if a probe can be armed there, else the default recording.
        progress: called with text and a completed share of 1 (or None) while it takes time.
        cancel: set it from another thread to give up.
        default_recording: for `auto`; None: the recording shipped with the application, if there is one.
        tell: called with each line, made printable, that a remote host prints before its shell answers, while ssh may
            prompt at the terminal.

    Raises:
        KernelError: it cannot be opened; `remedy` tells the user what to do.
    """
    # Each kind is imported when needed: the first screen waits for this.
    if spec == "auto":
        return _auto(default_recording)
    if spec == "local":
        from kernel.local.target import LocalTarget

        return TargetChoice(LocalTarget())
    if spec.startswith("ssh://"):
        from kernel.remote.address import Address
        from kernel.remote.connect import open_ssh

        return TargetChoice(open_ssh(Address.parse(spec), progress, cancel=cancel, tell=tell))
    if spec == "lab" or spec.startswith(("lab:", "lab,")):
        from kernel.lab.target import open_lab

        return TargetChoice(open_lab(spec, progress, cancel))
    require_target(spec)
    return TargetChoice(_from_file(home_path(spec)))


def require_target(spec: str) -> None:
    """Check that a value can be a target at all, without opening it. Raises TargetUnusable."""
    if not names_file(spec):
        return
    try:
        exists = bool(spec) and spec != "." and home_path(spec).exists()
    except (OSError, ValueError) as error:  # a name too long, a NUL in it
        raise TargetUnusable(f"{spec}: {error}", f"targets are {HELP}") from error
    if not exists:
        raise TargetUnusable(f"{spec}: neither a kind of target nor a file", f"targets are {HELP}")


def names_file(spec: str) -> bool:
    """Return whether a value is the path of a recording or of saved facts, and no kind of target."""
    return spec not in ("auto", "local", "lab") and not spec.startswith(("ssh://", "lab:", "lab,"))


def _auto(default_recording: Path | str | None) -> TargetChoice:
    from kernel.local.target import LocalTarget

    local = LocalTarget()
    trouble = next((trouble for trouble in local.facts().troubles if trouble.fatal), None)
    if trouble is None:
        return TargetChoice(local)
    path = Path(default_recording) if default_recording is not None else shipped_recording()
    if path is None:
        return TargetChoice(local, trouble.what, trouble.remedy)
    try:
        recorded = _from_file(path)
    except KernelError:
        return TargetChoice(local, trouble.what, trouble.remedy)
    local.close()
    return TargetChoice(recorded, trouble.what, trouble.remedy)


def shipped_recording() -> Path | None:
    """Return the path of the recording in the package; None: there is none."""
    return next((path for folder in _data_folders() if (path := Path(folder, "default.pwr")).exists()), None)


def _data_folders() -> Sequence[str]:
    import importlib.util

    spec = importlib.util.find_spec("tui")  # located, not imported: it is data there
    return (spec.submodule_search_locations or ()) if spec else ()


def _from_file(path: Path) -> Target:
    from kernel.recording.target import open_recording

    return open_recording(path)
