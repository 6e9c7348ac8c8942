"""List, judge and save presets for the preset screen, and open the editor of a file; no screen."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.errors import KernelError, TargetUnusable
from kernel.preset_files import Origin, PresetFile, Presets, read_text
from kernel.recording.plans import readable_plans
from kernel.recording.replay import is_recorded, recorded_events, recorded_otherwise
from probes.command import Armable, short_subject
from probes.presets.errors import PresetError
from probes.presets.failure_request import failure_request
from probes.presets.judge import PresetJudgement, judge
from probes.presets.schema import NAME, Preset, PresetView
from probes.presets.substitute import values_of
from probes.presets.write import new_text
from tui.present.option_keys import BEHIND_DIALOG
from widgets.dialogs.form import FormField
from widgets.dialogs.preset_chooser import ListedPreset, PresetCheck

if TYPE_CHECKING:
    from kernel.graph.failure_means import FailureSource


def listed() -> tuple[ListedPreset, ...]:
    """List the presets that can be used by name, and the files that can't be used."""
    return tuple(
        ListedPreset(entry.name, entry.origin, str(entry.path), entry.preset, entry.error)
        for entry in Presets().all()
        if not entry.shadowed
    )


def passed_over() -> tuple[str, ...]:
    """Return which folders and files are not looked into because another user can change them, a line each."""
    return Presets().passed_over


def look(
    planner: Planner, preset: Preset, given: Mapping[str, str]
) -> tuple[PresetCheck, PresetJudgement | FailureSource | None]:
    """Judge a preset on a target; asks the target, which may take long."""
    if preset.view is PresetView.FAILURES:
        return _look_at_calls(planner.info, preset, given)
    try:
        judgement = judge(preset, given, planner.check, planner.info.facts.machine)
    except PresetError as error:
        return PresetCheck(False, str(error), depends_on_values=True), None
    except KernelError as error:
        return PresetCheck(False, f"the target can't be asked: {error}"), None
    title = planner.info.facts.title
    if (lacks := _not_recorded(planner.info, judgement)) is not None:
        return lacks, judgement
    for one in judgement.probes:
        if one.plan is None and (why_not := one.verdict.error) is not None:
            why = f"{why_not.clause}: {why_not.token}" if why_not.token else why_not.clause
            hint = f" ({BEHIND_DIALOG.text(why_not.hint)})" if why_not.hint else ""
            return PresetCheck(False, f"{title}: {why}{hint}", (one.text,)), judgement
    lines = tuple(line for one in judgement.probes if one.plan for line in one.plan.lines or (one.text,))
    return PresetCheck(True, f"accepted by {title}", lines, judgement.losses), judgement


def _look_at_calls(
    info: KernelInfo, preset: Preset, given: Mapping[str, str]
) -> tuple[PresetCheck, FailureSource | None]:
    """Look whether a target can tell the first failures of a preset's calls."""
    from kernel.graph.failure_means import calls_with_returns, failure_source

    in_list = "not in this recording" if info.holds_events else ""
    try:
        request = failure_request(preset, given)
        source = failure_source(info, request.calls)
    except PresetError as error:
        return PresetCheck(False, str(error), in_list=in_list, depends_on_values=True), None
    except TargetUnusable as error:
        told = f"{error}{f'; {error.remedy}' if error.remedy else ''}"
        others = info.target.recording is not None and bool(calls_with_returns(info.target.recording))
        return PresetCheck(False, told, in_list=in_list, depends_on_values=others), None
    except KernelError as error:
        return PresetCheck(False, f"the target can't be asked: {error}"), None
    return PresetCheck(True, f"accepted by {info.facts.title}", (source.words,), source.losses), source


