"""The same probe wanted twice is told before it is armed, in `run` and on several hosts."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernel.hosts.arm_request
import tui.cli.follow.follow
from kernel.hosts.arm_request import ArmRequest, arm_on_host, probes_for
from probes.command import parse_armable
from probes.plans.duplicates import duplicate_note, split_duplicates, under_another_name
from probes.plans.plan import Plan
from probes.verdict import Verdict
from tests.fake_target import FakeTarget

TEXTS = (
    "f vfs_read",
    "f vfs_read count",
    "f vfs_read%return $retval",
    "f vfs_read $retval",
    "f   vfs_read    count",
    "f:own/x vfs_read count",
    "f:own.x vfs_read count",
    "f vfs_read count if count > 1",
    "p vfs_read",
    "p /bin/sh:main",
    "on sched:sched_switch",
    "s:own u64 lat",
)
SAME = ({1, 4}, {2, 3}, {5, 6})
"""Numbers of texts that say the same."""


@given(st.lists(st.sampled_from(range(len(TEXTS)))), st.lists(st.sampled_from(range(len(TEXTS)))))
def test_each_is_armed_once(wanted, there):
    def one(number: int) -> int:
        return min(next((same for same in SAME if number in same), {number}))

    found = split_duplicates((parse_armable(TEXTS[n]) for n in wanted), (parse_armable(TEXTS[n]) for n in there))
    assert len(found.new) + len(found.duplicates) == len(wanted)
    assert len(found.new) == len({one(n) for n in wanted} - {one(n) for n in there})
    assert not split_duplicates(found.duplicates, [*found.new, *(parse_armable(TEXTS[n]) for n in there)]).new


@pytest.mark.parametrize(
    ("text", "taken", "named"),
    [
        ("f vfs_read count", (), "f:vfs_read_2 vfs_read count"),
        ("f vfs_read count", ("vfs_read_2", "vfs_read_3"), "f:vfs_read_4 vfs_read count"),
        ("f:own/x vfs_read", (), "f:own/x_2 vfs_read"),
        ("p /bin/sh:main", (), "p:main_2 /bin/sh:main"),
        ("p:g/n /bin/sh:main", ("n_2",), "p:g/n_3 /bin/sh:main"),
        ("on sched:sched_switch", (), None),
    ],
)
def test_a_second_one_has_a_name_of_its_own(text, taken, named):
    other = under_another_name(parse_armable(text), taken)
    assert (None if other is None else str(other)) == named
    if other is not None and named is not None:
        assert parse_armable(named) == other  # what is told can be typed
        assert split_duplicates([other], [parse_armable(text)]).new
        assert named in duplicate_note(parse_armable(text)) or taken


def test_run_says_it_and_arms_one(monkeypatch, capsys):
    monkeypatch.setattr(tui.cli.follow.follow, "check_specification", lambda spec, _: Verdict(spec))
    given_twice = ["f vfs_read count", "p vfs_read", "f  vfs_read count"]
    probes = tui.cli.follow.follow.probes_of(given_twice, None)  # type: ignore[arg-type]
    assert [str(one) for one in probes] == ["f vfs_read count", "p vfs_read"]
    said = capsys.readouterr().err
    assert "f vfs_read count is there already" in said
    assert "f:vfs_read_2 vfs_read count" in said


def test_a_host_arms_one_and_says_it(monkeypatch):
    monkeypatch.setattr(kernel.hosts.arm_request, "_typed", lambda _, text: parse_armable(text))
    order = ArmRequest(("f vfs_read", "f vfs_read", "p vfs_read"))
    probes, notes = probes_for(None, order)  # type: ignore[arg-type]
    assert [str(one) for one in probes] == ["f vfs_read", "p vfs_read"]
    assert len(notes) == 1
    there = SimpleNamespace(plan=Plan(parse_armable("p vfs_read"), ()))
    armed: list[str] = []

    def arm(probe: object, **_: object) -> SimpleNamespace:
        armed.append(str(probe))
        return SimpleNamespace(plan=Plan(probe, ()))  # type: ignore[arg-type]

    info = SimpleNamespace(target=FakeTarget())
    watch = SimpleNamespace(planner=None, info=info, armed=SimpleNamespace(probes=(there,), arm=arm))
    done = arm_on_host(watch, order)  # type: ignore[arg-type]
    assert armed == ["f vfs_read"]
    assert any("p vfs_read is there already" in note for note in done.notes)
