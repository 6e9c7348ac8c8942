"""Text of events as it is given out equals the kernel's own, to the byte."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.export.escape import escape_bytes, exact_values, unescape_text
from events.export.formats.text import KernelText, latency_flags
from events.export.source import ExportSource, ProbeNote
from events.recording.reader import parse_cmdlines
from events.store.store import Store
from tests.events_data import KERNELS, Captured, archive, captured, store_of
from tests.pure.export_events import STRINGS, record_of


def text_of(store: Store, source: ExportSource) -> list[bytes]:
    out = io.BytesIO()
    writer = KernelText(source, out)
    for seq in range(store.first_seq, store.next_seq):
        writer.take(store.record(seq))
    writer.finish()
    return out.getvalue().splitlines()


def of_one_cpu(taken: Captured, kernel: str, name: str, cpu: int) -> Store:
    store = store_of(taken.decoder, {cpu: taken.raw[cpu]})
    files = archive("ringbuf.tar.xz")
    store.task_names.known = parse_cmdlines(files.get(f"{kernel}/{name}/saved_cmdlines", b""))
    return store


@pytest.mark.parametrize("kernel", KERNELS)
def test_lines_of_probes_are_the_kernels_lines(kernel):
    taken = captured(kernel, "my")
    source = ExportSource(symbols=lambda _: taken.symbols)
    for cpu, expected in taken.text.items():
        made = text_of(of_one_cpu(taken, kernel, "my", cpu), source)
        assert made == [line.encode() for line in expected]
        assert len(made) > 200


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["mixed", "overrun", "ext", "subbuf64k"])
def test_what_stands_before_an_event_is_the_kernels_for_every_kind(kernel, name):
    """Flags, CPU and time of interrupts, timers and switches too; whole lines of probes."""
    taken = captured(kernel, name)
    source = ExportSource(symbols=lambda _: taken.symbols)
    seen: set[str] = set()
    for cpu, expected in taken.text.items():
        made = text_of(of_one_cpu(taken, kernel, name, cpu), source)
        assert len(made) == len(expected)
        for ours, theirs in zip(made, expected, strict=True):
            head, _, rest = theirs.partition(": ")
            # Names of tasks were saved for one of the sets only.
            assert ours.decode()[16:].startswith(head[16:] + ": ")
            seen.add(head.split("] ")[1].split()[0])
            if rest.partition(":")[0] in ("rd", "rdx", "op"):
                assert ours.decode()[16:] == theirs[16:]
    assert len(seen) > (2 if name == "mixed" else 0)


@pytest.mark.parametrize(
    ("flags", "count", "expected"),
    [
        (0, 0, "....."),
        (0x01, 0x02, "d..2."),
        (0x01 | 0x04 | 0x10 | 0x20, 0x06, "dNs6."),
        (0x81, 0x21, "D..12"),
        (0x80 | 0x02, 0, "bl..."),
        (0x08 | 0x10 | 0x26, 0, ".BH.."),
        (0x40, 0xF, "..zf."),
        (0x48, 0, "..Z.."),
    ],
)
def test_flags_of_a_cpu(flags, count, expected):
    assert latency_flags(flags, count) == expected


def test_what_an_event_probe_is_on_stands_in_its_line():
    record = record_of({"count": 3}, event="g/ev")
    out = io.BytesIO()
    KernelText(ExportSource({"g/ev": ProbeNote(attached="sched.sched_switch")}), out).take(record)
    assert out.getvalue() == b"            head-7       [001] d..2.    12.345679: ev: (sched.sched_switch) count=3\n"


@given(st.binary().filter(lambda raw: 0 not in raw))
def test_no_byte_of_a_string_is_lost(raw):
    assert unescape_text(escape_bytes(raw)) == raw
    record = record_of({"name": raw, "fixed": raw})
    values = exact_values(record)
    assert unescape_text(str(values["name"])) == raw
    assert unescape_text(str(values["fixed"])) == raw[:STRINGS]


@given(st.text(alphabet=st.characters(exclude_characters="\0\\", exclude_categories=("Cs",))))
def test_ordinary_text_stays_as_it_is(text):
    assert escape_bytes(text.encode()) == text


@given(st.binary(min_size=1, max_size=40).filter(lambda raw: 0 not in raw))
def test_the_bytes_of_a_string_stand_in_the_text(raw):
    out = io.BytesIO()
    KernelText(ExportSource({"g/ev": ProbeNote(attached="a.b")}), out).take(record_of({"name": raw}, event="g/ev"))
    assert b' name="' + raw + b'"\n' in out.getvalue()
