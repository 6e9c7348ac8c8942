"""`probewright show FILE.pwr`: the time and the events of a recording, also where its connection was lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from events.store.outage_mark import Outage
from kernel.connection.open_target import shipped_recording
from tests.export_recordings import outage_recording
from tui.__main__ import main
from tui.cli.status import DONE


def contents(capsys: pytest.CaptureFixture[str], path: Path | str) -> dict[str, Any]:
    assert main(["show", str(path), "--json"]) == DONE
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def numbers(found: dict[str, Any]) -> dict[str, int]:
    return {path: number for probe in found["probes"] for path, number in probe["events"].items()} | found["others"]


@pytest.mark.parametrize(
    ("outage", "times"), [(Outage(4.0, booted=True), 2), (Outage(4.0, lost=1), 1)], ids=["booted", "for good"]
)
def test_time_and_events_are_those_of_all_boots_without_the_mark_between_them(capsys, tmp_path, outage, times):
    whole = contents(capsys, shipped_recording())
    found = contents(capsys, outage_recording(tmp_path / "outage.pwr", outage))
    assert found["seconds"] == pytest.approx(times * whole["seconds"])
    assert numbers(found) == {path: times * number for path, number in numbers(whole).items()}
