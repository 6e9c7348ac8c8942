"""Help for a screen: the keys that work there, from the same tables that make them work.

What is written here besides them are headings and a few sentences; the tables of keys in `docs/` are made of both
(`tui.docs.keys`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from textual import actions
from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from tui.commands import bindings
from widgets.dialogs.help import HelpSection, section


class ScreenNote(NamedTuple):
    """What is said of a screen besides its keys."""

    title: str
    intro: str


class HelpPane(NamedTuple):
    """Where the keys of a kind of widget stand."""

    title: str
    screen: str = ""
    """Key of `SCREENS`, for the tables of all keys; empty: in several of them."""


SCREENS: Final = {
    "ComposeScreen": ScreenNote(
        "Build a probe",
        "Type part of a function's name, Enter. Tick what to record with space or its number; Enter arms it. "
        "F2, or Esc among the fields, searches for another function. "
        "Or type the specification (: or F6): what may stand next is listed, with types and offsets. What is typed "
        "is ticked, and what is ticked is typed.",
    ),
    "LiveScreen": ScreenNote(
        "Watch events",
        "New events come in at the bottom. Lost: overwritten in the kernel. Missed: the probe did not run. "
        ""
        "Dropped: by us. Unread: damaged, or of no known format.",
    ),
    "HostsScreen": ScreenNote(
        "Several hosts",
        "Above: how each host is, and what was lost there. Tab goes to them; below them stands what there is to say "
        "of the one under the cursor. Events of all come in at the bottom, by the clock of this machine.",
    ),
    "DetailScreen": ScreenNote("Details", "Every field of an event or a call, with its bytes."),
    "LossScreen": ScreenNote("Losses", "What was lost by CPU and by probe, and what helps against it."),
    "TriggerDialog": ScreenNote("Triggers", "Type a trigger; Enter adds it, where this kernel would take it."),
    "EventExportDialog": ScreenNote("Give events out", "Choose a format and a file; Enter writes it."),
    "PresetScreen": ScreenNote(
        "Presets",
        "Type words of a preset, or #TAG. Beside the list stands what this target makes of the one under the cursor.",
    ),
    "TargetScreen": ScreenNote("Targets", "Where to probe: this machine, another over SSH, the lab, a recording."),
    "ProbeExportDialog": ScreenNote(
        "Export the probe", "The probe in the words of other tools; what one of them can't say stands there, too."
    ),
    "FormDialog": ScreenNote("A form", "Every line is checked while you type."),
    "ConfirmDialog": ScreenNote("A question", "Enter takes the marked button."),
    "PastedProbes": ScreenNote("Pasted probes", "Enter arms all that are marked ✓; Esc arms none."),
    "PickList": ScreenNote("A choice", "Enter takes the row under the cursor; Esc takes none."),
    "ChoiceDialog": ScreenNote(
        "A question", "The letters on the buttons answer at once; Enter takes the marked one."
    ),
    "ErrorDialog": ScreenNote("Trouble", "What went wrong, and the way out."),
    "ProgressDialog": ScreenNote("Wait", "What is being done, and how far it is."),
    "HelpScreen": ScreenNote("Help", "The keys of the screen below."),
}
"""By the class of the screen, or of the nearest that it is made from."""

EVERYWHERE: Final = "In a dialog only F1 and ctrl+q of these; esc leaves it."
"""Of the keys of the application: a dialog keeps the others from what is below it."""

PANES: Final = {
    "FunctionList": HelpPane("Functions", "ComposeScreen"),
    "ProbeEditor": HelpPane("Signature and fields", "ComposeScreen"),
    "FieldList": HelpPane("Fields", "ComposeScreen"),
    "FieldPane": HelpPane("Find a field", "ComposeScreen"),
    "AttachPane": HelpPane("What to take instead", "ComposeScreen"),
    "_Ways": HelpPane("The ways there are", "ComposeScreen"),
    "SpecEditor": HelpPane("Specification as text", "ComposeScreen"),
    "SpecPane": HelpPane("Below the specification", "ComposeScreen"),
    "CompletingPane": HelpPane("Completion"),
    "TailTable": HelpPane("Events and calls", "LiveScreen"),
    "TailList": HelpPane("Follow or hold", "LiveScreen"),
    "TablePane": HelpPane("Search", "LiveScreen"),
    "FilteredPane": HelpPane("Only some", "LiveScreen"),
    "FilterLine": HelpPane("The filter's line", "LiveScreen"),
    "EventsPane": HelpPane("Columns, order, marks", "LiveScreen"),
    "CallsPane": HelpPane("Order of calls", "LiveScreen"),
    "GraphTable": HelpPane("The tree of calls", "LiveScreen"),
    "GraphPane": HelpPane("What of the tree is shown", "LiveScreen"),
    "SummaryPanel": HelpPane("Summary", "LiveScreen"),
    "SummaryList": HelpPane("Rows of the summary", "LiveScreen"),
    "ValueInput": HelpPane("A value that is asked for", "LiveScreen"),
    "EventDetail": HelpPane("The fields", "DetailScreen"),
    "LossPanel": HelpPane("What helps", "LossScreen"),
    "TargetChooser": HelpPane("The list of targets", "TargetScreen"),
    "PresetChooser": HelpPane("The list of presets", "PresetScreen"),
    "LineList": HelpPane("Any list"),
    "Dialog": HelpPane("Any dialog"),
}
"""By the class that has the keys, in the order of help."""


def help_of(screen: Screen[object]) -> list[HelpSection]:
    """What the screen is for, what has the keyboard, the screen's own keys, all else on it, what works everywhere."""
    title, intro = about(type(screen))
    found = reachable(screen)
    # A dialog has the keys of its own class and of those it is made from; they are one section.
    own = [one for kind in type(screen).__mro__ for one in found.pop(kind, ())]
    named = {kind.__name__: bound for kind, bound in found.items() if kind.__name__ in PANES}
    first = [name for name in _with_keyboard(screen) if name in named]
    panes = [section(PANES[name].title, named[name]) for name in first]
    others = [section(pane.title, named[name]) for name, pane in PANES.items() if name in named and name not in first]
    if isinstance(screen, ModalScreen):
        sections = [section(title, own, intro), *panes, *others]
    else:
        sections = [
            section(title, (), intro),
            *panes,
            section("Wherever the keyboard is on this screen", own),
            *others,
        ]
        sections.append(section("Everywhere", bindings("app"), EVERYWHERE))
    return [one for one in sections if one.keys or one.intro]


