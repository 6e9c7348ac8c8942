"""A filter says the same to a person and to the kernel, or is refused: numbers, patterns, names of values."""

from __future__ import annotations

import operator
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.names.glob import Glob
from probes.check import check_plan, check_typed
from probes.facts.lookups import UNKNOWN, StaticEventField
from probes.lowering.check_planned import lowered_trigger, trigger_refusal
from probes.lowering.filters.field_names import names_in
from probes.lowering.filters.filter_words import kernel_filter, written_column
from probes.rules.events.filter_meaning import constant_notes, kernel_pattern, misread
from probes.rules.events.predicate import Predicate
from tests.probes_data import KERNELS, environment, kernel

OPERATORS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "&": lambda value, bits: value & bits != 0,
}  # fmt: skip
WIDTHS = st.sampled_from([8, 16, 32, 64])
EDGES = st.sampled_from([0, 7, 8, 15, 16, 31, 32, 63]).map(lambda bit: 1 << bit)
STEPS, SIGNS = st.integers(-2, 2), st.sampled_from((1, -1))
NUMBERS = st.one_of(
    st.builds(lambda edge, step, sign: sign * edge + step, EDGES, STEPS, SIGNS), st.integers(-300, 300)
)


def cut(number: int, bits: int, signed: bool) -> int:
    """What the kernel makes of a number."""
    low = number & (1 << bits) - 1
    return low - (1 << bits) if signed and low >> bits - 1 else low


