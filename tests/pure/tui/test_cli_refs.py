"""`probewright refs` on a recording: what it prints, and its exit status."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from events.decode import Decoder
from events.recording.reader import Recording
from events.references.tracker import State
from events.store.store import Store
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import open_target
from kernel.connection.planner import Planner
from kernel.watch.watch import Watch
from tests.json_reader import read_line
from tests.reference_recording import LEAKED, OPEN, USED, reference_recording
from tui.__main__ import main
from tui.cli.args.parser import parse
from tui.views.references.model import ReferenceModel


def test_faults_are_printed_with_their_proof(tmp_path, capsys):
    assert main(["refs", "-t", str(reference_recording(tmp_path / "x.pwr"))]) == 1
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert [line.split()[0] for line in lines if " file 0x" in line] == ["leaked", "used", "open"]
    assert any("alloc_empty_file by leaky-812, which has ended" in line for line in lines)
    assert any("fput by user-701" in line for line in lines)
    assert "1 leaked, 1 used after end, 1 open" in told.err


def test_objects_have_all_numbers_as_json(tmp_path, capsys):
    assert main(["refs", "--json", "-t", str(reference_recording(tmp_path / "x.pwr"))]) == 1
    *objects, summary = map(read_line, capsys.readouterr().out.splitlines())
    found = {one["state"]: one for one in objects}
    assert {state: int(one["address"], 16) for state, one in found.items()} == {
        "leaked": LEAKED,
        "used_after_end": USED,
        "open": OPEN,
    }
    assert (found["leaked"]["leaked"], found["leaked"]["balance"], found["open"]["leaked"]) == (1, 1, 0)
    assert [one["comm"] for one in found["leaked"]["unmatched"]] == ["leaky"]
    assert (summary["faults"], summary["objects"]) == (2, 11)


def test_where_all_is_put_nothing_is_found(tmp_path, capsys):
    path = reference_recording(tmp_path / "x.pwr", fault=False)
    assert main(["refs", "-t", str(path)]) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert "8 objects, 32 events" in told.err
    assert main(["refs", "-t", str(reference_recording(tmp_path / "y.pwr")), "--keeper", "alloc_empty_file"]) == 1
    assert " leaked" not in capsys.readouterr().err.replace("used", "")


@pytest.mark.parametrize("words", [["file"], ["--", "true"]])
def test_a_recording_takes_no_kind_and_no_command(tmp_path, capsys, words):
    path = str(reference_recording(tmp_path / "x.pwr"))
    assert main(["refs", "-t", path, *words]) == 2
    assert "a recording has happened" in capsys.readouterr().err


def test_words_behind_two_dashes_are_the_command():
    arguments = parse(["refs", "file", "fget,fput", "-t", "lab", "--", "ls", "--", "-p"])
    assert (arguments.kinds, arguments.program) == (["file", "fget,fput"], ("ls", "--", "-p"))


def test_nothing_is_proven_of_the_time_before_the_last_probe(tmp_path):
    """As on the screen, where one probe is armed after the other."""
    watch = Watch(Planner(KernelInfo(open_target(str(reference_recording(tmp_path / "x.pwr"))))))
    watch.begin()
    while not watch.ended or watch.intake.has_backlog:
        watch.tick(0.0)
        time.sleep(0.01)
    store = watch.store
    assert store is not None
    store.flush()
    model = ReferenceModel(watch, store)
    while model.tick(0.0):
        pass
    assert (model.states()[State.LEAKED], model.states()[State.USED_AFTER_END]) == (1, 1)
    put = next(fmt for fmt in store.decoder.formats.values() if fmt.name == "file_put__fput")
    store.use({905: replace(put, id=905, name="file_put__fput_close")})
    model.tick(0.0)
    assert (model.states()[State.LEAKED], model.states()[State.UNPROVEN]) == (0, 2)
    watch.close()
    watch.info.close()


def test_after_a_reboot_objects_are_other_ones(tmp_path):
    """As where the recorded host was booted anew, and its memory has other objects at the same addresses."""
    recording = Recording.open(reference_recording(tmp_path / "x.pwr"))
    store = Store(Decoder(recording.formats, recording.header))
    info = KernelInfo(open_target(str(tmp_path / "x.pwr")))
    model = ReferenceModel(Watch(Planner(info)), store)
    for _ in range(2):
        store.feed(*recording.batches())
        store.begin_anew()
    assert len(store) and not model.tick(0.0)
    assert model.states() == {State.LEAKED: 2, State.USED_AFTER_END: 2}
    assert (model.tracker.seen, model.tracker.forgotten) == (2 * 11, 2 * 2)
    info.close()


def test_a_probe_that_came_late_leaves_nothing_unproven_after_a_reboot(tmp_path):
    recording = Recording.open(reference_recording(tmp_path / "x.pwr"))
    store = Store(Decoder(recording.formats, recording.header))
    info = KernelInfo(open_target(str(tmp_path / "x.pwr")))
    model = ReferenceModel(Watch(Planner(info)), store)
    store.feed(*recording.batches())
    store.flush()
    while model.tick(0.0):
        pass
    put = next(fmt for fmt in store.decoder.formats.values() if fmt.name == "file_put__fput")
    store.use({905: replace(put, id=905, name="file_put__fput_close")})
    model.tick(0.0)
    assert model.states() == {State.UNPROVEN: 2, State.OPEN: 1}
    for _ in range(2):
        store.begin_anew()
        store.feed(*recording.batches())
    store.begin_anew()
    model.tick(0.0)
    assert model.states() == {State.UNPROVEN: 2, State.LEAKED: 2, State.USED_AFTER_END: 2}
    info.close()
