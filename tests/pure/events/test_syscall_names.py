"""System calls by name: the tables, and everywhere that a number is shown."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path

import pytest

from btf.btf import Btf
from events.format import Field, FieldKind
from events.names.syscalls import call_name, call_names, call_number, is_call_number
from events.names.value_names import Namer
from events.search.text_match import TextMatch
from kernel.preset_files import Presets
from probes.check import check_plan
from probes.facts.facts import Feature
from probes.presets.errors import PresetError
from probes.presets.judge import judge
from probes.presets.schema import Parameter, ParameterType
from probes.presets.values import check_value, value_text
from tests.btf_writer import stored
from tests.probes_data import kernel
from tests.replays import replay_of
from tests.syscall_recording import AROUND, EXIT, call_recording
from tui.__main__ import main
from tui.present.status import detail_of
from tui.present.summary_values import values_of
from tui.views.events.model import event_table

MACHINES = ("x86_64", "aarch64", "riscv64", "s390x", "i686")
whole_btf = cache(lambda: Btf.load(stored("btf-7.2")))
"""That of the rest is trimmed to a few functions."""
NUMBER = Field("id", "long", 8, 8, True, FieldKind.INT, 8, spec="ld")


@pytest.mark.parametrize(
    ("machine", "number", "name"),
    [
        ("x86_64", 0, "read"),
        ("x86_64", 257, "openat"),
        ("aarch64", 56, "openat"),
        ("aarch64", 62, "lseek"),
        ("riscv64", 258, "riscv_hwprobe"),
        ("s390x", 288, "openat"),
        ("i686", 11, "execve"),
        ("i586", 295, "openat"),
        *((machine, 435, "clone3") for machine in MACHINES),
    ],
)
def test_numbers_are_those_of_the_architecture(machine, number, name):
    assert call_name(machine, number) == name
    assert call_number(machine, name) == number


@pytest.mark.parametrize("machine", MACHINES)
def test_a_number_means_one_call_and_a_name_has_one_number(machine):
    rows = [line.split() for line in (resources.files("events.names") / "syscalls.txt").read_text().splitlines()[1:]]
    column = rows[0].index(machine)
    numbers = [row[column] for row in rows[1:] if row[column] != "-"]
    assert len(set(numbers)) == len(numbers) == len(set(call_names(machine))) > 300
    assert {str(call_number(machine, name)) for name in call_names(machine)} == set(numbers)


@pytest.mark.parametrize(
    ("machine", "number"),
    [("x86_64", -1), ("x86_64", 257 | 1 << 30), ("x86_64", 512), ("x86_64", 400), ("mips", 5), ("", 0), ("name", 0)],
)
def test_what_is_no_call_of_that_machine_stays_a_number(machine, number):
    assert call_name(machine, number) is None
    namer = Namer(machine=machine)
    assert namer.text(number, field=NUMBER, is_call=True) == str(number)
    names = namer.reading(None, False, NUMBER, is_call=True).names
    assert names is not None and names(number) == str(number)


def test_the_number_stands_before_the_name():
    namer = Namer(machine="x86_64")
    assert namer.text(257, field=NUMBER, is_call=True) == "257 openat"
    assert namer.text(None, field=NUMBER, is_call=True) == "(fault)"
    assert namer.text(257, field=NUMBER) == "257"
    assert namer.reading(None, False, NUMBER).names is None


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("on raw_syscalls/sys_exit if ret < 0", ["id"]),
        ("on raw_syscalls/sys_enter", ["id"]),
        ("on syscalls/sys_enter_openat", ["__syscall_nr"]),
        ("e syscalls.sys_enter_openat $__syscall_nr $dfd", ["syscall_nr"]),
        ("e raw_syscalls.sys_exit nr=$id $ret", ["nr"]),
        ("e raw_syscalls.sys_exit name=$id:string", []),
        ("lat:x raw_syscalls/sys_enter to raw_syscalls/sys_exit by common_pid with id,ret", ["id"]),
        ("lat:x {f vfs_read id=count} to raw_syscalls/sys_exit by common_pid with ret,id", ["id"]),
        ("lat:x {f vfs_read id=count} to {f vfs_read%return $retval} by common_pid with ret,id", []),
        ("f vfs_read id=count", []),
    ],
)
def test_the_plan_knows_which_field_is_a_call(text, named):
    known = kernel("7.2")
    features = known.facts.features | {Feature.SYNTHETIC_EVENTS, Feature.HIST_TRIGGERS}
    plan = check_plan(text, known.btf, replace(known.facts, features=features), "pw_1", AROUND).plan
    assert plan is not None
    assert [column.name for column in plan.events[0].columns if column.is_call] == named
    assert [is_call_number("raw_syscalls", name) for name in ("id", "ret")] == [True, False]


@pytest.mark.parametrize(("text", "named"), [("t sys_enter nr=id", ["nr"]), ("t sys_exit ret", [])])
@pytest.mark.parametrize("has", [True, False])
def test_a_tracepoint_has_it_as_an_argument_or_as_a_field(text, named, has):
    known = kernel("7.2")
    features = known.facts.features if has else known.facts.features - {Feature.TPROBE_EVENTS}
    plan = check_plan(text, whole_btf(), replace(known.facts, features=features), "pw_1", AROUND).plan
    assert plan is not None
    assert [column.name for column in plan.events[0].columns if column.is_call] == named


CALLS = [(56, -2), (56, -13), (57, 0), (-1, -38), (56 | 1 << 30, -38), (9999, -38)]


@pytest.fixture
def recording(tmp_path) -> Path:
    """Of an arm64 machine, wherever this is tested."""
    return call_recording(tmp_path / "calls.pwr", "aarch64", CALLS, opened=56)


@pytest.fixture
def watch(recording):
    watch = replay_of(recording)
    yield watch
    watch.close()


def test_events_their_details_and_searches_have_the_name(watch):
    store, shown = watch.store, event_table(watch, watch.store)
    rows = [shown.items.cells(store.record(row)) for row in range(store.first_seq, store.next_seq)]
    assert [row["id"] for row in rows[:-1]] == ["56 openat", "56 openat", "57 close", "-1", "1073741880", "9999"]
    assert rows[-1]["__syscall_nr"] == "56 openat"
    assert {one.name: one.value for one in detail_of(watch, store.record(0))}["id"] == "56 openat"
    columns = store.columns(store.first_seq, store.next_seq)
    for needle, seqs in {
        "openat": {0, 1, 6},
        "56 op": {0, 1, 6},
        "id=56 openat ret=-ENOENT": {0},
        "at ret=-eacces": {1},
        "close": {2},
        "9999": {5},
        "id=-1": {3},
        "nr=56 openat": {6},
    }.items():
        match = TextMatch(needle, watch.event_fields, store.task_names.name, store.task_names.all_names)
        sure = {row for row in range(len(store)) if match(store.record(row))}
        assert sure == seqs, needle
        assert sure <= {row for row, may in enumerate(match.candidates(columns).tolist()) if may}, needle
    assert shown.find("openat", 2, budget=60).seq == 6
    assert shown.find("id == 56", 1, budget=60).seq == 1  # the number stays what is compared


def test_the_summary_counts_calls_by_name_and_shows_their_events_by_number(watch):
    from events.summary.summary import Summary

    summary = Summary(watch.store)
    counted = summary.count_also(EXIT, "id")
    while summary.backlog:
        summary.tick(1.0)
    most = values_of(watch, counted)[0]
    assert (most.label, most.hits, most.condition) == ("56 openat", 2, "event == sys_exit && id == 56")


def test_what_is_printed_has_both_and_what_is_given_out_the_number(recording, tmp_path, capsys):
    where = ["-t", str(recording)]
    assert main(["run", f"on {EXIT}", *where]) == 0
    assert "sys_exit id=56 openat ret=-ENOENT\n" in capsys.readouterr().out
    assert main(["run", f"on {EXIT}", "--json", *where]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (first["values"]["id"], first["text"]["id"]) == (56, "56 openat")
    assert main(["run", f"on {EXIT}", "--summary", "id", *where]) == 0
    assert "56 openat |" in capsys.readouterr().out
    path = tmp_path / "all.csv"
    assert main([str(recording), "--export", f"csv:{path}"]) == 0
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows[:3]] == ["56", "56", "57"]


PARAMETER = Parameter("syscall", ParameterType.SYSCALL)


@pytest.mark.parametrize(
    ("machine", "typed", "number"),
    [
        ("x86_64", "openat", "257"),
        ("aarch64", " openat ", "56"),
        ("aarch64", "257", "257"),
        ("", "0x38", "56"),
        ("mips", "-1", "-1"),
    ],
)
def test_a_preset_takes_a_call_by_its_name_on_the_target(machine, typed, number):
    assert value_text(PARAMETER, typed, quoted=True, machine=machine) == number
    check_value(PARAMETER, typed, machine)


@pytest.mark.parametrize(
    ("machine", "typed", "why"),
    [
        ("x86_64", "opnat", "did you mean openat"),
        ("aarch64", "open", "aarch64 has none of that name"),
        ("mips", "openat", "say its number"),
        ("x86_64", "257 || 1", "say a name, as openat, or a number"),
        ("x86_64", "name", "say a name|did you mean"),
    ],
)
def test_what_is_no_call_there_is_refused_with_the_way_out(machine, typed, why):
    with pytest.raises(PresetError, match=why):
        value_text(PARAMETER, typed, quoted=True, machine=machine)
    with pytest.raises(PresetError, match=why):
        check_value(PARAMETER, typed, machine)


def test_a_name_is_checked_before_the_target_is_known():
    check_value(PARAMETER, "open")  # of some architecture
    with pytest.raises(PresetError, match=r"did you mean .*open"):
        check_value(PARAMETER, "opem")
    with pytest.raises(PresetError, match="say its number"):
        value_text(PARAMETER, "open", quoted=True)


@pytest.mark.parametrize(("machine", "number"), [("x86_64", 257), ("aarch64", 56)])
def test_the_preset_of_failed_calls_asks_the_kernel_for_the_number(machine, number):
    preset = Presets(Path("/none"), Path("/")).find("failed-syscalls").preset
    assert preset is not None
    known = kernel("7.2")

    def check(probe):
        return check_plan(probe, known.btf, known.facts, "pw_1", AROUND)

    (judged,) = judge(preset, {"syscall": "openat"}, check, machine).probes
    assert judged.plan is not None
    assert judged.plan.events[0].filter == f"ret < 0 && ret > -4096 && id == {number}"


def test_the_command_takes_the_name_too(recording, capsys):
    assert main(["preset", "check", "failed-syscalls", "-p", "syscall=openat", "-t", str(recording)]) == 0
    assert "sys_exit/filter: ret < 0 && ret > -4096 && id == 56\n" in capsys.readouterr().out