@given(WIDTHS, st.booleans(), st.sampled_from(sorted(OPERATORS)), NUMBERS, st.lists(NUMBERS, min_size=1))
def test_a_number_that_is_taken_is_compared_as_it_is_written(bits, signed, sign, number, values):
    field = StaticEventField("x", f"{'s' if signed else 'u'}{bits}", bits // 8, signed)
    refusal = misread([Predicate(field, sign, str(number), 5)])
    there = [cut(value, bits, signed) for value in values]
    if refusal is None:
        compare = OPERATORS[sign]
        assert [compare(value, cut(number, bits, signed)) for value in there] == [
            compare(value, number) for value in there
        ]
        return
    assert refusal.column == 5
    assert cut(number, bits, signed) != number
    better = re.search(r"record it as ([su])(\d+)$", refusal.hint)
    if better is not None:
        signed, bits = better[1] == "s", int(better[2])
        assert cut(number, bits, signed) == number


@given(st.sampled_from([1, 3, 7, 8]), st.booleans(), st.sampled_from(sorted(OPERATORS)), st.integers(-300, 300))
def test_a_comparison_that_holds_never_or_always_is_told(bits, signed, sign, number):
    signed = signed and bits == 8
    field = StaticEventField("x", f"{'s' if signed else 'u'}8", 1, signed, bits=bits % 8)
    held = {OPERATORS[sign](value, number) for value in (range(-128, 128) if signed else range(1 << bits))}
    notes = constant_notes([Predicate(field, sign, str(number), 5)])
    assert len(notes) == (len(held) == 1)
    assert all((" always holds" if held == {True} else " never holds") in note for note in notes)


def test_a_filter_of_a_plan_is_told_to_hold_never():
    btf, facts, _ = kernel("7.2")
    for text, told in {"b3@0/8": ("n > 9 never holds: it is from 0 to 7",), "u8": ()}.items():
        plan = check_typed(f"f vfs_read n=count:{text} if n > 9", btf, facts, "", environment("7.2")).plan
        assert plan is not None and plan.losses == told


PATTERNS = st.text(alphabet="ab*?[]!\\1", max_size=8)


def kernels_way(pattern: str, in_record: bool) -> tuple[str, bool]:
    """What the kernel makes of a pattern (filter_parse_regex), and whether that is what it says."""
    body = pattern.removeprefix("!")
    if body[:1].isdigit():
        return "full", not re.search(r"[*?\[\\]", body)
    fast = re.fullmatch(r"(\*?)([^*?\[\\]*)(\*?)", body)
    if fast is None or not fast[1] or not fast[2]:
        return "glob", True
    return ("middle" if fast[3] else "end"), not in_record


@given(PATTERNS, st.booleans())
def test_a_pattern_is_put_in_a_form_that_the_kernel_reads_as_meant(pattern, in_record):
    field = StaticEventField("x", "char[16]" if in_record else "__data_loc char[]", 16)
    meant = kernel_pattern(pattern, field)
    assert kernels_way(meant, in_record)[1]
    assert (meant == pattern) or not kernels_way(pattern, in_record)[1]
    assert kernel_pattern(meant, field) == meant
    for text in ("", "a", "1", "1a", "ab", "b1", "*a", "[a]", "aab", "1*"):
        assert Glob(meant).matches(text) == Glob(pattern).matches(text)


FIELDS = {
    field.name: field
    for field in (
        StaticEventField("ret", "s64", 8, signed=True), StaticEventField("at", "u64", 8),
        StaticEventField("code", "u32", 4),
        StaticEventField("small", "u8", 1), StaticEventField("state", "s32", 4, signed=True),
        StaticEventField("flags", "u32", 4),
        StaticEventField("name", "__data_loc char[]", 4), StaticEventField("path", "const char *", 8),
    )
}  # fmt: skip
NAMES = {"state": {"RUNNING": 0, "DEAD": 64, "HIGH": 0x80000000}, "flags": {"NONE": -1}}


@pytest.mark.parametrize(
    ("written", "lowered"),
    [
        ("ret == -ENOENT", "ret == -2"), ("ret<-ENOENT||ret!=-EAGAIN", "ret<-2||ret!=-11"),
        ("at == -ENOENT && code != -EIO", f"at == {(1 << 64) - 2} && code != {(1 << 32) - 5}"),
        ("at < -ENOENT", "at < -ENOENT"), ("small == -EIO", "small == -EIO"), ("ret == ENOENT", "ret == ENOENT"),
        ("common_pid == -ESRCH", "common_pid == -3"), ("nosuch == -ENOENT", "nosuch == -ENOENT"),
        ("!(state == DEAD && state != RUNNING)", "!(state == 64 && state != 0)"),
        ("state == NOSUCH", "state == NOSUCH"),
        ("state == HIGH", f"state == -{0x80000000}"), ("flags == NONE", f"flags == {0xFFFFFFFF}"),
        ('name == "ret == -ENOENT" && ret == -EIO', 'name == "ret == -ENOENT" && ret == -5'),
        ("name ~ '1*'", "name ~ '[1]*'"), ('COMM ~ "*sh"', 'COMM ~ "**sh"'), ('name ~ "*sh"', 'name ~ "*sh"'),
        ("at.function == vfs_read", "at.function == vfs_read"), ("CPU & CPUS{0-3}", "CPU & CPUS{0-3}"),
    ],
)  # fmt: skip
def test_words_become_the_kernels(written, lowered):
    assert kernel_filter(written, FIELDS, NAMES) == lowered
    assert kernel_filter(lowered, FIELDS, NAMES) == lowered
    for word in re.finditer(r"&&|\|\||\)", lowered):
        at = written_column(written, lowered, word.start())
        assert written[at:].startswith(word[0]) or word.start() in range(lowered.find('"'), lowered.rfind('"'))


def test_text_in_the_memory_of_a_task_is_looked_for_there():
    assert kernel_filter('path == "x"', FIELDS, {}, "syscalls") == 'path.ustring == "x"'
    assert kernel_filter('path.ustring == "x"', FIELDS, {}, "syscalls") == 'path.ustring == "x"'
    assert kernel_filter('path == "x"', FIELDS, {}, "sched") == 'path == "x"'
    written, lowered = 'path == "x" && ret > 5', 'path.ustring == "x" && ret > 5'
    assert written[written_column(written, lowered, lowered.index("5")) :] == "5"


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        ("f vfs_read count:s8 if count > 4096", "number_too_wide", "4096"),
        ("f vfs_read count:u8 if count <= 0x774", "number_too_wide", "0x774"),
        ("f vfs_read%return $retval c=$retval:s8 if ret == -ENOENT && c == 128", "number_too_wide", "128"),
        ("f vfs_read count if common_pid == 4294967297", "number_too_wide", "4294967297"),
        ("f vfs_read a=+0($arg1):u8[4] if a == 5", "array_compared", "5"),
        ("f vfs_read if CPU & 1", "cpu_mask", "1"),
        ("e sched.sched_switch $prev_pid if prev_pid > 4294967296", "number_too_wide", "4294967296"),
        ("on sched/sched_switch if prev_pid == -ENOENT && next_pid == 4294967296", "number_too_wide", "4294967296"),
        ("f vfs_read%return $retval if ret == -ENOSUCH", "ILLEGAL_INTVAL", "-ENOSUCH"),
        ("f vfs_read%return $retval if ret == ENOENT", "INVALID_VALUE", "ENOENT"),
    ],
)  # fmt: skip
def test_what_the_kernel_would_read_otherwise_is_refused_before_it_is_armed(name, text, code, at):
    btf, facts, _ = kernel(name)
    verdict = check_typed(text, btf, facts, "", environment(name)).verdict
    assert verdict.error is not None
    assert verdict.error.code == code
    assert verdict.command[verdict.error.column :] == at
    assert verdict.error.hint


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(
    ("text", "filter_"),
    [
        ("f vfs_read%return $retval if ret == -ENOENT", "ret == -2"),
        ("f vfs_read%both count $retval if ret == -ENOENT", "ret == -2"),
        ('f vfs_read if COMM ~ "*sh" && COMM ~ "2*"', 'COMM ~ "**sh" && COMM ~ "[2]*"'),
        ('on sched/sched_switch if prev_comm ~ "*sh"', 'prev_comm ~ "**sh"'),
        ("f vfs_read mask=$arg3:s8 if mask & 0xff", "mask & 0xff"),
    ],
)  # fmt: skip
def test_names_and_patterns_are_lowered(name, text, filter_):
    btf, facts, _ = kernel(name)
    checked = check_typed(text, btf, facts, "", environment(name))
    assert checked.plan is not None, checked.verdict
    assert [event.filter for event in checked.plan.events if event.filter] == [filter_]
    assert str(checked.plan.probe) == text
    assert (f"the kernel's filter: {filter_}" in checked.plan.losses) == (not text.endswith(filter_))


