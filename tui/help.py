"""Help for a screen: the keys that work there, from the tables that bind them.

Written here are only headings and a few sentences; the tables of keys in `docs/` are made of both (`tui.docs.keys`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from textual import actions
from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from tui.commands import bindings
from widgets.dialogs.help import HelpSection, section, shown_key


class ScreenNote(NamedTuple):
    """Title and introduction of a screen in the help."""

    title: str
    intro: str
    recorded: str = ""
    """Introduction where no kernel runs: on a recording; empty: the same."""


class HelpPane(NamedTuple):
    """Heading for the keys of a class of widgets."""

    title: str
    screen: str = ""
    """Key of `SCREENS`, for the tables of all keys; empty: in several screens."""


SCREENS: Final = {
    "ComposeScreen": ScreenNote(
        "Build a probe",
        "Type part of a function's name, then Enter. Space or a digit ticks a value to record; Enter arms the probe. "
        "F2, or Esc among the fields, searches for another function. "
        "Or type the specification (: or F6), with completions that show types and offsets. Ticks and text "
        "follow each other.",
        "Type part of a function's name, then Enter. Space or a digit ticks a value; Enter shows the events of the "
        "probe, where they are recorded. F2, or Esc among the fields, searches for another function. "
        "Or type the specification (: or F6), with completions that show types and offsets. Ticks and text "
        "follow each other.",
    ),
    "LiveScreen": ScreenNote(
        "Watch events",
        "New events appear at the bottom. Lost: overwritten in the kernel. Missed: the probe did not run. "
        "Dropped: by probewright. Unread: damaged, or of no known format.",
        "The events that were recorded. Lost: overwritten in the kernel. Missed: the probe did not run. "
        "Dropped: by probewright. Unread: damaged, or of no known format.",
    ),
    "HostsScreen": ScreenNote(
        "Several hosts",
        "Above: state and losses of each host. Tab moves there; below are the details of the host under the cursor. "
        "Events of all hosts appear at the bottom, by the clock of this machine.",
    ),
    "DetailScreen": ScreenNote("Details", "Every field of an event or a call, with its bytes."),
    "ChainScreen": ScreenNote(
        "First failure",
        "Each call returned the error to the one above it; the one marked first returned it first.",
    ),
    "ContentsScreen": ScreenNote(
        "What is recorded", "The kernel, the time, the probes with their fields and filters, events of each, losses."
    ),
    "LossScreen": ScreenNote(
        "Losses", "Lost events by CPU and by probe, with remedies.", "Events that were lost, by CPU and by probe."
    ),
    "CommandDialog": ScreenNote(
        "Run a command",
        "The command runs on the machine of the probes, as the user who is logged in there, once they record it. "
        "Signs of a shell (| > ; $) hand the line to sh.",
    ),
    "TriggerDialog": ScreenNote("Triggers", "Type a trigger; Enter adds it if this kernel accepts it."),
    "EventExportDialog": ScreenNote("Export events", "Choose a format and a file; Enter writes it."),
    "AggregateChooser": ScreenNote(
        "Aggregate", "Choose up to three keys, and what to show of values; Enter shows the table."
    ),
    "PresetScreen": ScreenNote(
        "Presets",
        "Type words of a preset, or #TAG. Below the list: the verdict of this target on the marked preset.",
    ),
    "TargetScreen": ScreenNote(
        "Targets", "A target for probes: this machine, another over SSH, the lab, a recording."
    ),
    "ProbeExportDialog": ScreenNote(
        "Export the probe", "The probe for other tools, with notes on features that a tool lacks."
    ),
    "CodeDialog": ScreenNote(
        "The code of a function",
        "The instructions that the kernel runs. A - stands before those that take no kprobe, the reason behind them. "
        "Armed ones have their hits.",
    ),
    "VariableDialog": ScreenNote(
        "The variables at an instruction",
        "Parameters and local variables in scope there, by debug information of the same build: the fetcharg that "
        "reads each, or why none does. Those of inlined functions have these behind their names.",
    ),
    "RegisterDialog": ScreenNote(
        "What can be read where",
        "Each way to attach to the function: the probe that does it, the arguments, the result and the registers "
        "that it reads, and why not the rest.",
    ),
    "FormDialog": ScreenNote("A form", "Every line is checked while you type."),
    "ConfirmDialog": ScreenNote("A question", "Enter takes the marked button."),
    "PastedProbes": ScreenNote(
        "Pasted probes",
        "Enter arms all that are marked ✓; Esc arms none.",
        "Enter shows the events of all that are marked ✓, where they are recorded; Esc takes none.",
    ),
    "PickList": ScreenNote("A choice", "Enter takes the row under the cursor; Esc takes none."),
    "ChoiceDialog": ScreenNote(
        "A question", "The letters on the buttons answer at once; Enter takes the marked one."
    ),
    "ErrorDialog": ScreenNote("Error", "An error, and the way out."),
    "ProgressDialog": ScreenNote("Wait", "A task and its progress."),
    "HelpScreen": ScreenNote("Help", "The keys of the screen below."),
}
"""Notes by the class of the screen, or of its nearest base class."""

EVERYWHERE: Final = "In a dialog only F1 and ctrl+q work; esc closes it."
"""Note on the application's keys: a dialog blocks most of them."""

