"""The samples of monitors: numbers in files and in an ELF core file, their records, and those that came too late."""

from __future__ import annotations

import errno
import re
import select
import struct
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.bpf_records import RecordConverter
from events.decode import Decoder
from events.format import HeaderPage, parse_format
from events.store.store import Store
from kernel.agent import sampler
from kernel.agent.number_readers import KcoreFile, MemoryNumber, number_in
from kernel.agent.sampler import SAMPLER, SampleRing, sample_ring
from kernel.bpf.loaded_monitor import forms_of
from kernel.bpf.ring_stream import ConvertedStream
from kernel.errors import FileRefused, TargetUnusable
from kernel.local.stream import LocalStream
from kernel.session.armed_programs import ArmedPrograms
from kernel.target import RingMap, SampleForm
from probes.command import parse_armable
from probes.plans.plan import Plan, PlannedEvent
from probes.plans.sampled_number import FileNumberPlace, SampledNumber, sample_layout
from tests.fake_target import HEADER_PAGE, FakeStream, FakeTarget

ROW = struct.Struct("<IIQIIII16sqq")
START = 0xFFFF_8880_0000_0000
MEMINFO = b"MemTotal:        1013000 kB\nMemFree:          881 kB\nHugePages_Free:  -3\nHex: 0x1F\n"


class Sample(NamedTuple):
    time: int
    lost: int
    faults: int
    value: int
    delta: int


def samples_of(ring: SampleRing) -> list[Sample]:
    data, _ = ring.take(1 << 20)
    rows = [ROW.unpack_from(data, at) for at in range(0, len(data), ring.size + 8)]
    return [Sample(row[2], row[4], row[5], row[8], row[9]) for row in rows]


