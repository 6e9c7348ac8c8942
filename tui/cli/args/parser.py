"""Parse the command line into one namespace.

Without a command the application starts; a lone argument that is no command is the target or recording to open.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from events.names.place_kinds import PlaceKind
from tui.cli.args import argument_types as types
from tui.cli.args.fast_path import COMMANDS
from tui.cli.args.options import (
    add_aggregate,
    add_bounds,
    add_clock,
    add_common,
    add_export,
    add_filter,
    add_hosts,
    add_limits,
    add_line,
    add_objects,
    add_rates,
    add_specs,
    add_stacks,
    add_summary,
    add_threshold,
    add_values,
    add_via,
    add_view,
    is_aggregate,
)
from tui.cli.args.suggestions import unknown_arguments_message
from tui.cli.status import USAGE

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

DIALECTS = ("sh", "trace-cmd", "perf", "bpftrace", "bootconfig", "cmdline", "ansible", "kubernetes", "comment")
"""Names of `probes.export.export.DIALECTS`; listed here as that module is slow to import."""

BOOT_WAYS = ("bootconfig", "cmdline")
"""Values of `probes.export.boot_request.BootWay`; listed here as that module is slow to import."""

SHELLS = ("bash", "zsh", "fish")

_STATUS = (
    "exit status: 0 done, 1 refused or nothing found, 2 usage, 3 target unusable, 4 done on some of several hosts"
)
_TARGETS = f"""targets:
  auto                        this machine where it can be probed, else the recording that ships with probewright
  local                       this machine
  ssh://[user@]host[:port]    another machine; nothing has to be installed there
  lab[:KERNEL]                a throw-away machine: lab, lab:6.12, lab:arm64:6.12, lab:full, lab:/path/to/bzImage
  FILE.pwr, FOLDER, FILE.tar.xz   a recording, or saved facts of a kernel

{_STATUS}"""
_RUNNING = ("run", "record", "errors", "refs")
"""Commands that run another command, behind `--`."""
_OWN_FAILURE = 125
"""`tui.cli.follow.command_run.OWN_FAILURE`; here as that module is slow to import."""
_COMMAND = (
    "With -- COMMAND it runs on the target meanwhile: it and its children are recorded alone, "
    "and its exit status is ours."
)
_OF_SEVERAL = ("app", "run")
"""Commands that accept several targets, and groups of hosts."""
_OF_THIS_MACHINE = ("doctor", "clean", "write", "boot")
"""Commands about a machine: their default target is `local`, never the shipped recording."""


def parse(argv: list[str]) -> argparse.Namespace:
    """Parse the arguments; usage errors end the process with status 2."""
    first = _first_word(argv)
    parser = _commands() if first in COMMANDS else _application()
    program: list[str] = []
    has_program = first in _RUNNING and "--" in argv
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


class _Parser(argparse.ArgumentParser):
    """Parser that raises the error of writing its help; argparse's own class ignores it."""

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        print(message, end="", file=file or sys.stderr)


