"""Presets on the command line, on the recording that comes along."""

from __future__ import annotations

import json
import resource

import pytest

from kernel.connection.open_target import shipped_recording
from kernel.preset_files import Presets
from tests.pure.commands import command

__all__ = ["command"]

OWN = """version = 1
name = "own"
title = "Opens"
view = "calls"
min_latency = "${slow}"
probes = ["f do_sys_openat2%both dfd filename:ustring how->flags $retval"]

[parameters.slow]
type = "duration"
default = "0ns"
"""


@pytest.fixture(autouse=True)
def presets_of_this_test(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def on_recording(*words: str) -> tuple[str, ...]:
    return (*words, "-t", str(shipped_recording()))


def test_calls_are_paired_and_short_ones_left_out(command, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    every = command(*on_recording("run", str(path), "--json"))
    assert every.status == 0, every
    calls = [call for call in every.objects if call["latency"] is not None]
    limit = sorted(call["latency"] for call in calls)[len(calls) // 2]
    assert len(calls) > 20
    for call in calls:
        assert call["call"] == "do_sys_openat2"
        assert call["entry"]["filename"] == call["exit"]["filename"] and call["ret"] == call["exit"]["ret"]
    slow = command(*on_recording("run", str(path), "--json", "-p", f"slow={limit}ns"))
    assert slow.objects == [call for call in calls if call["latency"] >= limit]
    other = tmp_path / "other.toml"
    other.write_text(OWN.replace('"own"', '"other"').replace("0ns", f"{limit}ns"))
    both = command(*on_recording("run", str(other), "f vfs_write%both count $retval", "--json")).objects
    assert [call for call in both if call["call"] == "do_sys_openat2"] == slow.objects
    writes = [call["latency"] for call in both if call["call"] == "vfs_write" and call["latency"] is not None]
    assert min(writes) < limit  # what is not of that preset
    for words in (("--export", "jsonl"), ("--summary", "--json")):  # of events, and not of calls
        given_out = command(*on_recording("run", str(path), *words, "-p", f"slow={limit}ns"))
        assert given_out.status == 0 and "those of any duration" in given_out.err
        assert "any duration" not in command(*on_recording("run", str(path), *words)).err


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("run", "nosuch"), 2, "no preset is named nosuch"),
        (("run", "slow-open"), 2, "did you mean slow-opens?"),
        (("run", "slow-opens", "-p", "min=3"), 2, "it has min_latency, path, pid"),
        (("run", "slow-opens", "-p", "min_latency=3"), 2, "say a time with its unit"),
        (("run", "slow-opens", "-p", "pid"), 2, "-p takes NAME=VALUE"),
        (("run", "f vfs_read count", "-p", "pid=1"), 2, "-p gives the values of one preset"),
        (("run", "page-faults"), 1, "This recording does not hold that"),
    ],
)
def test_what_is_wrong_is_said(command, words, status, said):
    done = command(*on_recording(*words))
    assert done.status == status and said in done.err, done


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "nosuch"), "no preset is named nosuch"),
        (("record", "slow-opens", "-p", "min=3", "-o", "reads.pwr"), "it has min_latency, path, pid"),
        (("export", "--as", "sh", "nosuch"), "no preset is named nosuch"),
        (("run", "slow-opens", "-o", "{there}/events.csv"), "is there already; --overwrite"),
        (("run", "slow-opens", "-o", "{there}/none/events.csv"), "is no folder"),
    ],
)
def test_what_no_target_is_needed_for_is_said_before_one_is_opened(command, tmp_path, words, said):
    (tmp_path / "events.csv").write_text("kept")
    done = command(*(word.format(there=tmp_path) for word in words), "-t", str(tmp_path / "nowhere.pwr"))
    assert done.status == 2
    assert said in done.err
    assert "nowhere" not in done.err
    assert (tmp_path / "events.csv").read_text() == "kept"


def test_a_disk_that_is_full_keeps_no_part_of_a_preset_and_is_told_with_its_name(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            Presets().save("own", OWN)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.filename.endswith("/own.toml")
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith((".new", "own.toml"))]


def test_saved_listed_shown_compared_and_checked(command):
    saved = command("preset", "save", "mine", "f vfs_read count", "--title", "My reads", "--tags", "own", "--json")
    assert saved.status == 0, saved
    again = command("preset", "save", "mine", "f vfs_read count")
    assert again.status == 2 and "is there already" in again.err
    (listed,) = command("preset", "list", "#own", "--json").objects
    assert (listed["name"], listed["origin"], listed["title"]) == ("mine", "user", "My reads")
    assert 'probes = [\n    "f vfs_read count",\n]' in command("preset", "show", "mine").out
    assert command("preset", "save", "copy", "mine").status == 0
    changes = command("preset", "diff", "mine", "copy", "--json")
    assert changes.status == 1 and changes.objects == [{"what": "name", "before": "mine", "after": "copy"}]
    checked = command(*on_recording("preset", "check", "mine", "mutex-hold", "--json"))
    mine, mutex = checked.objects
    assert checked.status == 0 and mine["lowered"] == ["f:probewright/vfs_read__entry vfs_read count"]
    assert mutex["losses"] == ["only the first 16,384 values of lock are timed"]
    assert any("onmatch(probewright.mutex_hold_begin)" in line for line in mutex["lowered"])
    json.dumps(checked.objects)


def test_a_project_s_preset_is_said_where_it_stands_in(command, tmp_path, monkeypatch):
    monkeypatch.delenv("SUDO_UID", raising=False)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / ".probewright/slow-opens.toml"
    path.parent.mkdir()
    path.write_text(OWN.replace('"own"', '"slow-opens"'))
    stands_in = f"slow-opens is the project's, instead of the one that comes along: {path}"
    done = command(*on_recording("run", "slow-opens", "--count", "1"))
    assert done.status == 0 and stands_in in done.err
    assert stands_in not in command(*on_recording("run", "shipped:slow-opens", "--count", "1")).err
    line = next(one for one in command("preset", "list").out.splitlines() if one.endswith("that comes along)"))
    assert line.startswith("slow-opens ") and "[project]" in line
    path.chmod(0o666)
    runs = on_recording("run", "slow-opens", "--count", "1")
    passed_over = f"probewright: {path} is passed over: others may write to {path} (mode 0666): chmod go-w\n"
    for words in (runs, ("preset", "list"), ("preset", "show", "slow-opens")):
        done = command(*words)
        assert done.err.count(passed_over) == 1 and stands_in not in done.err
    assert "This recording does not hold that" in command(*runs).err, "the one that comes along is meant"
    assert "is passed over" not in command(*on_recording("run", "f vfs_write count", "--count", "1")).err
