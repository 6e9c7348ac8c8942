"""Filters and triggers of a plan get the kernel's verdict before anything is written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probes.check import check_plan
from probes.facts.lookups import UNKNOWN
from probes.lowering.check_planned import trigger_refusal
from probes.lowering.lower import lower
from probes.refusal import CannotLower
from probes.syntax.parse import parse_probe
from tests.probes_data import KERNELS, environment, kernel


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        ("f vfs_read count if count > lots", "INVALID_VALUE", "lots"),
        ("f vfs_read%both count $retval if count > 1 && count < x", "INVALID_VALUE", "x"),
        ('f vfs_read count if count ~ "a*"', "EXPECT_DIGIT", '"a*"'),
        ("f vfs_read n=file->f_path.dentry->d_name.name:string if n == 3", "EXPECT_STRING", "3"),
        ("f vfs_read count if (count > 1", "TOO_MANY_OPEN", "(count > 1"),
    ],
)
def test_wrong_filter_is_seen_while_typing(name: str, text: str, code: str, at: str) -> None:
    btf, facts, _ = kernel(name)
    verdict = check_plan(text, btf, facts, "", environment(name)).verdict
    assert verdict.error is not None
    assert verdict.error.code == code
    assert verdict.command[verdict.error.column :] == at


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(
    "text",
    [
        "f vfs_read count if count > 4096 && common_pid != 1",
        'f vfs_read n=file->f_path.dentry->d_name.name:string if n ~ "a*"',
        "f vfs_read count file->f_pos if f_pos >= 0x10 || __probe_ip == 1",
    ],
)
def test_right_filter_stays(name: str, text: str) -> None:
    btf, facts, _ = kernel(name)
    checked = check_plan(text, btf, facts, "", environment(name))
    assert checked.verdict.ok, checked.verdict
    assert checked.plan is not None
    assert checked.plan.events[0].filter


@pytest.mark.parametrize(
    ("word", "near"),
    [("O_CRAET", "O_CREAT"), ("o_creat", "O_CREAT"), ("TRUNC", "O_TRUNC"), ("xyz", ""), ("ENOENT", "")],
)
def test_a_mistyped_name_is_told_which_names_its_field_takes(word: str, near: str) -> None:
    btf, facts, _ = kernel("7.2")
    text = f"f vfs_read file->f_flags count if count > 1 && f_flags & {word}"
    error = check_plan(text, btf, facts, "", environment("7.2")).verdict.error
    assert error is not None and error.code == "INVALID_VALUE" and error.token == word
    assert error.nearest[:1] == ((near,) if near else ())
    if word == "ENOENT":
        assert error.hint == "An error is below 0: -ENOENT"
    else:
        assert error.hint.startswith("f_flags takes a number or a name: O_RDONLY, O_WRONLY")


@pytest.mark.parametrize("name", KERNELS)
def test_triggers_are_judged_on_the_fields_that_will_be_there(name: str) -> None:
    btf, facts, _ = kernel(name)
    probe = parse_probe("f vfs_read count")
    for trigger in (
        "stacktrace:3",
        "hist:keys=common_pid.execname:vals=count:sort=count if count > 1",
        "traceoff if count > 9",
    ):
        plan = lower(replace(probe, triggers=(trigger,)), btf, facts, "", environment=environment(name))
        assert plan.events[0].triggers == (trigger,)
    for trigger, code in (
        ("hist:keys=cuont", "FIELD_NOT_FOUND"),
        ("hist:keys=count:vals=common_pid.log2", "BAD_FIELD_MODIFIER"),
        ("traceoff:often", "refused_without_message"),
        ("enable_event:sched:no_such_event", "refused_without_message"),
    ):
        with pytest.raises(CannotLower) as caught:
            lower(replace(probe, triggers=(trigger,)), btf, facts, "", environment=environment(name))
        assert caught.value.refusal.code == code
        assert caught.value.refusal.token == trigger
        assert caught.value.refusal.hint


@pytest.mark.parametrize(
    ("trigger", "code", "under"),
    [
        ("hist:keys=cuont", "FIELD_NOT_FOUND", "cuont"),
        ("hist:keys=count if cuont > 5", "FIELD_NOT_FOUND", "cuont"),
        ("hist:keys=count if count = 5", "INVALID_OP", "= 5"),
        ("stacktrace if cuont > 5", "FIELD_NOT_FOUND", "cuont"),
    ],
)
def test_the_column_of_a_trigger_is_in_the_trigger(trigger: str, code: str, under: str) -> None:
    btf, facts, _ = kernel("7.2")
    plan = lower(parse_probe("f vfs_read count"), btf, facts, "pw_1")
    error = trigger_refusal(plan.events[0], trigger, btf, facts, UNKNOWN)
    assert error is not None
    assert (error.code, error.column) == (code, trigger.rindex(under))


def test_the_fields_there_are_are_told_where_none_is_near() -> None:
    btf, facts, _ = kernel("7.2")
    plan = lower(parse_probe("f vfs_read count file->f_pos"), btf, facts, "pw_1")
    error = trigger_refusal(plan.events[0], "hist:keys=zzz", btf, facts, UNKNOWN)
    assert error is not None
    assert error.hint.startswith("The event has no field of this name: there are count, f_pos")
