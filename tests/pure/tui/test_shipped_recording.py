"""The recording that ships: each preset that it was made for answers with what its workload is known to have done."""

from __future__ import annotations

import errno
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from events.recording.reader import Recording
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import open_target
from kernel.connection.planner import Planner
from kernel.preset_files import Origin, Presets
from tests.data import shipped_workload as done
from tests.data.make_shipped import PRESETS, PROBES
from tests.events_recording import SHIPPED
from tui.__main__ import main
from tui.dialogs import preset_model

Event = dict[str, Any]


def _slow_opens(events: list[Event]) -> None:
    slow = [one for one in events if one["values"]["filename"] == f"{done.FOLDER}/till"]
    assert {one["comm"] for one in slow} == {"python3"}
    assert max(one["values"]["lat"] for one in slow) >= done.SLOW_OPEN * 1e9
    assert all(one["values"]["lat"] >= 1_000_000 for one in events)


def _who_kills(events: list[Event]) -> None:
    sent = [(one["comm"], one["values"]["sig"], one["values"]["comm"]) for one in events]
    assert sent == [*(("python3", number, "sleep") for number in (19, 18, 15)), ("sh", 10, "sh")]


def _exec_arguments(events: list[Event]) -> None:
    calls = [one["values"] for one in events if "arg0" in one["values"]]
    begun = {(one["filename"], one["arg0"], one["arg1"]) for one in calls}
    assert {("/usr/bin/ls", "ls", "-l"), ("/usr/bin/sh", "sh", "-c"), ("/usr/bin/sleep", "sleep", "60")} <= begun
    assert ("/usr/local/sbin/ls", "ls", "-l") in begun, "it is searched along PATH"


def _run_queue_delay(events: list[Event]) -> None:
    assert any(one["values"]["next_comm"] == "python3" for one in events)
    assert all(one["values"]["lat"] >= 1_000_000 for one in events)


def _failed_syscalls(events: list[Event]) -> None:
    errors = Counter(one["values"]["ret"] for one in events)
    assert errors[-errno.ENOENT] >= 4 * len(("ls", "cat", "grep")) - 3 and max(errors) < 0


def _packet_drops(events: list[Event]) -> None:
    assert [one["values"]["protocol"] for one in events] == [2048] * 4
    assert {one["comm"] for one in events} == {"python3"}


CHECKS: dict[str, Callable[[list[Event]], None]] = {
    "slow-opens": _slow_opens,
    "who-kills": _who_kills,
    "exec-arguments": _exec_arguments,
    "run-queue-delay": _run_queue_delay,
    "failed-syscalls": _failed_syscalls,
    "packet-drops": _packet_drops,
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_preset_tells_of_it_what_is_known(name: str, capsys) -> None:
    assert main(["run", f"shipped:{name}", "-t", str(SHIPPED), "--json"]) == 0
    CHECKS[name]([json.loads(line) for line in capsys.readouterr().out.splitlines()])


def test_each_error_of_an_open_arose_where_it_does(capsys) -> None:
    assert main(["run", "shipped:first-failure", "-t", str(SHIPPED)]) == 0
    table = capsys.readouterr().out.partition("FIRST FAILURE")[2]
    found = {tuple(words[:3]) for line in table.splitlines()[1:] if len(words := line.split()) > 2}
    assert found == {
        ("3", "ENOENT", "link_path_walk"),
        ("1", "ENOTDIR", "link_path_walk"),
        ("1", "EISDIR", "may_open"),
        ("1", "ELOOP", "link_path_walk"),
        ("1", "ENXIO", "fifo_open"),
        ("1", "EACCES", "generic_permission"),
    }


def test_these_presets_and_no_others_can_be_done_on_it() -> None:
    info = KernelInfo(open_target(str(SHIPPED)))
    planner = Planner(info)
    presets = [one.preset for one in Presets().all() if one.origin is Origin.SHIPPED and one.preset is not None]
    looked = {preset.name: preset_model.look(planner, preset, {})[0] for preset in presets}
    assert {name for name, one in looked.items() if one.accepted} == {*CHECKS, "first-failure"}
    assert {*PRESETS, "run-queue-delay"} == {*CHECKS}
    assert all(one.in_list == "not in this recording" for one in looked.values() if not one.accepted)
    info.close()


def test_it_has_its_probes_first_no_losses_and_a_time_of_day() -> None:
    found = Recording.open(SHIPPED)
    assert [plan["probe"] for plan in found.plans][: len(PROBES)] == list(PROBES)
    counts = found.meta["counts"]
    assert not any(counts["overrun"].values()) and counts["dropped"] == counts["read_errors"] == 0
    assert found.meta["clock"] and SHIPPED.stat().st_size < 1.15 * 2_956_520
