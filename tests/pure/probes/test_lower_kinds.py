"""Probes that sit on no function, or on many: tracepoints, events, programs, synthetic events, patterns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from btf.types import Struct
from btf.walk import strip
from probes.check import CheckResult, check_plan
from probes.command import parse_armable
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import Environment, StaticEventField
from probes.lowering.lower import lower
from probes.plans.json_values import plan_from_dict, plan_to_dict
from probes.plans.plan import Plan
from probes.programs.elf_symbols import read_program
from probes.programs.program import Program, SymbolNotPlaced
from probes.refusal import CannotLower
from probes.verdict import Refusal
from tests.probes_data import KERNELS, environment, kernel
from tests.pure.probes.test_program import files

ALL = [*KERNELS, "arm64"]
NEW = ("6.12", "7.2")
OLD = ("6.1", "arm64")
BIN = "/bin/tool-1.2"
MORE = {
    ("workqueue", "workqueue_queue_work"): (
        StaticEventField("work", "void *", 8, spec="p"),
        StaticEventField("function", "void *", 8, spec="ps"),
        StaticEventField("workqueue", "__data_loc char[]", 4),
        StaticEventField("req_cpu", "int", 4, signed=True),
    ),
    ("made", "every_type"): (
        StaticEventField("flag", "bool", 1),
        StaticEventField("kind", "enum pid_type", 4),
        StaticEventField("mask", "unsigned long", 8, spec="lx"),
        StaticEventField("words", "u32[4]", 16),
        StaticEventField("loose", "__data_loc u8[]", 4),
        StaticEventField("name", "const char *", 8),
        StaticEventField("who", "char[16]", 16, signed=True),
        StaticEventField("whole", "struct timespec64", 16),
    ),
}


def around(name: str) -> Environment:
    """What the kernel's cases know, a few events more, and one program."""
    known = environment("6.12" if name == "arm64" else name)
    look_up = known.event
    assert look_up is not None

    def event(group: str, of: str) -> tuple[StaticEventField, ...] | None:
        return MORE.get((group, of)) or look_up(group, of)

    def groups_of(of: str) -> tuple[str, ...]:
        groups = ("sched", "workqueue", "syscalls", "kmem")
        return tuple(group for group in groups if event(group, of))

    def program(path: str) -> Program:
        if path != BIN:
            raise SymbolNotPlaced("FILE_NOT_FOUND", path)
        return replace(read_program(files()["pie"]), machine="aarch64" if name == "arm64" else "x86_64")

    return replace(known, event=event, groups_of=groups_of, program=program)


def facts_of(name: str) -> TargetFacts:
    facts = kernel(name).facts
    features = facts.features | {Feature.UPROBE_EVENTS, Feature.SYNTHETIC_EVENTS}
    return replace(facts, features=features - ({Feature.TPROBE_EVENTS} if name == "arm64" else set()))


def checked(spec: str, name: str, existing: tuple[str, ...] = ()) -> CheckResult:
    return check_plan(spec, kernel(name).btf, facts_of(name), "pw_1", around(name), existing)


def plan(spec: str, name: str) -> Plan:
    return lower(parse_armable(spec), kernel(name).btf, facts_of(name), "pw_1", environment=around(name))


def line(spec: str, name: str) -> str:
    (event,) = plan(spec, name).events
    assert checked(spec, name).plan == plan(spec, name) or not checked(spec, name).verdict.ok
    return event.line


def refusal(spec: str, name: str) -> tuple[Refusal, str]:
    """Why, and the text from the caret on."""
    probe = parse_armable(spec)
    with pytest.raises(CannotLower) as caught:
        lower(probe, kernel(name).btf, facts_of(name), "pw_1", environment=around(name))
    error = caught.value.refusal
    assert error.message and error.message != error.code
    return error, str(probe)[error.column :]


@pytest.mark.parametrize("name", NEW)
def test_arguments_of_a_tracepoint_by_name(name: str) -> None:
    spec = "t:a/ev sched_switch prev->comm:string prev->pid prev->thread_pid->level next $comm"
    assert line(spec, name) == (
        "t:pw_1/ev sched_switch comm=prev->comm:string pid=prev->pid level=prev->thread_pid->level next comm_2=$comm"
    )
    (event,) = plan(spec, name).events
    btf, columns = kernel(name).btf, {column.label: column for column in event.columns}
    assert btf.type(columns["prev->pid"].btf_type).name == "pid_t"
    task = btf.type(btf.type(columns["next"].btf_type).type_id)
    assert isinstance(btf.type(strip(btf, task.id)), Struct) and task.name == "task_struct"
    assert (event.path, event.remove) == ("pw_1/ev", "-:pw_1/ev")


