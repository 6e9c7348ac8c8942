"""The function of a pattern's events: a column of the plan, and an address in the kernel's own words."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from probes.check import check_typed
from probes.corrections.corrections import corrected
from probes.facts.lookups import UNKNOWN, SymbolCount
from probes.hist.kept import (
    FIRST_NAMES,
    INNERMOST,
    LATENCY,
    NO_IDLE,
    ONE_AFTER_ANOTHER,
    notes_on,
    plan_histograms,
    untimed_patterns,
)
from probes.lowering.check_planned import lowered_trigger, trigger_refusal
from probes.lowering.filters.field_names import renamed
from probes.plans.json_values import plan_from_dict, plan_to_dict
from probes.plans.plan import Plan
from probes.remedies import FILTER_SHOWN
from probes.verdict import Verdict
from tests.probes_data import KERNELS, environment, kernel


def checked(text: str, name: str) -> tuple[Verdict, Plan | None]:
    btf, facts, _ = kernel(name)
    found = check_typed(text, btf, facts, "", environment(name))
    return found.verdict, found.plan


def planned(text: str, name: str) -> Plan:
    verdict, plan = checked(text, name)
    assert plan is not None, verdict
    return plan


@pytest.mark.parametrize("name", KERNELS)
def test_each_event_of_a_pattern_has_the_function_first(name: str) -> None:
    plan = planned("f vfs_read*%both $retval", name)
    assert [(event.at_exit, event.function_field, event.function_address) for event in plan.events] == [
        (False, "func", "__probe_ip"),
        (True, "func", "__probe_func"),
    ]
    for event in plan.events:
        assert [column.functions for column in event.columns if column.functions] == ["vfs_read*"]
        assert event.columns[0].functions
        assert not any("func" in line.split()[2:] for line in event.lines), "it is no fetcharg"
    assert plan_from_dict(json.loads(json.dumps(plan_to_dict(plan)))) == plan


def test_a_recorded_pattern_has_a_bound() -> None:
    plain = json.loads(json.dumps(plan_to_dict(planned("f vfs_read*", "7.2"))))
    plain["events"][0]["columns"][0]["functions"] = "[" * 10_000
    with pytest.raises(ValueError, match="a pattern of functions that is too long"):
        plan_from_dict(plain)


@pytest.mark.parametrize("text", ["f vfs_read%both", "p vfs_read", "t sched_switch prev", "p vfs_read+4"])
def test_one_function_needs_no_name(text: str) -> None:
    assert not any(event.function_field for event in planned(text, "7.2").events)


def test_a_fetcharg_of_that_name_is_left_alone() -> None:
    (event,) = planned("f vfs_read* func=$arg1", "7.2").events
    assert [(column.name, column.label, bool(column.functions)) for column in event.columns] == [
        ("func_2", "func", True),
        ("func", "$arg1", False),
    ]


def test_a_filter_compares_the_address() -> None:
    plan = planned("f vfs_read*%both $retval if func == vfs_read && common_pid > 1", "7.2")
    entry, leave = plan.events
    assert entry.filter == "__probe_ip.function == vfs_read && common_pid > 1"
    assert leave.filter == "__probe_func.function == vfs_read && common_pid > 1"


@pytest.mark.parametrize(
    "text", ["f vfs_read*%both if func == vfs_read", "f vfs_read* if common_pid > 1 && func != a"]
)
def test_where_the_kernel_compares_no_functions_the_caret_is_there(text: str) -> None:
    verdict, plan = checked(text, "6.1")
    assert plan is None and verdict.error is not None
    assert (verdict.error.code, verdict.error.token) == ("no_function_filter", "func")
    assert verdict.error.column == text.index("func")
    assert "--filter" in verdict.error.hint


@pytest.mark.parametrize("operator", ["==", "!="])
@pytest.mark.parametrize(("word", "code"), [("id_show", "ambiguous_function"), ("vfs_read", "")])
def test_a_name_of_several_functions_is_compared_by_no_filter_of_the_kernel(
    word: str, operator: str, code: str
) -> None:
    """The kernel takes the first function of the name (kallsyms_lookup_name)."""
    btf, facts, _ = kernel("7.2")
    condition = f"func {operator} {word}"
    text = f"f *_{word.partition('_')[2]}* if common_pid > 1 && {condition}"
    error = check_typed(text, btf, facts, "", UNKNOWN).verdict.error
    assert (error.code if error else "") == code
    assert error is None or (text[error.column :] == word and "6 symbols" in error.hint and "--filter" in error.hint)
    plan = planned("f *_show*", "7.2")
    trigger = lowered_trigger(plan.events[0], f"stacktrace if {condition}", btf, facts, UNKNOWN)
    refusal = trigger_refusal(plan.events[0], trigger, btf, facts, UNKNOWN)
    assert (refusal.code if refusal else "") == code
    assert refusal is None or trigger[refusal.column :] == word


@pytest.mark.parametrize("counts", [SymbolCount(2), SymbolCount(1, 1), SymbolCount(1), SymbolCount(0, 1)])
def test_symbols_that_no_tracer_lists_have_the_name_too(counts: SymbolCount) -> None:
    btf, facts, _ = kernel("7.2")
    around = replace(environment("7.2"), symbol=lambda _: counts)
    error = check_typed("f vfs_read* if func == vfs_read", btf, facts, "", around).verdict.error
    assert (error.code if error else "") == ("ambiguous_function" if counts.kernel + counts.modules > 1 else "")


def test_functions_of_a_pattern_are_counted_not_their_names() -> None:
    assert planned("f id_sho*", "7.2").losses == ("id_sho*: 6 functions are probed",)


def test_another_operator_is_refused_with_those_that_work() -> None:
    verdict, plan = checked('f vfs_read* if func ~ "vfs*"', "7.2")
    assert plan is None and verdict.error is not None
    assert (verdict.error.code, verdict.error.token) == ("INVALID_OP", "~")
    assert verdict.error.hint == (
        f"A function is compared by == or !=; a narrower pattern than vfs_read* takes fewer; {FILTER_SHOWN}"
    )


@pytest.mark.parametrize(
    ("condition", "nearest"), [("func == vfs_raed", "vfs_read"), ("func != vfs_reed", "vfs_read")]
)
def test_a_function_that_the_pattern_lacks_is_refused_with_those_like_it(condition: str, nearest: str) -> None:
    text = f"f vfs_r* if common_pid > 1 && {condition}"
    error = checked(text, "7.2")[0].error
    assert error is not None and (error.code, error.nearest[0]) == ("not_of_pattern", nearest)
    assert text[error.column :] == error.token and "none of the 2 functions of vfs_r*" in error.hint
    assert checked(text.replace(error.token, nearest), "7.2")[0].ok


@pytest.mark.parametrize("name", KERNELS)
def test_an_argument_of_a_pattern_is_refused_with_the_functions_that_lack_it(name: str) -> None:
    error = checked("f vfs_r* file->f_inode", name)[0].error
    assert error is not None and (error.code, error.nearest) == ("NO_BTF_ENTRY", ())
    assert re.match(r"file->f_inode is not in 1 of [23] functions: vfs_rename; ", error.hint)
    assert error.hint.endswith("; on vfs_read itself it can be named")


def test_an_argument_that_all_functions_have_at_one_place_is_put_right() -> None:
    btf, facts, _ = kernel("7.2")
    text = "f vfs_rea[d] count file->f_path:%pd"
    verdict = checked(text, "7.2")[0]
    right = corrected(text, verdict, lambda other: check_typed(other, btf, facts).verdict)
    assert right == "f vfs_rea[d] count=$arg3:u64 f_path=+0(+40(+64($arg1))):string"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("f vfs_* file", "; file=$arg2:x64 in 1: vfs_open; file=$arg1:x64 on a pattern of those that have it: vfs_"),
        ("f vfs_* nosuch", "None of the "),
        ("f vfs_* +0(file)", "+0(file) is not in "),
        ("f *_* file", "The functions of a pattern have different arguments; $arg1, "),
        ("f vfs_* if count > 4096", "count=$arg3:u64 on a pattern of those that have it: vfs_read, vfs_write"),
        ("p vfs_r* file", "file is not in 1 of 2 functions: vfs_rename; on vfs_read itself it can be named"),
    ],
)
def test_names_on_patterns_have_a_way_out(text: str, hint: str) -> None:
    error = checked(text, "7.2")[0].error
    assert error is not None and hint in error.hint, error
    assert "No such function" not in error.hint


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            "f vfs_read if count > 4096",
            "count is an argument of vfs_read: write count behind the function to record it",
        ),
        ("f vfs_read if f_mode > 3", "f_mode may be file->f_mode: write that behind the function to record it"),
        ("f vfs_read if file->f_mode > 3", "not paths: file->f_mode behind the function is recorded as f_mode"),
        ("f vfs_read if ret < 0", "ret may be what vfs_read returns: write $retval behind the function"),
        ("f vfs_read if $retval < 0", "A filter names fields: $retval behind the function is recorded as ret"),
        ("f vfs_read if $arg3 > 0", "A filter names fields: $arg3 behind the function is recorded as arg3"),
        ("f vfs_read if func == a", "func is a field of patterns, such as vfs_*: this probe is on vfs_read alone"),
        ("f vfs_read if latency > 4", f"No event records latency; {FILTER_SHOWN}"),
        ("f vfs_read if foo > 4", "vfs_read has no argument foo: file, buf, count, pos"),
        (
            "t sched_switch if prev == 1",
            "prev is an argument of sched_switch: write prev behind the tracepoint to record it",
        ),
    ],
)
def test_a_field_that_is_not_recorded_has_the_fetcharg_that_records_it(text: str, hint: str) -> None:
    error = checked(text, "7.2")[0].error
    assert error is not None and error.code == "unknown_filter_field" and hint in error.hint, error


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("f vfs_read if count > 4096", "f vfs_read count if count > 4096"),
        ("f vfs_read if file->f_mode > 3", "f vfs_read file->f_mode if f_mode > 3"),
        ("f vfs_read if $retval < 0", "f vfs_read $retval if ret < 0"),
        ("f vfs_read if $arg3 > 3", "f vfs_read $arg3 if arg3 > 3"),
    ],
)
def test_a_field_that_is_not_recorded_is_put_right(text: str, right: str) -> None:
    btf, facts, _ = kernel("7.2")
    judged = lambda other: check_typed(other, btf, facts).verdict  # noqa: E731
    assert corrected(text, judged(text), judged) == right


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("func == a", "X.function == a"),
        ("func.function == a", "X.function == a"),
        (
            'func==a && comm ~ "func == *" || !(func != b)',
            'X.function==a && comm ~ "func == *" || !(X.function != b)',
        ),
        ("functor == func", "functor == func"),
        ("", ""),
    ],
)
def test_a_field_is_renamed_where_it_is_one(text: str, result: str) -> None:
    assert renamed(text, "func", "X.function") == result


def test_the_kernel_counts_by_the_address() -> None:
    plan = planned("f vfs_read*%both $retval", "7.2")
    fields = tuple((event.path, "func") for event in plan.events)
    counted = plan_histograms(plan, "pw_1_a__1_x", "mono", fields)
    keys = {one.event.at_exit: one.trigger for one in counted.watched if one.value == "func"}
    assert ":keys=__probe_ip:" in keys[False] and ":keys=__probe_func:" in keys[True]


def test_calls_of_several_functions_are_not_timed_in_the_kernel_and_that_is_told() -> None:
    """By thread, a call within another would end the other's time, and have the name of all."""
    made = plan_histograms(planned("f vfs_read*%both", "7.2"), "pw_1_a__1_x", "mono")
    assert made.synthetic is None and made.timing == () and all(one.value != LATENCY for one in made.watched)
    assert untimed_patterns(made.watched) == ["vfs_read*"]
    notes = list(notes_on(made.watched))
    assert notes[0].startswith("vfs_read*: calls of several functions are not timed") and NO_IDLE not in notes
    one = plan_histograms(planned("f vfs_read%both", "7.2"), "pw_1_a__1_x", "mono")
    assert one.synthetic is not None and untimed_patterns(one.watched) == []
    assert list(notes_on(one.watched)) == [NO_IDLE, INNERMOST, FIRST_NAMES, ONE_AFTER_ANOTHER]
    entries = plan_histograms(planned("f vfs_read*", "7.2"), "pw_1_a__1_x", "mono")
    assert list(notes_on(entries.watched)) == [FIRST_NAMES]
