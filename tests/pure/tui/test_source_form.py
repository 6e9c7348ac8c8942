"""The form of a source's options, and its completion as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.attaching.catalog import Function
from probes.completion.choice import NameSources
from probes.completion.complete import complete
from probes.facts.facts import TargetFacts
from probes.sources.kinds import KINDS
from probes.sources.source import parse_source
from tui.dialogs.source_form import form_of, read_form

FACTS = TargetFacts("x86_64", "7.2.0", tracers=("timerlat", "hwlat"))
SOURCES = NameSources(FACTS, lambda _: None, lambda _: (), Function)


@pytest.mark.parametrize("name", KINDS)
def test_a_form_as_it_opens_is_the_source_alone(name: str) -> None:
    lines = form_of(name)
    source, error = read_form(name, {line.name: line.value for line in lines})
    assert (str(source), error) == (name, "")
    assert all(option.bounds in line.help for option, line in zip(KINDS[name].options, lines, strict=True))


def test_bounds_are_said() -> None:
    values = {line.name: line.value for line in form_of("timerlat")}
    assert read_form("timerlat", values | {"period": "5us"}) == (None, "period is 100us to 1s")
    source, error = read_form("timerlat", values | {"period": "2ms", "cpus": "1,0"})
    assert (str(source), error) == ("timerlat cpus=0-1 period=2ms", "")


@given(
    st.sampled_from(sorted(KINDS)), st.dictionaries(st.sampled_from(["period", "cpus", "mode"]), st.text(max_size=5))
)
def test_any_form_is_read_or_refused(name: str, values: dict[str, str]) -> None:
    known = {option.name for option in KINDS[name].options}
    source, error = read_form(name, {key: value for key, value in values.items() if key in known})
    assert (source is None) == bool(error)
    assert source is None or parse_source(str(source)) == source


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("time", ["timerlat"]),
        ("osno", []),  # this kernel has none
        ("timerlat ", ["cpus", "period", "stop", "stop_irq", "stack", "causes"]),
        ("timerlat period=1ms st", ["stop", "stop_irq", "stack"]),
        ("timerlat causes=", ["on", "off"]),
        ("hwlat mode=p", ["per-cpu"]),
        ("watchp", ["watchpoint"]),
        ("watchpoint ", ["at", "field", "len", "access", "type", "stack"]),
        ("watchpoint at=jiffies_64 access=", ["w", "rw", "r"]),
    ],
)
def test_completion(text: str, offered: list[str]) -> None:
    assert [item.label for item in complete(text, len(text), SOURCES).items] == offered
