"""Arguments of each command, and of the actions of `preset`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from events.names.place_kinds import PlaceKind
from tui.cli.args import argument_types as types
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
)

if TYPE_CHECKING:
    from collections.abc import Callable

BOOT_WAYS = ("bootconfig", "cmdline")
"""Values of `probes.export.boot_request.BootWay`; listed here as that module is slow to import."""

STATUS = (
    "exit status: 0 done, 1 refused or nothing found, 2 usage, 3 target unusable, 4 done on some of several hosts"
)
"""Meaning of the exit status, below the help of a command."""
_COMMAND = (
    "With -- COMMAND it runs on the target meanwhile: it and its children are recorded alone, "
    "and its exit status is ours."
)


def add_reading(printing: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the commands that read a kernel and arm nothing: list, show, check."""
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
        help="vfs_read, file, 'struct file', sched/sched_switch, 't sched_switch', user_events/NAME, "
        "fs/read_write.c:562 (a line of source), an object "
        "(FILE.bpf.o), a recording (FILE.pwr)",
    )
    sub.add_argument(
        "--callers", action="store_true", help="also the callers of the function, found in the kernel's code"
    )
    sub.add_argument(
        "--code",
        action="store_true",
        help="the instructions of the function, from the kernel's memory, and which of them take a kprobe; of "
        "FUNCTION+0xOFFSET the local variables there, as fetchargs",
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
    sub.add_argument(
        "--vmlinux",
        metavar="FILE",
        help="debug information of that kernel: source lines, variables, and what was inlined",
    )
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


def add_arming(printing: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the commands that arm probes: run, record."""
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


def add_graph(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `graph`."""
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


def add_errors(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `errors`."""
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
        type=types.errno_list,
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


def add_refs(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `refs`."""
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


def add_compare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `compare`."""
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


def add_boot(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `boot`."""
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


def add_preset(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `preset` and their arguments."""
    actions = parser.add_subparsers(dest="what", metavar="ACTION", required=True)
    name = "a name, user:NAME or project:NAME where both have it, or a file.toml"

    def action(word: str, text: str) -> argparse.ArgumentParser:
        sub = actions.add_parser(word, help=text, description=text, epilog=STATUS)
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
