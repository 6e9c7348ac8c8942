"""Probes on the return instructions and tail calls of a function, with its code from saved memory."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import open_target
from kernel.connection.planner import Planner
from probes.check import CheckResult
from probes.command import CommandText, parse_armable
from probes.export.dialect import CannotExport, ExportText
from probes.export.export import dialect_named
from probes.facts.facts import Feature
from probes.plans.json_values import plan_from_dict, plan_to_dict
from probes.plans.places_of_boot import with_lines_of
from probes.plans.plan import Via
from probes.verdict import Refusal
from tests.pure.kernel.test_function_body import COLD, DATA, folder, memory
from tests.small_kernel import TEXT, core_file
from tui.compose.specification import typed as read
from tui.output.probe_exports import exported

__all__ = ["folder"]
CODE = bytes.fromhex(
    "0f1f440000"  # +0 ftrace
    "0f1f440000"  # +5 a static branch
    "7401"  # +a over the return
    "c3"  # +c
    "4889f8"  # +d
    "0f846affffff"  # +10 to the cold part
    "e9e5010000"  # +16 a tail call to `twin`
    "c3cc"  # +1b
)
CONDITIONAL = bytes.fromhex("0f1f4400000f1f44000048890f85f5010000c3".replace("48890f85", "4889f80f85"))
"""Two NOPs, a move, `jne twin` at +0xd, a return at +0x13."""


@pytest.fixture
def planner(folder: Path) -> Planner:
    return planner_of(folder, CODE)


def planner_of(folder: Path, code: bytes, cold: bytes = COLD) -> Planner:
    segments = memory({})
    text = bytearray(segments[TEXT])
    text[0x100:0x120] = code.ljust(0x20, b"\xcc")
    text[0x80 : 0x80 + len(cold)] = cold
    data = bytearray(segments[DATA])
    for at in (0x40, 0x80):  # no static call, no trap
        struct.pack_into("<i", data, at, 0)
    (folder / "kcore").write_bytes(core_file({TEXT: bytes(text), DATA: bytes(data)}))
    return Planner(KernelInfo(open_target(str(folder))))


def accepted(checked: CheckResult) -> list[str]:
    assert checked.verdict.ok, checked.verdict
    assert checked.plan is not None
    return list(checked.plan.lines)


def refused(planner: Planner, text: str) -> Refusal:
    error = planner.check_typed(text).verdict.error
    assert error is not None
    return error


def test_one_event_has_a_kprobe_on_each_return(planner: Planner) -> None:
    checked = planner.check_typed("p ksys_write%retinsn $retval")
    assert accepted(checked) == [
        "p:probewright/ksys_write__ret ksys_write+0xc offset=\\0xc:x32 ret=%ax:s64",
        "p:probewright/ksys_write__ret ksys_write+0x1b offset=\\0x1b:x32 ret=%ax:s64",
    ]
    assert checked.plan is not None
    assert checked.plan.losses == (
        "2 of 3 ways out are seen: it returns at +0xc, +0x1b",
        "+0x16 jumps to twin, which returns in its place: p ksys_write%tailcall sees that",
    )
    [event] = checked.plan.events
    offset, result = event.columns
    assert (offset.name, offset.names) == ("offset", "12=+0xc,27=+0x1b")
    assert (result.label, result.is_retval) == ("$retval", True)
    assert plan_from_dict(plan_to_dict(checked.plan)) == checked.plan


def test_tail_calls(planner: Planner) -> None:
    checked = planner.check_typed("p:x/y ksys_write%tailcall %di if di != 0")
    assert accepted(checked) == ["p:x/y ksys_write+0x16 offset=\\0x16:x32 di=%di"]
    assert checked.plan is not None and checked.plan.events[0].filter == "di != 0"
    assert "it returns at +0xc, +0x1b: p ksys_write%retinsn sees that" in checked.plan.losses
    error = refused(planner, "p ksys_write%tailcall $retval")
    assert (error.code, error.token) == ("RETVAL_ON_PROBE", "$retval")
    assert "r ksys_write has that; p ksys_write%retinsn has its own returns" in error.hint


def test_a_name_of_another_field_is_kept(planner: Planner) -> None:
    [first, _] = accepted(planner.check_typed("p ksys_write%retinsn offset=$retval"))
    assert first.endswith("offset_2=\\0xc:x32 offset=%ax:s64")
    assert refused(planner, "p ksys_write%retinsn if ret < 0").code == "unknown_filter_field"
    checked = planner.check_typed("p ksys_write%retinsn if offset == 0xc")
    assert checked.plan is not None and checked.plan.events[0].filter == "offset == 0xc"


@pytest.mark.parametrize("word", ["count", "$arg1", "buf:string"])
def test_arguments_are_gone(planner: Planner, word: str) -> None:
    text = f"p ksys_write%retinsn $retval {word}"
    error = refused(planner, text)
    assert (error.code, error.column) == ("NOFENTRY_ARGS", text.index(word))
    assert "a second probe, p ksys_write, has its arguments at the entry" in error.hint


def test_all_arguments_are_none(planner: Planner) -> None:
    checked = planner.check_typed("p ksys_write%retinsn $$args")
    assert len(accepted(checked)) == 2
    assert checked.plan is not None
    assert any(loss.startswith("$$args: At a return its registers are overwritten") for loss in checked.plan.losses)


def test_a_part_that_was_split_off_may_return(folder: Path) -> None:
    checked = planner_of(folder, CODE, bytes.fromhex("90c3cccccccc")).check_typed("p ksys_write%retinsn")
    assert accepted(checked)[2].endswith("ksys_write.cold+0x1 offset=\\-127:s64")
    assert checked.plan is not None
    assert checked.plan.events[0].columns[0].names == "12=+0xc,27=+0x1b,-127=.cold+0x1"


def test_a_conditional_tail_call_is_told_and_not_taken(folder: Path) -> None:
    planner = planner_of(folder, CONDITIONAL)
    assert len(accepted(planner.check_typed("p ksys_write%retinsn"))) == 1
    error = refused(planner, "p ksys_write%tailcall")
    assert error.code == "no_way_out"
    assert "+0xd is taken under a condition only" in error.hint


def test_none_of_this_kind(folder: Path) -> None:
    without = planner_of(folder, CODE[:0x16].replace(b"\xc3", b"\x90") + b"\xe9\xe5\x01\x00\x00")
    error = refused(without, "p ksys_write%retinsn")
    assert (error.code, error.token) == ("no_way_out", "%retinsn")
    assert error.hint.startswith("+0x16 jumps to twin") and error.hint.endswith("p ksys_write%tailcall sees that")
    endless = planner_of(folder, CODE[:10] + b"\xeb\xfe", b"\xeb\xfe\xcc\xcc\xcc\xcc")
    assert refused(endless, "p ksys_write%retinsn").hint == "The function never returns"


def test_code_that_is_not_there(folder: Path, planner: Planner) -> None:
    assert refused(planner, "p twin%retinsn").code == "NON_UNIQ_SYMBOL"
    assert refused(planner, "p no_such_function%retinsn").code == "not_traceable"
    (folder / "kcore").unlink()
    error = refused(Planner(KernelInfo(open_target(str(folder)))), "p ksys_write%retinsn")
    assert error.code == "no_code"
    assert "no file kcore" in error.hint


@pytest.mark.parametrize(
    ("typed", "right"),
    [
        ("f ksys_write%retinsn", "p ksys_write%retinsn"),
        ("f:x/y ksys_write%retinsn $retval", "p:x/y ksys_write%retinsn $retval"),
        ("p ksys_write%kretinsn", "p ksys_write%retinsn"),
        ("p ksys_write%tailcalls", "p ksys_write%tailcall"),
        ("p ksys_write+0xc%retinsn", "p ksys_write%retinsn"),
    ],
)
def test_slips(planner: Planner, typed: str, right: str) -> None:

    verdict = read(planner, CommandText.parse(typed)).shown.verdict
    assert verdict is not None and verdict.error is not None
    assert verdict.error.corrected == right


def test_programs_are_not_attached_there(planner: Planner) -> None:
    checked = Planner(planner.info, Via.BPF).check("p ksys_write%retinsn")
    assert checked.verdict.error is not None
    assert checked.verdict.error.code == "not_attached"
    assert "not to its instructions" in checked.verdict.error.hint


def test_another_boot_has_other_instructions(planner: Planner) -> None:
    probe = parse_armable("p ksys_write%retinsn $retval")
    plan = planner.lower(probe, "pw_1", taken={"pw_1/ksys_write__ret"})
    assert plan.events[0].event == "ksys_write__ret_2"
    moved = with_lines_of(plan, planner.lower(parse_armable("p ksys_write%tailcall"), "pw_1"))
    [event] = moved.events
    assert event.lines == ("p:pw_1/ksys_write__ret_2 ksys_write+0x16 offset=\\0x16:x32",)
    assert event.columns[0].names == "22=+0x16"


@pytest.mark.parametrize(
    ("offset", "code", "said"),
    [
        (0xA, "", ""),
        (0xC, "", ""),
        (0xD, "", ""),
        (0xE, "BAD_INSN_BNDRY", "did you mean ksys_write+0xd?"),
        (0x18, "BAD_INSN_BNDRY", "did you mean ksys_write+0x16?"),
        (5, "FAIL_REG_PROBE", "No kprobe there: a static branch (jump label), which the kernel patches"),
    ],
)
def test_the_verdict_on_an_offset_knows_where_instructions_begin(
    planner: Planner, offset: int, code: str, said: str
) -> None:
    checked = planner.check_typed(f"p ksys_write+{offset:#x} %ax")
    error = checked.verdict.error
    assert (error.code if error is not None else "") == code
    assert said in (error.hint if error is not None else "")
    assert checked.plan is None or not any("not known before it is armed" in one for one in checked.plan.losses)
    looked = planner.check(f"p ksys_write+{offset:#x} %ax", look=True).verdict
    assert looked.error == error


def test_where_no_code_can_be_read_an_offset_is_taken_with_a_note(folder: Path, planner: Planner) -> None:
    (folder / "kcore").unlink()
    checked = Planner(KernelInfo(open_target(str(folder)))).check_typed("p ksys_write+0xe")
    assert checked.verdict.ok and checked.plan is not None
    assert any("not known before it is armed" in one for one in checked.plan.losses)


def test_what_is_armed_is_not_read_again(folder: Path, planner: Planner) -> None:
    """The kernel itself says whether an instruction begins there: code is not read for that."""
    plan = planner.lower(parse_armable("p ksys_write+0xe"), "g")
    assert any("not known before it is armed" in one for one in plan.losses)
    planner.check_typed("p ksys_write+0xd")
    assert not any("not known" in one for one in planner.lower(parse_armable("p ksys_write+0xd"), "g").losses)


def written(planner: Planner, dialect: str, spec: str) -> ExportText:
    return exported(planner, [parse_armable(spec)], dialect_named(dialect))


def test_scripts_have_a_kprobe_on_each(planner: Planner) -> None:
    spec = "p ksys_write%retinsn $retval"
    for dialect in ("sh", "trace-cmd", "bootconfig", "cmdline", "comment"):
        condition = "" if dialect == "cmdline" else " if offset == 0xc"
        text = written(planner, dialect, spec + condition).text.replace(",", " ")
        assert "ksys_write+0xc offset=\\0xc:x32 ret=%ax:s64" in text, dialect
        assert "ksys_write+0x1b offset=\\0x1b:x32 ret=%ax:s64" in text, dialect


def test_bpftrace_has_a_block_for_each(planner: Planner) -> None:
    text = written(planner, "bpftrace", "p ksys_write%retinsn $retval").text
    first, second = text.split("kprobe:ksys_write+12\n")[1].split("kprobe:ksys_write+27\n")
    assert 'reg("ax")' in first and 'reg("ax")' in second
    assert ("12" in first or "0xc" in first) and ("27" in second or "0x1b" in second)


def test_perf_shows_the_address(planner: Planner) -> None:
    made = written(planner, "perf", "p ksys_write%retinsn $retval")
    assert "ksys_write__ret=ksys_write+12 ret=%ax:s64" in made.text
    assert "ksys_write__ret=ksys_write+27 ret=%ax:s64" in made.text
    assert "ksys_write__ret: perf shows the address in place of offset" in made.notes
    with pytest.raises(CannotExport, match="the filter names offset"):
        written(planner, "perf", "p ksys_write%retinsn $retval if offset == 0xc")


def test_a_latency_ends_at_a_return_instruction(planner: Planner) -> None:
    facts = planner.info.facts
    planner.info.facts = replace(facts, features=facts.features | {Feature.SYNTHETIC_EVENTS, Feature.HIST_TRIGGERS})
    checked = planner.check_typed("lat:took {p ksys_write} to {p ksys_write%retinsn} by common_pid with offset")
    lines = accepted(checked)
    lowered = planner.lower(
        parse_armable("lat:took {p ksys_write} to {p ksys_write%retinsn} by common_pid with offset"), "probewright"
    )
    assert list(lowered.lines) == lines
    assert [line.split(" ")[1:3] for line in lines[-2:]] == [
        ["ksys_write+0xc", "offset=\\0xc:x32"],
        ["ksys_write+0x1b", "offset=\\0x1b:x32"],
    ]
    assert "offset" in lines[0]
    assert any(note.startswith("+0x16 jumps to twin") for note in lowered.losses)
    assert lowered.events[0].columns[1].names == "12=+0xc,27=+0x1b"
