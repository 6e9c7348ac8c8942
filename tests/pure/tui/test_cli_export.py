"""`probewright export`, on the kernel of the recording that comes with the application."""

from __future__ import annotations

import json

import pytest

from kernel.connection.open_target import shipped_recording
from tui.cli.args.parser import DIALECTS, parse
from tui.cli.commands import export

SPEC = "f vfs_read%both file->f_pos count $retval"


def run(*words: str) -> int:
    return export.run(parse(["export", *words, "--target", str(shipped_recording())]))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_printed_and_written(dialect, capsys, tmp_path):
    assert run("--as", dialect, SPEC) == 0
    printed = capsys.readouterr().out
    assert "vfs_read" in printed and printed.isascii()
    path = tmp_path / "made"
    assert run("--as", dialect, SPEC, "-o", str(path)) == 0
    assert path.read_text() == printed
    assert capsys.readouterr().out == ""
    assert bool(path.stat().st_mode & 0o100) is printed.startswith("#!")
    path.write_text("mine")
    assert run("--as", dialect, SPEC, "-o", str(path)) == 1
    assert path.read_text() == "mine"


def test_json_holds_text_and_notes(capsys):
    assert run("--as", "bpftrace", "f do_sys_openat2 filename:ustring", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["as"] == "bpftrace" and "str(uptr(args->filename))" in told["text"] and told["notes"]


def test_what_cannot_be_said_is_refused_with_the_reason(capsys):
    assert run("--as", "cmdline", "f vfs_read count if count > 5") == 1
    told = capsys.readouterr()
    assert told.out == "" and "vfs_read__entry: the command line has no filters: count > 5" in told.err
    assert run("--as", "cmdline", "f vfs_read count if count > 5", "--json") == 1
    assert json.loads(capsys.readouterr().out)["reasons"]


def test_two_probes_on_a_function_get_names_of_their_own(capsys):
    assert run("--as", "cmdline", "f vfs_read count", "f vfs_read file") == 0
    text = capsys.readouterr().out
    assert "/vfs_read__entry," in text and "/vfs_read__entry_2," in text


def test_without_a_dialect_the_choice_is_named(capsys):
    with pytest.raises(SystemExit) as end:
        parse(["export", SPEC])
    assert end.value.code == 2 and "--as" in capsys.readouterr().err


@pytest.mark.parametrize("dialect", ["sh", "ansible", "kubernetes"])
def test_a_preset_is_exported_with_its_values(dialect, capsys):
    assert run("--as", dialect, "slow-opens", "-p", "min_latency=2ms") == 0
    text = capsys.readouterr().out
    assert "lat >= 2000000" in text and "do_sys_openat2" in text
    from tui.__main__ import main

    assert main(["export", "--as", dialect, "no-such-preset", "-t", str(shipped_recording())]) == 2
    assert "no-such-preset" in capsys.readouterr().err


@pytest.mark.parametrize("dialect", ["sh", "bpftrace", "kubernetes"])
def test_what_only_our_own_view_leaves_out_is_told(dialect, capsys):
    assert run("--as", dialect, "page-faults", "-p", "min_latency=10ms") == 0
    told = capsys.readouterr()
    assert "note: page-faults: min_latency is" in told.err
    assert dialect == "kubernetes" or "# note: page-faults: min_latency is" in told.out.replace("//", "#")
    assert run("--as", dialect, "page-faults") == 0
    assert "min_latency" not in "".join(capsys.readouterr())


def test_nodes_are_told_every_way_of_a_preset(capsys):
    """Of a probe with several ways this kernel takes one, and another node's kernel may take another."""
    import tomllib

    import yaml

    from probes.presets.substitute import substitute
    from tui.cli.specs.preset_specs import preset_named

    assert run("--as", "kubernetes", "mutex-hold", "f vfs_read count") == 0
    parts = {one["metadata"]["name"]: one for one in yaml.safe_load_all(capsys.readouterr().out)}
    probes = tomllib.loads(parts["probewright-preset"]["data"]["preset.toml"])["probes"]
    (ways,) = substitute(preset_named("mutex-hold"), {})
    assert probes == [list(ways), "f vfs_read count"] and len(ways) > 1