CLICKS: Final = (
    ("a key at the foot", "does what the key does"),
    (
        "a row",
        "puts the cursor on it; a second click takes it, as Enter does; on a field it ticks, and arms nothing",
    ),
    ("a host", "shows its state below the table; a second click shows all that is known of it"),
    ("a button", "gives that answer"),
    ("a line to type in", "puts the cursor there"),
    ("the name of a view", "shows that view"),
    ("following, paused", "holds the picture, or follows"),
    ("the target", "chooses another one"),
    ("a loss", "shows losses with remedies, each of which can be clicked"),
    ("the title of a column", "sorts by it; again: reversed (▲ ▼ show it); a third one restores the order before"),
    ("▸ or ▾", "opens or closes a structure, unfolds or folds a call"),
    ("[ ]", "ticks a field"),
    ("a frame of the flame graph", "gives it the whole width"),
)
"""Places that answer to a click, and the answer; `tests/interface/test_mouse.py` says which test drives each."""

CLICKS_ON_RECORDING: Final = {
    "a row": ("a row", "puts the cursor on it; a second click takes it, as Enter does; on a field it ticks"),
    "following, paused": ("recorded", "stays at the rows that are shown, or goes to the last one"),
    "a loss": ("a loss", "shows losses"),
}
"""Places and answers where no kernel runs, by the place in `CLICKS` that each stands for."""

