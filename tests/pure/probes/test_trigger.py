"""Triggers as values: read, printed back, built from parts; and rules of theirs that no recorded command shows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.facts.lookups import Environment, StaticEventField
from probes.hist.clause import Action, Assignment
from probes.hist.kept import plan_histograms
from probes.hist.trigger import HistTrigger, PlainTrigger, SwitchedEvent, parse_trigger
from probes.kernel_verdict import kernel_verdict
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbePlace
from probes.syntax.parse_error import ParseError
from tests.probes_data import KERNELS, environment, kernel
from tests.trigger_generator import FIELDS, SYNTHETIC, Generator, path

SWITCH = "events/sched/sched_switch/trigger"


def _answer(name: str, command: str, file: str = SWITCH, before: tuple[str, ...] = ()) -> str:
    btf, facts, _ = kernel(name)
    verdict = kernel_verdict(command, btf, facts, before, file, environment(name))
    if verdict.error is None:
        return "ok"
    return f"{verdict.error.code} {verdict.error.column}" if verdict.error.column is not None else "refused"


@settings(max_examples=300)
@given(st.integers(min_value=0, max_value=1 << 32), st.text(" \t\n", max_size=2))
def test_what_can_be_read_is_printed_back_and_the_rest_is_refused(seed: int, blank: str) -> None:
    btf, facts, _ = kernel("7.2")
    existing = [f"s:{event}" for event in SYNTHETIC]
    fields = {
        event.replace("/", ":"): tuple(StaticEventField(f, "int", 4, True) for f in FIELDS[event]) for event in FIELDS
    }
    known = Environment(lambda group, event: fields.get(f"{group}:{event}"))
    for case in Generator(seed).cases(2):
        text = blank + case.command + blank
        try:
            assert str(parse_trigger(text)) == text.strip(" \t\n")
        except ParseError:
            assert not kernel_verdict(text, btf, facts, existing, path(case.event), known).ok


@pytest.mark.parametrize("name", KERNELS)
def test_accepted_commands_are_printed_back(name: str) -> None:
    cases = [case for case in kernel(name).cases if case.interface.endswith("/trigger") and case.ok]
    assert len(cases) > 15
    for case in cases:
        assert str(parse_trigger(case.command)) == case.command


def test_parts_of_a_histogram() -> None:
    text = (
        "hist:keys=common_pid.execname,id.syscall:values=hitcount,len:lat=common_timestamp.usecs-$ts0,n=1:size=0x400"
        ":sort=len.descending,hitcount:name=calls:nohitcount:onmatch(sched.sched_waking).trace(wake,$lat, pid )"
        ":onmax($lat).save(comm) if len > 4096"
    )
    trigger = parse_trigger(text)
    assert isinstance(trigger, HistTrigger)
    assert [(key.name, key.modifier) for key in trigger.keys] == [("common_pid", "execname"), ("id", "syscall")]
    assert list(map(str, trigger.values)) == ["hitcount", "len"]
    assert trigger.variables == (Assignment("lat", "common_timestamp.usecs-$ts0"), Assignment("n", "1"))
    assert trigger.size == 1024
    assert [(key.name, key.descending) for key in trigger.sort] == [("len", True), ("hitcount", False)]
    assert trigger.name == "calls"
    assert trigger.has("nohitcount")
    assert not trigger.has("pause")
    match, most = trigger.actions
    assert (match.handler, match.subject, match.call) == ("onmatch", "sched.sched_waking", "trace")
    assert match.params == ("wake", "$lat", "pid")
    assert (most.handler, most.subject, most.call, most.params) == ("onmax", "$lat", "save", ("comm",))
    assert trigger.filter == "len > 4096"
    assert [text[clause.column :][: len(clause.text)] for clause in trigger.clauses] == [
        clause.text for clause in trigger.clauses
    ]
    assert str(trigger) == text


def test_histogram_from_its_parts_reads_back_the_same() -> None:
    trigger = HistTrigger.of(
        keys=("next_pid", "next_comm"),
        values=("next_prio",),
        sort=("next_prio.descending",),
        size=512,
        variables=(Assignment("x", "next_prio"),),
        actions=(Action.of("onmax", "$x", "save", "prev_pid", "prev_comm"),),
        filter="next_pid != 0",
    )
    assert parse_trigger(str(trigger)) == trigger
    assert _answer("7.2", str(trigger)) == "ok"


def test_other_triggers() -> None:
    trigger = parse_trigger("enable_event:sched:sched_waking:0x3 if prev_pid == 1")
    assert isinstance(trigger, PlainTrigger)
    assert (trigger.target, trigger.count, trigger.filter) == (
        SwitchedEvent("sched", "sched_waking"),
        3,
        "prev_pid == 1",
    )
    assert str(PlainTrigger("stacktrace")) == "stacktrace"
    assert str(PlainTrigger("traceoff", "3", "prev_pid == 1")) == "traceoff:3 if prev_pid == 1"
    assert str(PlainTrigger("traceoff", filter="prev_pid == 1", remove=True)) == "!traceoff if prev_pid == 1"


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("hist:  keys=a:b=", "EMPTY_ASSIGNMENT", 14),
        ("hist", "refused_without_message", None),
        ("hist:keys=a if", "refused_without_message", None),
        ("hist:keys=a:size=64", "refused_without_message", None),
        ("histogram:keys=a", "refused_without_message", None),
        ("enable_event:sched", "refused_without_message", None),
        ("traceon:often", "refused_without_message", None),
    ],
)
def test_what_cannot_be_read_says_where(text: str, code: str, column: int | None) -> None:
    with pytest.raises(ParseError) as caught:
        parse_trigger(text)
    assert (caught.value.refusal.code, caught.value.refusal.column) == (code, column)


@pytest.mark.parametrize(
    ("command", "before", "answer"),
    [
        # A variable that stands for a field is looked up as that field; what the kernel has read is cut.
        ("hist:keys=next_pid:x=prev_pid:y=$x", (), "ok"),
        ("hist:keys=next_pid:x=prev_pid-1:y=$x", (), "ok"),
        ("hist:keys=next_pid:x=5:y=$x", (), "FIELD_NOT_FOUND 21"),
        ("hist:keys=$x:x=prev_pid", (), "ok"),
        ("hist:keys=next_pid:y=1+2+3+4+5", (), "TOO_MANY_SUBEXPR 21"),
        ("hist:keys=next_pid:y=-(prev_pid)+1", (), "UNARY_MINUS_SUBEXPR 23"),
        ("hist:keys=next_pid:y=prev_pid/0", (), "DIVISION_BY_ZERO 30"),
        ("hist:keys=next_pid:y=prev_pid/$z", ("hist:keys=next_pid:z=1-1",), "DIVISION_BY_ZERO 30"),
        ("hist:keys=next_pid:y=10s", (), "EXPECT_NUMBER 21"),
        ("hist:keys=next_pid:y=common_timestamp.usecs-common_timestamp", (), "TIMESTAMP_MISMATCH 0"),
        ("hist:keys=next_pid:x=1", ("hist:keys=next_prio:x=1",), "DUPLICATE_VAR 12"),
        ("hist:keys=next_pid", ("hist:keys=next_pid",), "TRIGGER_EEXIST 0"),
        ("hist:keys=next_pid:pause", ("hist:keys=next_pid",), "ok"),
        ("hist:keys=next_pid:name=n", ("hist:keys=prev_pid:name=n",), "NAMED_MISMATCH 19"),
        ("!hist:keys=next_pid:x=1", ("hist:keys=next_pid:x=1", "hist:keys=prev_pid:y=$x"), "refused"),
        ("hist:keys=common_timestamp:clock=sundial", (), "SET_CLOCK_FAIL 33"),
        ("hist:keys=next_pid:x=1:onmax($x).snapshot():onchange($x).snapshot()", (), "refused"),
        ("hist:keys=next_pid:x=1:onmax($x).save(a)", (), "INVALID_PARAM 26"),
        ("hist:keys=prev_comm,next_comm,stacktrace", (), "ok"),
        ("traceoff", ("traceon",), "refused"),
        ("stacktrace", ("traceon",), "ok"),
    ],
)
def test_rules_of_the_parser(command: str, before: tuple[str, ...], answer: str) -> None:
    there = tuple(f"{SWITCH}|{text}" for text in before)
    assert {_answer(name, command, before=there) for name in KERNELS} == {answer}


@pytest.mark.parametrize("where", ["", "prev_pid > 1 || next_pid == 7"])
@pytest.mark.parametrize("name", KERNELS)
def test_the_triggers_of_latencies_are_taken(name: str, where: str) -> None:
    """They leave out the idle tasks, which share a thread id, beside what the probe leaves out."""
    ends = tuple(
        PlannedEvent("sched", event, "", "", at_exit=at_exit, filter=where, frame="prev_pid")
        for event, at_exit in (("sched_switch", False), ("sched_waking", True))
    )
    ends = (ends[0], replace(ends[1], filter=where.replace("prev_pid", "pid").replace("next_pid", "prio")))
    made = plan_histograms(Plan(Probe(ProbePlace("vfs_read")), ends), "pw_1_2", "mono")
    assert made.synthetic is not None
    before: tuple[str, ...] = (made.synthetic.line,)
    for event, text in made.timing:
        file = f"events/{event.path}/trigger"
        assert text.endswith("&& common_pid != 0" if where else " if common_pid != 0")
        assert _answer(name, text, file, before) == "ok"
        before = (*before, f"{file}|{text}")


@pytest.mark.parametrize(
    ("command", "answers"),
    [
        # A stack has 16 entries up to 6.12 and 31 later, and keys have room for one beside a string.
        ("hist:keys=stacktrace,stacktrace,stacktrace", ("ok", "ok", "refused")),
        ("hist:keys=common_stacktrace", ("FIELD_NOT_FOUND 10", "ok", "ok")),
        ("hist:keys=next_pid:vals=prev_pid.percent", ("ok", "BAD_FIELD_MODIFIER 24", "ok")),
        ("hist:keys=common_comm", ("FIELD_NOT_FOUND 10", "FIELD_NOT_FOUND 10", "ok")),
        ("hist:keys=next_pid:nohitcount", ("refused", "NEED_NOHC_VAL 0", "NEED_NOHC_VAL 0")),
        ("hist:keys=next_pid:vals=hitcount,hitcount,hitcount", ("ok", "ok", "ok")),
        ("hist:keys=next_pid if next_pid > x", ("refused", "INVALID_VALUE 12", "INVALID_VALUE 12")),
    ],
)
def test_kernels_differ(command: str, answers: tuple[str, ...]) -> None:
    assert tuple(_answer(name, command) for name in KERNELS) == answers
