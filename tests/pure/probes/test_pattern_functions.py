"""The function of a pattern's events: a column of the plan, and an address in the kernel's own words."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from probes.check import check_typed
from probes.facts.lookups import UNKNOWN, SymbolCount
from probes.hist.kept import FIRST_NAMES, INNERMOST, LATENCY, NO_IDLE, notes_on, plan_histograms, untimed_patterns
from probes.lowering.check_planned import lowered_trigger, trigger_refusal
from probes.lowering.filters.field_names import renamed
from probes.plans.json_values import plan_from_dict, plan_to_dict
from probes.plans.plan import Plan
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
    assert (verdict.error.code, verdict.error.hint) == ("INVALID_OP", "A function is compared by == or !=")


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
    assert list(notes_on(one.watched)) == [NO_IDLE, INNERMOST, FIRST_NAMES]
    entries = plan_histograms(planned("f vfs_read*", "7.2"), "pw_1_a__1_x", "mono")
    assert list(notes_on(entries.watched)) == [FIRST_NAMES]