PANES: Final = {
    "FunctionList": HelpPane("Functions", "ComposeScreen"),
    "ProbeEditor": HelpPane("Signature and fields", "ComposeScreen"),
    "FieldList": HelpPane("Fields", "ComposeScreen"),
    "FieldPane": HelpPane("Find a field", "ComposeScreen"),
    "AttachPane": HelpPane("Alternatives", "ComposeScreen"),
    "_Ways": HelpPane("List of alternatives", "ComposeScreen"),
    "SpecEditor": HelpPane("Specification as text", "ComposeScreen"),
    "SpecPane": HelpPane("Below the specification", "ComposeScreen"),
    "CodeRows": HelpPane("Instructions", "CodeDialog"),
    "VariableRows": HelpPane("Variables", "VariableDialog"),
    "CompletingPane": HelpPane("Completion"),
    "TailTable": HelpPane("Events and calls", "LiveScreen"),
    "TablePane": HelpPane("Search", "LiveScreen"),
    "SortablePane": HelpPane("Order of the table", "LiveScreen"),
    "FilteredPane": HelpPane("Rows by their time", "LiveScreen"),
    "FilterLine": HelpPane("Filter", "LiveScreen"),
    "ComparisonPane": HelpPane("Two recordings", "LiveScreen"),
    "EventsPane": HelpPane("Columns, order, marks", "LiveScreen"),
    "CallsPane": HelpPane("Order of calls", "LiveScreen"),
    "GraphTable": HelpPane("The tree of calls", "LiveScreen"),
    "GraphPane": HelpPane("Parts of the tree", "LiveScreen"),
    "TableList": HelpPane("Lines of text", "LiveScreen"),
    "AggregatePane": HelpPane("Table by key", "LiveScreen"),
    "MapsPane": HelpPane("Maps of compiled objects", "LiveScreen"),
    "GroupTable": HelpPane("Rows of the table by key", "LiveScreen"),
    "StacksPane": HelpPane("Stacks", "LiveScreen"),
    "FlameGraph": HelpPane("Frames of the flame graph", "LiveScreen"),
    "TimelineChart": HelpPane("Time line", "LiveScreen"),
    "ChoiceList": HelpPane("Keys and values", "AggregateChooser"),
    "SummaryPanel": HelpPane("Summary", "LiveScreen"),
    "SummaryList": HelpPane("Rows of the summary", "LiveScreen"),
    "ValueInput": HelpPane("Value to enter", "LiveScreen"),
    "TerminalPane": HelpPane("Terminal of a command", "LiveScreen"),
    "EventDetail": HelpPane("The fields", "DetailScreen"),
    "LossPanel": HelpPane("Remedies", "LossScreen"),
    "TargetChooser": HelpPane("The list of targets", "TargetScreen"),
    "PresetChooser": HelpPane("The list of presets", "PresetScreen"),
    "LineList": HelpPane("Any list"),
    "Dialog": HelpPane("Any dialog"),
}
"""Headings by the class that has the keys, in the order of help."""


def help_of(screen: Screen[object]) -> list[HelpSection]:
    """Return the help: keys of the focused widget, purpose and keys of the screen, keys of the rest, and of
    everywhere; of a dialog its purpose first.
    """
    note, recorded = note_on(type(screen)), not _has_kernel(screen.app)
    title, intro = note.title, (recorded and note.recorded) or note.intro
    all_found = reachable(screen)
    found = {kind: list(_here(screen, bound)) for kind, bound in all_found.items()}
    # A dialog has the keys of its own class and of its base classes; they are one section.
    own_bindings = [item for kind in type(screen).__mro__ for item in found.pop(kind, ())]
    named = {kind.__name__: bound for kind, bound in found.items() if kind.__name__ in PANES}
    # What is true of any list is behind what is true of this one.
    first = sorted((name for name in _focused_classes(screen) if name in named), key=lambda name: name == "LineList")
    panes = [section(PANES[name].title, named[name]) for name in first]
    others = [section(pane.title, named[name]) for name, pane in PANES.items() if name in named and name not in first]
    without = _without_effect(screen, [binding for bound in all_found.values() for binding in bound])
    if isinstance(screen, ModalScreen):
        sections = [section(title, own_bindings, intro), *panes, *others, *without]
    else:
        clicks = [CLICKS_ON_RECORDING.get(one[0], one) if recorded else one for one in CLICKS]
        everywhere = _here(screen, Binding.make_bindings(bindings("app")))
        sections = [
            *panes,
            section(title, (), intro),
            section("Anywhere on this screen", own_bindings),
            *others,
            *without,
            section("With the mouse", (), " ".join(f"A click on {what} {does}." for what, does in clicks)),
            section("Everywhere", everywhere, EVERYWHERE),
        ]
    return [item for item in sections if item.keys or item.intro]


def _has_kernel(app: App[object]) -> bool:
    words = getattr(app, "key_words", None)
    return words is None or words.has_kernel


def _here(screen: Screen[object], bound: Iterable[Binding]) -> Iterator[Binding]:
    """Yield the keys that can work on the target that is open, with their help there."""
    offers, words_of = getattr(screen.app, "offers", None), getattr(screen.app, "words_of", None)
    for key in bound:
        if offers is None or words_of is None:
            yield key
        elif offers(key.action, screen):
            _, text = words_of(key.action, key.description, key.tooltip, key.id or "")
            yield replace(key, tooltip=text)


