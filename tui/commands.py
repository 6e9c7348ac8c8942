"""Table of the application's own commands, from which keys, footer, palette and help are made.

Keys of a widget (move, tick, open) are bindings of the widget; help shows both.
"""

from __future__ import annotations

from typing import NamedTuple

from textual.binding import Binding


class Command(NamedTuple):
    """Command of the application."""

    action: str
    """Name of the `action_` method of the application or the screen."""
    keys: str
    """Keys in Textual's notation, separated by commas."""
    label: str
    """Label in the footer: one or two words."""
    help: str
    """Sentence for help and the palette."""
    place: str
    """Place where the keys work: `app` (everywhere), `compose`, `live` or `hosts`."""
    footer: bool = True


COMMANDS = (
    Command("compose", "f2", "Compose", "Search for a function to build a probe on.", "app"),
    Command("live", "f3", "Live", "Show the events of the armed probes.", "app"),
    Command("targets", "f4", "Target", "Choose where to probe: this machine, SSH, the lab, a recording.", "app"),
    Command("presets", "f5", "Presets", "Arm probes that answer a question, or edit them.", "app"),
    Command("help", "f1,question_mark", "Help", "Explain this screen and its keys.", "app"),
    Command("edit", "f6", "Edit", "Edit the specification of a probe as text, with completion.", "app", footer=False),
    Command(
        "command_palette",
        "ctrl+p",
        "Palette",
        "Choose a command from a list by its name.",
        "app",
        footer=False,
    ),
    Command("reconnect", "f7", "Reconnect", "Reconnect a disconnected or silent machine now.", "app"),
    Command(
        "give_up",
        "f8",
        "Give up",
        "Stop the attempts to reconnect, or to start a call graph or a command.",
        "app",
    ),
    Command("hosts", "f9", "Hosts", "Show the hosts named at the start (-t more than once, or -g).", "app"),
    Command("quit", "ctrl+q,ctrl+c", "Quit", "Remove every probe and quit.", "app", footer=False),
    Command("arm", "ctrl+r", "Arm", "Arm the probe on the screen.", "compose", footer=False),
    Command("edit", "colon,f6", "Edit", "Edit the specification of a probe as text, with completion.", "compose"),
    Command(
        "lowered", "l", "Lines", "Show the lines that will be written for this kernel, and for others.", "compose"
    ),
    Command(
        "via",
        "v,ctrl+t",
        "BPF",
        "Record probes on functions by BPF programs from now on, by tracefs, or by what each needs.",
        "compose",
        footer=False,
    ),
    Command(
        "stacks",
        "k,ctrl+s",
        "Stacks",
        "Record the kernel stack of each event of the probes that are armed from now on, or of none.",
        "compose",
        footer=False,
    ),
    Command("save", "s", "Save", "Save the probe on the screen as a preset.", "compose", footer=False),
    Command("graph", "G", "Graph", "Trace what the function calls, with function_graph.", "compose"),
    Command("filter", "f", "Filter", "Set a filter on the recorded fields, e.g. count > 4096.", "compose"),
    Command(
        "code",
        "d",
        "Code",
        "Show the function's instructions, to put a kprobe on one of them.",
        "compose",
        footer=False,
    ),
    Command(
        "registers",
        "r",
        "Registers",
        "Show what each way to attach to the function reads, which values it lacks, and what a hit costs.",
        "compose",
        footer=False,
    ),
    Command("export", "o", "Export", "Export the probe for another tool: a script, bpftrace, perf.", "compose"),
    Command("take_back", "u", "Take back", "Take back what was cleared, disarmed, counted or filtered last.", "live"),
    Command(
        "filter",
        "f",
        "Filter",
        "Filter the events of all views and exports: count > 4096 && (comm == cat || ret < 0).",
        "live",
    ),
    Command("view('events')", "e", "Events", "Show the events one by one.", "live"),
    Command("view('graph')", "g", "Graph", "Show calls as a tree, each with its callees and its duration.", "live"),
    Command("view('calls')", "x", "Entry→exit", "Show calls with changed values, results and durations.", "live"),
    Command("view('summary')", "s", "Summary", "Show latencies, frequent values, rates and processes.", "live"),
    Command(
        "view('failures')",
        "E",
        "Failures",
        "Show the functions that first returned the errors of failed calls, of a graph with return values.",
        "live",
        footer=False,
    ),
    Command(
        "view('references')",
        "R",
        "References",
        "Show the objects whose references were taken and not put, of the probes of refs.",
        "live",
        footer=False,
    ),
    Command(
        "view('latencies')",
        "J",
        "Latencies",
        "Show the latencies of timerlat, osnoise, hwlat and wakeup by CPU, and what interrupted.",
        "live",
        footer=False,
    ),
    Command(
        "view('numbers')",
        "I",
        "Numbers",
        "Show the numbers that monitors sample: value, least, most, change a second, and the last minutes.",
        "live",
        footer=False,
    ),
    Command(
        "view('aggregate')",
        "y",
        "By key",
        "Show count, sum, average … by function, process, field, stack: the keys that Y chooses.",
        "live",
    ),
    Command(
        "view('histograms')",
        "b",
        "Histograms",
        "Show the tables and buckets of hist triggers, which T adds to a probe.",
        "live",
        footer=False,
    ),
    Command(
        "view('stacks')",
        "F",
        "Stacks",
        "Show the kernel stacks of events as a flame graph, by their number or by the sum of a value.",
        "live",
        footer=False,
    ),
    Command(
        "view('maps')",
        "M",
        "Maps",
        "Show the maps of compiled BPF objects: keys, values, histograms, and their change a second.",
        "live",
        footer=False,
    ),
    Command(
        "view('timeline')",
        "l",
        "Time line",
        "Show all events on a line of time, by event, CPU, task or function, with the cursor on its event.",
        "live",
    ),
    Command(
        "view('compare')",
        "U",
        "Compare",
        "Show what changed from this recording to another: rates, latencies, values.",
        "live",
        footer=False,
    ),
    Command(
        "probe",
        "p",
        "Probe this",
        "Build a probe on the function under the cursor of the graph.",
        "live",
        footer=False,
    ),
    Command("disarm", "d", "Disarm", "Disarm the probe of the event under the cursor, or one from a list.", "live"),
    Command("disarm_all", "D", "Disarm all", "Disarm all probes; u arms them again.", "live", footer=False),
    Command(
        "contents",
        "B",
        "Contents",
        "Show what is recorded: kernel, time, the probes with their specifications, the events of each, losses.",
        "live",
    ),
    Command("losses", "L", "Losses", "Show lost events by CPU and by probe, with remedies.", "live"),
    Command(
        "triggers",
        "T",
        "Trigger",
        "Add a trigger to the probe: stacktrace, traceon, traceoff, snapshot, hist.",
        "live",
        footer=False,
    ),
    Command(
        "clock",
        "Z",
        "Clock",
        "Show the time of day beside the kernel's seconds: here, in UTC, or none.",
        "live",
        footer=False,
    ),
    Command(
        "record",
        "w",
        "Record",
        "Record the events to a file from now on, or stop recording.",
        "live",
    ),
    Command(
        "run_command",
        "r",
        "Run",
        "Run a command there under probes or a tracer, in a terminal below the rows; again: to that terminal.",
        "live",
    ),
    Command(
        "end_command",
        "X",
        "End command",
        "End the command by SIGTERM, then SIGKILL; again: close its terminal.",
        "live",
    ),
    Command("export", "o", "Export", "Export the events: JSON lines, CSV, Parquet, Perfetto, a picture …", "live"),
    Command(
        "pane",
        "P",
        "Details pane",
        "Hide the details beside the rows, or show them again (from 120 columns on).",
        "live",
    ),
    Command(
        "call_end('entry')",
        "left_parenthesis",
        "Entry",
        "Go to the entry of the call under the cursor, among the events.",
        "live",
    ),
    Command(
        "call_end('exit')",
        "right_parenthesis",
        "Exit",
        "Go to the exit of the call under the cursor, among the events.",
        "live",
    ),
    Command("clear", "c", "Clear", "Remove all rows; u restores them.", "live", footer=False),
    Command("filter", "f", "Filter", "Show only some events of all hosts: count > 4096 && comm == cat.", "hosts"),
    Command("view('events')", "e", "Events", "Show the events of all hosts.", "hosts", footer=False),
    Command(
        "view('histograms')",
        "b",
        "Histograms",
        "Show the tables of hist triggers on each host in place of the events.",
        "hosts",
    ),
    Command(
        "triggers",
        "T",
        "Trigger",
        "Add a trigger to all probes of all hosts: hist, stacktrace, traceon, traceoff, snapshot.",
        "hosts",
        footer=False,
    ),
    Command(
        "export",
        "o",
        "Export",
        "Export the table of hosts, or the histograms of all: JSON lines, CSV.",
        "hosts",
        footer=False,
    ),
    Command("arm_composed", "a", "Arm", "Arm on all hosts the probe that was built with F2; F5: a preset.", "hosts"),
    Command("retry", "r", "Retry", "Open failed hosts again, and arm the probes of the other hosts there.", "hosts"),
    Command("disarm_hosts", "D", "Disarm all", "Disarm all probes on all hosts.", "hosts"),
    Command("back", "escape", "Back", "Back to building probes.", "hosts"),
)

