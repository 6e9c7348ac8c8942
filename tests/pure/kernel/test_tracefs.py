"""Files of tracefs, as kernels wrote them."""

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.errors import FileRefused
from kernel.session.rejection import rejection_error
from kernel.tracefs import (
    CpuStats,
    DynamicEvent,
    Profile,
    Tracefs,
    match_profile,
    parse_dynamic_events,
    parse_error_log,
    parse_stats,
)
from tests.fake_target import ROOT, FakeTarget

LOG = """\
[    3.080817] hist:sched:sched_switch: error: Invalid field modifier
  Command: hist:keys=common_pid.execname:vals=prev_pid.percent,hitcount.graph
                                              ^
[    4.757248] event filter parse error: error: Field not found
  Command: foo > 1
               ^
[  225.021311] trace_fprobe: error: This field is not found.
  Command: f:pw/x vfs_read file->f_poss count
                                 ^
"""


def test_error_log():
    hist, filtered, probe = parse_error_log(LOG)
    assert (hist.location, hist.message) == ("hist:sched:sched_switch", "Invalid field modifier")
    assert hist.column is not None
    assert hist.command[hist.column :] == "prev_pid.percent,hitcount.graph"
    assert (filtered.location, filtered.command, filtered.column) == ("event filter parse error", "foo > 1", 4)
    assert probe.column is not None
    assert probe.command[probe.column :] == "f_poss count"
    assert parse_error_log("") == []


def test_a_caret_far_outside_is_no_column():
    # Linux 7.2 and older leave 16 bits of the caret to chance.
    far = LOG.replace("\n" + " " * 33 + "^", "\n" + " " * 60_000 + "^")
    assert parse_error_log(far)[2].column is None
    assert [entry.column for entry in parse_error_log(far)[:2]] == [35, 4]


def test_a_filter_may_hold_newlines():
    (entry,) = parse_error_log(
        "[  1.0] event filter parse error: error: Field not found\n  Command: a > 1\n|| b\n   ^\n"
    )
    assert entry.command == "a > 1\n|| b"


@given(st.text(max_size=300))
def test_any_error_log_is_read(text):
    for entry in parse_error_log("[    1.000000] x: error: y\n" + text):
        assert entry.column is None or 0 <= entry.column <= len(entry.command) + 1


def test_the_refusal_of_a_line_is_its_own_entry():
    error = FileRefused("dynamic_events", errno.EINVAL)
    log = parse_error_log(LOG)
    refusal = rejection_error("f:pw/x  vfs_read \t file->f_poss count # why", error, log).verdict.error
    assert refusal is not None
    assert (refusal.code, refusal.column, refusal.token) == ("NO_BTF_FIELD", 22, "f_poss")
    refusal = rejection_error("foo > 1", error, log).verdict.error
    assert refusal is not None
    assert (refusal.code, refusal.column, refusal.token) == ("FIELD_NOT_FOUND", 4, "foo")
    other = rejection_error("f:pw/y vfs_read", FileRefused("dynamic_events", errno.E2BIG), log).verdict
    assert other.error is not None
    assert (other.error.code, other.error.column) == ("refused", None)
    assert "E2BIG" in other.error.message
    assert "too many arguments" in other.error.hint


def test_dynamic_events():
    text = """p:kprobes/k1 vfs_read file=file buf=buf
r10:kprobes/k2 vfs_read ret=$retval
f:fprobes/f1 vfs_read%return
#  fetch: a comment of Linux 7.3
p:uprobes/u1 /bin/busybox:0x0000000000000010
e:eprobes/e1 sched.sched_switch prev=$prev_comm:string
s:synthetic/lat\tu64 lat
u:some_user_event u32 x
"""
    assert parse_dynamic_events(text)[:3] == [
        DynamicEvent("p", "kprobes", "k1", "vfs_read"),
        DynamicEvent("r", "kprobes", "k2", "vfs_read"),
        DynamicEvent("f", "fprobes", "f1", "vfs_read%return"),
    ]
    assert [event.kind for event in parse_dynamic_events(text)] == ["p", "r", "f", "p", "e", "s"]


PROFILE = """\
  k1                                                         2               0
  k1                                                         5               3
  k2                                                         7               1
"""


def test_profile_lines_get_their_groups_by_order():
    events = parse_dynamic_events(
        "p:mine/k1 vfs_read\nf:mine/f vfs_read\np:theirs/k1 vfs_write\np:uprobes/k2 /bin/sh:0x10\nr4:mine/k2 vfs_x\n"
    )
    assert match_profile(PROFILE, events) == {
        "mine/k1": Profile(2, 0),
        "theirs/k1": Profile(5, 3),
        "mine/k2": Profile(7, 1),
    }


def test_profile_of_several_probes_of_one_event_is_their_sum():
    events = parse_dynamic_events("p:mine/k1 vfs_read\np:mine/k1 vfs_write\nr4:mine/k2 vfs_read\n")
    assert match_profile(PROFILE, events)["mine/k1"] == Profile(7, 3)


def test_profile_that_does_not_fit_guesses_nothing():
    events = parse_dynamic_events(
        "p:mine/k1 vfs_read\np:theirs/k1 vfs_write\nr4:mine/k2 vfs_read\np:new/n vfs_open\n"
    )
    assert match_profile(PROFILE.replace("  k1", "  gone", 1), events) == {"mine/k2": Profile(7, 1)}


def test_stats():
    text = "entries: 883\noverrun: 18767\ncommit overrun: 1\nbytes: 17660\noldest event ts:   204.58\n"
    assert parse_stats(text + "dropped events: 2\nread events: 5\n") == CpuStats(883, 18767, 3, 5)
    assert parse_stats("") == CpuStats(0, 0, 0, 0)


def test_steps_leave_other_hist_triggers_alone():
    instance = Tracefs(FakeTarget(), ROOT).instance("x")
    assert instance.trigger("g/e", "!stacktrace").effect == "append"
    assert instance.filter("g/e", "a > 1").effect == "write"


@pytest.mark.parametrize("name", ["saved_cmdlines", "instances"])
def test_what_is_not_there(name):
    target = FakeTarget()
    target.files.pop(f"{ROOT}/saved_cmdlines")
    target.folders.discard(f"{ROOT}/instances")
    tracefs = Tracefs(target, ROOT)
    if name == "instances":
        assert list(tracefs.instances()) == []
    else:
        with pytest.raises(FileRefused):
            tracefs.saved_cmdlines()