def _not_recorded(info: KernelInfo, judgement: PresetJudgement) -> PresetCheck | None:
    """Return why a recording can't show a preset; None: it can, or there is no recording of events."""
    recording = info.target.recording
    if recording is None or not info.holds_events:
        return None
    others = [one for one in judgement.probes if one.plan is None or not is_recorded(recording, one.plan)]
    if not others:
        return None
    lines = tuple(one.text for one in judgement.probes)
    filtered = [one.plan and recorded_otherwise(recording, one.plan) for one in others]
    if all(filtered):
        told = "; ".join(str(plan.probe) for plan in filtered if plan)
        reason = f"this recording holds it with another filter: {told}"
        return PresetCheck(False, reason, lines, in_list="with another filter", depends_on_values=True)
    names = sorted({short_subject(plan.probe) for plan in readable_plans(recording)})
    wanted = ", ".join(short_subject(one.probe) for one in others)
    told = f"this recording does not hold {wanted} with these fields: it has {', '.join(names) or 'no events'}"
    takes = f"; {info.facts.title} takes it" if judgement.ok else ""
    return PresetCheck(False, told + takes, lines, in_list="not in this recording")


def recorded_events_of(info: KernelInfo, judgement: PresetJudgement) -> tuple[str, ...]:
    """Return the paths of the events of a preset that a recording holds; empty on a kernel."""
    recording = info.target.recording
    if recording is None or not info.holds_events:
        return ()
    plans = (one.plan for one in judgement.probes if one.plan is not None)
    return tuple(path for plan in plans for path in recorded_events(recording, plan))


def form_of(preset: Preset) -> list[FormField]:
    """Return the form with the parameters of a preset."""
    return [
        FormField(one.name, one.default, f"{one.help} ({one.type})" if one.help else str(one.type))
        for one in preset.parameters
    ]


def wrong_with(preset: Preset, given: Mapping[str, str]) -> str:
    """Return why the values of a form are invalid; empty: they are valid."""
    try:
        values_of(preset, given)
    except PresetError as error:
        return str(error)
    return ""


def save_form(probe: Armable) -> list[FormField]:
    """Return the form with the name, title and tags of a new preset."""
    name = "".join(ch if ch.isascii() and ch.isalnum() else "-" for ch in probe.subject.lower()).strip("-")[:40]
    return [
        FormField("name", name, "small letters, digits, - and _"),
        FormField("title", "", "one line: what it is for"),
        FormField("tags", "", "words with commas between them"),
    ]


def preset_of(probe: Armable, values: Mapping[str, str], view: str = "events") -> Preset:
    """Return the preset of a probe. Raises PresetError where the name is invalid."""
    name = values["name"]
    if not NAME.fullmatch(name):
        raise PresetError("a name has small letters, digits, - and _, at most 63")
    tags = tuple(tag.strip() for tag in values["tags"].split(",") if tag.strip())
    return Preset(name, values["title"] or name, ((str(probe),),), tags=tags, view=PresetView(view))


def wrong_with_name(values: Mapping[str, str]) -> str:
    """Why a preset can't be saved under a name; an empty text: it can."""
    name = values["name"]
    if not NAME.fullmatch(name):
        return "a name has small letters, digits, - and _, at most 63"
    taken = any(entry.name == name and entry.origin is Origin.USER for entry in Presets().all())
    return f"{name} is there already" if taken else ""


def save(preset: Preset) -> str:
    """Write it into the user's folder; gives what is to be said. Raises PresetError."""
    try:
        return f"saved: {Presets().save(preset.name, new_text(preset))}"
    except OSError as error:
        raise PresetError(f"{error.filename}: {error.strerror}") from None


def own_file(one: ListedPreset) -> Path:
    """Return the file to edit: of a shipped preset a copy in the user's folder. Raises PresetError."""
    entry = PresetFile(one.name, Origin(one.origin), Path(one.path), one.preset, one.error)
    if entry.origin is not Origin.SHIPPED:
        return entry.path
    try:
        return Presets().save(entry.name, read_text(entry.path))
    except OSError as error:
        raise PresetError(f"{error.filename}: {error.strerror}") from None


def run_editor(path: Path) -> None:
    """Run the user's editor on a file, in this terminal. Raises PresetError."""
    asked = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        words = shlex.split(asked) or ["vi"]
    except ValueError as error:
        raise PresetError(f"EDITOR can't be meant: {asked}: {error}") from None
    try:
        status = subprocess.run([*words, str(path)], check=False).returncode
    except OSError as error:
        raise PresetError(f"{words[0]}: {error.strerror}; set EDITOR to another") from None
    if status:
        raise PresetError(f"{words[0]} ended with status {status}")
