"""`probewright errors` on recordings: chains, counts, choices, and what is said where there is nothing to find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from events.graph.record_ends import NO_RETURNS
from tests.events_recording import SHIPPED
from tests.json_reader import read_line
from tests.trimmed_recordings import graph_recording
from tui.__main__ import main
from tui.cli.args.parser import parse
from tui.cli.follow.signals import STOPPED_EARLY, SignalStop


@pytest.fixture(scope="module")
def failures(tmp_path_factory) -> str:
    return str(graph_recording(tmp_path_factory.mktemp("graph") / "failures.pwr", "failures"))


def objects(capsys, *words: str) -> list[dict[str, Any]]:
    assert main(["errors", "--json", *words]) == 0
    return [read_line(line) for line in capsys.readouterr().out.splitlines()]


def test_each_failure_is_told_with_its_chain_and_counted_by_its_origin(failures, capsys):
    found = objects(capsys, "-t", failures)
    failed = [one for one in found if one["kind"] == "failure"]
    origins = [one for one in found if one["kind"] == "origin"]
    assert found == [*failed, *origins]
    assert sum(one["count"] for one in origins) == len(failed) > 40
    assert [one["count"] for one in origins] == sorted((one["count"] for one in origins), reverse=True)
    keys = [(one["origin"], one["error"]) for one in origins]
    assert len(set(keys)) == len(keys)
    assert {(one["origin"], one["error"]) for one in failed} == set(keys)
    for one in failed:
        assert one["chain"][0]["function"] == one["call"]
        assert one["chain"][-1]["function"] == one["origin"]
        assert {call["returned"] for call in one["chain"]} == {f"-{one['error']}"}
    (fifo,) = [one for one in failed if one["error"] == "ENXIO"]
    assert [call["function"] for call in fifo["chain"]][-3:] == ["vfs_open", "do_dentry_open", "fifo_open"]
    assert fifo["chain"][-1]["arguments"].startswith("(inode=0x")
    assert fifo["task"].startswith("python3-")


def test_calls_and_errors_are_chosen(failures, capsys):
    assert {one["error"] for one in objects(capsys, "-t", failures, "--errno", "exdev,EROFS")} == {"EXDEV", "EROFS"}
    of_mkdir = objects(capsys, "mkdirat", "-t", failures)
    assert {one["error"] for one in of_mkdir} == {"EEXIST", "EROFS"}
    assert of_mkdir == objects(capsys, "sys_mkdirat", "-t", failures) == objects(capsys, "*_mkdirat", "-t", failures)
    inner = objects(capsys, "do_dentry_open", "-t", failures)
    assert [one["chain"][0]["function"] for one in inner if one["kind"] == "failure"] == ["do_dentry_open"]
    assert len([one for one in objects(capsys, "-t", failures, "--count", "3") if one["kind"] == "failure"]) == 3


def test_the_text_has_one_chain_for_each_origin_and_a_table(failures, capsys):
    assert main(["errors", "unlinkat", "-t", failures]) == 0
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert sum("first:" in line for line in lines) == 2
    assert [line.split()[:3] for line in lines[-3:]] == [
        ["FAILED", "ERROR", "FIRST"],
        ["1", "ENAMETOOLONG", "do_getname"],
        ["1", "ENOTEMPTY", "shmem_rmdir"],
    ]
    assert "2 of 2 calls failed, 2 first failures" in told.err


def test_where_there_is_nothing_it_is_said(failures, tmp_path, capsys):
    def said(*words: str) -> str:
        assert main(["errors", *words]) == 1
        told = capsys.readouterr()
        assert not told.out
        return told.err

    assert "no call of no_such was recorded" in said("no_such", "-t", failures)
    assert "none failed with EMFILE" in said("-t", failures, "--errno", "EMFILE")
    assert "none failed" in said("-t", str(graph_recording(tmp_path / "full.pwr", "full")))
    assert NO_RETURNS in said("-t", str(graph_recording(tmp_path / "7.2.pwr", "7.2")))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-p", "1"], "a recording has happened"),
        (["--", "true"], "a recording has happened"),
        (["-p", "1", "--", "true"], "not both"),
    ],
)
def test_what_can_not_be_had_of_a_recording(failures, capsys, words, message):
    assert main(["errors", "openat", "-t", failures, *words]) == 2
    assert message in capsys.readouterr().err


def test_words_behind_two_dashes_are_the_programs():
    arguments = parse(["errors", "openat", "-t", "lab", "--", "ls", "--", "-p", "x"])
    assert (arguments.functions, arguments.program, arguments.pids) == (["openat"], ("ls", "--", "-p", "x"), [])
    assert parse(["errors", "openat", "-p", "12", "--pid", "13"]).pids == [12, 13]


@pytest.mark.parametrize("words", [["--errno", "ENOSUCH"], ["--errno", "4000"], ["-p", "0"], ["-p", "x"]])
def test_wrong_values_are_refused(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["errors", "openat", *words])
    assert ended.value.code == 2
    assert words[1] in capsys.readouterr().err


def test_a_file_that_is_there_is_kept(failures, tmp_path, capsys):
    path: Path = tmp_path / "x.pwr"
    path.write_text("mine")
    assert main(["errors", "openat", "-t", failures, "-o", str(path)]) == 2
    assert path.read_text() == "mine"
    assert "x.pwr" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["errors", "graph"])
def test_a_command_that_is_stopped_while_it_arms_says_so(failures, command, capsys, monkeypatch):
    def stop(*_: object) -> str:
        raise SignalStop

    monkeypatch.setattr(f"tui.cli.commands.{command}.start_tracer", stop)
    assert main([command, "-t", failures]) == 1
    assert STOPPED_EARLY in capsys.readouterr().err


def test_a_recording_and_another_target_are_too_many(failures, capsys):
    with pytest.raises(SystemExit) as ended:
        parse([failures, "-t", "other.pwr", "--by", "event"])
    assert ended.value.code == 2
    assert f"two targets, {failures} and other.pwr" in capsys.readouterr().err


def test_a_preset_of_failures_prints_what_errors_prints(failures, capsys):
    words = objects(capsys, "openat", "--errno", "ENXIO", "-t", failures)
    assert words
    for asked in (("openat", "-p", "error=ENXIO"), ("-p", "call=openat", "-p", "error=enxio"), ("-p", "error=6")):
        assert main(["run", "first-failure", *asked, "--json", "-t", failures]) == 0
        assert [read_line(line) for line in capsys.readouterr().out.splitlines()] == words
    assert main(["run", "first-failure", "rmdir", "unlinkat", "-t", failures]) == 0
    assert "shmem_rmdir" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "first-failure", "openat", "--by", "comm"), "not --by; `probewright errors` has more options"),
        (("run", "first-failure", "openat", "-o", "x.csv"), "not --output"),
        (("run", "first-failure", "open at"), "is no call"),
        (("run", "first-failure", "-p", "error=ENONE"), "is no errno"),
        (("run", "first-failure", "-p", "erorr=2"), "did you mean error"),
        (("run", "first-failure", "-t", "local", "-t", "lab"), "traces calls on one --target"),
        (("run", "f vfs_read count", "first-failure"), "traces calls, and has no probes"),
        (("record", "first-failure", "-o", "x.pwr"), "`probewright errors openat -o FILE.pwr` records it"),
        (("export", "--as", "sh", "first-failure"), "traces calls, and has no probes"),
        (("boot", "first-failure"), "traces calls, and has no probes"),
    ],
)
def test_what_a_preset_of_failures_can_not_do_is_said_before_a_target_is_opened(words, said, capsys, tmp_path):
    nowhere = () if "-t" in words else ("-t", str(tmp_path / "nowhere.pwr"))
    assert main([*words, *nowhere]) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert "nowhere" not in told.err


def test_a_preset_of_failures_is_checked_against_a_target(failures, capsys):
    assert main(["preset", "check", "first-failure", "-t", failures]) == 0
    assert "calls of __x64_sys_openat with their return values, by the tracer" in capsys.readouterr().out
    assert main(["preset", "check", "first-failure", "-p", "call=opnat", "--json", "-t", failures]) == 1
    (told,) = [read_line(line) for line in capsys.readouterr().out.splitlines()]
    assert (told["ok"], told["spec"], told["lowered"]) == (False, "opnat", [])
    assert told["error"]["hint"].startswith("did you mean openat")


def test_of_probed_functions_the_deepest_is_told_with_what_was_recorded(capsys):
    """Not as the first: what it calls was not watched."""
    words = ("do_sys_openat2", "-t", str(SHIPPED), "--errno", "ENOTDIR")
    assert main(["errors", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("do_sys_openat2(dfd=AT_FDCWD, filename=/tmp/shop/price-list/page, flags=O_" in line for line in lines)
    (deepest,) = [line for line in lines if "deepest:" in line]
    assert deepest.split()[1:] == ["link_path_walk", "=", "-ENOTDIR"] and not any("first:" in line for line in lines)
    assert "not all calls inside it were watched" in lines[lines.index(deepest) + 1]
    assert lines[-1].split()[2:5] == ["link_path_walk", "or", "deeper"]
    failure, origin = objects(capsys, *words)
    assert failure["incomplete"] and origin["origin"] == "link_path_walk", "names are those of functions"
