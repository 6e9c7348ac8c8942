"""Lines of a command among the events of a store: read back as written, in order of time, drawn screens left out."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.batch import Batch
from events.conditions.condition_parser import parse_condition
from events.decode import Decoder
from events.export.formats.text import context
from events.format import EventFormat, HeaderPage
from events.recording.chunks import pack_batch, unpack_batches
from events.recording.lines_in_time import COMMAND_OUTPUT, timeline_with_lines
from events.recording.reader import Recording
from events.recording.writer import RecordingWriter
from events.store.store import Store
from kernel.commands.output_lines import LineSplitter, OutputLine
from kernel.commands.output_pages import MOST_TEXT, OUTPUT_FORMAT, OUTPUT_PLAN, output_batch
from kernel.commands.row_lines import MOST_A_SECOND, RowLines, printed_lines
from probes.plans.json_values import plan_from_dict, plan_to_dict

LAYOUTS = [HeaderPage(order, size, 8 + size, 4088 - size) for order in ("little", "big") for size in (4, 8)]
LINES = st.lists(st.tuples(st.integers(0, 1 << 29), st.binary(max_size=1500)), min_size=1, max_size=30)


@given(LINES, st.sampled_from(LAYOUTS))
def test_lines_are_read_back(given_lines: list[tuple[int, bytes]], header: HeaderPage) -> None:
    now, lines = 1 << 40, []
    for step, data in given_lines:
        now += step
        lines.append(OutputLine(now, "stdout", data))
    store = Store(Decoder({OUTPUT_FORMAT.id: OUTPUT_FORMAT}, header), 1000)
    (batch,) = unpack_batches(pack_batch(output_batch(lines, 77, header)))
    assert store.feed(batch) + store.flush() == len(lines)
    for row, line in enumerate(lines):
        record = store.record(row)
        text = line.data.replace(b"\0", b" ").decode("utf-8", "backslashreplace")
        if len(line.data) > MOST_TEXT:
            assert str(record.values["text"]).endswith("…") and record.values["stream"] == "out"
            text = str(record.values["text"])
            assert line.data.replace(b"\0", b" ").decode("utf-8", "backslashreplace").startswith(text[:-1])
        assert (record.ts, record.pid, record.cpu) == (line.ts, 77, -1)
        assert record.values == {"stream": "out", "text": text}


def test_rows_wait_for_older_lines() -> None:
    """Events that came first stand behind a line that is older; those behind the known time wait."""
    header = LAYOUTS[1]
    store = Store(Decoder({OUTPUT_FORMAT.id: OUTPUT_FORMAT}, header), 1000)

    def events(*times: int) -> Batch:
        one = output_batch([OutputLine(ts, "stderr", b"") for ts in times], 1, header)
        return one._replace(chunks=(one.chunks[0]._replace(cpu=0),), drained=True)

    store.hold_after(250)
    store.feed(events(100, 200, 300), events(400))
    assert [store.row(seq).ts for seq in range(store.next_seq)] == [100, 200]
    store.feed(output_batch([OutputLine(270, "stdout", b"late")], 1, header))
    assert store.next_seq == 2, "a line tells nothing of the events that may still come"
    store.hold_after(sys.maxsize)
    store.flush()
    assert [store.row(seq).ts for seq in range(store.next_seq)] == [100, 200, 270, 300, 400]
    assert store.late_events == 0


STEPS = st.lists(st.tuples(st.sampled_from(["events", "lines", "boot"]), st.integers(0, 40)), max_size=20)


@given(STEPS)
def test_lines_that_were_recorded_late_are_read_in_order_of_time(steps: list[tuple[str, int]]) -> None:
    """Lines come behind events that are younger, but not behind the boot after theirs."""
    header, file = LAYOUTS[1], io.BytesIO()
    writer, now, waiting, expected = RecordingWriter(file), 100, list[int](), list[list[int]]([[]])
    for kind, step in [*steps, ("lines", 0)]:
        now += step
        if kind == "events":
            one = output_batch([OutputLine(now, "stderr", b"")], 1, header)
            writer.pages(one._replace(chunks=(one.chunks[0]._replace(cpu=0),), drained=True))
            expected[-1].append(now)
            waiting.append(now - step // 2)
        else:
            if waiting:
                writer.blob("format", OUTPUT_FORMAT.path, OUTPUT_FORMAT.source.encode())
                writer.pages(output_batch([OutputLine(ts, "stdout", b"x") for ts in waiting], 1, header))
                expected[-1] += waiting
            waiting = []
            if kind == "boot":
                writer.pages(Batch((), drained=True, booted=True))
                now = 100
                expected.append([])
    writer.close()
    store = Store(Decoder({OUTPUT_FORMAT.id: OUTPUT_FORMAT}, header))
    for entry in timeline_with_lines(Recording(file.getvalue())):
        if isinstance(entry, Batch):
            store.feed(entry)
        else:
            store.use(entry)
    store.flush()
    assert [store.row(seq).ts for seq in range(store.next_seq)] == [ts for boot in expected for ts in sorted(boot)]
    assert store.late_events == 0


@pytest.mark.parametrize(
    ("written", "lines"),
    [
        (b"plain\r\n", ["plain"]),
        (b"\x1b[31mred\x1b[0m \x1b]0;title\x07text\r\n", ["red text"]),
        (b"10%\r99%\r\n", ["99%"]),
        (b"\x1b[2J\x1b[1;1Htop\r\nnext\r\n", ["next"]),
        (b"bell\x07 tab\tend\r\n\r\n", ["bell tab\tend", ""]),
    ],
)
def test_lines_of_a_terminal_are_plain_text(written: bytes, lines: list[str]) -> None:
    assert [line.text for line in printed_lines(LineSplitter("tty").split(5, written))] == lines


def test_the_plan_is_kept_in_a_recording() -> None:
    assert OUTPUT_FORMAT.path == COMMAND_OUTPUT
    assert plan_from_dict(plan_to_dict(OUTPUT_PLAN)) == OUTPUT_PLAN


def test_conditions_know_all_fields_of_a_line() -> None:
    (event,) = OUTPUT_PLAN.events
    assert {column.name for column in event.columns} == set(OUTPUT_FORMAT.names)


def test_a_long_line_is_one_row_with_its_beginning() -> None:
    splitter, header = LineSplitter("stdout"), LAYOUTS[1]
    pieces = splitter.split(5, b"ab" * 5000 + b"\nnext\n")
    rows = RowLines().take(pieces, 5)
    assert [row.data[:4] for row in rows] == [b"abab", b"next"]
    store = Store(Decoder({OUTPUT_FORMAT.id: OUTPUT_FORMAT}, header), 1000)
    store.feed(output_batch(rows, 77, header))
    store.flush()
    assert [str(store.record(row).values["text"])[-1:] for row in range(2)] == ["…", "t"]


def test_a_long_line_of_little_text_is_its_text() -> None:
    """Sequences of a terminal are no text, and may be most of a line that is too long."""
    written = b"\x1b[1m" * 3000 + b"short\r\n"
    rows = RowLines().take([OutputLine(5, "terminal", written, goes_on=True)], 5)
    store, header = Store(Decoder({OUTPUT_FORMAT.id: OUTPUT_FORMAT}, LAYOUTS[1]), 1000), LAYOUTS[1]
    store.feed(output_batch(rows, 77, header))
    store.flush()
    assert [store.record(row).values["text"] for row in range(store.next_seq)] == ["…"]


def test_passes_and_lines_that_are_read_ahead_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    header, file = LAYOUTS[1], io.BytesIO()
    writer = RecordingWriter(file)
    writer.blob("format", OUTPUT_FORMAT.path, OUTPUT_FORMAT.source.encode())
    line, empty = output_batch([OutputLine(5, "stdout", b"x")], 1, header), Batch((), drained=True)
    for _ in range(5000):
        writer.pages(line)
        writer.pages(empty)
    writer.close()
    monkeypatch.setattr("events.recording.lines_in_time._AHEAD", 64 << 10)
    recording = Recording(file.getvalue())
    read = 0

    def counted_timeline() -> Iterator[Batch | dict[int, EventFormat]]:
        nonlocal read
        for entry in given():
            read += 1
            yield entry

    given = recording.timeline
    monkeypatch.setattr(recording, "timeline", counted_timeline)
    most = 0
    for number, _ in enumerate(timeline_with_lines(recording)):
        most = max(most, read - number)
    assert read == 10_001 and most < 200


def test_a_gap_before_lines_is_a_gap() -> None:
    """Passes that were dropped may stand in front of lines, which are of no pass."""
    header = LAYOUTS[1]
    store = Store(Decoder({OUTPUT_FORMAT.id: OUTPUT_FORMAT}, header))

    def event(ts: int) -> Batch:
        one = output_batch([OutputLine(ts, "stderr", b"")], 1, header)
        return one._replace(chunks=(one.chunks[0]._replace(cpu=0),), drained=True)

    store.feed(event(1000))
    store.feed(output_batch([OutputLine(2000, "stdout", b"")], 1, header)._replace(after_gap=True))
    store.feed(event(3000))
    store.flush()
    assert store.loss_spans.latest.may_lack_ends(1000, 3000)


def test_no_cpu_is_shown_of_a_line_and_a_condition_chooses_lines_by_it() -> None:
    header = LAYOUTS[1]
    store = Store(Decoder({OUTPUT_FORMAT.id: OUTPUT_FORMAT}, header), 1000)
    store.feed(output_batch([OutputLine(5_000, "stdout", b"here")], 7, header))
    store.flush()
    record = store.record(0)
    assert context(record).split() == ["<...>-7", "[---]", ".....", "0.000005:"]
    assert parse_condition("cpu == -1", {}, store.task_names.name)(record)
    assert not parse_condition("cpu >= 0", {}, store.task_names.name)(record)


def test_of_a_flood_the_first_and_last_lines_of_a_second_are_rows_and_the_others_are_counted() -> None:
    second, lines = 1_000_000_000, RowLines()
    flood, end = b"y\r\n" * (2 * MOST_A_SECOND), b"z\r\n" * 20
    taken = lines.take(
        [OutputLine(3 * second, "terminal", flood), OutputLine(3 * second + 1, "terminal", end)], 3 * second + 9
    )
    assert len(taken) == MOST_A_SECOND and {line.text for line in taken} == {"y"}
    assert lines.held_from == 3 * second + 1, "rows behind it are not final"
    told, *last, after = lines.take([OutputLine(4 * second, "stdout", b"after")], 4 * second)
    assert (told.ts, told.stream) == (3 * second + 1, "note")
    assert told.text == f"{MOST_A_SECOND:,} lines more, on the terminal alone"
    assert [line.text for line in last] == 20 * ["z"] and after.text == "after"
    assert lines.held_from == sys.maxsize
    lines.take([OutputLine(6 * second, "terminal", flood + b"prompt> ")], 6 * second)
    assert len(lines.take([], 7 * second)) == 21, "the second is over, though nothing more was written"
    assert [line.text for line in lines.finish(8 * second)] == ["prompt> "]
    assert lines.finish(8 * second) == []
