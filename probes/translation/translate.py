"""Recognize texts copied from documents of other tools, and translate them where that is simple."""

from __future__ import annotations

import re
import shlex
from typing import Final

from probes.translation import bpftrace, perf_probe
from probes.translation.translated import NOT_TRANSLATED, Translation

LONGEST: Final = 16_384
"""Largest number of characters of a text that is translated."""
_PROVIDER: Final = (
    r"(?:k|kr|kprobe|kretprobe|f|fr|fentry|fexit|kfunc|kretfunc|t|tracepoint|rt|rawtracepoint|u|ur|uprobe|uretprobe|U|usdt|"
    r"s|software|h|hardware|p|profile|i|interval|it|iter|w|watchpoint|aw|asyncwatchpoint|self|bench|test):"
)
"""Pattern for words that begin a probe's name (bpftrace's docs/language.adoc, Probes); `lat:` is probewright's
own."""
_PROGRAM: Final = re.compile(
    rf"\s*+(?:BEGIN|END|{_PROVIDER}[^\s{{]++)(?:\s*+,\s*+{_PROVIDER}[^\s,{{]++)*+\s*+(?:/[^{{]*+)?+\{{"
)
_ECHOED: Final = re.compile(
    r"\s*+(?:sudo\s++)?+echo\s++(?:-e\s++)?+(?P<quoted>'[^']*+'|\"[^\"]*+\"|[^>'\"]++)\s*+(?:>>?|\|).*", re.DOTALL
)
_COMMAND: Final = re.compile(r"\s*+(?:sudo\s++)?+(bpftrace|perf)\s")


def translate(text: str, machine: str = "") -> Translation | None:
    """Translate a text of another tool; None: the text is not recognized.

    `machine`: `uname -m` of the target, for arguments of programs; empty: unknown.
    """
    if len(text) > LONGEST:
        return None
    if _PROGRAM.match(text):
        return bpftrace.translated(text, machine)
    if (echo := _ECHOED.fullmatch(text)) is not None and "events" in text[echo.end("quoted") :]:
        return Translation("a shell", (echo["quoted"].strip().strip("'\"").strip(),))
    if (command := _COMMAND.match(text)) is not None:
        return _translate_command(text, command[1], machine)
    if perf_probe.is_definition(text):
        return perf_probe.translated(text)
    return None


def _translate_command(text: str, tool: str, machine: str) -> Translation | None:
    try:
        words = shlex.split(text)
    except ValueError:
        return Translation(tool, differences=(f"{NOT_TRANSLATED}a quote is not closed",))
    words = words[words.index(tool) + 1 :]
    if tool == "bpftrace":
        program = words[words.index("-e") + 1] if "-e" in words[:-1] else ""
        if program:
            return bpftrace.translated(program, machine)
        return Translation(tool, differences=(f"{NOT_TRANSLATED}a script is in its own file; paste what is in it",))
    if words[:1] != ["probe"]:
        return Translation("perf", differences=(f"{NOT_TRANSLATED}only `perf probe` makes probes",))
    program, definition, rest = "", "", iter(words[1:])
    for word in rest:
        if word in ("-x", "--exec"):
            program = next(rest, "")
        elif word in ("-a", "--add"):
            definition = next(rest, "")
        elif word.startswith("--add="):
            definition = word.partition("=")[2]
        elif not word.startswith("-"):
            definition = f"{definition} {word}".strip()
    return perf_probe.translated(definition, program)