def _with_keyboard(screen: Screen[object]) -> list[str]:
    """Names of the classes of what has the keyboard, and of all around it, the nearest first."""
    start = screen.focused
    around = start.ancestors_with_self if start is not None else ()
    return list(dict.fromkeys(kind.__name__ for node in around for kind in type(node).__mro__))


def about(kind: type) -> ScreenNote:
    """What is said of a screen of this class."""
    return next(
        (SCREENS[one.__name__] for one in kind.__mro__ if one.__name__ in SCREENS), ScreenNote("This screen", "")
    )


def reachable(screen: Screen[object]) -> dict[type, list[Binding]]:
    """Bindings that are explained and can be had with the keyboard somewhere on the screen now, by their class.

    What stands nearer to the keyboard takes a key from what is around it. A binding without a tooltip is only a
    label for the foot of the screen.
    """
    found: dict[type, dict[str, Binding]] = {}
    around = {node for start in screen.focus_chain for node in start.ancestors_with_self}
    # A pane that waits for something to show, and takes the keyboard then, is explained, too.
    waiting = [one for one in screen.query("*") if one not in around and _is_shown(one)]
    for start in (*screen.focus_chain, *waiting, screen):
        for kind, binding in _first_of(start):
            found.setdefault(kind, {}).setdefault(binding.key, binding)
    return {kind: list(bound.values()) for kind, bound in found.items()}


def chain(start: DOMNode) -> Iterator[tuple[DOMNode, type, Binding]]:
    """All that is bound to keys from a widget out to its screen, the nearest first; of the application no more."""
    for node in start.ancestors_with_self:
        if isinstance(node, App):
            return
        yield from ((node, kind, binding) for kind, binding in explained(type(node)))


def explained(kind: type) -> Iterator[tuple[type, Binding]]:
    """The explained bindings of a class of widgets, each with the class that has it; derived classes take keys."""
    taken: set[str] = set()
    for one in kind.__mro__:
        if one.__module__.startswith("textual."):
            continue
        bound = list(Binding.make_bindings(vars(one).get("BINDINGS", ())))
        yield from ((one, key) for key in bound if key.key not in taken and key.tooltip and not key.system)
        taken.update(binding.key for binding in bound)


def _first_of(start: DOMNode) -> Iterator[tuple[type, Binding]]:
    """What the keys do where the keyboard is in a widget. What can't be done just now takes no key from others."""
    taken: set[str] = set()
    for node, kind, binding in chain(start):
        if binding.key not in taken:
            yield kind, binding
            if can_be_done(node, binding):
                taken.add(binding.key)


def _is_shown(widget: Widget) -> bool:
    return all(node.display for node in widget.ancestors_with_self if isinstance(node, Widget))


def can_be_done(node: DOMNode, binding: Binding) -> bool:
    """Whether the widget that has the binding would do it now."""
    target, name, parameters = actions.parse(binding.action)
    return bool(target) or node.check_action(name, parameters) is True
