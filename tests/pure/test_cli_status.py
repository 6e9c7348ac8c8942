"""Exit status of the commands where nothing can be done: 1 refused or nothing found, 2 usage, 3 target unusable."""

from dataclasses import replace

import pytest

from kernel.connection import Connection
from kernel.errors import TargetUnusable
from probes.facts import TargetFacts, Trouble
from tests.fake_target import FACTS, FakeTarget
from tui.__main__ import main
from tui.cli import app, clean


@pytest.fixture
def on(monkeypatch):
    """Have the command find this target behind any word."""

    def use(target):
        monkeypatch.setattr(clean, "connect", lambda _: Connection(target))

    return use


def test_where_nobody_can_look_nobody_says_that_it_is_clean(on, capsys):
    on(FakeTarget(facts=TargetFacts("x86_64", "6.1", troubles=(Trouble("tracefs is not mounted", "mount it"),))))
    assert main(["clean"]) == 3
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "probewright: fake: tracefs is not mounted\n  mount it\n")


def test_a_kernel_that_is_clean(on, capsys):
    on(FakeTarget(facts=replace(FACTS, readme="tracing mini-HOWTO")))
    assert main(["clean"]) == 0
    assert capsys.readouterr().out == "nothing was left behind\n"


def test_a_recording_into_a_folder_that_is_not_there_is_refused_before_anything_is_armed(tmp_path, capsys):
    assert main(["record", "f vfs_read", "-o", str(tmp_path / "no" / "x.pwr"), "--target", "ssh://no.such.host"]) == 2
    assert f"{tmp_path}/no is no folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "hint"), [("chek", "did you mean `probewright check`?"), ("zzz", "commands are list, show,")]
)
def test_a_word_that_is_no_target_may_have_been_meant_for_a_command(word, hint):
    with pytest.raises(TargetUnusable, match=f"{word}: neither") as error:
        app._require_target(word)
    assert hint in error.value.remedy
    assert "targets are" in error.value.remedy
