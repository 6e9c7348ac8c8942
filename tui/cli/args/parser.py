"""Parse the command line into one namespace.

Without a command the application starts; a lone argument that is no command is the target or recording to open.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

from tui.cli.args import argument_types as types
from tui.cli.args.command_arguments import (
    STATUS,
    add_arming,
    add_boot,
    add_compare,
    add_errors,
    add_graph,
    add_preset,
    add_reading,
    add_refs,
)
from tui.cli.args.fast_path import COMMANDS
from tui.cli.args.options import (
    add_aggregate,
    add_bounds,
    add_clock,
    add_common,
    add_export,
    add_filter,
    add_hosts,
    add_rates,
    add_specs,
    add_stacks,
    add_view,
    is_aggregate,
)
from tui.cli.args.suggestions import RUNNING, unknown_arguments_message
from tui.cli.status import USAGE

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

DIALECTS = ("sh", "trace-cmd", "perf", "bpftrace", "bootconfig", "cmdline", "ansible", "kubernetes", "comment")
"""Names of `probes.export.export.DIALECTS`; listed here as that module is slow to import."""

SHELLS = ("bash", "zsh", "fish")

_TARGETS = f"""targets:
  auto                        this machine where it can be probed, else the recording that ships with probewright
  local                       this machine
  ssh://[user@]host[:port]    another machine; nothing has to be installed there
  lab[:KERNEL]                a throw-away machine: lab, lab:6.12, lab:riscv64:7.2, lab:full, lab:/path/to/bzImage
  FILE.pwr, FOLDER, FILE.tar.xz   a recording, or saved facts of a kernel