GUARDED_ACTIONS = frozenset({
    "answer", "arm_composed", "boot", "clear", "code", "contents", "copy", "disarm", "disarm_all", "disarm_hosts",
    "end_command", "export", "graph", "in_kernel", "losses", "measure", "other_recording", "probe", "record",
    "registers", "remedy", "retry", "run_command", "save", "source", "take_back", "triggers", "watch_memory",
})  # fmt: skip
"""Names of actions that destroy, write, change the kernel or open a dialog: a letter within a typed word never
triggers one.
"""

ASKING_ACTIONS = frozenset({
    "code", "contents", "export", "losses", "registers", "run_command", "save", "triggers",
})  # fmt: skip
"""Names of guarded actions that do nothing but open a dialog: one letter typed ahead of its place may do that."""

LEADING_KEYS = frozenset(
    key
    for command in COMMANDS
    if command.place == "app" and command.action not in ("reconnect", "give_up", "quit")
    for key in command.keys.split(",")
    if len(key) == 2 or key.startswith("ctrl+")
)
"""Keys that lead to a place or a dialog, though not out of a dialog: what is typed behind is for its text line."""

KERNEL_ACTIONS = frozenset({
    "disarm", "disarm_all", "end_command", "graph", "in_kernel", "measure", "record", "remedy", "run_command",
    "since", "source", "triggers", "view('histograms')", "view('maps')", "watch_memory",
})  # fmt: skip
"""Names of actions, or actions with their parameters, that need a kernel that runs: on a recording no footer offers
them, and help says why.
"""