def _application() -> argparse.ArgumentParser:
    parser = _Parser(
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
    parser = _Parser(prog="probewright", epilog=_TARGETS, formatter_class=argparse.RawDescriptionHelpFormatter)
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

    _about_the_kernel(printing)
    _arming(printing)
    sub = printing("graph", "Trace what functions call, and print each call as a tree; a recording prints its own.")
    _graph(sub)
    add_clock(sub)
    add_bounds(sub, "stop after N calls; else Ctrl+C does")
    sub = printing(
        "errors", "Find the function that first returned the error of each system call or call that failed."
    )
    _errors(sub)
    add_clock(sub)
    add_bounds(sub, "stop after N failed calls; else Ctrl+C does")
    sub = printing("refs", "Track reference counts, and find the references that were taken and never put.")
    _refs(sub)
    add_clock(sub)
    add_bounds(sub, "stop after N events; else Ctrl+C does")
    sub = command(
        "compare", "Compare two recordings: counts, latencies and values, what changed most first.", _STATUS
    )
    _compare(sub)
    sub = printing("preset", "List, show, check, compare and save presets: probes that answer a question.")
    _preset(sub)
    sub = printing("export", "Export probes for another tool: a script or text that arms them without probewright.")
    add_specs(sub, preset=True)
    sub.add_argument("--as", dest="dialect", required=True, choices=DIALECTS, help="tool or format to export for")
    sub.add_argument("-o", "--output", metavar="FILE", help="new file; without it the text is printed")
    sub = printing(
        "boot", "Arm probes while a kernel boots: rehearse it in the lab, write an initrd, read the events."
    )
    _boot(sub)
    sub = printing("write", "Write one event of programs by hand, as a program would that has registered it.")
    sub.add_argument("name", type=types.name, metavar="NAME", help="name of the event, as `list user_events/` has it")
    sub.add_argument(
        "values", nargs="*", metavar="FIELD=VALUE", help="a number, a text, or bytes as 0x00ff, for each field"
    )
    printing("doctor", "Report the features that this machine or target has and lacks, with remedies.")
    printing("clean", "Remove the probes and settings that a dead session left in the kernel.")
    sub = command("lab", "Boot a kernel in a throw-away machine and open the application on it.", _STATUS)
    kernels = "6.1, 6.12, 7.2, arm64:6.12, full, or an image's path (default: %(default)s)"
    sub.add_argument("--kernel", default="7.2", metavar="KERNEL", help=kernels)
    sub = command("completion", "Print a completion script for a shell.", _STATUS)
    sub.add_argument("shell", choices=SHELLS, help="shell; the script begins with the way to install it")
    return parser


def _about_the_kernel(printing: Callable[[str, str], argparse.ArgumentParser]) -> None:
    sub = printing(
        "list",
        "List functions, tracepoints, events and places in programs, and the kinds of probes that attach there.",
    )
    sub.add_argument(
        "pattern",
        nargs="?",
        default="",
        help="words that the name must hold, in any order; user_events/ lists events that programs registered; "
        "/usr/bin/bash:read or libc:mall lists functions and static probes of a program, by path or name",
    )
    sub.add_argument(
        "--kind",
        action="append",
        choices=[kind.value for kind in PlaceKind],
        default=[],
        help="of this kind only; more than once: of these; syscall: the events of system calls; usdt: the static "
        "probes of a program",
    )
    sub.add_argument("--limit", type=types.natural, default=0, metavar="N", help="at most N (0: all)")
    sub = printing(
        "show",
        "Show a function's signature and fields, a type, the fields of an event, a compiled BPF object, or what a "
        "recording holds.",
    )
    sub.add_argument(
        "name",
        type=types.name,
        metavar="FUNCTION|TYPE|EVENT|FILE",
        help="vfs_read, file, 'struct file', sched/sched_switch, 't sched_switch', user_events/NAME, an object "
        "(FILE.bpf.o), a recording (FILE.pwr)",
    )
    sub.add_argument(
        "--callers", action="store_true", help="also the callers of the function, found in the kernel's code"
    )
    sub.add_argument(
        "--code",
        action="store_true",
        help="the instructions of the function, from the kernel's memory, and which of them take a kprobe",
    )
    sub.add_argument(
        "--regs",
        action="store_true",
        help="what each way to attach to the function reads, at entry and exit, and why not the rest",
    )
    sub.add_argument(
        "--measure",
        action="store_true",
        help="as --regs, and what a hit costs there: a cheap system call of our own is timed, some seconds",
    )
    sub.add_argument("--vmlinux", metavar="FILE", help="debug information of that kernel, to see what was inlined")
    sub = printing("check", "Show the kernel's verdict on a specification, and the lines that would be written.")
    add_specs(sub, required=False)
    sub.add_argument("--stdin", action="store_true", help="read specifications from standard input, one a line")
    add_via(sub)
    sub.add_argument("--matrix", action="store_true", help="also the lines for other kernels, by these types")
    sub.add_argument(
        "--rate",
        action="store_true",
        help="also count the calls for a tenth of a second, without recording: the rate, the loudest functions first",
    )


def _arming(printing: Callable[[str, str], argparse.ArgumentParser]) -> None:
    sub = printing("run", f"Arm probes, print their events, and take the probes away again. {_COMMAND}")
    sub.usage = "%(prog)s [-h] [options] SPEC|PRESET ... [-- COMMAND ...]"
    add_hosts(sub)
    add_specs(sub, preset=True)
    add_objects(sub, maps=True)
    add_bounds(sub)
    add_summary(sub)
    add_threshold(sub)
    add_aggregate(sub)
    add_stacks(sub)
    add_export(sub)
    add_filter(sub)
    add_view(sub)
    add_clock(sub)
    add_limits(sub)
    add_via(sub)
    add_line(sub)
    sub = printing("record", f"Arm probes and write everything to a recording. {_COMMAND}")
    sub.usage = "%(prog)s [-h] [options] -o FILE.pwr SPEC|PRESET ... [-- COMMAND ...]"
    add_specs(sub, preset=True)
    add_objects(sub)
    add_bounds(sub, "stop after N events, else with Ctrl+C; the file holds whole pages, and so a few more")
    add_limits(sub)
    add_via(sub)
    add_line(sub)
    sub.add_argument("-o", "--output", required=True, metavar="FILE.pwr", help="new file")


def _graph(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "functions", nargs="*", type=types.name, metavar="FUNCTION", help="vfs_read, or a glob: 'vfs_*'"
    )
    parser.add_argument("--depth", type=types.natural, default=0, metavar="N", help="at most N levels (0: all)")
    parser.add_argument(
        "--slower",
        type=types.natural,
        default=0,
        metavar="US",
        help="only calls of at least so many microseconds",
    )
    add_line(parser)
    parser.add_argument("-o", "--output", metavar="FILE.pwr", help="also write a recording, to a new file")


def _errors(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [-h] [options] FUNCTION ... [-- COMMAND ...]"
    parser.add_argument(
        "functions",
        nargs="*",
        type=types.name,
        metavar="FUNCTION",
        help="system call (openat) or function (vfs_open) whose failures are wanted, or a glob; of a recording also "
        "none: the outermost calls",
    )
    parser.add_argument(
        "--errno",
        dest="errnos",
        type=types.error_numbers,
        action="extend",
        default=[],
        metavar="ERROR",
        help="only failures with this error, ENOENT or 2; several with commas",
    )
    parser.add_argument(
        "-p",
        "--pid",
        dest="pids",
        type=types.process,
        action="append",
        default=[],
        metavar="PID",
        help="only this process and those that it starts; again for another",
    )
    parser.add_argument("--depth", type=types.natural, default=0, metavar="N", help="trace at most N levels (0: all)")
    add_line(parser)
    parser.add_argument("-o", "--output", metavar="FILE.pwr", help="also write a recording, to a new file")


def _refs(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [-h] [options] KIND ... [-- COMMAND ...]"
    parser.add_argument(
        "kinds",
        nargs="*",
        type=types.name,
        metavar="KIND",
        help="file, dentry, inode, mm, device; a structure whose functions are found by their names (bpf_map); or "
        "GET,PUT[,FREE] (fget,fput); none of a recording",
    )
    parser.add_argument(
        "--keeper",
        dest="keepers",
        type=types.name,
        action="append",
        default=[],
        metavar="FUNCTION",
        help="references taken in this function outlive their task by intent: they are no leak; again for another",
    )
    parser.add_argument(
        "--limit", type=types.natural, metavar="N", help="print at most N objects of each state (default: 20; 0: all)"
    )
    add_rates(parser)
    parser.add_argument("--force", action="store_true", help="arm them at any rate")
    add_line(parser)
    parser.add_argument("-o", "--output", metavar="FILE.pwr", help="also write a recording, to a new file")


def _compare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A.pwr", help="recording to compare with, as of before a change")
    parser.add_argument("b", metavar="B.pwr", help="the other recording")
    add_filter(parser, "of both: ")
    parser.add_argument(
        "--by",
        metavar="KEY,…",
        help="compare each event by up to three keys in place of the function: comm, cpu, errno, a field, ...",
    )
    parser.add_argument(
        "--top", type=types.natural, metavar="N", help="print at most N changes and groups (default: 20; 0: all)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    add_export(parser)


def _boot(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [-h] [options] SPEC|PRESET ... | --read [SPEC ...]"
    add_specs(parser, required=False, preset=True)
    parser.add_argument(
        "--by", dest="way", choices=BOOT_WAYS, help="means to use (default: the first by which the kernel takes them)"
    )
    parser.add_argument(
        "--buffer",
        dest="buffer_kb",
        type=types.positive,
        default=4096,
        metavar="KB",
        help="buffer of each CPU; when it is full it keeps the beginning of the boot (default: %(default)s)",
    )
    parser.add_argument(
        "--for",
        dest="seconds",
        type=types.seconds,
        default=0.0,
        metavar="SECONDS",
        help="in the lab: time to wait after the boot before the events are read (default: 0)",
    )
    parser.add_argument(
        "--initrd", metavar="FILE", help="write a copy of this initrd with the probes, to the new file of -o"
    )
    parser.add_argument(
        "--read", action="store_true", help="after such a boot: read the events of the target into a recording"
    )
    parser.add_argument(
        "--remove", action="store_true", help="with --read: also take the probes out of the running kernel"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="new file: FILE.pwr of the lab and of --read (without it the application shows the events), the copy "
        "of --initrd, else the text",
    )


def _preset(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="what", metavar="ACTION", required=True)
    name = "a name, user:NAME or project:NAME where both have it, or a file.toml"

    def action(word: str, text: str) -> argparse.ArgumentParser:
        sub = actions.add_parser(word, help=text, description=text, epilog=_STATUS)
        add_common(sub, default=argparse.SUPPRESS)
        sub.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="one JSON object a line")
        return sub

    sub = action("list", "List the presets.")
    sub.add_argument("names", nargs="*", metavar="WORD", help="words that occur in it; #TAG is one of its tags")
    sub.add_argument("--tags", default="", metavar="TAG,…", help="only presets with all of these tags")
    sub = action("show", "Print a preset's file.")
    sub.add_argument("names", nargs="+", metavar="PRESET", help=name)
    sub = action("check", "Check a preset against a target: verdict, lines and losses.")
    sub.add_argument("names", nargs="+", metavar="PRESET", help=name)
    add_values(sub)
    sub = action("diff", "Compare two presets; the exit status is 1 where they differ.")
    sub.add_argument("names", nargs=2, metavar="PRESET", help=name)
    sub = action("save", "Save specifications, or another preset, under a new name.")
    sub.add_argument("name", metavar="NAME", help="small letters, digits, - and _")
    sub.add_argument("names", nargs="+", metavar="SPEC|PRESET", help="specifications, or the preset to copy")
    sub.add_argument("--title", default="", help="purpose, in one line")
    sub.add_argument("--tags", default="", metavar="TAG,…", help="tags to find it by")
    sub.add_argument("--project", action="store_true", help="into the project's .probewright folder")
    sub.add_argument("--replace", action="store_true", help="overwrite an existing file")