def _without_effect(screen: Screen[object], bound: Iterable[Binding]) -> Iterator[HelpSection]:
    """Yield a section on the keys that cannot work on this target, with the reasons; none: all may."""
    words = getattr(screen.app, "key_words", None)
    keys: dict[str, set[str]] = {}
    for binding in bound:
        if words is not None and (why := words.lack(binding.action, screen)):
            keys.setdefault(why, set()).add(shown_key(binding))
    texts = []
    for why, names in keys.items():
        listed = ", ".join(sorted(names, key=lambda key: (key.lower(), key)))
        texts.append(f"{listed}: {why}.")
    if texts:
        yield HelpSection("Without effect here", (), " ".join(texts))


def _focused_classes(screen: Screen[object]) -> list[str]:
    """Return the class names of the focused widget and its ancestors, the nearest first."""
    start = screen.focused
    around = start.ancestors_with_self if start is not None else ()
    return list(dict.fromkeys(kind.__name__ for node in around for kind in type(node).__mro__))


def note_on(kind: type) -> ScreenNote:
    """Return the note on a screen of this class."""
    return next(
        (SCREENS[one.__name__] for one in kind.__mro__ if one.__name__ in SCREENS), ScreenNote("This screen", "")
    )


def reachable(screen: Screen[object]) -> dict[type, list[Binding]]:
    """Return bindings with help texts that are reachable by keyboard on the screen now, by their class.

    A widget nearer to the focus takes a key from its ancestors. A binding without a tooltip is only a label for the
    footer.
    """
    found: dict[type, dict[str, Binding]] = {}
    around = {node for start in screen.focus_chain for node in start.ancestors_with_self}
    # A pane that waits for content, and takes the focus then, is included; a list that others move is not.
    waiting = [one for one in screen.query("*") if one not in around and _is_visible(one) and _can_have_focus(one)]
    for start in (*screen.focus_chain, *waiting, screen):
        for kind, binding in _effective(start):
            found.setdefault(kind, {}).setdefault(binding.key, binding)
    return {kind: list(bound.values()) for kind, bound in found.items()}


def chain(start: DOMNode) -> Iterator[tuple[DOMNode, type, Binding]]:
    """Yield all bindings with help texts from a widget to its screen, the nearest first; without the
    application's.
    """
    for node in start.ancestors_with_self:
        if isinstance(node, App):
            return
        yield from ((node, kind, binding) for kind, binding in explained_bindings(type(node)))


def explained_bindings(kind: type) -> Iterator[tuple[type, Binding]]:
    """Yield the bindings with help texts of a widget class, each with the class that has it; derived classes take
    keys.
    """
    taken: set[str] = set()
    for one in kind.__mro__:
        if one.__module__.startswith("textual."):
            continue
        bound = list(Binding.make_bindings(vars(one).get("BINDINGS", ())))
        yield from ((one, key) for key in bound if key.key not in taken and key.tooltip and not key.system)
        taken.update(binding.key for binding in bound)


def _effective(start: DOMNode) -> Iterator[tuple[type, Binding]]:
    """Yield what keys do while a widget has the focus. A binding that is disabled now takes no key from others."""
    taken: set[str] = set()
    for node, kind, binding in chain(start):
        if binding.key not in taken:
            yield kind, binding
            if can_be_done(node, binding):
                taken.add(binding.key)


def _is_visible(widget: Widget) -> bool:
    return all(node.display for node in widget.ancestors_with_self if isinstance(node, Widget))


def _can_have_focus(widget: Widget) -> bool:
    return widget.can_focus or any(inner.can_focus for inner in widget.query("*"))


def can_be_done(node: DOMNode, binding: Binding) -> bool:
    """Return True if the widget with the binding would act on it now."""
    target, name, parameters = actions.parse(binding.action)
    return bool(target) or node.check_action(name, parameters) is True
