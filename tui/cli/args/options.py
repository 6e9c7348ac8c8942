"""Groups of options that several commands share; one function adds one group to a parser."""

from __future__ import annotations

import argparse

from events.export.catalogue import EVENT_FORMATS
from tui.cli.args import argument_types as types

VIEWS = ("calls", "hot-spots", "failures", "summary", "latencies", "histograms", "hosts")
"""Views whose tables `tui.cli.exports.view_export` writes; listed here as that module is slow to import."""


def add_export(parser: argparse.ArgumentParser) -> None:
    """Add the options for an export of events in place of a screen or of printed lines."""
    formats = ", ".join(EVENT_FORMATS)
    parser.add_argument(
        "--export",
        metavar="FORMAT[:PATH]",
        help=f"export the events as {formats}; without a path: to standard output; FOLDER/: to rotating files; "
        "otlp[:URL]: as log records to an OpenTelemetry collector",
    )
    parser.add_argument(
        "-o", "--output", metavar="PATH", help="output file (-: standard output); its suffix may set the format"
    )
    parser.add_argument("--overwrite", action="store_true", help="overwrite an existing file")
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
    """Add --filter; `where` begins its help text with the case in which the option has an effect, ending in a
    blank.
    """
    parser.add_argument(
        "--filter",
        metavar="CONDITION",
        default="",
        help=f"{where}print and export only events that pass the condition, as f does in the application: "
        "'count > 4096 && comm == cat'",
    )


def add_view(parser: argparse.ArgumentParser) -> None:
    """Add --view: the table of a view in place of events."""
    parser.add_argument(
        "--view",
        choices=VIEWS,
        help="with --export jsonl or csv: export the table of a view in place of events, as o does in that view; "
        "histograms: the tables of hist triggers; hosts: the state of each of several hosts",
    )


def add_common(parser: argparse.ArgumentParser, default_text: str = "auto", default: str | None = None) -> None:
    """Add --target and --version, which nearly every command has."""
    text = f"target to probe, see below (default: {default_text})"
    parser.add_argument("-t", "--target", action=_Target, default=default, metavar="TARGET", help=text)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")


class _Target(argparse.Action):
    """Action of --target: `target` is the last value, `targets` all of them; values after the command replace those
    before it.
    """

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
    """Add the options for several hosts; --target may be repeated as well."""
    text = "all hosts of a group: one of config.toml, INVENTORY:GROUP (Ansible), ssh:PATTERN (~/.ssh/config); again "
    parser.add_argument(
        "-g", "--group", dest="groups", action="append", default=[], metavar="GROUP", help=f"{text}for another"
    )
    parser.add_argument(
        "--window",
        type=types.seconds,
        metavar="SECONDS",
        help="with several hosts: seconds that an event waits for older ones of other hosts (default: 1)",
    )


class _Version(argparse.Action):
    """Action of --version: the version is looked up only on request, which takes longer than parsing all
    arguments.
    """

    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> None:  # noqa: ARG002 - as argparse calls it
        import importlib.metadata

        print(importlib.metadata.version("probewright"))
        parser.exit()


def add_values(parser: argparse.ArgumentParser) -> None:
    """Add -p: values for the parameters of presets."""
    text = "a value for a preset's parameter; again for another"
    parser.add_argument("-p", dest="parameters", action="append", default=[], metavar="NAME=VALUE", help=text)


def add_specs(parser: argparse.ArgumentParser, *, required: bool = True, preset: bool = False) -> None:
    """Add the positional specifications of probes."""
    if preset:
        add_values(parser)
    parser.add_argument(
        "specs",
        nargs="+" if required else "*",
        metavar="SPEC|PRESET" if preset else "SPEC",
        type=types.specification,
        help="a probe in the kernel's syntax, e.g. 'f vfs_read%%return file->f_pos count $retval'",
    )


def add_objects(parser: argparse.ArgumentParser, *, maps: bool = False) -> None:
    """Add the options for compiled BPF objects; `maps`: also --maps."""
    parser.add_argument(
        "--programs",
        default="",
        metavar="NAME,…",
        help="of a compiled object (FILE.bpf.o) attach these programs only",
    )
    parser.add_argument(
        "--record",
        action="append",
        default=[],
        metavar="MAP=STRUCT",
        help="struct of the records of an object's ring or perf buffer, or its members: "
        "'events=u64 ts, u32 pid, char comm[16]'; again for another",
    )
    if maps:
        parser.add_argument(
            "--maps", action="store_true", help="print the maps of compiled objects at the end, as they are then"
        )


def add_bounds(
    parser: argparse.ArgumentParser,
    count: str = "stop after N events, of a preset that shows calls after N calls; else Ctrl+C does",
) -> None:
    """Add --for and --count, which end a command; `count`: help text of --count."""
    parser.add_argument(
        "--for", dest="seconds", type=types.seconds, metavar="SECONDS", help="stop after this time; else Ctrl+C does"
    )
    parser.add_argument("--count", type=types.positive, metavar="N", help=count)


