"""What can be read of a call by each means: the report agrees with verdicts, and the small rules it is made of."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.names.function_choice import is_choice
from kernel.agent.bpf_calls import MOST_CALLS, MOST_ROUNDS, TIME_CALLS, BpfCalls
from probes.check import check_typed
from probes.code.body import CodePart, FunctionBody, Instruction, InstructionKind
from probes.facts.lookups import UNKNOWN, SymbolCount
from probes.facts.program_support import ProgramSupport
from probes.functions.function_index import index_of
from probes.probe import ProbePlace
from probes.readable.collect import RETURNED, KprobeFacts, function_report
from probes.readable.ftrace_call import end_of_ftrace_call
from probes.readable.hit_cost import (
    CostReport,
    MeansCost,
    Spread,
    calls_for,
    cost_json,
    cost_lines,
    count_own_hits,
    per_call,
)
from probes.readable.judge import MeansJudge
from probes.readable.optimised import kprobe_offsets, optimisation_refusal
from probes.readable.report import FunctionReport, Means
from probes.readable.rows import register_text, report_json, report_lines
from tests.probes_data import KERNELS, kernel

ON_FTRACE = KprobeFacts(on_ftrace=True, optimisation="1", call_end=9)


def report(
    name: str, function: str, kprobes: KprobeFacts = ON_FTRACE, programs: ProgramSupport = UNKNOWN.programs
) -> FunctionReport:
    known = kernel(name)
    around = replace(UNKNOWN, programs=programs, symbol=lambda _: SymbolCount(1))
    return function_report(function, MeansJudge(known.btf, known.facts, around), kprobes)


def read(one: FunctionReport, means: Means) -> set[str]:
    return {value.name for value in one.report(means).values if not value.reason}


@pytest.mark.parametrize("name", [*KERNELS, "arm64"])
def test_every_value_is_taken_by_the_verdict_on_a_probe_with_it(name: str) -> None:
    known = kernel(name)
    functions = [one for one, module in index_of(known.facts).modules.items() if not module and not is_choice(one)]
    tried = attached = 0
    for function in functions[:: max(len(functions) // 40, 1)]:
        one = report(name, function, KprobeFacts(on_ftrace=False) if name == "arm64" else ON_FTRACE)
        assert {each.means for each in one.reports} == {*Means}
        for each in one.reports:
            if not each.attaches or each.means.by_program or each.means is Means.TRACEPOINT:
                continue
            attached += 1
            for value in each.values:
                if value.fetcharg:
                    text = f"{each.spec} {value.fetcharg}"
                    around = replace(UNKNOWN, symbol=lambda _: SymbolCount(1))
                    assert check_typed(text, known.btf, known.facts, "", around).plan is not None, text
                    tried += 1
    assert tried > 40 and attached > 40


def test_what_each_kernel_reads_at_the_exit() -> None:
    arguments = {"file", "buf", "count", "pos"}
    assert read(report("7.2", "vfs_read"), Means.KRETPROBE) == {*arguments, RETURNED}
    assert read(report("7.2", "vfs_read"), Means.FPROBE_EXIT) == {*arguments, RETURNED}
    old = report("6.1", "vfs_read")
    assert read(old, Means.KRETPROBE) == {RETURNED}
    assert "at the entry only" in old.report(Means.KRETPROBE).values[0].reason
    assert "no fprobe events" in old.report(Means.FPROBE_ENTRY).refusal
    for name in (*KERNELS, "arm64"):
        one = report(name, "vfs_read")
        assert read(one, Means.FEXIT) == {*arguments, RETURNED}
        assert read(one, Means.FENTRY) == arguments
        assert read(one, Means.MULTI_EXIT) == {RETURNED}
        assert "fexit" in one.report(Means.MULTI_EXIT).values[0].reason


def test_kprobes_by_their_kernel() -> None:
    one = report("7.2", "vfs_read")
    assert one.report(Means.FTRACE_KPROBE).spec == "p vfs_read"
    behind = one.report(Means.BREAKPOINT)
    assert behind.spec == one.report(Means.OPTIMISED).spec == "p vfs_read+0x9"
    assert [value.fetcharg for value in behind.values] == ["%di", "%si", "%dx", "%cx", ""]
    assert "flags" in behind.registers and not behind.registers_note
    assert one.report(Means.FPROBE_ENTRY).registers == () and one.report(Means.FPROBE_ENTRY).registers_note
    arm = report("arm64", "vfs_read", KprobeFacts(on_ftrace=False))
    assert "no kprobe_ftrace_handler" in arm.report(Means.FTRACE_KPROBE).refusal
    assert arm.report(Means.BREAKPOINT).spec == "p vfs_read" and "x28" in arm.report(Means.BREAKPOINT).registers
    assert "optimises no kprobes" in arm.report(Means.OPTIMISED).refusal
    assert [place.place for place in arm.arguments] == ["%x0", "%x1", "%x2", "%x3", "%x0"]
    hidden = report("7.2", "vfs_read", KprobeFacts())
    assert "symbols are hidden" in hidden.report(Means.FTRACE_KPROBE).refusal
    off = report("7.2", "vfs_read", replace(ON_FTRACE, optimisation="0"))
    assert off.report(Means.OPTIMISED).refusal == "debug/kprobes-optimization is 0"
    barred = report("7.2", "vfs_read", replace(ON_FTRACE, optimisation_refusal="a call is in the way"))
    assert barred.report(Means.OPTIMISED).refusal == "a call is in the way"
    assert report("7.2", "vfs_read", replace(ON_FTRACE, call_end=None)).report(Means.BREAKPOINT).refusal


def test_programs_that_a_kernel_does_not_attach() -> None:
    one = report("7.2", "vfs_read", programs=ProgramSupport(fentry=False, multi=False, obstacle=""))
    assert "no fentry programs" in one.report(Means.FENTRY).refusal
    assert "CONFIG_FPROBE" in one.report(Means.MULTI_ENTRY).refusal
    told = report("7.2", "vfs_read", programs=ProgramSupport(False, False, "programs take root"))
    assert {told.report(means).refusal for means in Means if means.by_program} == {"programs take root"}


@pytest.mark.parametrize("name", KERNELS)
def test_a_function_that_nothing_attaches_to_has_a_reason_each_time(name: str) -> None:
    one = report(name, "no_such_function")
    assert all(each.refusal and "--via" not in each.refusal for each in one.reports)
    text = "\n".join(report_lines(one))
    assert text.count("can't be attached: ") == len(one.reports)
    assert report_json(one)["prototype"] is None


def test_the_text_has_all_of_it() -> None:
    one = report("7.2", "vfs_read")
    text = "\n".join(report_lines(one))
    assert all(f"{each.means} " in text for each in one.reports)
    assert "  reads      file %di, buf %si, count %dx, pos %cx" in text
    assert "f vfs_read, recorded by BPF programs" in text
    found = report_json(one)
    assert [each["means"] for each in found["means"]] == [str(each.means) for each in one.reports]
    assert found["means"][0]["values"][0]["fetcharg"] == "file:%pD"


# -- rules ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("0f1f440000 5341", 5),
        ("e811223344 53", 5),
        ("f30f1efa 0f1f440000", 9),
        ("f30f1efa e811223344", 9),
        ("0f1f40d6 0f1f440000", 9),
        ("660f1f00 e811223344", 9),
        ("f30f1efa 53", None),
        ("53 0f1f440000", None),
        ("e81122", None),
        ("", None),
    ],
)
def test_the_end_of_ftraces_call(code: str, end: int | None) -> None:
    assert end_of_ftrace_call(bytes.fromhex(code), "x86_64") == end
    assert end_of_ftrace_call(bytes.fromhex(code), "aarch64") is None


def test_numbered_registers_are_written_by_their_ends() -> None:
    assert register_text([*(f"x{n}" for n in range(9)), "sp", "pc"]) == "x0–x8 sp pc"
    assert register_text(["r8", "r9", "r15", "ax"]) == "r8 r9 r15 ax"
    assert register_text([]) == ""


@given(st.lists(st.integers(0, 40), unique=True).map(sorted))
def test_no_register_is_lost_in_the_text(numbers: list[int]) -> None:
    back: list[int] = []
    for word in register_text([f"x{n}" for n in numbers]).split():
        first, _, last = word.partition("–")
        back += range(int(first[1:]), int((last or first)[1:]) + 1)
    assert back == numbers


def body(*pieces: tuple[int, InstructionKind, int | None]) -> FunctionBody:
    """A function at 0x1000 of instructions with a length, a kind, and the offset that they branch to."""
    at, made = 0, []
    for length, kind, target in pieces:
        made.append(
            Instruction(at, bytes(length), "x", kind=kind, target=None if target is None else 0x1000 + target)
        )
        at += length
    part = CodePart("f", ProbePlace("f"), 0x1000, at, tuple(made))
    return FunctionBody("f", "", "x86_64", (part,))


OTHER, CALL, JUMP, RETURN = (getattr(InstructionKind, name) for name in ("OTHER", "CALL", "JUMP", "RETURN"))


def test_a_jump_in_place_of_a_breakpoint_needs_whole_instructions_that_run_elsewhere() -> None:
    free = body(
        (5, OTHER, None), (2, OTHER, None), (3, OTHER, None), (5, CALL, None), (4, OTHER, None), (1, RETURN, None)
    )
    assert optimisation_refusal(free, 5) == ""
    assert "the call at +0xa" in optimisation_refusal(free, 7)
    assert "the call at +0xa" in optimisation_refusal(free, 10)
    assert optimisation_refusal(free, 15) == ""
    assert "less than 5 bytes" in optimisation_refusal(free, 19)
    assert kprobe_offsets(free, optimised=True) == [5, 15]
    assert kprobe_offsets(free, optimised=False) == [7]
    looped = body((5, OTHER, None), (2, OTHER, None), (4, OTHER, None), (2, JUMP, 7), (4, RETURN, None))
    assert "+0xb jumps between" in optimisation_refusal(looped, 5)
    assert optimisation_refusal(looped, 7) == "", "to its beginning others may jump"
    left = body((5, OTHER, None), (2, JUMP, 0), (6, OTHER, None))
    assert "behind +0x5" in optimisation_refusal(left, 5)
    assert kprobe_offsets(left, optimised=True) == []


# -- costs ---------------------------------------------------------------------------------------------------------


def test_times_of_rounds_become_a_spread_beside_the_bare_call() -> None:
    times = b"".join(number.to_bytes(8, "little") for number in (1000, 3000, 2000, 9000, 5000))
    assert per_call(times, 10) == [100, 300, 200, 900, 500]
    found = Spread.of(per_call(times, 10))
    assert found == Spread(300, 200, 500)
    assert found.beside(Spread(100, 90, 150)) == Spread(200, 100, 400)
    assert Spread.of([7.0]) == Spread(7, 7, 7)
    assert calls_for(1000, 2e6) == 2000
    assert calls_for(0, 2e6) == 5000 and calls_for(1e9, 2e6) == 20


def test_costs_are_told_with_the_reasons_of_those_that_were_not_measured() -> None:
    costs = (
        MeansCost(Means.FENTRY, Spread(95.4, 90, 1234), 18, 18, "R D"),
        MeansCost(Means.FPROBE_ENTRY, reason="this kernel has no fprobe events"),
    )
    found = CostReport("__x64_sys_getsid", Spread(1000, 900, 1100), 2000, costs)
    text = "\n".join(cost_lines(found))
    assert "95 ns (90 to 1,234)  R D" in text and "not measured: this kernel has no fprobe events" in text
    assert found.of(Means.FENTRY) is costs[0] and found.of(Means.FEXIT) is None
    made = cost_json(found)
    assert made["means"][0]["ns"] == {"median": 95.4, "low": 90, "high": 1234}
    assert made["means"][1] == {
        "means": "fprobe entry", "ns": None, "hits": 0, "calls": 0, "flags": None, "reason": costs[1].reason
    }  # fmt: skip


def test_the_program_counts_one_thread_alone() -> None:
    assert any(one.immediate == 4711 for one in count_own_hits(4711))
    assert len(count_own_hits(1)) == len(count_own_hits(2))


def test_timed_calls_are_bounded() -> None:
    def timed(calls: int, rounds: int) -> tuple[int, bytes]:
        attributes = calls.to_bytes(4, "little") + rounds.to_bytes(4, "little")
        thread, [times] = BpfCalls().call(TIME_CALLS, attributes, ())
        return thread, times

    thread, times = timed(3, 4)
    assert thread > 0 and len(times) == 8 * 4
    assert len(timed(1, 1 << 31)[1]) == 8 * MOST_ROUNDS
    assert 0 < len(timed((1 << 32) - 1, 2)[1]) <= 16
    assert MOST_CALLS <= 10000
