"""Tracers of a session: their settings are those of the whole kernel, and all of them come back."""

from __future__ import annotations

import contextlib
import errno
import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.errors import FileRefused, KernelError, ProbeRefused, SettingChanged, TargetLost, TargetUnusable
from kernel.session.probe_steps import Mode
from kernel.session.start import open_session
from kernel.target import Step
from probes.command import parse_armable
from probes.facts.facts import TargetFacts
from probes.lowering.lower import lower
from probes.plans.plan import Plan
from tests.fake_target import FACTS, ROOT, FakeStream, FakeTarget

SETTINGS = {
    "osnoise/cpus": b"0-1\n",
    "osnoise/period_us": b"1000000\n",
    "osnoise/runtime_us": b"900000\n",
    "osnoise/timerlat_period_us": b"1000\n",
    "osnoise/stop_tracing_us": b"0\n",
    "osnoise/stop_tracing_total_us": b"7\n",
    "osnoise/print_stack": b"0\n",
    "hwlat_detector/mode": b"none [round-robin] per-cpu\n",
    "hwlat_detector/width": b"500000\n",
    "hwlat_detector/window": b"1000000\n",
    "tracing_thresh": b"0\n",
    "current_tracer": b"nop\n",
}
FIELD = b"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
FORMAT = b"name: one\nID: 18\nformat:\n" + FIELD + b'\nprint fmt: ""\n'
TRACERS = ("timerlat", "osnoise", "hwlat")
EVENTS = ("irq_noise", "nmi_noise", "softirq_noise", "thread_noise", "sample_threshold")
KERNEL: TargetFacts = TargetFacts(
    "x86_64", "7.2.0-fake", cpus=2, tracefs=ROOT, features=FACTS.features, tracers=(*TRACERS, "nop"), readme="x"
)
TEXTS = (
    *("timerlat", "timerlat period=500us stop=50us cpus=0", "osnoise", "osnoise period=2s runtime=2s tolerance=3us"),
    *("osnoise period=10ms runtime=10ms", "hwlat width=2s window=4s mode=per-cpu", "hwlat width=1ms window=2ms"),
)


class TracerTarget(FakeTarget):
    """A kernel with tracers: none is changed while somebody reads, bounds hold, two exclude each other."""

    def __init__(self) -> None:
        self.streams: dict[str, list[FakeStream]] = {}
        files = {f"{ROOT}/{name}": data for name, data in SETTINGS.items()}
        files |= {f"{ROOT}/events/ftrace/{name}/format": FORMAT for name in (*TRACERS, "kernel_stack", "print")}
        super().__init__(files, KERNEL)

    def stream(self, instance: str) -> FakeStream:
        stream = super().stream(instance)
        self.streams.setdefault(instance, []).append(stream)
        return stream

    def _fill(self, path: str) -> None:
        super()._fill(path)
        self.files[f"{path}/current_tracer"] = b"nop\n"
        for name in EVENTS:
            self._event(path, f"osnoise/{name}")

    def _perform(self, step: Step) -> None:
        folder, name = posixpath.split(step.path)
        if name == "current_tracer":
            if any(not stream.closed.is_set() for stream in self.streams.get(folder, ())):
                raise FileRefused(step.path, errno.EBUSY)
            others = {
                text.strip()
                for file, text in self.files.items()
                if file.endswith("/current_tracer") and file != step.path
            }
            if others & {b"timerlat", b"osnoise"} - {step.data} and step.data in (b"timerlat", b"osnoise"):
                raise FileRefused(step.path, errno.EBUSY)
        data = step.data
        if name == "mode" and data:
            words = [b"none", b"round-robin", b"per-cpu"]
            data = b" ".join(b"[%s]" % word if word == data.strip() else word for word in words) + b"\n"
        for small, large in (
            ("osnoise/runtime_us", "osnoise/period_us"),
            ("hwlat_detector/width", "hwlat_detector/window"),
        ):
            new = {name: int(self.files[f"{ROOT}/{name}"]) for name in (small, large)}
            new |= {step.path.removeprefix(f"{ROOT}/"): int(data)} if step.path.endswith((small, large)) else {}
            if new[small] > new[large]:
                raise FileRefused(step.path, errno.EINVAL)
        super()._perform(step._replace(data=data))

    @property
    def settings(self) -> dict[str, bytes]:
        return {name: self.files[f"{ROOT}/{name}"].strip() for name in SETTINGS}