@pytest.mark.parametrize("name", NEW)
def test_all_arguments_of_a_tracepoint(name: str) -> None:
    assert line("t sched_switch $$args", name) == "t:pw_1/sched_switch sched_switch preempt prev next prev_state"
    assert line("t kfree $$args if ptr != 0", name) == "t:pw_1/kfree kfree call_site ptr"
    assert plan("t kfree $$args if ptr != 0", name).events[0].filter == "ptr != 0"
    # The stub's own first argument is none of the tracepoint's, also where it is counted.
    found = line("t sched_switch prev->thread_pid->numbers[0].nr", name)
    assert found.startswith("t:pw_1/sched_switch sched_switch nr=+") and found.endswith("($arg2)):s32")


@pytest.mark.parametrize("name", OLD)
def test_without_tracepoint_probes_the_event_gives_what_it_records(name: str) -> None:
    found = plan("t sched_switch prev->comm:string prev->pid next->prio if pid > 0", name)
    (event,) = found.events
    assert event.line == (
        "e:pw_1/sched_switch sched.sched_switch comm=$prev_comm:string pid=$prev_pid:s32 prio=$next_prio:s32"
    )
    assert [column.label for column in event.columns] == ["prev->comm", "prev->pid", "next->prio"]
    assert "no tracepoint probes" in found.losses[0]
    assert line("t sched_switch $$args", name).count("=$") == 7


@pytest.mark.parametrize("name", OLD)
def test_a_path_behind_a_recorded_pointer(name: str) -> None:
    if kernel(name).btf.function("__traceiter_workqueue_queue_work") is None:
        assert refusal("t workqueue_queue_work work->func:symbol", name)[0].code == "NO_BTF_ENTRY"
        return
    assert line("t workqueue_queue_work work->func:symbol", name).endswith("func=+24($work):symbol")


@pytest.mark.parametrize("name", OLD)
def test_what_no_event_records_is_refused(name: str) -> None:
    error, at = refusal("t sched_switch prev->pid prev->static_prio", name)
    assert (error.code, at) == ("no_event_field", "prev->static_prio")
    assert "no tracepoint probes" in error.message
    assert "prev_prio" in error.nearest
    error, at = refusal("t no_such_tracepoint $$args", name)
    assert (error.code, at[:2]) == ("missing_capability", "t ")
    with pytest.raises(CannotLower, match="no tracepoint probes"):
        lower(parse_armable("t sched_switch $$args"), kernel(name).btf, facts_of(name), "pw_1")


def test_a_tracepoint_that_is_not_there_is_told() -> None:
    name = "7.2"
    facts = replace(facts_of(name), functions=(*kernel(name).facts.functions, "__probestub_sched_switch"))
    found = lower(parse_armable("t sched_swich"), kernel(name).btf, facts, "pw_1")
    assert found.events[0].line == "t:pw_1/sched_swich sched_swich"
    assert "no such tracepoint" in found.losses[0] and "did you mean sched_switch?" in found.losses[0].lower()


@pytest.mark.parametrize("name", ALL)
def test_fields_of_an_event_have_its_types(name: str) -> None:
    assert line("e sched/sched_switch $prev_comm $prev_pid x=$next_prio:u8 if prev_pid > 1", name) == (
        "e:pw_1/sched_switch sched.sched_switch prev_comm=$prev_comm:string prev_pid=$prev_pid:s32 x=$next_prio:u8"
        " if prev_pid > 1"
    )
    found = line("e syscalls.sys_enter_openat $$args", name)
    assert "dfd=$dfd:s32" in found and "flags=$flags:s32" in found
    assert ("filename=$filename:ustring" in found) is (name != "6.1")