{STATUS}"""
_OWN_FAILURE = 125
"""`tui.cli.follow.command_run.OWN_FAILURE`; here as that module is slow to import."""
_OF_SEVERAL = ("app", "run")
"""Commands that accept several targets, and groups of hosts."""
_OF_THIS_MACHINE = ("doctor", "clean", "write", "boot")
"""Commands about a machine: their default target is `local`, never the shipped recording."""


def parse(argv: list[str]) -> argparse.Namespace:
    """Parse the arguments; usage errors end the process with status 2."""
    first = _first_word(argv)
    parser = _commands() if first in COMMANDS else _application()
    program: list[str] = []
    has_program = first in RUNNING and "--" in argv
    if has_program:  # argparse would take the program's words for functions
        argv, program = argv[: argv.index("--")], argv[argv.index("--") + 1 :]
    if has_program and first in ("run", "record"):
        with _own_status():
            return _parsed(parser, argv, first, program, has_program=True)
    return _parsed(parser, argv, first, program)


@contextlib.contextmanager
def _own_status() -> Iterator[None]:
    """Change the exit status of a usage error: where a command is run, 2 may be the status of that command."""
    try:
        yield
    except SystemExit as error:
        if error.code == USAGE:
            raise SystemExit(_OWN_FAILURE) from None
        raise


def _parsed(
    parser: argparse.ArgumentParser, argv: list[str], first: str, program: list[str], *, has_program: bool = False
) -> argparse.Namespace:
    """Parse what is before `--`; `program`: the words behind it, `has_program`: there have to be some."""
    arguments, unknown = parser.parse_known_args(argv)
    arguments.program = tuple(program)
    if has_program and not program:
        parser.error("say a command behind --")
    if unknown:
        parser.error(unknown_arguments_message(parser, arguments, first, unknown))
    arguments.targets = getattr(arguments, "targets", ())
    if len(arguments.targets) > 1 and arguments.command not in _OF_SEVERAL:
        parser.error(f"{arguments.command} takes one --target; `run` and the application take several")
    if program and (len(arguments.targets) > 1 or getattr(arguments, "groups", None)):
        parser.error("a command behind -- runs on one target: its end and its status are one, too")
    if program and getattr(arguments, "count_only", False):
        parser.error("--count-only counts the calls of all tasks; without it only those of the command are recorded")
    if program and getattr(arguments, "hist", False) and (not is_aggregate(arguments) or arguments.via == "tracefs"):
        parser.error(
            "--hist: hist triggers count the calls of all tasks; with --by programs count those of the command"
        )
    recording = getattr(arguments, "recording", None) if arguments.command == "app" else None
    if recording and len(arguments.targets) == 1 and not arguments.groups:
        parser.error(f"two targets, {recording} and {arguments.targets[0]}; name each of several hosts with --target")
    tables = is_aggregate(arguments) or arguments.stacks is not None if arguments.command == "app" else False
    if arguments.command == "app" and (arguments.export or arguments.output or tables):
        arguments.command = "event_export"
    elif arguments.command == "app" and arguments.view:
        parser.error("--view names the table that --export writes; in the application v and other keys show views")
    elif arguments.command == "app" and arguments.filter:
        parser.error("--filter chooses the events that --export writes; in the application f does")
    if arguments.command == "lab":  # the application, on a target that has another name there
        arguments.command, arguments.target = "app", f"lab:{arguments.kernel}"
    if arguments.target is None:
        arguments.target = "local" if arguments.command in _OF_THIS_MACHINE else "auto"
    return arguments


def _first_word(argv: list[str]) -> str:
    """Return the first argument that is neither an option nor a target (whose name may equal a command: `lab`)."""
    words = iter(argv)
    for word in words:
        if word in (
            "-t",
            "--target",
            "-o",
            "--output",
            "--export",
            "-g",
            "--group",
            "--window",
            "--clock",
            "--filter",
            "--view",
            "--by",
            "--sum",
            "--avg",
            "--min",
            "--max",
            "--log2",
            "--top",
        ):
            next(words, None)
        elif not word.startswith("-"):
            return word
    return ""


def parsers() -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """Return the parser of the application and the parser of its commands, for completion and reference pages."""
    return _application(), _commands()


class _CommandParser(argparse.ArgumentParser):
    """Parser that raises the error of writing its help, which argparse's own class ignores, and whose errors are safe
    for a terminal.
    """

    def error(self, message: str) -> NoReturn:
        from kernel.printable import plain

        super().error(plain(message.replace("\n", "\\n")))

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        print(message, end="", file=file or sys.stderr)


def _application() -> argparse.ArgumentParser:
    parser = _CommandParser(
        prog="probewright",
        usage="%(prog)s [-h] [--version] [-t TARGET] [TARGET]\n       %(prog)s FILE.pwr --export FORMAT[:PATH]\n"
        "       %(prog)s COMMAND [-h] ...",
        description="Build Linux kernel probes by picking, and watch their events.",
        epilog=f"commands: {', '.join(COMMANDS)} (each with --help)\n\n{_TARGETS}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("recording", nargs="?", metavar="TARGET", help="target to open (as --target)")
    add_common(parser)
    add_hosts(parser)
    add_export(parser)
    add_filter(parser, "of a recording, with --export: ")
    add_view(parser)
    add_aggregate(parser, "of a recording: ")
    add_stacks(parser, "of a recording: ")
    add_clock(parser)
    add_rates(parser)
    parser.set_defaults(command="app")
    return parser


def _commands() -> argparse.ArgumentParser:
    parser = _CommandParser(prog="probewright", epilog=_TARGETS, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, text: str, epilog: str = _TARGETS) -> argparse.ArgumentParser:
        shape = argparse.RawDescriptionHelpFormatter
        return commands.add_parser(name, help=text, description=text, epilog=epilog, formatter_class=shape)

    def printing(name: str, text: str) -> argparse.ArgumentParser:
        sub = command(name, text)
        # The default must not overwrite a target given before the command.
        add_common(sub, "local" if name in _OF_THIS_MACHINE else "auto", argparse.SUPPRESS)
        sub.add_argument("--json", action="store_true", help="one JSON object a line")
        return sub

    add_reading(printing)
    add_arming(printing)
    sub = printing("graph", "Trace what functions call, and print each call as a tree; a recording prints its own.")
    add_graph(sub)
    add_clock(sub)
    add_bounds(sub, "stop after N calls; else Ctrl+C does")
    sub = printing(
        "errors", "Find the function that first returned the error of each system call or call that failed."
    )
    add_errors(sub)
    add_clock(sub)
    add_bounds(sub, "stop after N failed calls; else Ctrl+C does")
    sub = printing("refs", "Track reference counts, and find the references that were taken and never put.")
    add_refs(sub)
    add_clock(sub)
    add_bounds(sub, "stop after N events; else Ctrl+C does")
    sub = command("compare", "Compare two recordings: counts, latencies and values, what changed most first.", STATUS)
    add_compare(sub)
    sub = printing("preset", "List, show, check, compare and save presets: probes that answer a question.")
    add_preset(sub)
    sub = printing("export", "Export probes for another tool: a script or text that arms them without probewright.")
    add_specs(sub, preset=True)
    sub.add_argument("--as", dest="dialect", required=True, choices=DIALECTS, help="tool or format to export for")
    sub.add_argument("-o", "--output", metavar="FILE", help="new file; without it the text is printed")
    sub = printing(
        "boot", "Arm probes while a kernel boots: rehearse it in the lab, write an initrd, read the events."
    )
    add_boot(sub)
    sub = printing("write", "Write one event of programs by hand, as a program would that has registered it.")
    sub.add_argument("name", type=types.name, metavar="NAME", help="name of the event, as `list user_events/` has it")
    sub.add_argument(
        "values", nargs="*", metavar="FIELD=VALUE", help="a number, a text, or bytes as 0x00ff, for each field"
    )
    printing("doctor", "Report the features that this machine or target has and lacks, with remedies.")
    printing("clean", "Remove the probes and settings that a dead session left in the kernel.")
    sub = command("lab", "Boot a kernel in a throw-away machine and open the application on it.", STATUS)
    kernels = "6.1, 6.12, 7.2, arm64:6.12, riscv64:7.2, full, or an image's path (default: %(default)s)"
    sub.add_argument("--kernel", default="7.2", metavar="KERNEL", help=kernels)
    sub = command("completion", "Print a completion script for a shell.", STATUS)
    sub.add_argument("shell", choices=SHELLS, help="shell; the script begins with the way to install it")
    return parser