BEFORE = TracerTarget().settings


def plan(text: str) -> Plan:
    return lower(parse_armable(text), None, KERNEL, "pw_1_a")


@pytest.mark.parametrize("text", TEXTS)
def test_settings_come_and_go(text: str) -> None:
    target = TracerTarget()
    wanted = plan(text)
    assert wanted.tracer is not None
    with open_session(target) as session:
        armed = session.probes.arm(wanted)
        for setting in wanted.tracer.settings:
            place = ROOT if setting.shared else session.instance.path
            present = target.files[f"{place}/{setting.file}"]
            assert setting.value.encode() in (present.strip(), present.partition(b"[")[2].partition(b"]")[0])
        assert target.files[f"{session.instance.path}/current_tracer"] == wanted.tracer.name.encode()
        assert session.probes.disarm(armed) == []
        assert target.files[f"{session.instance.path}/current_tracer"] == b"nop"
        assert target.settings == BEFORE
        session.probes.arm(wanted)
    assert target.settings == BEFORE
    assert target.traces == []
    assert target.guarded == []


@given(st.sampled_from(TEXTS), st.integers(0, 60), st.sampled_from(["refused", "lost", "vanish"]))
def test_every_fault_leaves_the_settings(text: str, number: int, kind: str) -> None:
    target, left = TracerTarget(), [number]

    def fail(step: Step) -> None:
        left[0] -= 1
        if left[0] != -1:
            return
        if kind == "refused":
            raise FileRefused(step.path, errno.ENOMEM)
        target.lost = True
        raise TargetLost("the connection was lost")

    target.before = fail
    with contextlib.suppress(KernelError), open_session(target) as session:
        session.probes.arm(plan(text))
    if kind != "refused":
        target.before, target.lost, target.streams = lambda step: None, False, {}
        assert target.vanish() == []
    elif left[0] < 0:
        target.before = lambda step: None
        target.streams.clear()
        target.vanish()
    assert target.settings == BEFORE
    assert target.traces == []


def test_somebody_elses_tracer_is_respected() -> None:
    target = TracerTarget()
    theirs = f"{ROOT}/instances/timerlat_top"
    target.folders.add(theirs)
    target.files[f"{theirs}/current_tracer"] = b"timerlat\n"
    with open_session(target) as session:
        with pytest.raises(
            TargetUnusable, match=r"stop_tracing_total_us is of the whole kernel.*instance timerlat_top"
        ):
            session.probes.arm(plan("timerlat"))
        with pytest.raises(TargetUnusable, match="timerlat is on in the instance timerlat_top"):
            session.probes.arm(plan("osnoise period=1s runtime=900ms stop_total=7us"))
        assert session.probes.armed == ()
        assert target.settings == BEFORE
        session.probes.arm(plan("hwlat"))  # it shares nothing with timerlat
    target.files[f"{ROOT}/osnoise/stop_tracing_total_us"] = b"0\n"
    with open_session(target) as session:
        session.probes.arm(plan("timerlat"))  # with the settings that are there both can run
    assert target.files[f"{theirs}/current_tracer"] == b"timerlat\n"


def test_settings_changed_by_others_stay() -> None:
    target = TracerTarget()
    session = open_session(target)
    session.probes.arm(plan("timerlat period=500us"))
    target.files[f"{ROOT}/osnoise/timerlat_period_us"] = b"250\n"
    failures = session.close()
    assert [type(failure.error) for failure in failures] == [SettingChanged]
    assert target.settings == BEFORE | {"osnoise/timerlat_period_us": b"250"}


def test_one_tracer_at_a_time_and_no_counting() -> None:
    target = TracerTarget()
    with open_session(target) as session:
        armed = session.probes.arm(plan("timerlat"))
        with pytest.raises(TargetUnusable, match="timerlat runs in this session"):
            session.probes.arm(plan("hwlat"))
        with pytest.raises(ProbeRefused, match="timerlat is armed already"):
            session.probes.arm(plan("timerlat period=5ms"))
        with pytest.raises(ProbeRefused, match="counts nothing"):
            session.probes.switch(armed, Mode.COUNT)
        session.probes.switch(armed, Mode.OFF)
        assert target.settings == BEFORE
        session.probes.switch(armed, Mode.RECORD)
        assert target.files[f"{session.instance.path}/current_tracer"] == b"timerlat"
        assert target.files[f"{session.instance.path}/tracing_on"].strip() == b"1"
    assert target.settings == BEFORE
