"""Generate `docs/probewright.1`: the manual page, in the man macros."""

from __future__ import annotations

from textwrap import fill

from tui.cli.args.grammar import CommandWord, Option, commands
from tui.commands import bindings
from tui.docs.commands import STATUS, TARGETS, common, names_with_value, own
from widgets.dialogs.help import section

_DESCRIPTION = """probewright builds Linux kernel probes by picking: a function, its arguments, the fields behind
them. It says what the kernel would answer before anything is written, arms the probe, shows what comes of it, and
takes it away again. It works on this machine, over ssh(1) on a machine that has nothing installed, on a throw-away
machine in QEMU, and on recordings."""
_FILES = (
    ("~/.config/probewright/presets/*.toml", "presets of the user; XDG_CONFIG_HOME moves it"),
    (".probewright/*.toml", "presets of a project, in the folder one is in or above it"),
    ("~/.cache/probewright/", "kernels of the lab, types of kernels that were probed"),
)
_SEE_ALSO = "trace-cmd(1), perf-probe(1), bpftrace(8), ssh(1)"


def manpage() -> str:
    """Return the page."""
    found = commands()
    parts = [
        '.\\" Made by `make docs` from the parser of the command line: change it there.\n',
        '.TH PROBEWRIGHT 1 "" "probewright" "User Commands"\n',
        f".SH NAME\nprobewright \\- {_safe('build Linux kernel probes by picking, and watch their events')}\n",
        ".SH SYNOPSIS\n" + "".join(f".br\n{_safe(one.usage)}\n" for one in found).removeprefix(".br\n"),
        f".SH DESCRIPTION\n{_safe(fill(_DESCRIPTION, 76))}\n",
        ".SH OPTIONS OF MOST COMMANDS\n" + "".join(map(_option, common(found))),
        ".SH COMMANDS\n" + "".join(map(_command, found)),
        ".SH TARGETS\n" + "".join(_item(name, text) for name, text in TARGETS),
        ".SH KEYS\n.B F1\nexplains the keys of the screen one is on. Everywhere:\n",
        *(_item(key.key, key.text) for key in section("", bindings("app")).keys),
        ".SH EXIT STATUS\n" + "".join(_item(number, text) for number, text in STATUS),
        ".SH FILES\n" + "".join(_item(name, text) for name, text in _FILES),
        f".SH SEE ALSO\n{_safe(_SEE_ALSO)}\n",
    ]
    return "".join(parts)


def _command(one: CommandWord) -> str:
    title = " ".join(one.path) or "Without a command"
    words = [_item(word.value, word.help) for word in one.words if word.help]
    return f".SS {_safe(title)}\n{_safe(one.help)}\n" + "".join([*words, *map(_option, own(one))])


def _option(option: Option) -> str:
    return _item(", ".join(names_with_value(option)), option.help)


def _item(what: str, text: str) -> str:
    return f".TP\n.B {_safe(what)}\n{_safe(fill(text, 76))}\n"


def _safe(text: str) -> str:
    """Escape text for roff: backslashes, and a dot at the beginning of a line."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("…", "...")
    escaped = escaped.replace("→", "\\(->")
    return "\n".join(f"\\&{line}" if line.startswith(".") else line for line in escaped.split("\n"))
