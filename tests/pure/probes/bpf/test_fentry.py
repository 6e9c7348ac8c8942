"""Programs at the entry and exit of one function: where they find values, and which functions have none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from btf.btf import Btf
from btf.types import Param
from events.bpf_layout import LOST
from probes.bpf.context import SlotContext
from probes.bpf.exclusions import fentry_exclusion
from probes.bpf.fentry import MOST_FUNCTIONS, _signature_refusal, fentry_refusal
from probes.bpf.program import AttachPoint, ProgramMode
from probes.facts.facts import TargetFacts
from probes.facts.lookups import Environment
from probes.facts.program_support import ProgramSupport
from probes.fetcharg import Argument, Expression, ReturnValue, Stack
from probes.functions.signature import certain_signature_of
from probes.lowering.lower import lower
from probes.plans.plan import Plan, Via
from probes.refusal import CannotLower
from probes.syntax.parse import parse_probe
from tests.probes_data import kernel
from tests.pure.probes.bpf.test_programs import CONTEXT, COUNTERS, FENTRY, Hit, plan_of

BOTH, NONE = ProgramSupport(), ProgramSupport(fentry=False, multi=False)


def offsets(function: str, *expressions: Expression, machine: str = "x86_64") -> list[int | None]:
    """Bytes in the context of a program at the function's exit; None: the value is not there."""
    signature = certain_signature_of(kernel("7.2").btf, function)
    assert signature is not None
    context = SlotContext.of(signature, machine, at_exit=True, has_user_range=True)
    found = [context.find(expression) for expression in expressions]
    return [value.offset if value is not None else None for value in found]


def with_functions(*names: str) -> tuple[Btf, TargetFacts]:
    known = kernel("7.2")
    return known.btf, replace(
        known.facts, functions=(*(set(known.facts.functions) - {name.split()[0] for name in names}), *names)
    )


def planned(text: str, support: ProgramSupport, *names: str) -> Plan:
    btf, facts = with_functions(*names)
    return lower(parse_probe(text), btf, facts, "pw", environment=Environment(programs=support), via=Via.BPF)


# By hand: a slot for each 8 bytes of each parameter, in the order of declaration.
@pytest.mark.parametrize(
    ("function", "machine", "slots"),
    [
        ("do_mmap", "x86_64", {Argument(number): number - 1 for number in range(1, 10)} | {ReturnValue(): 9}),
        ("do_mmap", "aarch64", {Argument(8): 7, Argument(9): None, Stack("0"): 8, ReturnValue(): 9}),
        ("from_kuid", "x86_64", {Argument(1): 0, Argument(2): 1, ReturnValue(): 2, Argument(3): None}),
        ("timespec64_add_safe", "x86_64", {Argument(2): 1, Argument(3): 2, Argument(4): 3, ReturnValue(): 4}),
        ("sock_setsockopt", "x86_64", {Argument(4): 3, Argument(5): 4, Argument(6): 5, ReturnValue(): 6}),
        ("sock_setsockopt", "aarch64", {Argument(4): 3, Argument(6): 5, ReturnValue(): 6}),
    ],
)
def test_values_are_in_the_slots_of_their_parameters(
    function: str, machine: str, slots: dict[Expression, int | None]
) -> None:
    wanted = [None if slot is None else 8 * slot for slot in slots.values()]
    assert offsets(function, *slots, machine=machine) == wanted


def test_neither_registers_nor_stack_are_there() -> None:
    assert offsets("vfs_read", Stack(""), Stack("0"), ReturnValue()) == [None, None, 32]


def test_a_record_of_one_function_has_its_values_and_its_call() -> None:
    plan = plan_of("f vfs_read%both file count low=count:s16 bits=file:b4@4/64 $retval", support=FENTRY)
    entry, exit_ = plan.events
    assert [program.point for program in plan.programs] == [AttachPoint.FENTRY, AttachPoint.FEXIT]
    hit = Hit(entry.programs[0], [0xFFFF0000000000B5, 2, 0xFFFF, 4])
    assert hit.run()["recorded"] == 1
    names = ("file", "count", "low", "bits", entry.frame)
    assert [hit.field(name) for name in names] == [0xFFFF0000000000B5, 0xFFFF, -1, 11, CONTEXT]
    hit = Hit(exit_.programs[0], [0xFFFF0000000000B5, 2, 0xFFFF, 4, (1 << 64) - 14])
    assert hit.run()["recorded"] == 1
    assert [hit.field(name) for name in (*names, "ret")] == [0xFFFF0000000000B5, 0xFFFF, -1, 11, CONTEXT, -14]
    assert (entry.frame_shift, exit_.frame_shift) == (0, 0)
    assert [one.name for one in exit_.programs[0].layout.fields][:2] == ["__probe_func", "file"]