@pytest.mark.parametrize("name", ALL)
def test_what_an_event_probe_can_not_read_is_left_out(name: str) -> None:
    found = plan("e made.every_type $$args", name)
    (event,) = found.events
    assert event.line.startswith(
        "e:pw_1/every_type made.every_type flag=$flag:u8 kind=$kind:u32 mask=$mask:x64"
    ) and event.line.endswith("who=$who:string")
    left = {loss.partition(":")[0] for loss in found.losses}
    assert left == {"words", "loose", "whole", *(("name",) if name == "6.1" else ())}
    columns = {column.name: column.btf_type for column in event.columns}
    btf = kernel(name).btf
    assert btf.type(columns["flag"]).is_bool
    assert columns["kind"] is None or btf.type(columns["kind"]).name == "pid_type"
    assert columns["mask"] is None


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("spec", "code", "at"),
    [
        ("e sched.nosuch $$args", "BAD_ATTACH_EVENT", "sched.nosuch $$args"),
        ("e sched.sched_switch $$args $prev_pidd", "BAD", "$prev_pidd"),
        ("e sched.sched_switch $$args if prev_pidd > 1", "FIELD_NOT_FOUND", "prev_pidd > 1"),
        ("e sched.sched_switch $$args x=%di", "BAD", "%di"),
    ],
)
def test_mistakes_at_an_event_have_their_place(name: str, spec: str, code: str, at: str) -> None:
    error, found = refusal(spec, name)
    assert error.code.startswith(code)
    assert at.endswith(found.lstrip("$")) and found
    if "pidd" in spec:
        assert "prev_pid" in error.nearest


@pytest.mark.parametrize("name", ALL)
def test_the_condition_of_an_event_probe_is_one_line(name: str) -> None:
    """A line's end in it would begin a second command, which nobody takes away."""
    head = "e:pw_1/sched_switch sched.sched_switch prev_pid=$prev_pid:s32 if "
    found = plan("e sched.sched_switch $prev_pid if prev_pid > 1  &&\n prev_pid < 5", name)
    assert [event.line for event in found.events] == [f"{head}prev_pid > 1 && prev_pid < 5"] and not found.losses
    found = plan('e sched.sched_switch $prev_pid if prev_comm != "\np:evil/x vfs_write  y"', name)
    assert [event.line for event in found.events] == [f'{head}prev_comm != " p:evil/x vfs_write y"']
    (loss,) = found.losses
    assert "in text too" in loss


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("$prev_comm:u8 $prev_pid", ["prev_comm: text; as a number"]),
        ("$prev_comm:x64 x=$prev_comm:ustring", ["prev_comm: text; as a number", "prev_comm: text of the event"]),
        ("$prev_pid:string", ["prev_pid: a number read as an address"]),
        ("$prev_comm $prev_comm:string $prev_pid:u8 $prev_state:x64 $$args", []),
    ],
)
@pytest.mark.parametrize("name", ALL)
def test_a_field_that_is_read_as_what_it_is_not(name: str, words: str, told: list[str]) -> None:
    """Seen on 7.2: `$prev_comm:u8` is the last byte of an address, the other two are (fault)."""
    losses = plan(f"e sched.sched_switch {words}", name).losses
    assert len(losses) == len(told) and all(loss.startswith(begin) for loss, begin in zip(losses, told, strict=True))


@pytest.mark.parametrize("name", ALL)
def test_a_character_is_a_number_where_the_kernel_has_none(name: str) -> None:
    kind = "char" if kernel(name).facts.has(Feature.CHAR_TYPE) else "u8"
    assert line("e sched.sched_switch x=$prev_pid:char", name).endswith(f" x=$prev_pid:{kind}")
    assert line(f"p {BIN}:0x10 x=$stack0:char", name).endswith(f" x=$stack0:{kind}")


def test_a_bit_field_by_a_cast_spoils_the_text_before_it() -> None:
    cast = "b=(task_struct)prev_pid->in_execve"
    assert "spoils" in plan(f"e sched.sched_switch $prev_comm {cast}", "7.2").losses[0]
    assert not plan(f"e sched.sched_switch {cast} $prev_comm", "7.2").losses


def test_an_event_probe_needs_its_capability() -> None:
    btf, facts, _ = kernel("7.2")
    without = replace(facts, features=facts.features - {Feature.EPROBE_EVENTS})
    with pytest.raises(CannotLower, match="no event probes"):
        lower(parse_armable("e sched.sched_switch"), btf, without, "g")
    unfiltered = replace(facts, features=facts.features - {Feature.EPROBE_FILTER})
    with pytest.raises(CannotLower) as caught:
        lower(parse_armable("e sched.sched_switch if prev_pid > 1"), btf, unfiltered, "g", environment=around("7.2"))
    assert caught.value.refusal.column == len("e sched.sched_switch ")


