"""Probes for the next boot of a kernel: means by what it has, texts, plans, commands, refusals with reasons."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from probes.bootconfig.text import parse
from probes.command import parse_armable
from probes.export.boot_commands import boot_commands
from probes.export.boot_request import BootRequest, BootWay, available_ways, request
from probes.export.dialect import CannotExport
from probes.export.export import dialect_named
from probes.export.kernel_cmdline import LONGEST
from probes.facts.facts import Feature
from probes.lowering.lower import lower
from probes.plans.plan import Plan, PlannedEvent
from tests.probes_data import kernel

BOTH = (BootWay.BOOTCONFIG, BootWay.CMDLINE)


def made(way: BootWay, *specs: str, kernel_name: str = "7.2") -> BootRequest:
    """Return the request for specifications on a kernel."""
    btf, facts, _ = kernel(kernel_name)
    facts = replace(facts, features=facts.features | {Feature.UPROBE_EVENTS})
    known = replace(facts, features=dialect_named(way).lowered_for(facts))
    plans = [lower(parse_armable(spec), btf, known, "pw_x") for spec in specs]
    return request(way, plans, facts, "pw_x")


@pytest.mark.parametrize(
    ("config", "symbols", "ways"),
    [
        ({"BOOTTIME_TRACING": "y", "KPROBE_EVENTS": "y"}, (), BOTH),
        ({"BOOTTIME_TRACING": "n", "KPROBE_EVENTS": "y"}, (), (BootWay.CMDLINE,)),
        ({}, ("trace_boot_init", "trace_kprobe_create"), BOTH),
        ({}, ("trace_kprobe_create",), (BootWay.CMDLINE,)),
        ({}, (), ()),
    ],
)
def test_means_are_those_that_a_kernel_has(
    config: dict[str, str], symbols: tuple[str, ...], ways: tuple[BootWay, ...]
) -> None:
    assert available_ways(config, symbols) == ways


@pytest.mark.parametrize("kernel_name", ["6.1", "7.2"])
def test_a_bootconfig_has_instance_settings_and_specifications(kernel_name: str) -> None:
    specs = ("f vfs_read%both count $retval", 'f vfs_write count if count > 9 && comm == "cat"')
    found = made(BootWay.BOOTCONFIG, *specs, kernel_name=kernel_name)
    pairs = dict(parse(found.text))
    assert ["".join(pairs[f"probewright.spec.{number}"]) for number in range(2)] == list(specs)
    here = "ftrace.instance.probewright"
    assert pairs[f"{here}.trace_clock"] == ("global",)
    assert pairs[f"{here}.buffer_size"] == ("4096K",)
    assert pairs[f"{here}.options"] == ("nooverwrite",)
    events = [event for plan in found.plans for event in plan.events]
    assert {event.group for event in events} == {"kprobes"} and len(events) == 3
    for event in events:
        assert f"{here}.event.kprobes.{event.event}.enable" in pairs
        assert event.line.split(" ")[0].split(":")[1] == f"kprobes/{event.event}"
        assert event.remove == f"-:kprobes/{event.event}"
    assert (found.instance, found.command_line) == ("probewright", "bootconfig")


def test_a_command_line_has_a_full_buffer_and_a_clock_of_its_own() -> None:
    found = made(BootWay.CMDLINE, "f vfs_read count")
    words = found.command_line.split(" ")
    assert words[0].startswith("kprobe_event=p:pw_x/vfs_read__entry,vfs_read,")
    assert words[1:] == ["ftrace=nop", "trace_clock=global", "trace_buf_size=4096K", "trace_options=nooverwrite"]
    assert found.instance == ""
    assert not any("two pages" in note for note in found.notes)
    assert {event.group for plan in found.plans for event in plan.events} == {"pw_x"}


@pytest.mark.parametrize("way", BOTH)
def test_what_cannot_be_said_is_refused_with_each_reason(way: BootWay) -> None:
    with pytest.raises(CannotExport) as refused:
        made(way, "p /bin/true:0x1000 %di", "f vfs_read count")
    assert len(refused.value.reasons) == 1
    _, facts, _ = kernel("7.2")
    late = PlannedEvent("pw_x", "late", "p:pw_x/late nfs:nfs_open a=%di", "-:pw_x/late")
    with pytest.raises(CannotExport, match="late: nfs is a module"):
        request(way, [Plan(parse_armable("p vfs_read"), (late,))], facts, "pw_x")


def test_a_command_line_is_as_long_as_the_kernel_takes() -> None:
    with pytest.raises(CannotExport, match=f"has {LONGEST}"):
        made(BootWay.CMDLINE, *(f"f:e{number} vfs_read a{number}=$arg1:u64 b{number}=count" for number in range(50)))


@pytest.mark.parametrize("way", BOTH)
def test_commands_are_words_of_a_shell(way: BootWay) -> None:
    found = made(way, "f vfs_read count $comm")
    commands = boot_commands(found, "7.2-x", "/boot/an initrd", "/tmp/a copy" if way is BootWay.BOOTCONFIG else "")
    for line in (*commands.install, *commands.undo):
        words = shlex.split(line, comments=True)
        assert not words or words[0] in {"kexec", "systemctl", "cp", "mv", "probewright", "reboot"}
    kexec = next(shlex.split(line) for line in commands.install if line.startswith("kexec"))
    assert kexec[2] == "/boot/vmlinuz-7.2-x"
    initrd = "/tmp/a copy" if way is BootWay.BOOTCONFIG else "/boot/an initrd"
    assert kexec[3:] == [f"--initrd={initrd}", f"--append=$(cat /proc/cmdline) {found.command_line}"]