CODE_ACTIONS = frozenset({"code"})
"""Names of actions that need the code of a kernel: a recording has none."""

RECONNECT_ACTIONS = frozenset({"give_up", "reconnect"})
"""Names of actions that need a kernel that runs here or, with several hosts, on one of them."""

BEFORE_OPEN = frozenset(command.action for command in COMMANDS if command.place == "app") - {"edit"}
"""Actions of the places that work before a target is open."""

COMPOSE_ACTIONS = frozenset(command.action for command in COMMANDS if command.place == "compose")
"""Actions of the place where probes are built."""

MARK_ACTIONS = frozenset({"mark", "mark_all", "marked"})
"""Names of actions of the list of functions that need an open target: marked places are judged together."""

ON_RECORDING = {
    "live": ("Live", "Show the events of the recording."),
    "presets": ("Presets", "Show the events that answer a question, or edit presets."),
    "presets.choose": ("Show", "Show its events"),
    "presets.back": ("Back", "Leave the presets"),
    "take_back": ("Take back", "Take back what was cleared or filtered last."),
    "quit": ("Quit", "Quit."),
    "follow": ("Hold", "Stay at the rows that are shown, or go to the last one."),
    "timeline.follow": ("Hold", "Stay at the time that is shown, or go to the last of it."),
    "timeline.all": ("All", "Show all of the time"),
    "timeline.end": ("Last", "To the last event"),
    "events.last": ("Last", "To the last row"),
    "losses": ("Losses", "Show lost events by CPU and by probe."),
    "view('numbers')": (
        "Numbers",
        "Show the numbers that monitors sampled: value, least, most, change a second, and the last minutes.",
    ),
    "arm": ("Show", "Show the events of this probe, where they are recorded; others need a kernel that runs."),
    "spec.submit": (
        "Show",
        "Show the events of the text as written, where they are recorded; Tab takes a suggested name",
    ),
    "lowered": ("Lines", "Show the lines of this probe for the kernel of the recording, and for others."),
    "stacks.compare": ("Compare", "Compare the second half of the events with the first; again: all as one"),
    "attach.callers": ("Callers", "Search the kernel's code for callers; a recording has none"),
    "functions.marked": ("Marked", "List what is marked, what can have no probe first; again: list what matches"),
    "via": ("BPF", "Judge probes on functions as BPF programs record them, as tracefs does, or by what each needs."),
    "stacks": (
        "Stacks",
        "Build probes with the kernel stack of each event, or of none; a kernel that runs records it.",
    ),
    "registers": (
        "Registers",
        "Show what each way to attach to the function reads, and which values it lacks.",
    ),
}
"""Labels and help of actions on a recording, by the action, its name, or its key's id: nothing is armed there."""

