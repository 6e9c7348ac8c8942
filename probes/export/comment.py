"""Write a C comment with the shell commands that set up the probes by hand, for a bug report or beside a function.

The commands set filters and triggers and enable events in a separate trace instance: at the top of tracefs they would
overwrite other users' settings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from probes.export.dialect import CannotExport, ExportText
from probes.export.names import events_of, notes_of
from probes.export.quoting import in_c_comment, sh_word
from probes.facts.facts import TargetFacts
from probes.plans.plan import Plan, PlannedEvent

_INSTANCE = "instances/probewright-by-hand"


def write(plans: Sequence[Plan], facts: TargetFacts) -> ExportText:
    """Return a C comment that sets up the plans. Raises CannotExport for text with NUL in it."""
    events = events_of(plans)
    lines = [facts.title, *(f"  {plan.probe}" for plan in plans), *(f"note: {note}" for note in notes_of(plans))]
    header = [in_c_comment(line) for line in lines]
    try:
        commands = ["cd /sys/kernel/tracing"]
        commands += [f"{_echo(line)} >>dynamic_events" for event in events for line in event.lines]
        commands.append(f"mkdir {_INSTANCE}")
        for event in events:
            commands += [f"{_echo(event.filter)} >{_folder(event)}/filter"] if event.filter else []
            commands += [f"{_echo(trigger)} >>{_folder(event)}/trigger" for trigger in event.triggers]
        commands += [f"echo 1 >{_folder(event)}/enable" for event in reversed(events) if event.recorded]
        commands.append(f"dd if={_INSTANCE}/trace_pipe bs=65536")
        commands += [f"echo 0 >{_folder(event)}/enable" for event in events if event.recorded]
        for event in reversed(events):
            commands += [f"{_echo(f'!{trigger}')} >>{_folder(event)}/trigger" for trigger in reversed(event.triggers)]
            commands += [f"{_echo(event.remove)} >>dynamic_events"] if event.remove else []
        commands.append(f"rmdir {_INSTANCE}")
    except ValueError as error:
        raise CannotExport(str(error)) from None
    body = [*header, "", *(f"# {command}" for command in commands)]
    return ExportText("/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in body) + " */\n", notes_of(plans))


def _folder(event: PlannedEvent) -> str:
    """Return the folder of an event in the instance."""
    return f"{_INSTANCE}/events/{_word(event.path)}"


def _echo(text: str) -> str:
    """Return a command that prints a text; the echo of some shells interprets backslashes and options."""
    word = _word(text)
    return f"printf '%s\\n' {word}" if "\\" in text or text.startswith("-") else f"echo {word}"


def _word(text: str) -> str:
    """Return a shell word that contains neither the end nor the beginning of a comment."""
    plain = sh_word(text.rstrip("\n"))
    return re.sub(r"(?<=\*)(?=/)|(?<=/)(?=\*)", "''", plain)
