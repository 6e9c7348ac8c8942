"""Print a verdict, and return it as an object: for every command that checks probes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TextIO

from probes.verdict import Refusal, Verdict
from tui.cli.console.output import plain


def error_object(error: Refusal | None) -> dict[str, object] | None:
    if error is None:
        return None
    return {
        "code": error.code,
        "message": error.message,
        "column": error.column,
        "token": error.token,
        "why": without_names(error),
        "nearest": error.nearest,
        "corrected": error.corrected or None,
    }


def refusal(spec: str, verdict: Verdict) -> dict[str, object]:
    """Return the rejection of a probe as a JSON object, with the keys of `check`."""
    return {"spec": spec, "ok": verdict.ok, "error": error_object(verdict.error)}


def without_names(error: Refusal) -> str:
    """Return the reason without suggested names, which have a field of their own."""
    hint = error.hint
    return re.sub(r"(^|; )did you mean .*\?$", "", hint, flags=re.IGNORECASE) if error.nearest else hint


def show_verdict(
    spec: str, verdict: Verdict, lowered: Sequence[str], file: TextIO | None = None, notes: Sequence[str] = ()
) -> None:
    """Print a verdict for people: the text, a caret below the error, the reason and the correction.

    Args:
        spec: text as it was typed.
        verdict: result of checking it.
        lowered: lines that would be written.
        file: output; None: standard output.
        notes: losses and conditions of these lines.
    """
    error = verdict.error
    if error is None:
        print(f"ok  {plain(spec)}", file=file)
        for line in lowered:
            if line != spec:
                print(f"    {plain(line)}", file=file)
        _show_notes(notes, file)
        return
    print(f"no  {plain(verdict.command)}", file=file)
    at = verdict.caret
    caret = " " * (4 + at) + "^ " if at is not None and at < 500 else "    "
    print(f"{caret}{error.code}  {plain(error.message)}", file=file)
    if hint := without_names(error):
        print(f"    {plain(hint)}", file=file)
    for line in lowered:
        print(f"    `run` lowers it: {plain(line)}", file=file)
    _show_notes(notes, file)
    if error.nearest:
        print(f"    did you mean {', '.join(map(plain, error.nearest))}?", file=file)
    if error.corrected:
        print(f"    put right: {plain(error.corrected)}", file=file)


def _show_notes(notes: Sequence[str], file: TextIO | None) -> None:
    for note in notes:
        print(f"    note: {plain(note)}", file=file)
