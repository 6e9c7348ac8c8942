"""Names, formats, columns and probes of a recording are bounded, and each of them is read once."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest

import events.recording.formats
from events.recording.reader import Recording, RecordingError
from kernel.errors import TargetUnusable
from kernel.recording.plans import readable_plans, recorded_plans
from kernel.recording.replay import ReplayProbes
from tests.fuzz import material

PATH, FORMAT = next((name, text) for (kind, name), text in material.parts().blobs.items() if kind == "format")


def opened(blobs: dict[tuple[str, str], bytes] | None = None, meta: Any = None) -> Recording:
    return Recording(material.recording(meta, blobs), "x.pwr")


def many_formats(number: int) -> dict[tuple[str, str], bytes]:
    return {("format", f"a/b{at}"): re.sub(rb"ID: \d+", b"ID: %d" % (30_000 + at), FORMAT) for at in range(number)}


@pytest.fixture
def parses(monkeypatch) -> Counter[str]:
    """Texts that were parsed, by their number of times."""
    found: Counter[str] = Counter()
    parse = events.recording.formats.parse_format

    def counted(text: str, *rest: Any) -> Any:
        found[text] += 1
        return parse(text, *rest)

    monkeypatch.setattr("events.recording.formats.parse_format", counted)
    return found


def test_kind_and_name_of_a_blob_are_bounded():
    assert opened({("x", "y" * 511): b"1"}).blob("x", "y" * 511) == b"1"
    recording = opened({("x" * 12, "y" * 501): b""})
    with pytest.raises(
        RecordingError, match=r"^x\.pwr: byte \d+: damaged: a name of 513 bytes \(at most 512 bytes\)$"
    ):
        recording.names("format")


def test_blobs_are_counted(monkeypatch):
    number = len(material.parts().blobs)
    monkeypatch.setattr("events.recording.reader._MOST_BLOBS", number)
    assert opened().names("format")
    with pytest.raises(RecordingError, match=rf"^x\.pwr: byte \d+: damaged: more blobs \(at most {number}\)$"):
        opened({("one", "more"): b""}).names("format")


def test_a_text_is_parsed_once_however_often_it_is_read(parses):
    recording = opened(many_formats(5))
    assert (
        recording.formats and recording.every_format() and list(recording.timeline()) and list(recording.timeline())
    )
    assert len(parses) >= 5 and set(parses.values()) == {1}


def test_equal_formats_are_bounded_by_what_is_read_and_others_by_what_is_parsed(monkeypatch):
    size = sum(len(text) for (kind, _), text in material.parts().blobs.items() if kind == "format")
    monkeypatch.setattr("events.recording.formats._MOST_BYTES", size)
    assert opened().every_format()
    for read in (lambda recording: recording.formats, Recording.every_format, lambda found: list(found.timeline())):
        with pytest.raises(RecordingError, match=rf"^x\.pwr: byte \d+: its different format files .*{size} bytes\)$"):
            read(opened(many_formats(1)))
    monkeypatch.setattr("events.recording.formats._MOST_READ", size)
    for read in (lambda recording: recording.formats, Recording.every_format, lambda found: list(found.timeline())):
        with pytest.raises(RecordingError, match=rf"^x\.pwr: byte \d+: its format files have more .*{size} bytes\)$"):
            read(opened())


def with_columns(number: int) -> Any:
    meta = json.loads(json.dumps(material.parts().meta))
    event = meta["plans"][0]["events"][0]
    event["columns"] += event["columns"][:1] * (number - len(event["columns"]))
    return meta


def test_columns_of_an_event_are_bounded():
    assert opened(meta=with_columns(1024)).formats
    recording = opened(meta=with_columns(1025))
    with pytest.raises(RecordingError, match=r"^x\.pwr: byte 0: damaged: 1025 columns of .*/.* \(at most 1024\)$"):
        recording.every_format()
    with pytest.raises(TargetUnusable, match=r"the probes of this recording are damaged \(damaged: 1025 columns of"):
        ReplayProbes(recording)


class Passes(list[Any]):
    """Columns that count the passes over them."""

    passes = 0

    def __iter__(self) -> Any:
        self.passes += 1
        return super().__iter__()


def test_columns_are_looked_at_as_often_for_many_formats_as_for_one():
    looked_at = []
    for number in (1, 20):
        columns = Passes({"name": "a", "pointers": ["b"] * 9} for _ in range(5))
        plans = [{"events": [{"group": "a", "event": "b", "columns": columns}]}]
        formats = events.recording.formats.RecordedFormats(plans, 8)
        for at in range(number):
            formats.parse("a/b", re.sub(rb"ID: \d+", b"ID: %d" % (30_000 + at), FORMAT))
        looked_at.append(columns.passes)
    assert looked_at[0] == looked_at[1] <= 3


def test_formats_are_looked_up_once_for_all_probes(monkeypatch):
    lookups = 0
    formats = Recording.formats.func

    def counted(self: Recording) -> Any:
        nonlocal lookups
        lookups += 1
        return formats(self)

    meta = material.parts().meta
    recording = opened(meta={**meta, "plans": meta["plans"] * 3})
    monkeypatch.setattr(Recording, "formats", property(counted))
    armed = ReplayProbes(recording).recorded
    assert lookups == 1
    assert len(armed) == 3 * len(meta["plans"])
    assert {fmt.path for one in armed for fmt in one.formats.values()} == set(recording.names("format"))


@pytest.mark.parametrize("read", [recorded_plans, readable_plans])
def test_probes_are_counted(monkeypatch, read):
    meta = material.parts().meta
    number = len(meta["plans"])
    monkeypatch.setattr("kernel.recording.plans._MOST_PLANS", number)
    assert len(read(opened())) == number
    with pytest.raises(TargetUnusable, match=rf"^x\.pwr: {number + 1} probes \(at most {number}\)$"):
        read(opened(meta={**meta, "plans": [*meta["plans"], meta["plans"][0]]}))
