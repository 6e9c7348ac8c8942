"""Write a report on what can be read of a function's call as lines of text, and as an object for JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from probes.readable.report import FunctionReport, MeansReport, SavedSet

UNKNOWN = "unknown"
"""Value of a setting that can't be read."""
_WIDTH = 22


def report_lines(report: FunctionReport) -> list[str]:
    """Return a report as lines, with the means one after the other."""
    lines = [report.prototype or f"{report.function}: its signature is not in BTF", report.kernel]
    for argument in report.arguments:
        place = argument.place or f"nowhere that a probe can read: {argument.reason}"
        lines.append(f"  {argument.name:<16} {argument.c_type:<28} {place}".rstrip())
    for saved in report.saved:
        note = f"; {saved.note}" if saved.note else ""
        lines.append(f"{saved.structure}: {saved_text(saved, report.saved)}{note}")
    lines += _setting_lines(report)
    lines += [f"note: {note}" for note in report.notes]
    for one in report.reports:
        lines += ["", *means_lines(one)]
    return lines


def _setting_lines(report: FunctionReport) -> Iterator[str]:
    unknown = [name for name, value in report.settings if value == UNKNOWN]
    yield from (f"{name}: {value}" for name, value in report.settings if value != UNKNOWN)
    if unknown:
        yield f"unknown, as the kernel's configuration is neither in /proc nor in /boot: {', '.join(unknown)}"


def means_lines(report: MeansReport) -> Iterator[str]:
    """Yield the lines of one means: its probe, what it reads, and what not."""
    if report.refusal:
        yield f"{report.means:<{_WIDTH}} can't be attached: {report.refusal}"
        return
    recorded = ", recorded by BPF programs" if report.means.by_program else ""
    yield f"{report.means:<{_WIDTH}} {report.spec}{recorded}"
    read = [_value_text(value.name, value.fetcharg) for value in report.values if not value.reason]
    yield f"  reads      {', '.join(read) or 'no argument and no result'}"
    for reason in dict.fromkeys(value.reason for value in report.values if value.reason):
        names = [value.name for value in report.values if value.reason == reason]
        yield f"  not        {', '.join(names)}: {reason}"
    yield f"  registers  {register_text(report.registers) or 'none'}"
    if report.registers_note:
        yield f"  no others  {report.registers_note}"
    notes = [f"{value.name}: {value.note}" for value in report.values if value.note]
    for note in (*notes, *report.notes):
        yield f"  note       {note}"


def _value_text(name: str, fetcharg: str) -> str:
    return (
        name
        if fetcharg == name or fetcharg.startswith((f"{name}:", f"{name}.", f"{name}-"))
        else f"{name} {fetcharg}"
    )


def saved_text(saved: SavedSet, every: Sequence[SavedSet]) -> str:
    """Return the registers of a structure, and how many of the largest they are."""
    most = max(len(one.registers) for one in every)
    share = f" ({len(saved.registers)} of {most})" if len(saved.registers) < most else ""
    return f"{register_text(saved.registers)}{share}"


def register_text(names: Sequence[str]) -> str:
    """Return names of registers, rows of numbered ones by their ends: `x0–x8 sp pc`."""
    texts = list[str]()
    at = 0
    while at < len(names):
        end = at
        while end + 1 < len(names) and _follows(names[end], names[end + 1]):
            end += 1
        if end - at > 1:
            texts.append(f"{names[at]}–{names[end]}")
            at = end + 1
        else:
            texts.append(names[at])
            at += 1
    return " ".join(texts)


def _follows(one: str, other: str) -> bool:
    first, second = one[1:], other[1:]
    return one[:1] == other[:1] and first.isdigit() and second.isdigit() and int(second) == int(first) + 1


def report_json(report: FunctionReport) -> dict[str, Any]:
    """Return a report as an object for JSON."""
    return {
        "function": report.function,
        "prototype": report.prototype or None,
        "kernel": report.kernel,
        "machine": report.machine,
        "arguments": [
            {"name": one.name, "c_type": one.c_type, "place": one.place or None, "reason": one.reason or None}
            for one in report.arguments
        ],
        "saved": {
            one.structure: {"registers": list(one.registers), "note": one.note or None} for one in report.saved
        },
        "settings": dict(report.settings),
        "notes": list(report.notes),
        "means": [_means_json(one) for one in report.reports],
    }


def _means_json(report: MeansReport) -> dict[str, Any]:
    return {
        "means": str(report.means),
        "spec": report.spec or None,
        "refusal": report.refusal or None,
        "at_exit": report.means.at_exit,
        "values": [
            {
                "name": one.name,
                "fetcharg": one.fetcharg or None,
                "reason": one.reason or None,
                "note": one.note or None,
            }
            for one in report.values
        ],
        "registers": list(report.registers),
        "registers_note": report.registers_note or None,
        "notes": list(report.notes),
    }