@pytest.mark.parametrize("name", KERNELS)
def test_an_event_probes_condition_is_lowered_in_its_line(name):
    btf, facts, _ = kernel(name)
    text = 'e sched.sched_switch $prev_pid if prev_pid == -ENOENT || prev_comm ~ "*sh"'
    plan = check_typed(text, btf, facts, "", environment(name)).plan
    assert plan is not None
    assert plan.lines[0].endswith('if prev_pid == -2 || prev_comm ~ "**sh"')


def test_an_older_kernel_takes_the_end_of_a_text_for_a_letter():
    text = 'f vfs_read if COMM ~ "a[!b]"'
    for name in KERNELS:
        btf, facts, _ = kernel(name)
        error = check_plan(text, btf, facts, "", environment(name)).verdict.error
        assert (error.code if error else "") == ("pattern_misread" if name == "6.1" else "")


def test_a_triggers_names_are_lowered():
    btf, facts, _ = kernel("7.2")
    plan = check_plan("f vfs_read%return $retval", btf, facts, "", UNKNOWN).plan
    assert plan is not None
    for text, lowered in (
        ("hist:keys=common_pid if ret == -ENOENT", "hist:keys=common_pid if ret == -2"),
        ('traceoff:1 if COMM ~ "*sh"', 'traceoff:1 if COMM ~ "**sh"'),
        ("stacktrace", "stacktrace"),
    ):
        assert lowered_trigger(plan.events[0], text, btf, facts, UNKNOWN) == lowered
        assert trigger_refusal(plan.events[0], lowered, btf, facts, UNKNOWN) is None


def test_a_backslash_ends_no_text_later():
    assert [name.text for name in names_in('name ~ "a\\" && count > 1')] == ["name", "count"]


@pytest.mark.parametrize(
    ("trigger", "code", "at"),
    [
        ("hist:keys=common_pid if count > 4096", "number_too_wide", "4096"),
        ("traceoff:3 if count == 300", "number_too_wide", "300"),
        ('stacktrace if COMM ~ "1*"', "pattern_misread", '"1*"'),
        ("traceoff if count > 100", "", ""),
        ("!traceoff if count > 4096", "", ""),
    ],
)  # fmt: skip
def test_a_triggers_condition_is_judged_alike(trigger, code, at):
    btf, facts, _ = kernel("7.2")
    plan = check_plan("f vfs_read count:s8", btf, facts, "", UNKNOWN).plan
    assert plan is not None
    refusal = trigger_refusal(plan.events[0], trigger, btf, facts, UNKNOWN)
    assert (refusal.code if refusal else "") == code
    assert refusal is None or trigger[refusal.column :] == at