def text_of(path: Path, key: str = "", every: int = 1_000_000_000, word: str = "s64") -> bytes:
    layout = sample_layout(word)
    number = SampledNumber(every // 1000, layout, int(word[1:]) // 8, word[0] == "s", FileNumberPlace(str(path), key))
    return SampleForm(number, 0x8001).text


@pytest.mark.parametrize(
    ("text", "key", "column", "scale", "found"),
    [
        (MEMINFO, b"MemFree", 1, 1, 881),
        (MEMINFO, b"HugePages_Free", 1, 1, -3),
        (MEMINFO, b"Hex", 1, 1, 31),
        (MEMINFO, b"MemFree", 2, 1, None),
        (MEMINFO, b"MemFre", 1, 1, None),
        (MEMINFO, b"", 1, 1, None),
        (b"\n 42\n", b"", 1, 1, 42),
        (b"0.71 0.05 1.5 1/123 4567\n", b"", 1, 100, 71),
        (b"0.71 0.05 1.5 1/123 4567\n", b"", 3, 1, 1),
        (b"0.71 0.05 1.5 1/123 4567\n", b"", 4, 1, 1),
        (b"12abc\n", b"", 1, 1, None),
        (b"0xyz\n", b"", 1, 1, None),
        (b"9" * 21, b"", 1, 1, None),
        (b"", b"", 1, 1, None),
    ],
)
def test_numbers_of_files(text: bytes, key: bytes, column: int, scale: int, found: int | None) -> None:
    assert number_in(text, key, column, scale) == found


@given(
    st.integers(0, 10**18), st.text("0123456789", max_size=9), st.sampled_from([1, 10, 1000, 10**6]), st.booleans()
)
def test_digits_behind_the_point_are_kept_by_the_factor(whole: int, part: str, scale: int, negative: bool) -> None:
    exact = Fraction(f"{whole}.{part or 0}") * scale // 1
    word = f"{'-' * negative}{whole}{'.' * bool(part)}{part}"
    assert number_in(f"x {word} y".encode(), b"x", 1, scale) == (-exact if negative else exact)


@given(st.binary(max_size=60), st.integers(1, 3))
def test_any_bytes_have_a_number_or_none(text: bytes, column: int) -> None:
    found = number_in(text, b"", column, 1)
    assert found is None or re.search(rb"[0-9]", text)


@pytest.fixture
def core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A core file with memory at START, 64 words: each has its own address but 0 at the last."""
    memory = b"".join(struct.pack("<Q", START + 8 * at) for at in range(63)) + bytes(8)
    head = b"\x7fELF\x02\x01".ljust(16, b"\0") + struct.pack("<2HI3QI6H", 4, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<2I6Q", 1, 7, 4096, START, 0, len(memory), len(memory), 4096)
    path = tmp_path / "kcore"
    path.write_bytes((head + segment).ljust(4096, b"\0") + memory)
    monkeypatch.setattr(KcoreFile.__init__, "__defaults__", (bytes(path),))
    return path


@pytest.mark.usefixtures("core")
def test_paths_in_memory() -> None:
    assert MemoryNumber([START], [16], 8, False).read() == START + 16
    assert MemoryNumber([START], [16, 8, 4], 4, False).read() == (START + 24 + 4 - 4 >> 32)  # its upper half
    assert MemoryNumber([START, START + 8], [0], 1, False).read() == 8
    assert MemoryNumber([START], [0], 2, True).read() == 0
    for steps in ([8 * 63, 0], [8 * 64], [-8], [1 << 70]):
        with pytest.raises(OSError, match="not mapped"):
            MemoryNumber([START], steps, 8, False).read()


def test_what_is_no_core_file(tmp_path: Path) -> None:
    for data in (b"", b"\x7fELF", b"\x7fELF\x01\x01".ljust(64, b"\0"), b"text" * 40):
        path = tmp_path / "no"
        path.write_bytes(data)
        with pytest.raises(OSError, match="no core file"):
            KcoreFile(bytes(path))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The clock of the sampler, which a test moves."""
    now = [5_300_000_000]
    monkeypatch.setattr(sampler, "_monotonic", lambda: now[0])
    yield now


def test_values_differences_and_times(tmp_path: Path, clock: list[int]) -> None:
    path = tmp_path / "file"
    path.write_text("MemFree: 10 kB\n")
    ring = SampleRing(text_of(path, "MemFree"))
    assert ring.due == 6_000_000_000
    for seconds, number in ((6, 12), (7, 5), (8, 5)):
        clock[0] = seconds * 10**9 + 7
        path.write_text(f"MemFree: {number} kB\n")
        ring.sample(42)
    times = [one * 10**9 + 7 for one in (6, 7, 8)]
    assert samples_of(ring) == [
        Sample(*one) for one in zip(times, (0,) * 3, (0,) * 3, (12, 5, 5), (2, -7, 0), strict=True)
    ]
    assert samples_of(ring) == []
    ring.close()


def test_a_late_sample_tells_those_that_were_missed(tmp_path: Path, clock: list[int]) -> None:
    path = tmp_path / "file"
    path.write_text("1\n")
    ring = SampleRing(text_of(path))
    clock[0] = 6_000_000_000
    ring.sample(42)
    clock[0] = 9_999_999_999
    ring.sample(42)
    clock[0] = 10_000_000_000
    ring.sample(42)
    assert [(one.time, one.lost) for one in samples_of(ring)] == [
        (6_000_000_000, 0),
        (9_999_999_999, 2),
        (10_000_000_000, 2),
    ]
    assert ring.due == 11_000_000_000
    ring.close()


def test_what_cannot_be_read_is_a_fault_and_no_number(tmp_path: Path, clock: list[int]) -> None:
    path = tmp_path / "file"
    path.write_text("7\n")
    ring = SampleRing(text_of(path))
    for text in ("gone\n", "9\n", "10\n"):
        clock[0] += 10**9
        path.write_text(text)
        ring.sample(1)
    assert [one[2:] for one in samples_of(ring)] == [(3, 0, 0), (2, 9, 0), (0, 10, 1)]
    ring.close()


@pytest.mark.parametrize(("word", "delta"), [("u8", 3), ("s8", 3), ("u32", -253), ("s64", -253)])
def test_a_number_that_went_round_has_a_small_difference(
    tmp_path: Path, clock: list[int], word: str, delta: int
) -> None:
    path = tmp_path / "file"
    path.write_text("254\n")
    ring = SampleRing(text_of(path, word=word))
    clock[0] += 10**9
    path.write_text("1\n")
    ring.sample(1)
    (found,) = samples_of(ring)
    assert (found.value & 0xFF, found.delta) == (1, delta)
    ring.close()


def test_a_sample_that_is_being_taken_is_told(tmp_path: Path, clock: list[int]) -> None:
    path = tmp_path / "file"
    path.write_text("7\n")
    ring = SampleRing(text_of(path))
    seen = []

    class Reader:
        def read(self) -> int:
            poll = select.poll()
            poll.register(ring.fd, select.POLLIN)
            data, _ = ring.take(100)
            seen.append((bool(poll.poll(0)), data, ring.is_being_written))
            return 8

        def close(self) -> None:
            """Nothing is open."""

    clock[0] += 10**9
    ring._reader = Reader()  # type: ignore[assignment]
    poll = select.poll()
    poll.register(ring.fd, select.POLLIN)
    assert not poll.poll(0)
    ring.sample(1)
    assert seen == [(False, b"", True)]
    assert poll.poll(0)
    assert [one.value for one in samples_of(ring)] == [8]
    assert not ring.is_being_written and not poll.poll(0)
    ring.close()


def test_the_thread_takes_samples_until_the_ring_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("7\n")
    rings = [sample_ring(text_of(path, every=1_000_000)) for _ in range(3)]
    poll = select.poll()
    for ring in rings:
        poll.register(ring.fd, select.POLLIN)
    found: dict[int, list[Sample]] = {ring.fd: [] for ring in rings}
    while min(map(len, found.values())) < 5:
        poll.poll(10_000)
        for ring in rings:
            found[ring.fd] += samples_of(ring)
    for samples in found.values():
        times = [one.time for one in samples]
        assert times == sorted(times) and {one.value for one in samples} == {7}
        periods = (samples[-1].time // 1_000_000) - (samples[0].time // 1_000_000)
        assert len(samples) - 1 + samples[-1].lost - samples[0].lost == periods
    for ring in rings:
        ring.close()
    assert not SAMPLER._rings


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        sample_ring(text_of(tmp_path / "none"))
    assert not SAMPLER._rings


def monitor_plan(number: SampledNumber) -> Plan:
    probe = parse_armable("monitor of=/proc/uptime")
    return Plan(probe, (PlannedEvent("g", "mon_uptime", "", ""),), sampled=number)


def test_samples_are_events_of_the_store_in_order_and_missed_ones_are_counted(tmp_path: Path) -> None:
    """By the reader of a session, as events of BPF programs are."""
    instance = tmp_path / "instance"
    (instance / "per_cpu").mkdir(parents=True)
    (instance / "events").mkdir()
    (instance / "events/header_page").write_text(HEADER_PAGE)
    number = SampledNumber(1000, sample_layout("s64"), 8, True, FileNumberPlace("/proc/uptime"), 100)
    stream = ConvertedStream(LocalStream(str(instance)))
    stream.header = HeaderPage.parse(HEADER_PAGE)
    programs = ArmedPrograms(
        FakeTarget({"/sys/devices/system/cpu/online": b"0\n", "/sys/devices/system/cpu/possible": b"0\n"}),
        stream,
        lambda: None,
    )
    armed = programs.arm(monitor_plan(number))
    store = Store(Decoder(dict(armed.formats), stream.header))
    while len(store) < 20:
        batch = stream.read(5)
        if batch is not None:
            store.feed(batch)
            store.flush()
    programs.close()
    while (batch := stream.read(0)) is not None:  # those of the moment at which it ended
        store.feed(batch)
    store.flush()
    records = [store.record(seq) for seq in range(store.first_seq, store.next_seq)]
    assert {record.event for record in records} == {"g/mon_uptime"}
    assert [record.ts for record in records] == sorted(record.ts for record in records)
    values, deltas = ([int(str(record.values[name])) for record in records] for name in ("value", "delta"))
    assert min(*values, *deltas) >= 0
    assert values[-1] - values[0] == sum(deltas[1:])
    stream.close()


def test_samples_wait_for_others_and_none_is_left_behind(tmp_path: Path, clock: list[int]) -> None:
    path = tmp_path / "file"
    path.write_text("7\n")
    ring = SampleRing(text_of(path, every=100_000_000))
    poll = select.poll()
    poll.register(ring.fd, select.POLLIN)
    clock[0] = ring.due
    ring.sample(1)
    assert poll.poll(0), "the first one"
    assert len(samples_of(ring)) == 1 and not poll.poll(0)
    announced = []
    for _ in range(3):
        clock[0] = ring.due
        ring.sample(1)
        announced.append(bool(poll.poll(0)))
    assert announced == [False, False, True]
    assert len(samples_of(ring)) == 3
    ring.close()


def test_missed_samples_are_no_lost_events() -> None:
    form = SampleForm(SampledNumber(1000, sample_layout("s64"), 8, True, FileNumberPlace("/proc/uptime")), 0x8001)
    ((cpu, one),) = forms_of(form.number, form.id)
    head = struct.Struct("<IIQIIII16s")
    rows = [
        head.pack(one.size, 0, 10**9 * at, 7, lost, 0, form.id, b"monitor") + struct.pack("<qq", at, 1)
        for at, lost in ((1, 0), (2, 3), (3, 3))
    ]
    converter = RecordConverter(HeaderPage.parse(HEADER_PAGE))
    converter.sizes[5] = one.size
    converter.samples.add(5)
    batch = converter.converted(Batch((Chunk(cpu, b"".join(rows), ring=5),), True))
    fmt = parse_format(form.number.layout.format_text("mon", form.id, form.number.layout.size), "g")
    store = Store(Decoder({form.id: fmt}, HeaderPage.parse(HEADER_PAGE)))
    store.feed(batch)
    store.flush()
    assert (len(store), store.lost_events, converter.lost(5)) == (3, 0, {0: 3})


def test_each_cpu_has_its_own_samples() -> None:
    number = SampledNumber(1000, sample_layout("u64"), 8, False, None, 1, ((0, START), (3, START + 64)), (8,), False)
    assert [(cpu, form.bases) for cpu, form in forms_of(number, 1)] == [(0, (START,)), (3, (START + 64,))]


def test_a_host_without_python_says_so() -> None:
    number = SampledNumber(1000, sample_layout("s64"), 8, True, FileNumberPlace("/proc/uptime"))
    files = {"/sys/devices/system/cpu/online": b"0\n", "/sys/devices/system/cpu/possible": b"0\n"}
    programs = ArmedPrograms(FakeTarget(files), ConvertedStream(FakeStream()), lambda: None)
    with pytest.raises(TargetUnusable, match="python3"):
        programs.arm(monitor_plan(number))
    assert programs.armed == ()


def test_a_file_that_vanished_before_it_was_armed_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "per_cpu").mkdir()
    (tmp_path / "events").mkdir()
    (tmp_path / "events/header_page").write_text(HEADER_PAGE)
    stream = LocalStream(str(tmp_path))
    number = SampledNumber(1000, sample_layout("s64"), 8, True, FileNumberPlace("/proc/gone"))
    with pytest.raises(FileRefused, match="/proc/gone") as refused:
        stream.add_rings(1, SampleForm(number, 1), [RingMap(0, 0, 0)])
    assert refused.value.errno == errno.ENOENT
    stream.close()
