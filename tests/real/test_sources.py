"""Sources of latencies on the kernel with every tracer: each sample as the kernel prints it, rtla's figures, and the
way back.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import pytest

from kernel.lab.guest import Guest, boot
from tests.real.command import Done, address, finish, run, ssh_to, start
from tests.real.conftest import prepared
from tests.real.processes import until
from tests.real.tools import packed

TRACING = "/sys/kernel/tracing"
SETTINGS = f"cd {TRACING}; grep . osnoise/*_us osnoise/cpus osnoise/print_stack hwlat_detector/* tracing_thresh"
_RTLA = re.compile(r"^ *(\d+) #(\d+) *\|" + r" +(\d+)" * 4 + r" \|" + r" +(\d+)" * 4, re.MULTILINE)
"""A line of `rtla timerlat top`: CPU, samples, then cur, min, avg and max of the interrupt and of the thread."""
PERIOD = 10_000
"""Microseconds: an emulated processor keeps up with it."""


class Place(NamedTuple):
    """A guest, and the way to it."""

    guest: Guest
    env: dict[str, str]

    def run(self, *words: str) -> Done:
        return run("run", "--target", address(self.guest), *words, env=self.env)

    def settings(self) -> bytes:
        return self.guest.run(SETTINGS)

    def is_clean(self) -> bool:
        return b"probewright" not in self.guest.run(f"ls {TRACING}/instances")


@pytest.fixture(scope="module", params=["full"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    prepared(request.param)
    with boot(request.param, python=True, workload=False, extra=[packed("rtla")], memory=2048) as guest:
        yield Place(guest, ssh_to(guest, tmp_path_factory.mktemp("ssh")))


def latencies(done: Done) -> dict[tuple[str, int | None], dict[str, int]]:
    return {(one["name"], one["cpu"]): one for one in done.objects if one["kind"] == "latency"}


def test_timerlat_as_the_kernel_prints_it(place: Place) -> None:
    """Every sample that both an instance of somebody else and ours have, with equal numbers; and the sums of ours."""
    theirs = f"{TRACING}/instances/theirs"
    place.guest.run(
        f"mkdir {theirs}; echo {PERIOD} >{TRACING}/osnoise/timerlat_period_us; echo timerlat >{theirs}/current_tracer"
    )
    before = place.settings()
    try:
        done = place.run(f"timerlat period={PERIOD}us", "--for", "4", "--export", "jsonl")
        assert done.status == 0, done
        place.guest.run(f"echo 0 >{theirs}/tracing_on")
        text = place.guest.run(f"cat {theirs}/trace").decode()
    finally:
        place.guest.run(f"echo nop >{theirs}/current_tracer; rmdir {theirs}")
    line = re.compile(r"\[(\d+)\].* #(\d+) +context +(irq|thread) timer_latency +(\d+) ns")
    told = {(int(cpu), int(seq), name): int(ns) for cpu, seq, name, ns in line.findall(text)}
    events = [one for one in done.objects if one["event"].endswith("timerlat")]
    ours = {
        (one["cpu"], one["values"]["seqnum"], ("irq", "thread")[one["values"]["context"]]): one["values"][
            "timer_latency"
        ]
        for one in events
    }
    assert len(ours) > 300
    assert {cpu for cpu, _, _ in ours} == {0, 1}
    assert ours.items() <= told.items()
    for key in {(cpu, name) for cpu, _, name in ours}:  # none between the first and the last is missing
        numbers = [seq for cpu, seq, name in ours if (cpu, name) == key]
        assert sorted(numbers) == list(range(min(numbers), max(numbers) + 1))
    assert place.settings() == before
    assert place.is_clean()
    place.guest.run(f"echo 1000 >{TRACING}/osnoise/timerlat_period_us")


def test_timerlat_beside_rtla(place: Place) -> None:
    """Our samples include those that rtla counted: of interrupts as many in a row, with the last, least, average and
    largest one, of threads its largest.
    """
    before = place.settings()
    command = [*place.guest.ssh_command, f"rtla timerlat top -q -p {PERIOD} -d 120s"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as rtla:
        until(lambda: b"timerlat" in place.guest.run(f"cat {TRACING}/instances/timerlat_top/current_tracer; true"))
        refused = place.run("timerlat period=20ms", "--for", "1")
        assert refused.status == 3, refused
        assert "timerlat is on in the instance timerlat_top" in refused.err
        assert rtla.poll() is None
        rtla.kill()
    place.guest.run(
        "for each in /proc/[0-9]*; do grep -aq ^rtla $each/cmdline && kill -INT ${each#/proc/}; done; true"
    )
    until(lambda: b"timerlat" not in place.guest.run(f"ls {TRACING}/instances"))
    ours = start(
        *("run", "--target", address(place.guest), f"timerlat period={PERIOD}us causes=off", "--for", "25"),
        *("--export", "jsonl"),
        env=place.env,
    )
    until(
        lambda: (
            b"timerlat" in place.guest.run(f"cat {TRACING}/instances/probewright-*/current_tracer 2>/dev/null; true")
        )
    )
    told = place.guest.run(f"sleep 3; rtla timerlat top -q -p {PERIOD} -d 8s", timeout=120).decode()
    done = finish(ours)
    assert done.status == 0, done
    rows = [list(map(int, row)) for row in _RTLA.findall(told)]
    assert [row[0] for row in rows] == [0, 1], told
    for cpu, count, *figures in rows:
        assert count > 100
        for context, expected in enumerate((figures[:4], figures[4:])):
            samples = [
                one["values"]["timer_latency"] // 1000
                for one in done.objects
                if one["event"].endswith("timerlat") and one["cpu"] == cpu and one["values"]["context"] == context
            ]
            assert expected[3] in samples, (cpu, context, expected, max(samples))
            if not context:  # rtla counts threads apart, and prints the number of interrupts alone
                lengths = range(count - 3, count + max(4, count // 10))
                found = [n for n in lengths if has_window(samples, n, max(0, n - count), expected)]
                assert found, (cpu, count, expected, samples)
    assert place.settings() == before
    assert place.is_clean()


def has_window(samples: list[int], count: int, left_out: int, expected: list[int]) -> bool:
    """Whether so many samples in a row end in a value and have a least, an average and a largest one.

    Where rtla is slow it leaves some out: the average may be that of the others.
    """
    last, least, average, most = expected
    sums, counted = [0, *accumulate(samples)], count - left_out
    return any(
        samples[end - 1] == last
        and (sums[end] - sums[end - count] - left_out * most) // counted
        <= average
        <= (sums[end] - sums[end - count] - left_out * least) // counted
        and min(samples[end - count : end]) == least
        and max(samples[end - count : end]) == most
        for end in range(count, len(samples) + 1)
    )


def test_a_threshold_ends_with_status_1(place: Place) -> None:
    before = place.settings()
    done = place.run(f"timerlat period={PERIOD}us stack=1us", "--threshold", "10us", "--for", "60", "--json")
    assert done.status == 1, done
    assert "the threshold is 10us" in done.err
    (worst,) = [one for one in done.objects if one["kind"] == "worst"]
    assert worst["max"] >= 10_000
    assert any("timerlat" in function for function in worst["stack"])
    patient = place.run(f"timerlat period={PERIOD}us", "--threshold", "100s", "--for", "1")
    assert patient.status == 0, patient
    assert "timerlat" in patient.out
    assert place.settings() == before
    assert place.is_clean()


@pytest.mark.parametrize(
    ("source", "measures"),
    [
        ("osnoise period=300ms runtime=200ms", {"noise", "single"}),
        ("hwlat window=200ms width=100ms tolerance=1us", {"inner", "outer"}),
        ("wakeup", {"wakeup"}),
    ],
)
def test_other_sources(place: Place, source: str, measures: set[str]) -> None:
    before = place.settings()
    done = place.run(source, "--for", "4", "--json")
    assert done.status == 0, done
    found = latencies(done)
    assert {name for name, _ in found} == measures
    for one in found.values():
        assert 0 <= one["min"] <= one["avg"] <= one["max"]
        assert one["p99"] <= one["p99_9"] <= one["max"]
    if source.startswith("osnoise"):
        noise = [one for one in done.objects if one["kind"] == "noise"]
        assert {one["cpu"] for one in noise} == {0, 1}
        for one in noise:
            assert one["available"] == pytest.approx(100 * (one["runtime"] - one["noise"]) / one["runtime"])
            assert one["max" if "max" in one else "noise"] <= one["runtime"]
    assert place.settings() == before
    assert place.is_clean()


def test_a_recording_has_the_same_table(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "timerlat.pwr"
    words = ("--target", address(place.guest), f"timerlat period={PERIOD}us stack=1us", "--for", "3", "-o", str(path))
    recorded = run("record", *words, env=place.env)
    assert recorded.status == 0, recorded
    done = run(str(path), "--export", "jsonl", "--view", "latencies", "-o", "-")
    assert done.status == 0, done
    exported = run(str(path), "--export", "jsonl", "-o", "-").objects
    samples = [one for one in exported if one["event"].endswith("timerlat")]
    for (name, cpu), one in latencies(done).items():
        values = [
            sample["values"]["timer_latency"]
            for sample in samples
            if cpu in (None, sample["cpu"]) and sample["values"]["context"] == ("irq", "thread").index(name)
        ]
        assert (one["count"], one["min"], one["max"]) == (len(values), min(values), max(values))
        assert one["avg"] == pytest.approx(sum(values) / len(values))
    assert latencies(done)
    assert any(one["kind"] == "worst" and one["stack"] for one in done.objects)


def test_a_killed_session_is_undone(place: Place) -> None:
    """The application is gone at once: the agent over there restores the tracer and all settings."""
    before = place.settings()
    words = ("run", "--target", address(place.guest), "timerlat period=7ms stop=9s cpus=0", "--for", "60")
    process = start(*words, env=place.env)
    until(
        lambda: (
            b"timerlat" in place.guest.run(f"cat {TRACING}/instances/probewright-*/current_tracer 2>/dev/null; true")
        )
    )
    assert place.settings() != before
    process.kill()
    process.communicate()
    until(place.is_clean)
    until(lambda: place.settings() == before)


def test_kernel_without_tracers_names_the_switch(guest_72: Guest, tmp_path: Path) -> None:
    env = ssh_to(guest_72, tmp_path)
    done = run("run", "--target", address(guest_72), "timerlat", "--for", "1", env=env)
    assert done.status == 1, done
    assert "CONFIG_TIMERLAT_TRACER" in done.out + done.err
