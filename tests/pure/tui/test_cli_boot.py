"""`probewright boot` as far as no kernel is booted: texts, commands, refusals, and what can't be asked together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernel.connection.open_target import shipped_recording
from kernel.errors import TargetUnusable
from probes.bootconfig.initrd_tail import find_tail
from probes.bootconfig.text import parse as parse_bootconfig
from probes.export.boot_request import BootWay
from tui.boot import boot_requests
from tui.cli.args.command_arguments import BOOT_WAYS
from tui.cli.args.parser import parse
from tui.cli.boot import command

SPEC = "f do_one_initcall fn"


def run(*words: str) -> int:
    """Run the command on the kernel of the recording that comes along, where no other target is named."""
    target = () if "-t" in words else ("-t", str(shipped_recording()))
    return command.run(parse(["boot", *words, *target]))


@pytest.fixture
def boottime_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel has both means: that of the recording has kprobes alone."""
    monkeypatch.setattr(boot_requests, "ways_of", lambda info: tuple(BootWay))


def test_the_command_line_offers_every_means() -> None:
    assert tuple(BootWay) == BOOT_WAYS


def test_words_for_a_command_line_are_printed_and_saved(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(SPEC) == 0
    told = capsys.readouterr()
    assert told.out.startswith("kprobe_event=p:probewright/do_one_initcall__entry,do_one_initcall,fn ftrace=nop ")
    assert "install, as root:" in told.err and "undo, as root:" in told.err
    path = tmp_path / "words"
    assert run(SPEC, "-o", str(path)) == 0
    assert (path.read_text(), capsys.readouterr().out) == (told.out, "")
    assert run(SPEC, "-o", str(path)) == 2
    assert "is there already" in capsys.readouterr().err


def test_json_holds_text_and_commands(capsys: pytest.CaptureFixture[str], boottime_tracing: None) -> None:
    assert run(SPEC, "--json", "--buffer", "64") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["as"] == "bootconfig"
    assert dict(parse_bootconfig(told["text"]))["ftrace.instance.probewright.buffer_size"] == ("64K",)
    assert any("--initrd" in line for line in told["install"])


def test_an_initrd_is_copied(capsys: pytest.CaptureFixture[str], boottime_tracing: None, tmp_path: Path) -> None:
    original, copy = tmp_path / "initrd", tmp_path / "copy"
    original.write_bytes(b"cpio archive")
    assert run(SPEC, "--initrd", str(original), "-o", str(copy)) == 0
    found = find_tail(copy.read_bytes(), copy.stat().st_size)
    assert found is not None and "do_one_initcall fn" in found.text
    assert f"--initrd={copy}" in capsys.readouterr().err
    assert run(SPEC, "--initrd", str(tmp_path / "none"), "-o", str(tmp_path / "other")) == 1
    assert "No such file" in capsys.readouterr().err and not (tmp_path / "other").exists()


def test_what_cannot_be_armed_at_boot_is_refused_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("f vfs_read count if count > 5") == 1
    told = capsys.readouterr()
    assert told.out == "" and "cmdline: vfs_read__entry: the command line has no filters" in told.err
    assert run("f vfs_read count if count > 5", "--json") == 1
    assert json.loads(capsys.readouterr().out)["reasons"]
    with pytest.raises(TargetUnusable, match="no bootconfig") as unusable:
        run(SPEC, "--by", "bootconfig")
    assert "CONFIG_BOOTTIME_TRACING is off" in unusable.value.remedy


def test_a_filter_goes_into_a_bootconfig_where_the_kernel_reads_one(
    capsys: pytest.CaptureFixture[str], boottime_tracing: None
) -> None:
    assert run("f vfs_read count if count > 5") == 0
    found = dict(parse_bootconfig(capsys.readouterr().out))
    assert found["ftrace.instance.probewright.event.kprobes.vfs_read__entry.filter"] == ("count > 5",)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "boot takes probes"),
        ((SPEC, "--remove"), "--read"),
        ((SPEC, "--initrd", "x"), "-o"),
        ((SPEC, "--initrd", "x", "--read", "-o", "y"), "--read"),
        ((SPEC, "--initrd", "x", "-o", "y", "--by", "cmdline"), "bootconfig"),
        ((SPEC, "-t", "lab:7.2"), "-o FILE.pwr"),
        (("--read", "-t", "lab"), "-o FILE.pwr"),
    ],
)
def test_what_cannot_be_asked_together_is_usage(
    words: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words) == 2
    assert why in capsys.readouterr().err
