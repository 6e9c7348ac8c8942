"""Options that several commands share, each group by the function that adds it."""

from __future__ import annotations

import argparse

from events.export.catalogue import OF_EVENTS
from tui.cli.args import argument_types as types

VIEWS = ("calls", "hot-spots", "summary", "histograms", "hosts")
"""Names of tables that `tui.cli.exports.view_export` writes, which takes longer to import than all of this."""


def add_export(parser: argparse.ArgumentParser) -> None:
    """Where events go in place of a screen, or of printed lines."""
    formats = ", ".join(OF_EVENTS)
    parser.add_argument(
        "--export",
        metavar="FORMAT[:PATH]",
        help=f"give the events out as {formats}; without a path: printed; FOLDER/: a row of files; otlp[:URL]: as "
        "log records to a collector of OpenTelemetry",
    )
    parser.add_argument(
        "-o", "--output", metavar="PATH", help="the file for it (- prints), whose name may say the format"
    )
    parser.add_argument("--overwrite", action="store_true", help="also where the file is there already")
    parser.add_argument(
        "--rotate-size",
        type=types.megabytes,
        metavar="MB",
        help="in FOLDER/: end a file at about this size (default: 64)",
    )
    parser.add_argument(
        "--rotate-age",
        type=types.seconds,
        metavar="SECONDS",
        help="in FOLDER/: end a file at this age (default: 300)",
    )
    parser.add_argument(
        "--keep",
        dest="rotate_keep",
        type=types.natural,
        metavar="N",
        help="in FOLDER/: keep the newest N files of this machine (default: 0, all)",
    )


def add_filter(parser: argparse.ArgumentParser, where: str = "") -> None:
    """Return words for the events that are given out; `where` the option has an effect, with a blank behind it."""
    parser.add_argument(
        "--filter",
        metavar="CONDITION",
        default="",
        help=f"{where}give out only the events that pass, as f does in the application: "
        "'count > 4096 && comm == cat'",
    )


def add_view(parser: argparse.ArgumentParser) -> None:
    """A table in place of events."""
    parser.add_argument(
        "--view",
        choices=VIEWS,
        help="with --export jsonl or csv: give out the table of a view in place of events, as o does in that view; "
        "histograms are those of hist triggers, hosts how each of several hosts was",
    )


def add_common(parser: argparse.ArgumentParser, said: str = "auto", default: str | None = None) -> None:
    """What nearly every command takes."""
    text = f"what to probe, see below (default: {said})"
    parser.add_argument("-t", "--target", action=_Target, default=default, metavar="TARGET", help=text)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")


class _Target(argparse.Action):
    """The last one is `target`, all of them are `targets`; those behind a command count, where there are such."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - as argparse calls it
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        namespace.target = values
        namespace.targets = (*(getattr(namespace, "targets", None) or ()), values)


def add_hosts(parser: argparse.ArgumentParser) -> None:
    """Several machines at once; -t may be given more than once, too."""
    text = "all hosts of a group: one of config.toml, INVENTORY:GROUP (Ansible), ssh:PATTERN (~/.ssh/config); again "
    parser.add_argument(
        "-g", "--group", dest="groups", action="append", default=[], metavar="GROUP", help=f"{text}for another"
    )
    parser.add_argument(
        "--window",
        type=types.seconds,
        metavar="SECONDS",
        help="how long an event waits for older ones of other hosts, where there are several (default: 1)",
    )


class _Version(argparse.Action):
    """The version is looked up when it is asked for: that takes longer than all the rest of the arguments."""

    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> None:  # noqa: ARG002 - as argparse calls it
        import importlib.metadata

        print(importlib.metadata.version("probewright"))
        parser.exit()


def add_values(parser: argparse.ArgumentParser) -> None:
    """Values for the parameters of presets."""
    text = "a value for a preset's parameter; again for another"
    parser.add_argument("-p", dest="parameters", action="append", default=[], metavar="NAME=VALUE", help=text)


def add_specs(parser: argparse.ArgumentParser, *, required: bool = True, preset: bool = False) -> None:
    """The probes that a command is about."""
    if preset:
        add_values(parser)
    parser.add_argument(
        "specs",
        nargs="+" if required else "*",
        metavar="SPEC|PRESET" if preset else "SPEC",
        type=types.specification,
        help="a probe in the kernel's syntax, e.g. 'f vfs_read%%return file->f_pos count $retval'",
    )


def add_bounds(
    parser: argparse.ArgumentParser,
    count: str = "stop after N events, of a preset that shows calls after N calls; else Ctrl+C does",
) -> None:
    """When it ends by itself; `count`: what --count does."""
    parser.add_argument(
        "--for", dest="seconds", type=types.seconds, metavar="SECONDS", help="stop after this time; else Ctrl+C does"
    )
    parser.add_argument("--count", type=types.positive, metavar="N", help=count)


def add_clock(parser: argparse.ArgumentParser) -> None:
    """By which clock times are given out."""
    parser.add_argument(
        "--clock",
        choices=("kernel", "local", "utc"),
        help="print the time of day, here or in UTC, in front of the kernel's seconds; JSON, CSV and Parquet have "
        "`time`, nanoseconds since 1970, and `uncertainty` then (default: kernel)",
    )


def add_line(parser: argparse.ArgumentParser) -> None:
    """What happens where the line to the target is cut."""
    parser.add_argument(
        "--reconnect",
        type=types.natural,
        default=60,
        metavar="SECONDS",
        help="try so long to reach a machine again when the line is cut (default: 60; 0: end then)",
    )


def add_rates(parser: argparse.ArgumentParser) -> None:
    """Defaults are those of `kernel.guards.limits`, which takes longer to import than all of this."""
    parser.add_argument(
        "--max-rate",
        type=types.natural,
        metavar="N",
        help="ask, or refuse, before a probe brings more than N events a second (default: 50000; 0: do not measure)",
    )
    parser.add_argument(
        "--storm",
        type=types.natural,
        metavar="N",
        help="stop a probe that brings more than N events a second (default: 2000000; 0: never)",
    )


def add_limits(parser: argparse.ArgumentParser) -> None:
    """How much a probe may bring, and what is done at once when it is armed."""
    add_rates(parser)
    parser.add_argument("--force", action="store_true", help="arm it at any rate")
    parser.add_argument("--count-only", action="store_true", help="have the kernel count the hits, record nothing")
    parser.add_argument(
        "--trigger",
        dest="triggers",
        action="append",
        default=[],
        type=types.trigger,
        metavar="TRIGGER",
        help="put a trigger on each event that takes it: stacktrace, traceoff:1, 'hist:keys=common_pid if count > 9'",
    )
    parser.set_defaults(counting={})  # triggers of single probes, see `tui.cli.follow.preset_specs.asked_for`


def add_summary(parser: argparse.ArgumentParser) -> None:
    """Sums in place of events."""
    parser.add_argument(
        "--summary",
        nargs="?",
        const="",
        metavar="FIELD",
        help="print no events but their sum at the end: latencies, rates, processes, and the values of a field",
    )
    parser.add_argument(
        "--hist", action="store_true", help="the same, counted in the kernel, which then records nothing"
    )
