"""Sources: text and value, bounds, the verdict before arming, and the settings of each kind."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.check import check
from probes.command import parse_armable, parse_command
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import Environment, StaticEventField
from probes.lowering.lower import lower
from probes.lowering.sources.lower_source import missing_reason
from probes.plans.json_values import plan_from_dict, plan_to_dict
from probes.refusal import CannotLower
from probes.sources.kinds import KINDS, SourceKind
from probes.sources.option import BadValue, OptionType, SourceOption, cpu_list, cpu_mask, cpus_of, duration_text
from probes.sources.source import Source, is_source, parse_source
from probes.syntax.parse_error import ParseError

FACTS = TargetFacts(
    "x86_64",
    "7.2.0",
    cpus=4,
    tracers=("timerlat", "osnoise", "hwlat", "nop"),
    features=frozenset({Feature.SYNTHETIC_EVENTS, Feature.HIST_TRIGGERS}),
    readme="x",
)
SCHEDULER = {
    "sched_waking": ("pid", "prio"),
    "sched_switch": ("next_pid", "next_prio"),
}
ENVIRONMENT = Environment(
    event=lambda group, name: (
        (
            *(StaticEventField(one, "int", 4, True, 8 + 4 * n) for n, one in enumerate(SCHEDULER[name])),
            StaticEventField("next_comm" if name == "sched_switch" else "comm", "char[16]", 16, False, 32),
        )
        if group == "sched" and name in SCHEDULER
        else None
    )
)


def values(option: SourceOption) -> st.SearchStrategy[str]:
    if option.type is OptionType.DURATION:
        numbers = st.integers(option.least, option.most)
        return (st.one_of(st.just(0), numbers) if option.zero_is_off else numbers).map(duration_text)
    if option.type is OptionType.CPUS:
        return st.sets(st.integers(0, 300), min_size=1).map(lambda cpus: cpu_list(tuple(sorted(cpus))))
    if option.type is OptionType.MEMORY:
        offsets = st.integers(0, 1 << 20).map(lambda number: f"+{number:#x}" if number else "")
        names = st.from_regex(r"([a-z_][a-z0-9_]{0,9}:)?[A-Za-z_.][A-Za-z0-9_.$]{0,20}", fullmatch=True)
        return st.one_of(st.builds("{}{}".format, names, offsets), st.integers(0, (1 << 64) - 1).map(hex))
    if option.type is OptionType.NUMBER:
        return st.one_of(number_paths(), number_files())
    if option.type is OptionType.FIELD:
        return st.from_regex(r"[A-Za-z_]\w{0,9}(\.[A-Za-z_]\w{0,9}){1,3}", fullmatch=True).filter(str.isascii)
    return st.sampled_from(option.words)


def number_paths() -> st.SearchStrategy[str]:
    roots = st.from_regex(r"(\(task_struct\))?([a-z]{1,5}:)?[a-z_][a-z0-9_]{0,9}(\+0x[0-9a-f]{1,4})?", fullmatch=True)
    steps = st.from_regex(r"((\.|->)[a-z_]{1,9}|\[([A-Z_]{1,9}|[0-9]{1,4})\]){0,4}", fullmatch=True)
    return st.builds("{}{}".format, roots, steps)


def number_files() -> st.SearchStrategy[str]:
    return st.from_regex(
        r"/(proc|sys/(class|0000:00:1f\.2))/[a-z_]{1,9}(:[A-Za-z_()]{0,9}(:[1-9])?)?", fullmatch=True
    )


@st.composite
def sources(draw: st.DrawFn) -> Source:
    kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    chosen = draw(st.lists(st.sampled_from(kind.options), unique=True))
    return Source.of(kind.name, {option.name: draw(values(option)) for option in chosen})


@given(sources())
def test_text_and_value_are_one(source: Source) -> None:
    text = str(source)
    assert is_source(text)
    assert parse_command(text) == source
    assert str(parse_armable(text)) == text
    plain = plan_to_dict(dataclasses.replace(lower(parse_armable("timerlat"), None, FACTS, "g"), probe=source))
    assert plan_from_dict(plain).probe == source


@given(sources(), st.randoms())
def test_options_may_stand_in_any_order(source: Source, chance: object) -> None:
    words = [f"{name}={value}" for name, value in source.given]
    chance.shuffle(words)  # type: ignore[attr-defined]
    assert parse_source(" ".join([source.name, *words])) == source


@given(st.sets(st.integers(0, 8191), min_size=1))
def test_lists_of_cpus(cpus: set[int]) -> None:
    assert cpus_of(cpu_list(tuple(sorted(cpus)))) == tuple(sorted(cpus))
    words = [int(word, 16) for word in cpu_mask(tuple(cpus)).split(",")]
    mask = sum(word << 32 * place for place, word in enumerate(reversed(words)))
    assert {bit for bit in range(8192) if mask >> bit & 1} == cpus


@given(st.integers(0, 10**12 - 1))
def test_times_keep_their_value(number: int) -> None:
    option = SourceOption("t", OptionType.DURATION, "", most=10**12)
    assert option.normal(str(number)) == duration_text(number) == option.normal(duration_text(number))


@given(st.sampled_from(sorted(KINDS)), st.text(max_size=30))
def test_any_text_is_read_or_refused(name: str, rest: str) -> None:
    try:
        read = parse_source(f"{name} {rest}")
    except ParseError as error:
        assert error.refusal.code in ("unknown_option", "bad_option")
        assert error.refusal.column is not None
        assert 0 <= error.refusal.column <= len(f"{name} {rest}")
    else:
        assert parse_source(str(read)) == read


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_bounds_hold(kind: SourceKind) -> None:
    for option in kind.options:
        if option.default:
            assert option.normal(option.default) == option.default
        wrong = [duration_text(option.most + 1)] if option.type is OptionType.DURATION else ["", "1+"]
        if option.type is OptionType.DURATION and option.least > 1:
            wrong.append(duration_text(option.least - 1))
        for text in wrong:
            with pytest.raises(BadValue, match=option.name):
                option.normal(text)


@pytest.mark.parametrize(
    ("text", "code", "column", "token"),
    [
        ("timerlat perod=1ms", "unknown_option", 9, "perod"),
        ("timerlat period=1", "bad_option", 16, "1"),
        ("timerlat period", "bad_option", 9, "period"),
        ("timerlat period=1ms period=2ms", "bad_option", 20, "period=2ms"),
        ("hwlat mode=all", "bad_option", 11, "all"),
        ("osnoise cpus=3-1", "bad_option", 13, "3-1"),
    ],
)
def test_wrong_words_are_named(text: str, code: str, column: int, token: str) -> None:
    error = check(text, None, FACTS).error
    assert error is not None
    assert (error.code, error.column, error.token) == (code, column, token)


@pytest.mark.parametrize(
    ("text", "word"),
    [("osnoise runtime=2s", "runtime=2s"), ("hwlat window=1ms", "window=1ms"), ("timerlat cpus=0-4", "cpus=0-4")],
)
def test_contradictions_are_refused_before_arming(text: str, word: str) -> None:
    error = check(text, None, FACTS).error
    assert error is not None
    assert error.code == "bad_option"
    assert error.column == text.index(word)
    assert error.hint


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind.is_latency], ids=str)
def test_kernel_without_it_is_told_the_switch(kind: SourceKind) -> None:
    bare = dataclasses.replace(FACTS, tracers=("nop",), features=frozenset())
    assert not missing_reason(kind, FACTS)
    assert missing_reason(kind, bare)
    error = check(kind.name, None, bare).error
    assert error is not None
    assert error.code == "missing_capability"
    assert not kind.config or f"CONFIG_{kind.config}" in error.hint


def test_settings_of_timerlat() -> None:
    plan = lower(parse_armable("timerlat stack=30us stop=50us cpus=0-1"), None, FACTS, "g")
    assert plan.tracer is not None
    assert {one.file: one.value for one in plan.tracer.settings} == {
        "osnoise/cpus": "0-1",
        "osnoise/timerlat_period_us": "1000",
        "osnoise/stop_tracing_us": "0",
        "osnoise/stop_tracing_total_us": "50",
        "osnoise/print_stack": "30",
    }
    assert plan.tracer.stacks_of == "ftrace/timerlat"
    assert [event.path for event in plan.events if event.is_by_tracer] == ["ftrace/timerlat"]
    assert {event.group for event in plan.events[1:]} == {"osnoise"}
    assert not plan.lines
    assert plan.shown_lines[-1] == "current_tracer = timerlat"
    assert len(lower(parse_armable("timerlat causes=off"), None, FACTS, "g").events) == 1


def test_settings_of_hwlat_and_osnoise() -> None:
    hwlat = lower(
        parse_armable("hwlat cpus=0,33 mode=per-cpu tolerance=20us"), None, dataclasses.replace(FACTS, cpus=64), "g"
    ).tracer
    assert hwlat is not None
    assert [(one.file, one.value, one.shared) for one in hwlat.settings] == [
        ("tracing_cpumask", "2,00000001", False),
        ("hwlat_detector/mode", "per-cpu", True),
        ("hwlat_detector/width", "500000", True),
        ("hwlat_detector/window", "1000000", True),
        ("tracing_thresh", "20", True),
    ]
    osnoise = lower(parse_armable("osnoise stop=100us"), None, FACTS, "g").tracer
    assert osnoise is not None
    assert "tracing_thresh" not in {one.file for one in osnoise.settings}
    assert [one.below for one in osnoise.settings if one.below] == ["osnoise/period_us"]


def test_wakeups_need_no_tracer() -> None:
    plan = lower(parse_armable("wakeup tasks=rt least=10us"), None, FACTS, "pw_1_a", environment=ENVIRONMENT)
    assert plan.tracer is None
    (event,) = [event for event in plan.events if event.recorded]
    assert event.event == "pw_1_a__wakeup"
    assert event.filter == "next_prio < 100 && lat >= 10000"
    assert str(plan.probe) == "wakeup tasks=rt least=10us"
    with pytest.raises(CannotLower):
        lower(parse_armable("wakeup"), None, FACTS, "g")


@pytest.mark.parametrize(
    ("text", "code", "reason"),
    [
        ("monitor", "missing_value", "A value is missing here"),
        ("watchpoint", "missing_value", "A value is missing here"),
        ("monitor of=/proc/meminfo:MemFree per=cpu", "not_sampled", "This can't be sampled"),
        ("monitor of=/proc/kmsg", "not_sampled", "This can't be sampled"),
    ],
)
def test_a_refusal_that_is_not_the_kernels_is_not_said_to_be(text: str, code: str, reason: str) -> None:
    with pytest.raises(CannotLower) as refused:
        lower(parse_armable(text), None, FACTS, "pw")
    assert (refused.value.refusal.code, refused.value.refusal.message) == (code, reason)