@pytest.mark.parametrize("name", ALL)
def test_a_symbol_of_a_program_becomes_its_offset(name: str) -> None:
    arm = name == "arm64"
    register = "x0" if arm else "di"
    (spot,) = read_program(files()["pie"]).place("work")
    words = f"{register}=%{register} arg1=+0(%{register}):string comm=$comm"
    assert line(f"p {BIN}:work %{register} +0($arg1):string $comm", name) == (
        f"p:pw_1/tool_work__entry {BIN}:{spot.offset:#x} {words}"
    )
    assert line(f"p {BIN}:work%return $retval:s32", name) == (
        f"r:pw_1/tool_work__exit {BIN}:{spot.offset:#x} ret=$retval:s32"
    )
    found = plan(f"r:mine/ev {BIN}:work r=$retval if r > 3", name)
    assert (found.events[0].path, found.events[0].filter, found.events[0].at_exit) == ("pw_1/ev", "r > 3", True)
    assert line(f"p {BIN}:0x10%return(0x20)", name) == f"r:pw_1/tool_0x10__exit {BIN}:0x10(0x20)"


@pytest.mark.parametrize(("machine", "told"), [("i686", "for i686"), ("", "for another machine")])
def test_a_program_of_another_machine_has_its_arguments_elsewhere(machine: str, told: str) -> None:
    """One of 32 bits gets them on its stack, not in the registers of this kernel's machine."""
    btf, facts = kernel("7.2").btf, facts_of("7.2")

    def program(path: str) -> Program:
        assert path == BIN
        return replace(read_program(files()["pie"]), machine=machine)

    there = replace(around("7.2"), program=program)
    with pytest.raises(CannotLower, match="holds it") as caught:
        lower(parse_armable(f"p {BIN}:work x=+0($arg1):string"), btf, facts, "g", environment=there)
    assert told in caught.value.refusal.hint + caught.value.refusal.message
    assert lower(parse_armable(f"p {BIN}:work +4(%sp):u32"), btf, facts, "g", environment=there).events


@pytest.mark.parametrize("name", ["7.2", "6.1"])
def test_a_static_probe_is_several_places_and_a_counter(name: str) -> None:
    found = plan(f"p {BIN}:sdt_made:twice %di", name)
    names = ("tool_twice", "tool_twice_2")
    spots = read_program(files()["pie"]).place("sdt_made:twice")
    assert [event.lines for event in found.events] == [
        (f"p:pw_1/{event} {BIN}:{spot.offset:#x}({spot.counter:#x}) di=%di",)
        for event, spot in zip(names, spots, strict=True)
    ]
    assert [event.remove for event in found.events] == [f"-:pw_1/{event}" for event in names]
    assert checked(f"p {BIN}:sdt_made:twice %di", name).plan == found


def test_inside_a_function_nobody_checks() -> None:
    found = plan(f"p {BIN}:work+0x5 %di", "7.2")
    assert found.events[0].event == "tool_work_0x5__entry"
    assert "instruction" in found.losses[0]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("spec", "code", "at"),
    [
        (f"p:a/b {BIN}:wrok $comm", "no_such_symbol", "wrok $comm"),
        (f"p {BIN}:twin", "ambiguous_symbol", "twin"),
        (f"p {BIN}:chooser", "indirect_symbol", "chooser"),
        (f"p {BIN}:work+0x100", "outside_function", "work+0x100"),
        (f"p {BIN}:work+0x1z", "BAD_UPROBE_OFFS", "+0x1z"),
        (f"r {BIN}:work+4 $retval", "BAD_RETPROBE", "+4 $retval"),
        (f"r {BIN}:sdt_made:twice $retval", "BAD_RETPROBE", "sdt_made:twice $retval"),
        (f"r {BIN}:work $comm $retvall:x", "BAD_TYPE", "x"),
        (f"p {BIN}:work $comm $retval", "RETVAL_ON_PROBE", "$retval"),
        (f"p {BIN}:work a=%nope", "BAD_REG_NAME", "%nope"),
        (f"p {BIN}:work $arg12", "not_in_registers", "$arg12"),
        (f"r {BIN}:work $arg1", "NOFENTRY_ARGS", "$arg1"),
        (f"p {BIN}:work+4 $arg1", "NOFENTRY_ARGS", "$arg1"),
        (f"p {BIN}:work a=$comm if b == 1", "unknown_filter_field", "b == 1"),
        ("p /no/such:work $comm", "FILE_NOT_FOUND", "/no/such:work $comm"),
        ("p /tmp:0x10 $comm", "NO_REGULAR_FILE", "/tmp:0x10 $comm"),
    ],
)
def test_mistakes_in_a_program_have_their_place(name: str, spec: str, code: str, at: str) -> None:
    error, found = refusal(spec, name)
    if name == "6.1":
        code = {"NOFENTRY_ARGS": "BAD_VAR"}.get(code, code)
    assert (error.code, found) == (code, at)
    if code == "no_such_symbol":
        assert error.nearest == ("work",)


