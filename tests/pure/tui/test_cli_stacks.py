"""`--stacks` of a recording: a tree whose weights are those of its events, and files that hold the same."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.pure.commands import command
from tests.trimmed_recordings import stack_recording

__all__ = ["command"]

ROOT_FUNCTION = "entry_SYSCALL_64_after_hwframe"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(stack_recording(tmp_path_factory.mktemp("stacks") / "stacks.pwr"))


def stacks_of(text: str) -> Counter[str]:
    found = Counter[str]()
    for line in text.splitlines():
        names, _, weight = line.rpartition(" ")
        found[names] += int(weight)
    return found


@pytest.fixture(scope="module")
def events(path, tmp_path_factory):
    """Every event, as another export has it."""
    from tui.__main__ import main

    file = tmp_path_factory.mktemp("events") / "events.jsonl"
    assert main([path, "--export", f"jsonl:{file}"]) == 0
    return [json.loads(line) for line in file.read_text().splitlines()]


def names(event) -> list[str]:
    symbols = [frame.get("symbol", frame["address"]) for frame in event["stack"]]
    return [
        symbol.partition("+")[0] + (f" {symbol.partition(' ')[2]}" if " " in symbol else "")
        for symbol in reversed(symbols)
    ]


def test_folded_stacks_are_those_of_the_events(path, events, command):
    done = command(path, "--stacks", "--export", "folded")
    true = Counter(";".join(names(event)) for event in events)
    assert done.status == 0 and stacks_of(done.out) == true
    by_task = command(path, "--stacks", "--by-task", "--export", "folded")
    assert by_task.out == command(path, "--export", "folded").out, "the same as of the events themselves"
    turned = command(path, "--stacks", "--bottom-up", "--export", "folded")
    assert stacks_of(turned.out) == Counter({";".join(one.split(";")[::-1]): n for one, n in true.items()})


def test_a_value_is_summed_and_a_filter_holds(path, events, command):
    done = command(path, "--stacks", "count", "--filter", "event ~ *write*", "--export", "folded")
    true = Counter[str]()
    for event in events:
        if "write" in event["event"]:
            true[";".join(names(event))] += event["values"]["count"]
    assert true and stacks_of(done.out) == true


def test_the_tree_has_the_heaviest_frames(path, events, command):
    done = command(path, "--stacks", "--top", "5")
    head, *lines = done.out.splitlines()
    assert head == f"{len(events):,} events: count by stack"
    weight = sum(names(event)[0] == ROOT_FUNCTION for event in events)
    assert lines[0] == f"{100 * weight / len(events):5.1f}% {weight:,}  {ROOT_FUNCTION}"
    assert lines[1].endswith("    do_syscall_64") and len(lines) == 6 and lines[5].endswith("--top 0 prints all")
    every = command(path, "--stacks", "--top", "0").out.splitlines()
    prefixes = {tuple(names(event)[:end]) for event in events for end in range(1, len(names(event)) + 1)}
    assert len(every) == 1 + len(prefixes)
    latency = command(path, "--stacks", "latency").out.splitlines()
    assert latency[0].endswith(" calls: sum(latency) by stack") and latency[1].split()[2] in ("ms", "us")


def test_modules_are_single_frames(path, command):
    lines = command(path, "--stacks", "--by-module", "--export", "folded").out.splitlines()
    stacks = [line.rpartition(" ")[0].split(";") for line in lines]
    assert ["kernel"] in stacks and any("[virtio_net]" in stack for stack in stacks)


def test_each_format_is_written(path, command, tmp_path):
    for name, begin in (
        ("x.svg", "<?xml"),
        ("y.flame.svg", "<?xml"),
        ("x.speedscope.json", '{"$schema"'),
        ("x.folded", "asm_"),
        ("x.jsonl", '{"stack"'),
        ("x.csv", '"stack","weight"'),
    ):
        done = command(path, "--stacks", "-o", str(tmp_path / name))
        assert done.status == 0 and (tmp_path / name).read_text().startswith(begin)
        assert f"{tmp_path / name}: " in done.err and " stacks of " in done.err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--stacks", "nothing"), "--stacks: no event has nothing. There are count, ret, latency"),
        (("--stacks", "--by", "comm"), "one of them at a time"),
        (("--bottom-up", "--by", "comm"), "--bottom-up is a form of the tree that --stacks prints"),
        (("--stacks", "--export", "perfetto:x"), "--stacks: perfetto holds events"),
        (("--export", "speedscope:x"), "speedscope holds stacks: --stacks gives them"),
        (("--stacks", "--view", "calls", "--export", "csv:x"), "--view names another table"),
    ],
)
def test_what_makes_no_sense_is_refused(path, command, words, reason):
    done = command(path, *words)
    assert done.status == 2 and reason in done.err


def test_a_recording_without_stacks_says_so(command):
    from kernel.connection.open_target import shipped_recording

    done = command(str(shipped_recording()), "--stacks")
    assert done.status == 2 and "no event has a stack: the trigger stacktrace records them" in done.err
