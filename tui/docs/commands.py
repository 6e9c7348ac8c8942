"""Generate `docs/commands.md`, the command line, from the parser."""

from __future__ import annotations

from tui.cli.args.grammar import CommandWord, Option, commands
from tui.docs.text import MADE, cell, code, table

STATUS = (
    ("0", "done"),
    ("1", "refused, or nothing found"),
    ("2", "usage; also a preset that is wrong, or not there"),
    ("3", "the target can't be used"),
    ("4", "of several hosts, only some did it"),
    (
        "that of COMMAND",
        "run and record with -- COMMAND; then 124 where it was ended by us, 125 for all failures of ours, "
        "126 and 127 where it can't be executed or is not there",
    ),
    ("130", "Ctrl+C or a signal came first; run, record and graph end with 0 by it from where they begin to arm"),
)
TARGETS = (
    ("auto", "this machine where it can be probed, else the recording that comes along"),
    ("local", "this machine"),
    ("ssh://[user@]host[:port]", "another machine; nothing has to be installed there"),
    (
        "lab[:KERNEL]",
        "a throw-away machine: lab, lab:6.12, lab:riscv64:7.2, lab:full, lab:/path/to/bzImage",
    ),
    ("FILE.pwr", "a recording"),
    ("FOLDER, FILE.tar.xz", "saved facts of a kernel"),
)
COMMON = ("--help", "--version", "--target", "--json")
"""Long names of the options that most commands have; described once for all."""


def common(all_commands: tuple[CommandWord, ...]) -> list[Option]:
    """Return the options that most commands have, as `list` has them."""
    listing = next(command for command in all_commands if command.path == ("list",))
    return [option for name in COMMON for option in listing.options if name in option.names]


def reference() -> str:
    """Return the page."""
    all_commands = commands()
    parts = [
        MADE.format(source="the parser of the command line, `tui/cli/args/parser.py`"),
        "# The command line\n\n"
        "Without a command the application starts; a lone argument is the target, or the recording, to open.\n"
        "`lab` takes no target, `completion` needs none, and `--json` is for what prints.\n",
        f"\n## In most commands\n\n{_options(common(all_commands))}",
        "\n## Targets\n\n"
        + table(("`--target`", "what it is"), ((code(name), cell(text)) for name, text in TARGETS)),
        "\n## Exit status\n\n" + table(("status", "what it means"), STATUS),
    ]
    parts += [_command(one) for one in all_commands]
    return "".join(parts)


def own(command: CommandWord) -> list[Option]:
    """Return the options of a command that are not shared by most commands."""
    return [option for option in command.options if not set(option.names) & set(COMMON)]


def _command(command: CommandWord) -> str:
    title = " ".join(command.path) or "Without a command"
    words = [(code(word.value), cell(word.help + _choices(word))) for word in command.words]
    parts = [f"\n## {title}\n\n{cell(command.help)}\n\n    {command.usage}\n"]
    if words:
        parts.append("\n" + table(("word", "what"), words))
    if own(command):
        parts.append("\n" + _options(own(command)))
    return "".join(parts)


def _options(options: list[Option]) -> str:
    rows = (
        (", ".join(code(name) for name in names_with_value(option)), cell(option.help + _choices(option)))
        for option in options
    )
    return table(("option", "what"), rows)


def names_with_value(option: Option) -> list[str]:
    """Return each spelling with its value: `-o FILE`, `--output FILE`."""
    value = f" [{option.value}]" if option.value and option.optional else f" {option.value}" if option.value else ""
    return [f"{name}{value}" for name in option.names]


def _choices(option: Option) -> str:
    """Return the accepted words of an option if there are no others."""
    return f": {', '.join(option.values)}" if option.closed else ""
