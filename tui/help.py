"""Help for a screen: the keys that work there, from the same tables that make them work."""

from __future__ import annotations

from textual.screen import Screen
from textual.widget import Widget

from tui.commands import bindings
from widgets.help import HelpSection, section

_ABOUT = {
    "ComposeScreen": (
        "Build a probe",
        "Type part of a function's name, Enter. Tick what to record with space or its number; Enter arms it. "
        "F2, or Esc among the fields, searches for another function. "
        "Or type the specification (: or F6): what may stand next is listed, with types and offsets. What is typed "
        "is ticked, and what is ticked is typed.",
    ),
    "LiveScreen": (
        "Watch events",
        "New events come in at the bottom. Lost: overwritten in the kernel. Missed: the probe did not run. "
        "Dropped: by us.",
    ),
}
_TITLES = {
    "FunctionList": "Functions",
    "LineList": "Any list",
    "ProbeEditor": "Signature and fields",
    "FieldPane": "Find a field",
    "FieldList": "Fields",
    "SpecPane": "Completion",
    "SpecEditor": "Specification as text",
    "TablePane": "Search",
    "ChosenPane": "Only some events",
    "EventsPane": "Columns, order, marks",
    "TailList": "Follow or hold",
    "TailTable": "Events",
    "EventDetail": "Details",
    "TargetChooser": "Targets",
    "LossPanel": "Losses: what helps",
    "PresetChooser": "Presets",
}


def help_of(screen: Screen[object]) -> list[HelpSection]:
    """The screen, then every kind of widget on it that has keys, then what works everywhere."""
    title, intro = _ABOUT.get(type(screen).__name__, ("This screen", ""))
    place = {"ComposeScreen": "compose", "LiveScreen": "live"}.get(type(screen).__name__, "")
    found = [section(title, bindings(place) if place else (), intro)]
    seen: set[type[Widget]] = set()
    for widget in screen.query("*"):
        for kind in reversed(type(widget).__mro__):
            name = kind.__name__
            if name in _TITLES and kind not in seen:
                seen.add(kind)
                found.append(section(_TITLES[name], vars(kind).get("BINDINGS", ())))
    return [*(one for one in found if one.keys or one.intro), section("Everywhere", bindings("app"))]
