"""Examples of triggers are those that a kernel takes on the events of the probe."""

from __future__ import annotations

import pytest

from probes.check import check_plan
from probes.command import parse_armable
from probes.facts.lookups import UNKNOWN
from probes.lowering.check_planned import lowered_trigger, trigger_refusal
from probes.plans.plan import Plan
from probes.plans.trigger_examples import trigger_examples
from tests.probes_data import KERNELS, environment, kernel


def examples(text: str, name: str) -> tuple[str, ...]:
    btf, facts, _ = kernel(name)
    plan = check_plan(parse_armable(text), btf, facts, "", environment(name)).plan
    assert isinstance(plan, Plan)

    def accepts(trigger: str) -> bool:
        around = environment(name)
        texts = [(event, lowered_trigger(event, trigger, btf, facts, around)) for event in plan.events]
        return any(trigger_refusal(event, one, btf, facts, around) is None for event, one in texts)

    return trigger_examples(plan, accepts)


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("p vfs_read", ("traceoff:1", "hist:keys=common_pid")),
        ("p vfs_read $comm", ("traceoff:1", "hist:keys=common_pid")),
        ("p vfs_read a=%di", ("traceoff:1", "hist:keys=common_pid:vals=a")),
        ("r vfs_read $retval", ("traceoff:1 if ret < 0", "hist:keys=common_pid:vals=ret")),
        ("f vfs_r*", ("traceoff:1", "hist:keys=common_pid")),
    ],
)
@pytest.mark.parametrize("name", KERNELS)
def test_fields_in_examples_are_recorded(name: str, text: str, last: tuple[str, ...]) -> None:
    found = examples(text, name)
    assert found[0] == "stacktrace" and (found[1], found[-1]) == last


def test_a_probe_that_takes_none_has_no_example() -> None:
    btf, facts, _ = kernel("7.2")
    plan = check_plan("f vfs_read count", btf, facts).plan
    assert plan is not None and trigger_examples(plan, lambda _: False) == ()


@pytest.mark.parametrize(
    ("trigger", "code"), [("hist:keys=nosuch", "FIELD_NOT_FOUND"), ("hist:keys=prev_pid", ""), ("stacktrace", "")]
)
def test_a_trigger_on_an_event_of_the_kernel_is_judged_by_its_fields(trigger: str, code: str) -> None:
    btf, facts, _ = kernel("7.2")
    around = environment("7.2")
    plan = check_plan(parse_armable("on sched/sched_switch"), btf, facts, "", around).plan
    assert plan is not None and not plan.events[0].lines
    error = trigger_refusal(plan.events[0], trigger, btf, facts, around)
    assert (error.code if error else "") == code
    assert trigger_refusal(plan.events[0], trigger, btf, facts, UNKNOWN) is None, "nothing is known of its fields"
