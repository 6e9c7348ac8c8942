"""A comment of C with the commands to do the same by hand, for a bug report or beside a function."""

from __future__ import annotations

import re
from collections.abc import Sequence

from probes.export.dialect import CannotExport, Exported
from probes.export.names import events_of, notes_of
from probes.export.quoting import in_c_comment, sh_word
from probes.facts import TargetFacts
from probes.plan import Plan


def write(plans: Sequence[Plan], facts: TargetFacts) -> Exported:
    """See the module. Raises CannotExport for text with NUL in it."""
    events = events_of(plans)
    lines = [facts.title, *(f"  {plan.probe}" for plan in plans), *(f"note: {note}" for note in notes_of(plans))]
    told = [in_c_comment(line) for line in lines]
    try:
        commands = ["cd /sys/kernel/tracing"]
        commands += [f"{_echo(line)} >>dynamic_events" for event in events for line in event.lines]
        for event in events:
            folder = f"events/{_word(event.path)}"
            commands += [f"{_echo(event.filter)} >{folder}/filter"] if event.filter else []
            commands += [f"{_echo(trigger)} >>{folder}/trigger" for trigger in event.triggers]
        commands += [f"echo 1 >events/{_word(event.path)}/enable" for event in reversed(events) if event.recorded]
        commands.append("dd if=trace_pipe bs=65536")
        commands += [f"echo 0 >events/{_word(event.path)}/enable" for event in events if event.recorded]
        for event in reversed(events):
            folder = f"events/{_word(event.path)}"
            commands += [f"{_echo(f'!{trigger}')} >>{folder}/trigger" for trigger in reversed(event.triggers)]
            commands += [f"{_echo(event.remove)} >>dynamic_events"] if event.remove else []
    except ValueError as error:
        raise CannotExport(str(error)) from None
    body = [*told, "", *(f"# {command}" for command in commands)]
    return Exported("/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in body) + " */\n", notes_of(plans))


def _echo(text: str) -> str:
    """The command that prints a text; the echo of some shells reads backslashes and options."""
    word = _word(text)
    return f"printf '%s\\n' {word}" if "\\" in text or text.startswith("-") else f"echo {word}"


def _word(text: str) -> str:
    """A word of the shell that holds neither the end nor the beginning of a comment."""
    plain = sh_word(text.rstrip("\n"))
    return re.sub(r"(?<=\*)(?=/)|(?<=/)(?=\*)", "''", plain)