def test_a_record_tells_the_losses_of_both_ends() -> None:
    """They share the ring buffer."""
    entry, exit_ = (event.programs[0] for event in plan_of("f vfs_read%both count", support=FENTRY).events)
    hit = Hit(entry, [0] * 5)
    hit.has_room = False
    assert hit.run() == {"hits": 1, "passed": 1, "lost": 1, "recorded": 0}
    after = Hit(exit_, [0] * 5)
    after.machine.memory |= {at: byte for at, byte in hit.machine.memory.items() if at >= COUNTERS}
    after.control(ProgramMode.RECORD)
    assert after.run() == {"hits": 1, "passed": 1, "lost": 0, "recorded": 1}
    assert after.head(LOST, 4) == 1


def test_the_number_of_the_function_is_that_of_the_types() -> None:
    (program,) = planned("f do_mmap addr", FENTRY, "do_mmap").programs
    found = kernel("7.2").btf.function("do_mmap")
    assert found is not None and program.target == (found.id, "")


def test_the_text_of_a_program_with_a_filter() -> None:
    lines = plan_of("f vfs_read count if count > 100", support=FENTRY).shown_lines
    assert lines[0] == "fentry on vfs_read, 56 bytes a record:"
    assert lines[1:] == (
        "  0: r6 = r1",
        "  1: r2 = value of map control",
        "  3: r1 = *(u32 *)(r2 +0)",
        "  4: if r1 == 0 goto 77",
        "  5: call get_smp_processor_id",
        "  6: *(u32 *)(r10 -4) = r0",
        "  7: if r0 >= 1 goto 77",
        "  8: r0 *= 64",
        "  9: r8 = value of map counters",
        " 11: r8 += r0",
        " 12: r1 = *(u64 *)(r8 +8)",
        " 13: r1 += 1",
        " 14: *(u64 *)(r8 +8) = r1",
        " 15: r9 = 0",
        " 16: r3 = *(u64 *)(r6 +16)",
        " 17: *(u64 *)(r10 -32) = r3",
        " 18: r3 = *(u64 *)(r10 -32)",
        " 19: if r3 > 100 goto 21",
        " 20: goto 77",
        " 21: call get_current_task_btf",
        " 22: r1 = *(u32 *)(r0 +2808)",
        " 23: *(u32 *)(r10 -8) = r1",
        " 24: r0 = *(u32 *)(r0 +2812)",
        " 25: r1 = *(u64 *)(r8 +16)",
        " 26: r1 += 1",
        " 27: *(u64 *)(r8 +16) = r1",
        " 28: r2 = value of map control",
        " 30: r1 = *(u32 *)(r2 +0)",
        " 31: if r1 != 1 goto 77",
        " 32: r2 = r10",
        " 33: r2 += -4",
        " 34: r1 = map rings",
        " 36: call map_lookup_elem",
        " 37: if r0 == 0 goto 72",
        " 38: r1 = r0",
        " 39: r2 = 56",
        " 40: r3 = 0",
        " 41: call ringbuf_reserve",
        " 42: if r0 == 0 goto 72",
        " 43: r7 = r0",
        " 44: call ktime_get_ns",
        " 45: *(u64 *)(r7 +0) = r0",
        " 46: r1 = *(u32 *)(r10 -8)",
        " 47: *(u32 *)(r7 +8) = r1",
        " 48: r1 = *(u64 *)(r8 +0)",
        " 49: *(u32 *)(r7 +12) = r1",
        " 50: r2 = value of map control",
        " 52: r1 = *(u32 *)(r2 +4)",
        " 53: *(u32 *)(r7 +20) = r1",
        " 54: call get_current_task_btf",
        " 55: r1 = *(u64 *)(r0 +3344)",
        " 56: *(u64 *)(r7 +24) = r1",
        " 57: r1 = *(u64 *)(r0 +3352)",
        " 58: *(u64 *)(r7 +32) = r1",
        " 59: r1 = r6",
        " 60: call get_func_ip",
        " 61: *(u64 *)(r7 +40) = r0",
        " 62: r1 = *(u64 *)(r10 -32)",
        " 63: *(u64 *)(r7 +48) = r1",
        " 64: *(u32 *)(r7 +16) = r9",
        " 65: r1 = r7",
        " 66: r2 = 0",
        " 67: call ringbuf_submit",
        " 68: r1 = *(u64 *)(r8 +32)",
        " 69: r1 += 1",
        " 70: *(u64 *)(r8 +32) = r1",
        " 71: goto 77",
        " 72: r1 = *(u64 *)(r8 +24)",
        " 73: r1 += 1",
        " 74: *(u64 *)(r8 +24) = r1",
        " 75: r1 = 1",
        " 76: lock *(u64 *)(r8 +0) += r1",
        " 77: r0 = 0",
        " 78: exit",
    )


