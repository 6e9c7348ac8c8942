"""What verdicts ask of a machine, from saved facts and from this machine's files."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from kernel.connection.environment import MAX_PROGRAM, HostEnvironment
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.local.target import LocalTarget
from kernel.recording.target import open_recording
from probes.facts.lookups import SymbolCount
from probes.programs.program import SymbolNotPlaced
from tests.fake_target import ROOT, FakeTarget

_README = (
    "\ttracing mini-HOWTO:\n  dynamic_events\t\t- Create/append/remove/show the generic dynamic events\n"
    "  kprobe_events\t\t- Create/append/remove/show the kernel dynamic events\n"
    "\t           e[:[<group>/][<event>]] <attached-group>.<attached-event> [<args>] [if <filter>]\n"
    "\t           <argname>[->field[->field|.field...]],\n"
)
_FORMAT = (
    "name: sched_switch\nID: 315\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
    "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    '\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\nprint fmt: ""\n'
)
_FILES = {
    "README": _README,
    "uname": "Linux box 7.2.0 #1 SMP x86_64 GNU/Linux",
    "available_filter_functions": "vfs_read\nvfs_open\n",
    "available_events": "sched:sched_switch\ninitcall:initcall_start\n",
    "events/sched/sched_switch/format": _FORMAT,
    "kallsyms": "ffff0 T vfs_read\nffff1 t twin\nffff2 t twin\nffff3 t vfs_open\nffff4 t helper\t[ext4]\n"
    "ffff5 D jiffies\n",
    "dynamic_events": "p:g/e vfs_read a=%di\n#  a: REG -> ST_RAW\n",
}


def _connect(path: Path) -> Planner:
    return Planner(KernelInfo(open_recording(path)))


def _archive(path: Path) -> Path:
    with tarfile.open(path, "w:xz") as tar:
        for name, text in _FILES.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return path


def test_events_symbols_and_dynamic_events_of_saved_facts(tmp_path: Path) -> None:
    around = _connect(_archive(tmp_path / "facts.tar.xz")).info.environment
    environment = around.environment
    assert environment.event is not None
    assert environment.symbol is not None
    fields = environment.event("sched", "sched_switch")
    assert fields is not None
    assert [(f.name, f.type, f.size, f.signed) for f in fields] == [
        ("prev_comm", "char[16]", 16, False),
        ("prev_pid", "pid_t", 4, True),
    ]
    assert environment.event("sched", "nosuch") is None
    assert environment.event("initcall", "initcall_start") == ()
    assert environment.symbol("twin") == SymbolCount(2)
    assert environment.symbol("helper") == SymbolCount(0, 1)
    assert environment.symbol("fs_open") == SymbolCount(0)
    assert around.existing == ("p:g/e vfs_read a=%di",)


def test_checking_looks_at_the_target(tmp_path: Path) -> None:
    planner = _connect(_archive(tmp_path / "facts.tar.xz"))

    def answer(text: str) -> tuple[str, int | None]:
        error = planner.check(text, look=True).verdict.error
        return ("ok", None) if error is None else (error.code, error.column)

    assert answer('e sched.sched_switch x=$prev_pid if prev_comm ~ "x*"') == ("ok", None)
    assert answer("e sched.sched_switch x=$nosuch") == ("BAD_VAR", 23)
    assert answer("e sched.nosuch") == ("BAD_ATTACH_EVENT", 2)
    assert answer("e sched.sched_switch if prev_comm == 1") == ("EXPECT_STRING", 14)
    assert answer("p twin") == ("NON_UNIQ_SYMBOL", 2)
    assert answer("p vfs_open @jiffies @nosuch") == ("BAD_PROBE_ADDR", 2)
    assert answer("p:g/e vfs_read a=%di") == ("SAME_PROBE", 0)
    assert answer("p:sched/sched_switch vfs_open") == ("EVENT_EXIST", 0)
    assert answer("-:g/e vfs_read") == ("ok", None)
    assert answer("-:g/e vfs_open") == ("refused_without_message", None)
    assert planner.check("p:g/e vfs_read a=%di").verdict.ok


def test_what_lowering_asks_of_a_machine() -> None:
    with tarfile.open(Path(__file__).parents[2] / "data/programs.tar.xz") as archive:
        member = archive.extractfile("pie")
        assert member is not None
        program = member.read()
    target = FakeTarget(
        {
            f"{ROOT}/available_events": b"sched:sched_switch\npw_1:sched_switch\nother:sched_wakeup\n",
            f"{ROOT}/dynamic_events": b"e:pw_1/sched_switch sched.sched_switch\n",
            f"{ROOT}/events/sched/sched_switch/format": _FORMAT.encode(),
            "/bin/tool": program,
            "/bin/script": b"#!/bin/sh\n",
            "/bin/huge": bytes(MAX_PROGRAM + 1),
        }
    )
    around = HostEnvironment(target, ROOT)
    nearby = around.nearby
    assert nearby.groups_of is not None and nearby.program is not None and nearby.event is not None
    assert nearby.groups_of("sched_switch") == ("sched",)
    assert nearby.groups_of("sched_nothing") == ()
    assert nearby.program("/bin/tool").place("work")
    for path, code in (
        ("/bin/none", "FILE_NOT_FOUND"),
        ("/bin/script", "unreadable_program"),
        ("/bin/huge", "unreadable_program"),
    ):
        with pytest.raises(SymbolNotPlaced) as caught:
            nearby.program(path)
        assert caught.value.code == code
    # An event and a program that changed are looked at again before something is armed.
    assert nearby.event("synthetic", "late") is None
    target.files[f"{ROOT}/available_events"] += b"synthetic:late\n"
    target.files[f"{ROOT}/events/synthetic/late/format"] = _FORMAT.encode()
    target.files["/bin/tool"] = b""
    assert nearby.event("synthetic", "late") is None
    around.forget()
    assert around.nearby.event is not None and around.nearby.event("synthetic", "late")
    with pytest.raises(SymbolNotPlaced):
        nearby.program("/bin/tool")


def test_a_target_that_shows_nothing_is_believed(tmp_path: Path) -> None:
    (tmp_path / "available_filter_functions").write_text("vfs_read\n")
    environment = _connect(tmp_path).info.environment.environment
    assert environment.event is None
    assert environment.symbol is None


def test_files_of_this_machine(tmp_path: Path) -> None:
    file = tmp_path / "program"
    file.write_bytes(b"")
    file_error = LocalTarget().file_error
    assert file_error(str(file)) == ""
    assert file_error(str(tmp_path)) == "NO_REGULAR_FILE"
    assert file_error(str(tmp_path / "nosuch")) == "FILE_NOT_FOUND"


def test_where_the_call_of_ftrace_is() -> None:
    traced = b"ffffffff81000104 vfs_open\nffffffff81000200 helper\n"
    call_at = HostEnvironment(FakeTarget({f"{ROOT}/available_filter_functions_addrs": traced}), ROOT).call_at
    assert [call_at(0xFFFFFFFF81000000 + at) for at in (0x100, 0x200, 0x300)] == [4, 0, None]
    assert HostEnvironment(FakeTarget({}), ROOT).call_at(0xFFFFFFFF81000100) is None
