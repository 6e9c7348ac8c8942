"""Events of the kernel as they are, and the time from one to another: read, printed, lowered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probes.check import check_plan
from probes.command import parse_armable
from probes.facts.facts import Feature
from probes.facts.lookups import Environment, StaticEventField
from probes.probe import Probe
from probes.static_events import Latency, LatencyKey, StaticEvent
from probes.syntax.parse_error import ParseError
from tests.probes_data import kernel

EVENTS = {
    ("block", "block_rq_issue"): (
        StaticEventField("dev", "dev_t", 4),
        StaticEventField("sector", "sector_t", 8),
        StaticEventField("rwbs", "char[8]", 8),
        StaticEventField("comm", "__data_loc char[]", 4),
    ),
    ("block", "block_rq_complete"): (StaticEventField("dev", "dev_t", 4), StaticEventField("sector", "sector_t", 8)),
    ("raw_syscalls", "sys_exit"): (StaticEventField("id", "long", 8, True), StaticEventField("ret", "long", 8, True)),
    ("block", "other"): (StaticEventField("ret", "long", 8, True),),
}


def facts(name):
    """What its files say beside its README: it can measure."""
    found = kernel(name).facts
    return replace(found, features=found.features | {Feature.SYNTHETIC_EVENTS, Feature.HIST_TRIGGERS})


AROUND = Environment(event=lambda group, name: EVENTS.get((group, name)))


@pytest.mark.parametrize(
    "text",
    [
        "on tcp/tcp_retransmit_skb",
        'on block/block_rq_issue if dev == 8388608 && rwbs ~ "*R*"',
        'lat:io sched/sched_wakeup to sched/sched_switch by pid=next_pid with next_comm if next_comm == "a  b"',
        "lat:io block/block_rq_issue to block/block_rq_complete by dev,sector",
        "lat:io sched/sched_wakeup to sched/sched_switch by pid=next_pid with next_comm,prev_comm if lat > 1000",
        "lat:o {f do_sys_openat2 filename:ustring} to {f do_sys_openat2%return $retval:s64} by common_pid with ret",
    ],
)
def test_text_is_the_same_again(text):
    assert str(parse_armable(text)) == text


def test_what_they_are():
    assert parse_armable("on  tcp.x if a > 1") == StaticEvent("tcp/x", "a > 1")
    read = parse_armable("lat:n a/b to {f c d} by x=y,z with q if lat > 3")
    assert read == Latency("n", "a/b", "f c d", (LatencyKey("x", "y"), LatencyKey("z", "z")), ("q",), "lat > 3")
    assert isinstance(parse_armable("f on"), Probe)  # the words are heads only


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("on", 2),
        ("on x", 3),
        ("on a/b count", 7),
        ("lat:n a/b to c/d", 0),
        ("lat a/b to c/d by x", 4),
        ("lat:n a/b to c/d by x,1y", 20),
        ("lat:n a/b to c/d by x if", 22),
        ("lat:n a/b to c/d by w,x,y,z", 20),
    ],
)
def test_what_can_not_be_read_says_where(text, column):
    with pytest.raises(ParseError) as caught:
        parse_armable(text)
    assert caught.value.refusal.column == column


def test_an_event_as_it_is_has_no_line_and_its_filter_is_checked():
    checked = check_plan("on block/block_rq_issue if dev == 1", None, facts("7.2"), "g", AROUND)
    assert checked.plan is not None and checked.plan.lines == ()
    (event,) = checked.plan.events
    assert (event.path, event.line, event.remove, event.filter, event.recorded) == (
        *("block/block_rq_issue", "", "", "dev == 1"),
        True,
    )
    refused = check_plan("on block/block_rq_issue if dve == 1", None, facts("7.2"), "g", AROUND).verdict.error
    assert refused is not None and refused.code == "FIELD_NOT_FOUND" and refused.nearest == ("dev",)
    missing = check_plan("on block/none", None, facts("7.2"), "g", AROUND).verdict.error
    assert missing is not None and missing.code == "BAD_ATTACH_EVENT"


def test_a_time_between_events_is_a_synthetic_event_and_two_triggers():
    text = "lat:io block/block_rq_issue to block/block_rq_complete by dev,sector with rwbs,comm if lat > 5"
    plan = check_plan(text, None, facts("6.1"), "pw_1", AROUND).plan
    assert plan is not None
    made, begin, end = plan.events
    assert made.line == "s:pw_1__io u64 lat; u32 dev; u64 sector; char rwbs[8]; char comm[]"
    assert (made.filter, made.recorded, begin.recorded, end.recorded) == ("lat > 5", True, False, False)
    assert begin.triggers == (
        "hist:keys=dev,sector:io_t0=common_timestamp,io_rwbs=rwbs,io_comm=comm:clock=mono:size=16384",
    )
    assert end.triggers == (
        "hist:keys=dev,sector:io_lat=common_timestamp-$io_t0:clock=mono:size=16384"
        ":onmatch(block.block_rq_issue).pw_1__io($io_lat,dev,sector,$io_rwbs,$io_comm)",
    )


def test_ends_may_be_probes_and_one_that_takes_two_events_is_refused():
    text = "lat:hold {f vfs_read%return file:x64} to {f vfs_write file:x64} by file if lat > 5"
    plan = check_plan(text, kernel("7.2").btf, facts("7.2"), "pw_1", AROUND).plan
    assert plan is not None
    assert [event.path for event in plan.events] == ["synthetic/pw_1__hold", "pw_1/hold_begin", "pw_1/hold_end"]
    assert plan.events[0].line == "s:pw_1__hold u64 lat; u64 file"
    refused = check_plan(text, kernel("6.1").btf, facts("6.1"), "pw_1", AROUND).verdict.error
    assert refused is not None and "arguments at the entry only" in refused.hint


def test_the_condition_of_an_end_is_that_of_its_trigger():
    """The filter of an event holds for no trigger (event_triggers_call in kernel/trace/trace_events_trigger.c)."""
    text = "lat:x {f vfs_read count if count > 9} to {f vfs_read%return $retval if ret < 0} by common_pid"
    plan = check_plan(text, kernel("7.2").btf, facts("7.2"), "pw_1", AROUND).plan
    assert plan is not None
    _, begin, end = plan.events
    assert (begin.filter, end.filter) == ("", "")
    assert begin.triggers == ("hist:keys=common_pid:x_t0=common_timestamp:clock=mono:size=16384 if count > 9",)
    assert end.triggers[0].endswith("onmatch(pw_1.x_begin).pw_1__x($x_lat) if ret < 0")


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("x=$comm y=file:%pD z=+0(buf):char", "char x[]; char y[]; u8 z"),
        ("x=count:b4@0/32 y=pos:symbol", "u32 x; u64 y"),
        ("x=count:x16 y=count:s8 file->f_flags", "u16 x; s8 y; u32 f_flags"),
    ],
)
@pytest.mark.parametrize("name", ["6.1", "7.2"])
def test_fields_of_a_probe_have_the_types_that_the_kernel_gives_them(name, words, fields):
    """Of another type the synthetic event would be refused when it is armed (check_synth_field)."""
    wanted = ",".join(field.split()[-1].removesuffix("[]") for field in fields.split("; "))
    text = f"lat:hold {{f vfs_read {words}}} to {{f vfs_write count}} by common_pid with {wanted}"
    checked = check_plan(text, kernel(name).btf, facts(name), "pw_1", AROUND)
    assert checked.plan is not None, checked.verdict.error
    assert checked.plan.events[0].line == f"s:pw_1__hold u64 lat; {fields}"


def test_a_name_of_one_letter_is_handed_on_by_a_variable_only():
    text = "lat:hold {f vfs_read x=count} to {f vfs_write y=count} by common_pid with "
    assert check_plan(text + "x", kernel("7.2").btf, facts("7.2"), "pw_1", AROUND).verdict.ok
    error = check_plan(text + "y", kernel("7.2").btf, facts("7.2"), "pw_1", AROUND).verdict.error
    assert error is not None and "one letter" in error.hint and error.column == len(text)


@pytest.mark.parametrize("word", ["by dve", "by dev with rbws"])
def test_a_field_that_is_not_there_is_named_with_what_is(word):
    text = f"lat:io block/block_rq_issue to block/block_rq_complete {word}"
    error = check_plan(text, None, facts("7.2"), "g", AROUND).verdict.error
    assert error is not None and error.nearest[0] in ("dev", "rwbs") and error.token == word.split()[-1]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("on raw_syscalls/sys_exit if ret < 0", ["ret"]),
        ("on block/other", []),
        ("lat:x {f vfs_read count} to raw_syscalls/sys_exit by common_pid with count,id,ret", ["ret"]),
        ("lat:x {f vfs_read count} to {f vfs_read%return $retval} by common_pid with count,ret", ["ret"]),
        ("lat:x {f vfs_read%return $retval} to {f vfs_write ret=count} by common_pid with ret", []),
        ("lat:x {f vfs_read%return old=$retval} to {f vfs_write count} by common_pid with old,count", ["old"]),
    ],
)
def test_what_a_call_returned_is_known_for_that_and_an_error_has_its_name(text, named):
    plan = check_plan(text, kernel("7.2").btf, facts("7.2"), "pw_1", AROUND).plan
    assert plan is not None
    assert [column.name for column in plan.events[0].columns if column.is_retval] == named