def add_aggregate(parser: argparse.ArgumentParser, where: str = "") -> None:
    """Add --by and the statistics: a table of groups in place of events; `where` as for `add_filter`."""
    parser.add_argument(
        "--by",
        metavar="KEY,…",
        help=f"{where}print a table in place of events, a row for each combination of up to three keys: a field, "
        "func, comm, pid, cgroup, cpu, event, errno (of $retval), kstack; by itself it counts",
    )
    texts = {
        "sum": "add up a value in each row of the table: a field, $retval, or latency (of calls); again for another",
        "avg": "its average",
        "min": "its minimum",
        "max": "its maximum",
        "log2": "count it by powers of two, in each row",
    }
    for function, text in texts.items():
        parser.add_argument(
            f"--{function}",
            dest="statistics",
            action=_Statistic,
            const=function,
            default=[],
            metavar="VALUE",
            help=f"{where}{text}",
        )
    parser.add_argument(
        "--top",
        type=types.natural,
        metavar="N",
        help=f"{where}print N rows of the table, the largest, and the sum of the others (default: 20; 0: all)",
    )


class _Statistic(argparse.Action):
    """Action of --sum and others: `statistics` has the function and the value of each, in their order."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - as argparse calls it
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        namespace.statistics = [*namespace.statistics, (self.const, str(values))]


STACK_FORMS = ("bottom_up", "by_module", "by_task")
"""Names of the options that give the tree of --stacks another form."""


def add_stacks(parser: argparse.ArgumentParser, where: str = "") -> None:
    """Add --stacks and its forms: a tree of stacks in place of events; `where` as for `add_filter`."""
    parser.add_argument(
        "--stacks",
        nargs="?",
        const="",
        metavar="VALUE",
        help=f"{where}print a tree of kernel stacks in place of events, by their number or by the sum of a value; "
        "with --export: write them as flamegraph, folded, speedscope, jsonl or csv",
    )
    texts = (
        "below each function its callers",
        "neighbouring frames of one module are one frame",
        "the tasks are the outermost frames",
    )
    for name, text in zip(STACK_FORMS, texts, strict=True):
        parser.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=f"with --stacks: {text}")


def is_aggregate(arguments: argparse.Namespace) -> bool:
    """Tell whether a table of groups is requested in place of events."""
    return arguments.by is not None or bool(arguments.statistics)


def add_clock(parser: argparse.ArgumentParser) -> None:
    """Add --clock: the clock whose times are printed and exported."""
    parser.add_argument(
        "--clock",
        choices=("kernel", "local", "utc"),
        help="print the time of day, here or in UTC, in front of the kernel's seconds; JSON, CSV and Parquet have "
        "`time`, nanoseconds since 1970, and `uncertainty` then (default: kernel)",
    )


def add_line(parser: argparse.ArgumentParser) -> None:
    """Add --reconnect: the time to try to reconnect after the connection is lost."""
    parser.add_argument(
        "--reconnect",
        type=types.natural,
        default=60,
        metavar="SECONDS",
        help="seconds of attempts to reconnect after the connection is lost (default: 60; 0: none)",
    )


def add_rates(parser: argparse.ArgumentParser) -> None:
    """Add --max-rate and --storm; their defaults are in `kernel.guards.limits`, which is slow to import."""
    parser.add_argument(
        "--max-rate",
        type=types.natural,
        metavar="N",
        help="ask, or refuse, before arming a probe above N events a second (default: 50000; 0: do not measure)",
    )
    parser.add_argument(
        "--storm",
        type=types.natural,
        metavar="N",
        help="stop a probe with more than N events a second (default: 2000000; 0: never)",
    )


def add_via(parser: argparse.ArgumentParser) -> None:
    """Add --via: the means by which probes on functions are recorded."""
    parser.add_argument(
        "--via",
        choices=("auto", "tracefs", "bpf"),
        default="auto",
        help="record probes on functions as events of tracefs or by BPF programs (default: auto, tracefs, and "
        "programs for several functions of which tracefs can't record what is asked)",
    )


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the limits of event rates, and what is done when a probe is armed."""
    add_rates(parser)
    parser.add_argument("--force", action="store_true", help="arm it at any rate")
    parser.add_argument("--count-only", action="store_true", help="count the hits in the kernel, and record nothing")
    parser.add_argument(
        "--trigger",
        dest="triggers",
        action="append",
        default=[],
        type=types.trigger,
        metavar="TRIGGER",
        help="add a trigger to each event that takes it: stacktrace, traceoff:1, 'hist:keys=common_pid if count > 9'",
    )
    parser.set_defaults(counting={})  # triggers by probe, see `tui.cli.specs.preset_specs.requested_probes`


def add_threshold(parser: argparse.ArgumentParser) -> None:
    """Add --threshold: a limit of the latencies of sources."""
    parser.add_argument(
        "--threshold",
        type=types.microseconds,
        metavar="TIME",
        help="of timerlat, osnoise, hwlat and wakeup: end with status 1 at a latency of at least this time: 50us",
    )


def add_summary(parser: argparse.ArgumentParser) -> None:
    """Add --summary and --hist: sums in place of events."""
    parser.add_argument(
        "--summary",
        nargs="?",
        const="",
        metavar="FIELD",
        help="print a summary at the end in place of events: latencies, rates, processes, and the values of a field",
    )
    parser.add_argument(
        "--hist", action="store_true", help="the same summary, counted in the kernel, which then records no event"
    )
