"""`probewright preset`: list, show, check, compare and save presets."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.errors import TargetUnusable
from kernel.preset_files import Origin, PresetFile, Presets, read_text
from probes.presets.diff import difference
from probes.presets.failure_request import failure_request
from probes.presets.judge import ProbeJudgement, judge
from probes.presets.schema import Preset, PresetView
from probes.presets.search import ranked
from probes.presets.write import new_text
from probes.syntax.text import collapsed
from tui.cli.console.output import connect, emit, plain
from tui.cli.console.verdict import show_verdict
from tui.cli.specs.preset_specs import preset_named, print_skipped_presets, values_of
from tui.cli.status import DONE, REFUSED


def run(arguments: argparse.Namespace) -> int:
    print_skipped_presets(Presets())
    status: int = _COMMANDS[arguments.what](arguments)
    return status


def _list(arguments: argparse.Namespace) -> int:
    tags = [tag.strip() for tag in arguments.tags.split(",") if tag.strip()]
    words = " ".join(arguments.names)
    every = Presets().all()
    entries = [every[n] for n in ranked([(entry.name, entry.preset) for entry in every], words, tags)]
    width = max((len(entry.name) for entry in entries), default=0)
    for entry in entries:
        if arguments.json:
            emit(_entry(entry))
            continue
        what = entry.preset.question or entry.preset.title if entry.preset else f"can't be used: {entry.error}"
        origin = "" if entry.origin is Origin.SHIPPED else f"  [{entry.origin}]"
        hidden = "  (another of this name is taken)" if entry.shadowed else ""
        hidden += "  (instead of the one that comes along)" if entry.replaces_shipped else ""
        print(plain(f"{entry.name:<{width}}  {what}{origin}{hidden}"))
    if not entries:
        print("probewright: no preset fits", file=sys.stderr)
    return DONE if entries else REFUSED


def _entry(entry: PresetFile) -> dict[str, object]:
    preset = entry.preset
    return {
        "name": entry.name,
        "origin": entry.origin,
        "path": str(entry.path),
        "title": preset.title if preset else None,
        "question": preset.question if preset else None,
        "tags": list(preset.tags) if preset else [],
        "error": entry.error or None,
        "shadowed": entry.shadowed,
        "shadows": entry.replaces_shipped,
    }


def _show(arguments: argparse.Namespace) -> int:
    for name in arguments.names:
        entry = Presets().find(name)
        if arguments.json and entry.preset is not None:
            emit(_entry(entry) | asdict(entry.preset))
        else:
            print(plain(f"# {entry.path}"))
            print(plain(read_text(entry.path)), end="")
    return DONE


def _check(arguments: argparse.Namespace) -> int:
    presets = [preset_named(name) for name in arguments.names]
    values = values_of(arguments.parameters)
    planner = Planner(connect(arguments.target))
    try:
        all_accepted = True
        for preset in presets:
            if preset.view is PresetView.FAILURES:
                all_accepted &= _check_calls(planner.info, preset, values, as_json=arguments.json)
                continue
            judgement = judge(preset, values, planner.check, planner.info.facts.machine)
            all_accepted &= judgement.ok
            if not arguments.json:
                print(
                    plain(f"{preset.name}: {'accepted' if judgement.ok else 'refused'} by {planner.info.facts.title}")
                )
            for one in judgement.probes:
                if arguments.json:
                    emit({"preset": preset.name} | _judgement_object(one))
                else:
                    show_verdict(one.text, one.verdict, list(_written_lines(one)), notes=one.losses)
        return DONE if all_accepted else REFUSED
    finally:
        planner.info.close()


def _check_calls(info: KernelInfo, preset: Preset, values: Mapping[str, str], *, as_json: bool) -> bool:
    """Print whether a target can tell the first failures of a preset's calls; return that."""
    from kernel.graph.failure_means import failure_source

    request = failure_request(preset, values)
    why = remedy = words = ""
    losses: tuple[str, ...] = ()
    try:
        source = failure_source(info, request.calls)
        words, losses = source.words, source.losses
    except TargetUnusable as error:
        why, remedy = str(error), error.remedy
    if as_json:
        error_object = {"code": "no_failures", "message": why, "hint": remedy} if why else None
        emit(
            {"preset": preset.name, "spec": ",".join(request.calls), "ok": not why, "error": error_object}
            | {"lowered": [words] if words else [], "losses": list(losses)}
        )
        return not why
    print(plain(f"{preset.name}: {'refused' if why else 'accepted'} by {info.facts.title}"))
    for text in filter(None, (words, *losses, why, remedy)):
        print(plain(f"  {text}"))
    return not why


def _written_lines(one: ProbeJudgement) -> Iterator[str]:
    """Yield what is written into the kernel: lines, filters, triggers and enabled events."""
    for event in one.plan.events if one.plan else ():
        yield from event.lines
        if event.filter and event.filter not in one.text.rpartition(" if ")[0]:
            yield f"events/{event.path}/filter: {event.filter}"
        for trigger in event.triggers:
            yield f"events/{event.path}/trigger: {trigger}"
        if not event.line and event.recorded:
            yield f"events/{event.path}/enable: 1"


def _judgement_object(one: ProbeJudgement) -> dict[str, object]:
    error = one.verdict.error
    return {
        "spec": one.text,
        "ok": one.plan is not None,
        "error": {"code": error.code, "message": error.message, "hint": error.hint} if error else None,
        "lowered": list(_written_lines(one)),
        "losses": list(one.losses),
    }


def _diff(arguments: argparse.Namespace) -> int:
    one, other = map(preset_named, arguments.names)
    changes = difference(one, other)
    for change in changes:
        if arguments.json:
            emit(change._asdict())
            continue
        print(plain(change.what))
        for sign, text in (("-", change.before), ("+", change.after)):
            for line in text.splitlines():
                print(plain(f"  {sign} {line}"))
    return REFUSED if changes else DONE  # exit status 1 for differences, as diff(1) has it


def _save(arguments: argparse.Namespace) -> int:
    """Save specifications as a new preset, or copy a preset under a new name."""
    name, rest = arguments.name, arguments.names
    if len(rest) == 1 and len(rest[0].split()) == 1:
        preset = replace(preset_named(rest[0]), name=name)
    else:
        preset = Preset(name, arguments.title or name, tuple((collapsed(spec),) for spec in rest))
    tags = tuple(tag.strip() for tag in arguments.tags.split(",") if tag.strip())
    preset = replace(preset, title=arguments.title or preset.title, tags=tags or preset.tags)
    try:
        origin = Origin.PROJECT if arguments.project else Origin.USER
        path = Presets().save(name, new_text(preset), origin=origin, replace=arguments.replace)
    except OSError as error:
        print(plain(f"probewright: {error.filename}: {error.strerror}"), file=sys.stderr)
        return REFUSED
    if arguments.json:
        emit({"name": name, "path": str(path)})
    else:
        print(plain(str(path)))
    return DONE


_COMMANDS = {"list": _list, "show": _show, "check": _check, "diff": _diff, "save": _save}
