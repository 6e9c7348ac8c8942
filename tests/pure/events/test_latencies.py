"""Latencies by CPU against a count of the samples one by one, of pages made by hand."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.decode import Decoder
from events.format import HeaderPage, parse_format
from events.latencies.cause import SOFTIRQS
from events.latencies.cpu_latencies import ALL_CPUS, CpuLatencies, Measure
from events.store.store import Store
from tests.events_data import entry, event, page, store_of
from tests.fake_target import HEADER_PAGE
from tui.present.latencies.rows import cause_rows, latency_rows, reached

_COMMON = (
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
)
_LAYOUTS = {
    ("ftrace", "timerlat", 18): (("unsigned int", "seqnum", 4), ("int", "context", 4), ("u64", "timer_latency", 8)),
    ("ftrace", "osnoise", 17): (
        *(("u64", name, 8) for name in ("noise", "runtime", "max_sample")),
        *(("unsigned int", f"{name}_count", 4) for name in ("hw", "nmi", "irq", "softirq", "thread")),
    ),
    ("osnoise", "softirq_noise", 40): (("u64", "start", 8), ("u64", "duration", 8), ("int", "vector", 4)),
    ("osnoise", "thread_noise", 41): (
        *(("char", "comm[16]", 16), ("u64", "start", 8), ("u64", "duration", 8), ("pid_t", "pid", 4)),
    ),
}


def _format(group: str, name: str, number: int) -> str:
    lines, offset = "", 8
    for kind, field, size in _LAYOUTS[group, name, number]:
        lines += f"\tfield:{kind} {field};\toffset:{offset};\tsize:{size};\tsigned:{int(kind in ('int', 'pid_t'))};\n"
        offset += size
    return f'name: {name}\nID: {number}\nformat:\n{_COMMON}{lines}\nprint fmt: ""\n'


FORMATS = {number: parse_format(_format(group, name, number), group) for group, name, number in _LAYOUTS}
HEADER = HeaderPage.parse(HEADER_PAGE)


class Sample(NamedTuple):
    """One timerlat sample."""

    cpu: int
    context: int
    latency: int


def stored(by_cpu: dict[int, Sequence[bytes]]) -> Store:
    raw = {}
    for cpu, records in by_cpu.items():
        pages = [records[at : at + 40] for at in range(0, len(records), 40)]
        raw[cpu] = b"".join(
            page(1_000_000 * (number + 1), b"".join(event(record, 1000) for record in records), HEADER)
            for number, records in enumerate(pages)
        )
    return store_of(Decoder(FORMATS, HEADER), raw)


def summed(store: Store) -> CpuLatencies:
    found = CpuLatencies(store)
    while found.rows.backlog:
        found.tick(0.0)
    return found


def timerlat(sample: Sample, seq: int) -> bytes:
    return entry(18, 7, struct.pack("<IiQ", seq, sample.context, sample.latency))


SAMPLES = st.lists(
    st.builds(Sample, st.integers(0, 3), st.integers(0, 2), st.integers(0, (1 << 63) - 1)), min_size=1, max_size=120
)


@given(SAMPLES)
def test_timerlat_by_cpu(samples: list[Sample]) -> None:
    found = summed(
        stored(
            {
                cpu: [timerlat(one, seq) for seq, one in enumerate(samples) if one.cpu == cpu]
                for cpu in sorted({one.cpu for one in samples})
            }
        )
    )
    assert found.samples == len(samples)
    rows = {(measure.name, cpu): total for measure, cpu, total in latency_rows(found)}
    for (name, cpu), total in rows.items():
        context = ("irq", "thread", "user").index(name)
        values = [one.latency for one in samples if one.context == context and cpu in (one.cpu, ALL_CPUS)]
        assert (total.values.count, total.least, total.values.most) == (len(values), min(values), max(values))
        assert total.values.mean == pytest.approx(sum(values) / len(values))
        place = max(1, -(-len(values) * 999 // 1000))
        exact = sorted(values)[place - 1]
        assert exact <= max(total.values.thousandths(999), 1) <= max(exact + exact // 32 + 1, 1)
    assert {name for name, _ in rows} == {("irq", "thread", "user")[one.context] for one in samples}
    most = max(samples, key=lambda one: one.latency)
    passed = reached(found, most.latency // 1000)
    assert passed is not None
    assert passed[1].value == most.latency
    assert reached(found, most.latency // 1000 + 1) is None


def test_noise_and_its_causes() -> None:
    def osnoise(noise: int, single: int) -> bytes:
        return entry(17, 7, struct.pack("<QQQIIIII", noise, 1000, single, 1, 2, 3, 4, 5))

    def softirq(vector: int, took: int) -> bytes:
        return entry(40, 7, struct.pack("<QQi", 5, took, vector))

    def thread(name: bytes, took: int) -> bytes:
        return entry(41, 7, struct.pack("<16sQQi", name, 5, took, 9))

    found = summed(
        stored(
            {
                0: [osnoise(10, 7), softirq(1, 30), softirq(1, 50), thread(b"worker", 900), osnoise(30, 9)],
                1: [softirq(9, 5), softirq(10, 6), thread(b"worker", 100)],
            }
        )
    )
    assert found.noise[0].samples == 2
    assert found.noise[0].available == pytest.approx(98.0)
    assert found.noise[0].counts == {
        "hw_count": 2,
        "nmi_count": 4,
        "irq_count": 6,
        "softirq_count": 8,
        "thread_count": 10,
    }
    single = found.sums[Measure("osnoise", "single")][0].values
    assert (single.count, single.most, single.total) == (2, 9000, 16000)
    rows = [
        (row.kind, row.name, row.cpu, row.total.count, row.total.total, row.total.most) for row in cause_rows(found)
    ]
    assert rows == [
        ("thread", "worker", 0, 1, 900, 900),
        ("thread", "worker", 1, 1, 100, 100),
        ("softirq", "TIMER", 0, 2, 80, 50),
        ("softirq", "10", 1, 1, 6, 6),
        ("softirq", SOFTIRQS[9], 1, 1, 5, 5),
    ]
