"""The calls of bpf(2) by libbpf and by ctypes alone, on this machine's kernel: one interface, the same results."""

from __future__ import annotations

import errno
import mmap
import os
import struct
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from events.bpf_layout import LOSS_NOTICE, RECORD_DATA
from kernel.agent.bpf_calls import PERF_EVENT_OPEN, PERF_EVENT_READ, RETURNED, BpfCalls
from kernel.agent.object_rings import ring_reader
from kernel.bpf.objects.attach_object import FORMAT_LOST, perf_output_attributes
from kernel.local.libbpf_calls import LibbpfCalls, LibbpfRing, load_calls, local_calls, local_ring
from kernel.target import RecordForm
from tests import bpf_call_checks as checks

if TYPE_CHECKING:
    from kernel.agent.object_rings import AnyRing

SIZES = (8, 16, 24, 8, 64, 40)


def make(kind: str) -> BpfCalls:
    library = load_calls()
    if kind == "libbpf" and library is None:
        pytest.skip("no libbpf.so.1 here")
    return LibbpfCalls(library) if kind == "libbpf" and library is not None else BpfCalls()


@pytest.fixture(params=["libbpf", "bpf(2)"])
def calls(request: pytest.FixtureRequest) -> Iterator[BpfCalls]:
    found = make(request.param)
    if checks.create_map(found.call, checks.ARRAY, 4, 4, 1) in (-errno.EPERM, -errno.ENOSYS):
        pytest.skip("this kernel lets us make no maps")
    yield found
    found.close_all()
    assert not found.files


def test_maps(calls: BpfCalls) -> None:
    checks.check_maps(calls.call)


def test_only_the_count_of_an_own_event_is_read(calls: BpfCalls) -> None:
    attributes = struct.pack("<IIQQQQQIIQQ", 1, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0).ljust(96, b"\0")  # the CPU's clock
    event, _ = calls.call(PERF_EVENT_OPEN, struct.pack("<ii", 0, -1) + attributes, [])
    if event in (-errno.EACCES, -errno.ENOENT, -errno.EPERM, -errno.ENOSYS):
        pytest.skip("this kernel lets us open no perf event")
    result, (data,) = calls.call(PERF_EVENT_READ, struct.pack("<Q", event), [(0, RETURNED, b"8")])
    assert (result, len(data)) == (8, 8)
    foreign, left = os.pipe()
    assert calls.call(PERF_EVENT_READ, struct.pack("<Q", foreign), [(0, RETURNED, b"8")]) == (-errno.EBADF, [])
    os.close(foreign)
    os.close(left)


def test_programs(calls: BpfCalls) -> None:
    checks.check_programs(calls.call)


def test_a_ring_buffer_is_read_alike_by_both(calls: BpfCalls) -> None:
    form = RecordForm(24, 0x8001, pid=0)
    row = form.size + 8
    for reader in (local_ring, ring_reader):
        ring, size = checks.written_ring(calls.call, SIZES)
        with_limit = reader(ring, size, form.text)
        if reader is local_ring and load_calls() is not None:
            assert isinstance(with_limit, LibbpfRing)
        first, is_drained = with_limit.take(row * 2)
        assert (len(first), is_drained) == (row * 2, False)
        rest, is_drained = with_limit.take(1 << 20)
        assert (len(rest), is_drained) == (row * (len(SIZES) - 2), True)
        assert with_limit.take(1 << 20) == (b"", True)
        data = first + rest
        for at, one in enumerate(SIZES):
            record = data[at * row : (at + 1) * row]
            length, _, stamp, pid, lost, faults, number = struct.unpack_from("<IIQIIII", record)
            assert (length, pid, lost, faults, number) == (form.size, one, 0, 0, 0x8001)
            assert stamp > 0
            payload = record[8 + RECORD_DATA :]
            kept = min(one, 24)
            assert payload[:kept] == struct.pack("<q", one) * (kept // 8)
            assert not any(payload[kept:])
        with_limit.close()
        if isinstance(with_limit, LibbpfRing):
            with_limit.close()


def test_this_machine_uses_libbpf_where_it_is() -> None:
    assert isinstance(local_calls(), LibbpfCalls) is (load_calls() is not None)


@pytest.mark.parametrize("read_format", [0, FORMAT_LOST])
def test_a_perf_buffer_gives_time_and_thread_and_counts_what_it_lost(read_format: int) -> None:
    calls = BpfCalls()
    event = struct.pack("<ii", -1, 0) + perf_output_attributes(read_format)
    fd = calls.call(PERF_EVENT_OPEN, event, ())[0]
    if fd < 0:
        pytest.skip("this kernel opens no perf events for us")
    before = os.sched_getaffinity(0)
    if 0 not in before:
        pytest.skip("this process may not run on the first CPU")
    os.sched_setaffinity(0, {0})  # else another thread is interrupted there, and is that of the record
    try:
        program = checks.perf_writer(calls.call, fd, 24)
        form = RecordForm(24, 0x8001, is_perf=True)
        row, size = form.size + 8, 4 * mmap.PAGESIZE
        reader = ring_reader(fd, size, form.text)
        checks.run_on_first_cpu(calls.call, program)
        (first,) = rows_of(reader, row)
        stamp, thread, lost = struct.unpack_from("<QII", first, 8)
        assert abs(time.clock_gettime_ns(time.CLOCK_MONOTONIC) - stamp) < 60 * 10**9
        assert thread == threading.get_native_id()
        assert lost == 0
        assert first[8 + RECORD_DATA :] == struct.pack("<q", 24) * 3
        written = 2 * size // 56
        for _ in range(written):
            checks.run_on_first_cpu(calls.call, program)
        found = rows_of(reader, row)
        notices = [one for one in found if int.from_bytes(one[:4], "little") & LOSS_NOTICE]
        kept = len(found) - len(notices)
        assert 0 < kept < written
        told = [struct.unpack_from("<I", one, 20)[0] for one in notices]
        assert told == ([written - kept] if read_format else [])
        assert rows_of(reader, row) == []
        checks.run_on_first_cpu(calls.call, program)
        (last,) = rows_of(reader, row)
        assert struct.unpack_from("<I", last, 20) == (written - kept,)
        reader.close()
    finally:
        os.sched_setaffinity(0, before)
        calls.close_all()


def rows_of(reader: AnyRing, row: int) -> list[bytes]:
    """Read all records, a few at a time, over the end of the buffer, too."""
    data = b""
    drained = False
    while not drained:
        some, drained = reader.take(row * 7)
        data += some
    assert not len(data) % row
    return [data[at : at + row] for at in range(0, len(data), row)]