def test_a_program_has_no_types() -> None:
    found = plan(f"p {BIN}:work $$args $comm", "7.2")
    assert found.events[0].line.endswith(" comm=$comm")
    assert "types of a program" in found.losses[0]
    bare = replace(facts_of("7.2"), features=frozenset())
    with pytest.raises(CannotLower, match="no user-space probes"):
        lower(parse_armable(f"p {BIN}:work"), None, bare, "g", environment=around("7.2"))
    with pytest.raises(CannotLower, match="give an offset"):
        lower(parse_armable(f"p {BIN}:work"), None, facts_of("7.2"), "g")


@pytest.mark.parametrize("name", ALL)
def test_a_synthetic_event_keeps_its_name(name: str) -> None:
    found = plan("s:synthetic/late u64 lat; pid_t pid;  char comm[16]", name)
    (event,) = found.events
    assert event.line == "s:late u64 lat; pid_t pid;  char comm[16]"
    assert (event.path, event.remove) == ("synthetic/late", "-:synthetic/late")
    assert [column.name for column in event.columns] == ["lat", "pid", "comm"]
    assert plan_from_dict(plan_to_dict(found)) == found
    error, at = refusal("s:late u64 lat; u65 pid", name)
    assert (error.code, at) == ("INVALID_TYPE", "u65 pid")


def test_what_is_there_already_is_seen_before_arming() -> None:
    there = ("s:late u64 lat", f"p:pw_1/tool_work__entry {BIN}:0x0000000000000010 x=%si")
    again = checked("s:late u64 lat", "7.2", there)
    assert again.verdict.error is not None and again.verdict.error.code == "EVENT_EXISTS"
    other = checked(f"p {BIN}:work %di", "7.2", there)
    assert other.verdict.error is not None and other.verdict.error.code == "DIFF_ARG_TYPE"
    assert other.plan is None
    assert checked(f"p {BIN}:work %di", "7.2").verdict.ok


@pytest.mark.parametrize("name", NEW)
def test_a_pattern_is_one_fprobe(name: str) -> None:
    found = plan("f vfs_re* $arg1 $comm", name)
    assert [event.line for event in found.events] == ["f:pw_1/vfs_re__entry vfs_re* arg1=$arg1 comm=$comm"]
    assert "functions are probed" in found.losses[0]
    assert refusal("f vfs_re* file", name)[0].code == "NO_BTF_ENTRY"


@pytest.mark.parametrize("name", OLD)
def test_a_pattern_is_many_kprobes_where_there_are_no_fprobes(name: str) -> None:
    facts = replace(facts_of(name), functions=("vfs_read", "vfs_readv", "vfs_twin", "vfs_twin", "vfs_bad", "other"))
    facts = replace(facts, blacklist=frozenset({"vfs_bad"}))
    found = lower(parse_armable("f vfs_*%both $arg1 $retval"), kernel(name).btf, facts, "pw_1")
    entry, leave = found.events
    assert entry.lines == tuple(f"p:pw_1/vfs__entry {f} arg1=$arg1 frame=$stack" for f in ("vfs_read", "vfs_readv"))
    assert [text.split()[1] for text in leave.lines] == ["vfs_read", "vfs_readv"]
    assert all(text.startswith("r:pw_1/vfs__exit ") for text in leave.lines)
    assert plan_from_dict(plan_to_dict(found)) == found
    assert all(" ret=$retval:x64 " in text for text in leave.lines)  # else the kernel gives each its own type
    told = "\n".join(found.losses)
    assert "1 left out, its name is not unique: vfs_twin" in told
    assert "1 left out, it is on the kernel's kprobe blacklist: vfs_bad" in told
    many = replace(facts, functions=tuple(f"vfs_{number}" for number in range(129)))
    with pytest.raises(CannotLower) as caught:
        lower(parse_armable("f vfs_* $arg1"), kernel(name).btf, many, "pw_1")
    assert caught.value.refusal.code == "too_many_functions"


@pytest.mark.parametrize("name", ALL)
def test_a_pattern_that_fits_nothing(name: str) -> None:
    error, at = refusal("f no_such_*", name)
    assert (error.code, at) == ("not_traceable", "no_such_*")


def test_a_deletion_is_nothing_to_arm() -> None:
    assert checked("-:a/b", "7.2").plan is None
