"""Probes of one session are those of another one under another group, with nothing left that names the first."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from events.names.event_names import exported_name, regrouped_path
from kernel.cleanup.owner import GROUP_PREFIX, base36, parse_owner
from probes.check import check_plan
from probes.plans.instance_groups import has_chosen_name, replace_group, with_group
from probes.plans.plan import Plan
from tests.probes_data import kernel
from tests.pure.probes.test_static_events import AROUND, facts

GROUPS = st.builds(
    lambda pid, start, number: f"{GROUP_PREFIX}{pid}_{base36(start)}{number}",
    st.integers(1, 4194304),
    st.integers(0, 36**7 - 1),
    st.sampled_from(["", "_2", "_64"]),
)
NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,60}", fullmatch=True)
ENDS = (
    "{f vfs_read%return file:x64} to {f vfs_write file:x64} by file",
    "block/block_rq_issue to block/other by common_pid",
)
FUNCTIONS = "f vfs_read%both count", "p vfs_read count", "s:mine u64 a"


def planned(text: str, group: str) -> Plan:
    plan = check_plan(text, kernel("7.2").btf, facts("7.2"), group, AROUND).plan
    assert plan is not None, text
    return plan


@given(GROUPS, GROUPS, NAMES, st.sampled_from(ENDS))
def test_a_latency_moves_as_if_it_were_planned_there(old: str, new: str, name: str, ends: str) -> None:
    text = f"lat:{name} {ends}"
    made = planned(text, old)
    assert with_group(made, old, new) == planned(text, new)
    assert with_group(with_group(made, old, new), new, old) == made
    assert len(made.events[0].event) < 64, "the kernel takes no longer name"
    assert exported_name(made.events[0].path) == exported_name(planned(text, new).events[0].path)


@given(GROUPS, GROUPS, st.sampled_from(FUNCTIONS))
def test_so_does_what_is_probed_by_itself(old: str, new: str, text: str) -> None:
    assert with_group(planned(text, old), old, new) == planned(text, new)
    assert has_chosen_name(planned(text, old), old) == text.startswith("s:")


@given(GROUPS, GROUPS, GROUPS, NAMES)
def test_names_of_another_session_stay(old: str, new: str, other: str, name: str) -> None:
    assume(other != old)
    for text in (other, f"{other}__{name}", f"{other}/{name}", f"onmatch({other}.{name}).{other}__{name}($x)"):
        assert replace_group(text, old, new) == text
        assert regrouped_path(text, old, new) == text


@given(GROUPS, GROUPS, NAMES, st.sampled_from(ENDS))
def test_paths_move_as_plans_do(old: str, new: str, name: str, ends: str) -> None:
    was = planned(f"lat:{name} {ends}", old)
    assert not has_chosen_name(was, old)
    now = with_group(was, old, new)
    assert [regrouped_path(one.path, old, new) for one in was.events] == [one.path for one in now.events]
    assert all(parse_owner(group.removeprefix(GROUP_PREFIX)) for group in (old, new))
