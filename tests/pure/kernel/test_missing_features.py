"""What is said of each feature that a kernel has not: from READMEs and configurations of real kernels."""

import gzip

import pytest

from kernel.facts.diagnosis import parse_config
from kernel.facts.gather import read_config
from kernel.facts.missing_features import NEEDS, explain_missing
from probes.facts.facts import UNKNOWN, Feature
from tests.fake_target import FakeTarget
from tests.pure.kernel.test_facts import LOOKS, NOWHERE, look, machine, tracefs
from tui.cli.commands import doctor

BARE = LOOKS["6.18-bare"]["config"]


@pytest.mark.parametrize("version", ["6.1", "6.12", "7.0", "7.2", "7.3"])
def test_every_feature_is_there_or_has_its_reason(version):
    facts = look(machine() | tracefs(version))
    said = explain_missing(facts, {})
    assert said.keys() | facts.features == set(Feature) == NEEDS.keys()
    assert not said.keys() & facts.features
    assert all(why.startswith("Linux ") for why in said.values())


def test_a_release_that_is_too_old_and_a_switch_that_is_off():
    facts = look(machine() | tracefs("6.1"))
    assert explain_missing(facts, {})[Feature.FPROBE_EVENTS] == "Linux 6.5 or newer has it, with CONFIG_FPROBE_EVENTS"
    assert explain_missing(facts, {"PROBE_EVENTS": "y"})[Feature.CHAR_TYPE] == "Linux 6.3 or newer has it"
    off = explain_missing(facts, {"FPROBE_EVENTS": "n"})
    assert (
        off[Feature.FPROBE_EVENTS] == off[Feature.TPROBE_EVENTS] == "CONFIG_FPROBE_EVENTS is not set in this kernel"
    )
    # On a kernel with names of arguments, what it has no typecasts for is its age, whatever else is off.
    newer = look(machine() | tracefs("7.2"))
    said = explain_missing(newer, {"PROBE_EVENTS_BTF_ARGS": "y", "KPROBES": "n"})
    assert said[Feature.TYPECAST] == "Linux 7.3 or newer has it"


def test_a_kernel_without_function_probes_says_which_switches():
    files = machine() | tracefs("6.18-bare") | {"/proc/config.gz": gzip.compress(BARE.encode())}
    said = explain_missing(look(files), parse_config(BARE))
    assert said[Feature.KPROBE_EVENTS] == "CONFIG_KPROBES is not set in this kernel"
    assert said[Feature.FPROBE_EVENTS] == "CONFIG_FPROBE is not set in this kernel"
    assert said[Feature.EPROBE_EVENTS] == "CONFIG_EPROBE_EVENTS is not set in this kernel"


def test_what_nobody_could_look_at_is_not_called_missing(capsys):
    files = machine() | {"/proc/self/mounts": b"proc /proc proc rw 0 0\n"}
    facts = look(files)
    said = explain_missing(facts, {"KPROBES": "n"})
    assert said[Feature.UPROBE_EVENTS] == "cannot be seen: tracefs is not reachable"
    assert said[Feature.KPROBE_EVENTS] == "CONFIG_KPROBES is not set in this kernel"
    doctor._print_features(facts, said)
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line]
    assert ["?", "uprobe_events"] in [row[:2] for row in rows]
    assert ["no", "kprobe_events"] in [row[:2] for row in rows]
    closed = look(machine(uid=65534, caps="0") | {"/proc/self/mounts": machine()["/proc/self/mounts"]})
    assert explain_missing(closed, {})[Feature.UPROBE_EVENTS] == "cannot be seen: tracefs is closed"


def test_what_no_command_can_help_is_said_first():
    """Who mounts tracefs on a kernel without function probes has gained nothing."""
    files = machine() | {"/proc/self/mounts": b"", "/proc/config.gz": gzip.compress(BARE.encode())}
    troubles = look(files).troubles
    assert "not built into this kernel" in troubles[0].what
    assert "not mounted" in troubles[1].what


def test_no_lockdown_and_lockdown_not_seen_are_two_things():
    files = machine()
    assert look(files).lockdown == "none"
    del files["/sys/kernel/security/lockdown"]
    assert look(files).lockdown == ""
    files["/proc/filesystems"] += b"nodev\tsecurityfs\n"
    facts = look(files)
    assert facts.lockdown == UNKNOWN
    assert any("mount -t securityfs" in trouble.remedy for trouble in facts.troubles)


@pytest.mark.parametrize(
    "packed", [b"", b"no gzip", gzip.compress(b"CONFIG_A=y\n")[:-4]], ids=["empty", "not gzip", "cut"]
)
def test_a_configuration_that_cannot_be_read_is_looked_for_elsewhere(packed):
    files = {"/proc/config.gz": packed, "/boot/config-6.1": b"CONFIG_A=y\n# CONFIG_B is not set\n"}
    assert read_config(FakeTarget(files, facts=NOWHERE), "6.1") == {"A": "y", "B": "n"}
    assert read_config(FakeTarget({}, facts=NOWHERE), "6.1") == {}
