"""Functions that a search finds are those that a pattern is on, those left out and names that contain its text."""

from __future__ import annotations

import re

import pytest

from kernel.connection.open_target import shipped_recording
from kernel.connection.planner import Planner
from probes.command import parse_armable
from probes.functions.function_index import index_of
from probes.plans.plan import Via
from tui.cli.console.output import connect


@pytest.fixture(scope="module")
def planner():
    info = connect(str(shipped_recording()))
    yield Planner(info)
    info.close()


def number_in(notes: tuple[str, ...], words: str) -> int:
    found = (re.search(rf"(?:^|[^\d,])([\d,]+) {words}", note) for note in notes)
    return sum(int(match[1].replace(",", "")) for match in found if match is not None)


@pytest.mark.parametrize("pattern", ["vfs_*", "ext4_*", "sched_*"])
def test_functions_that_are_found_are_accounted_for(planner, pattern):
    literal = pattern.removesuffix("*")
    found = [name for name in planner.info.catalog.names if literal in name]
    for notes in (
        planner.lower(parse_armable(f"f {pattern}"), "").losses,
        planner.check(f"f {pattern}", look=True).plan.losses,
    ):
        probed, left_out = number_in(notes, "functions are probed"), number_in(notes, "left out, ")
        elsewhere = number_in(notes, rf"names? ha\w+ {literal} elsewhere")
        copies = {name for name in found if not index_of(planner.info.facts).count(name) and name.startswith(literal)}
        renamed = sum(bool(planner.info.catalog.attachability(name).copies) for name in copies)
        twins = probed - len({name for name in index_of(planner.info.facts).modules if name.startswith(literal)})
        assert probed - twins + left_out + elsewhere + renamed == len(found)


def test_programs_say_whom_they_leave_out(planner):
    notes = Planner(planner.info, Via.BPF).lower(parse_armable("f vfs_*"), "").losses
    assert any("2 left out, not traceable" in note for note in notes)


@pytest.mark.parametrize("text", ["f vfs_read", "t sched_switch", "f vfs_read*"])
def test_what_leaves_nothing_out_says_nothing(planner, text):
    assert not any(
        "left out" in note or "elsewhere" in note for note in planner.lower(parse_armable(text), "").losses
    )