@pytest.mark.parametrize(
    ("text", "support", "points", "note"),
    [
        ("f vfs_read", BOTH, ["fentry"], ""),
        ("f vfs_read%return", BOTH, ["fexit"], ""),
        ("f vfs_read,vfs_write", BOTH, ["kprobe.multi"], ""),
        ("f vfs_read,vfs_write%both", FENTRY, ["fentry", "fentry", "fexit", "fexit"], "2 functions are probed"),
        ("f __rcu_read_lock", BOTH, ["kprobe.multi"], "not by fentry: they run while a program is entered"),
        ("f vfs_read $stack0", BOTH, ["kprobe.multi"], "not by fentry: No program computes $stack0"),
        ("f do_exit%return", BOTH, ["kretprobe.multi"], "not by fentry: it never returns"),
        ("f make_kuid", BOTH, ["kprobe.multi"], "not by fentry: it returns a structure"),
        ("f vfs_read", replace(BOTH, refused={"vfs_read": "busy"}), ["kprobe.multi"], "not by fentry: busy"),
        ("f vfs_read", replace(BOTH, fentry=False), ["kprobe.multi"], ""),
    ],
)
def test_the_attach_type_is_chosen_and_the_reason_told(
    text: str, support: ProgramSupport, points: list[str], note: str
) -> None:
    plan = planned(text, support, "__rcu_read_lock", "do_exit", "make_kuid")
    assert [program.point.value for program in plan.programs] == points
    assert any(note in line for line in plan.losses)
    assert bool(note) or not any("not by fentry" in line for line in plan.losses)


@pytest.mark.parametrize(
    ("text", "support", "reason"),
    [
        ("f __rcu_read_lock", FENTRY, "the machine could stand still"),
        ("f vfs_read", NONE, "attaches no fentry"),
        ("f vfs_read", replace(NONE, obstacle="it takes root"), "It takes root"),
        ("f v*", FENTRY, f"{MOST_FUNCTIONS} at most"),
    ],
)
def test_what_no_program_is_attached_to_is_refused_with_its_reason(
    text: str, support: ProgramSupport, reason: str
) -> None:
    with pytest.raises(CannotLower) as caught:
        planned(text, support, "__rcu_read_lock", *(f"v_{number}" for number in range(30)))
    assert caught.value.refusal.code == "not_attached"
    assert reason in caught.value.refusal.hint and "--via tracefs" in caught.value.refusal.hint


def test_of_several_functions_those_without_a_program_are_left_out() -> None:
    plan = planned("f vfs_read,__rcu_read_lock", FENTRY, "__rcu_read_lock")
    assert [program.functions for program in plan.programs] == [("vfs_read",)]
    assert any("left out, they run while a program is entered" in note for note in plan.losses)


@pytest.mark.parametrize(
    "function",
    [
        *("rcu_read_lock", "__rcu_read_lock", "__rcu_read_unlock", "rcu_note_context_switch", "migrate_disable"),
        *("migrate_enable", "preempt_count_add", "preempt_schedule", "__bpf_prog_enter", "bpf_ringbuf_reserve"),
        *("tcp_bpf_recvmsg", "arch_ftrace_update_code", "ring_buffer_write", "ktime_get_mono_fast_ns"),
        *("stack_walk_x", "copy_from_kernel_nofault", "irq_work_queue", "_raw_spin_lock_irqsave"),
        *("native_queued_spin_lock_slowpath", "lock_acquire", "debug_smp_processor_id", "__bpf_tramp_enter"),
    ],
)
def test_functions_that_programs_run_through_have_none(function: str) -> None:
    assert fentry_exclusion(function, frozenset(), at_exit=False)


def test_the_blacklist_holds_and_a_function_without_a_return_has_no_exit() -> None:
    assert fentry_exclusion("notify_die", frozenset({"notify_die"}), at_exit=False)
    assert not fentry_exclusion("notify_die", frozenset(), at_exit=False)
    assert fentry_exclusion("do_exit", frozenset(), at_exit=True)
    assert not fentry_exclusion("do_exit", frozenset(), at_exit=False)
    for name in ("vfs_read", "do_mmap", "tcp_sendmsg", "schedule", "from_kuid"):
        assert not fentry_exclusion(name, frozenset(), at_exit=True)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("make_kuid", "returns a structure"),
        ("no_such_function", "BTF does not have it"),
        ("vfs_read", ""),
    ],
)
def test_the_kernel_s_reasons_are_known_before(function: str, reason: str) -> None:
    btf, facts = with_functions("make_kuid", "no_such_function")
    said = fentry_refusal(function, btf, facts, Environment(), at_exit=True)
    assert reason in said and bool(reason) == bool(said)


def test_a_function_with_any_number_of_arguments_has_none() -> None:
    btf, _ = with_functions()
    signature = certain_signature_of(btf, "vfs_read")
    assert signature is not None
    assert not _signature_refusal(signature)
    for more, reason in (((Param("", 0),), "any number"), ((signature.params[0],) * 9, "more than 12 parameters")):
        assert reason in _signature_refusal(replace(signature, params=(*signature.params, *more)))


def test_functions_of_one_name_and_those_of_others_modules_have_none() -> None:
    btf, facts = with_functions("do_mmap", "do_mmap", "from_kuid [some_module]", "sock_setsockopt")
    refused = {
        name: fentry_refusal(name, btf, facts, Environment(), at_exit=False) for name in ("do_mmap", "from_kuid")
    }
    assert "2 functions" in refused["do_mmap"] and "BTF" in refused["from_kuid"]