ON_SAVED_FACTS = {
    "live": ("Live", "Show the place of events; here are none, only what is known of a kernel."),
    "presets": ("Presets", "Look which questions this kernel can answer, or edit presets."),
    "lowered": ("Lines", "Show the lines of this probe for this kernel, and for others."),
    "code": ("Code", "Show the function's instructions, where they are known."),
    "code.returns": ("Returns", "Specify a kprobe on each return instruction, with the result"),
    "code.tail_calls": (
        "Tail calls",
        "Specify a kprobe on each jump to a function that returns in place of this one",
    ),
    "arm": ("Judge", "Look whether this probe is recorded; it needs a kernel that runs."),
}
"""Labels and help where the target has no events, in place of those on a recording."""

WHY_NOT = {
    "reconnect": "F7: no connection to another machine is lost or silent, so there is nothing to reconnect",
    "give_up": "F8: no machine is tried again, no call graph or command is started: there is nothing to give up",
    "hosts": "F9: one target is open; several are named at the start: probewright -t HOST -t HOST, or -g GROUP",
}
"""Messages in place of commands of the application that are impossible now."""


def why_not_bindings() -> list[Binding]:
    """Return bindings of the application that show why a key does nothing now; hidden, and absent from help."""
    return [
        Binding(command.keys, f"why_not('{command.action}')", show=False)
        for command in COMMANDS
        if command.place == "app" and command.action in WHY_NOT
    ]


def bindings(place: str) -> list[Binding | tuple[str, str] | tuple[str, str, str]]:
    """Return the bindings of one place, for a `BINDINGS`."""
    return [
        Binding(c.keys, c.action, c.label, tooltip=c.help, show=c.footer, id=f"{place}.{c.action}")
        for c in COMMANDS
        if c.place == place
    ]
