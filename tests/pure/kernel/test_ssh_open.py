"""What a word of `--target` means."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel.connection.open_target import choose, open_target
from kernel.errors import KernelError, TargetUnusable
from kernel.local.target import LocalTarget
from probes.facts.facts import TargetFacts, Trouble

SHIPPED = Path(__file__).parents[3] / "tui"


def unusable(self: LocalTarget) -> TargetFacts:
    troubles = (Trouble("a note", fatal=False), Trouble("no tracefs here", "mount it"))
    return TargetFacts("x86_64", "6.1", troubles=troubles)


def usable(self: LocalTarget) -> TargetFacts:
    return TargetFacts("x86_64", "6.1", troubles=(Trouble("a note", fatal=False),))


@pytest.mark.parametrize(
    "spec",
    [
        "nonsense",
        "ssh://",
        "ssh://a b",
        "lab:no-such-series",
        "lab:7.2,what",
        "lab,what",
        "/no/such.pwr",
        "",
        "~/no/such.pwr",
    ],
)
def test_what_is_no_target_says_so(spec: str) -> None:
    with pytest.raises(KernelError) as caught:
        open_target(spec)
    assert str(caught.value)
    assert caught.value.remedy


def test_local_is_this_kernel() -> None:
    target = open_target("local")
    assert isinstance(target, LocalTarget)
    target.close()


def test_auto_is_local_where_a_probe_can_be_armed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalTarget, "facts", usable)
    choice = choose("auto")
    assert isinstance(choice.target, LocalTarget)
    assert choice.reason == ""


def test_auto_says_why_it_is_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(LocalTarget, "facts", unusable)
    recordings = sorted(SHIPPED.glob("*.pwr"))
    if not recordings:
        pytest.skip("the default recording is not made yet")
    choice = choose("auto", default_recording=recordings[0])
    assert not isinstance(choice.target, LocalTarget)
    assert choice.target.facts().functions
    assert (choice.reason, choice.remedy) == ("no tracefs here", "mount it")
    assert choose("auto").target.name == choice.target.name, "it is found by itself"
    broken = tmp_path / "broken.pwr"
    broken.write_bytes(b"no recording")
    choice = choose("auto", default_recording=broken)
    assert isinstance(choice.target, LocalTarget), "still something to look at, with the reason"
    assert choice.reason == "no tracefs here"


def test_saved_facts_are_a_target(tmp_path: Path) -> None:
    with pytest.raises(TargetUnusable):
        open_target(str(tmp_path / "missing"))
    bad = tmp_path / "bad.tar.xz"
    bad.write_bytes(b"\xfd7zXZ")
    with pytest.raises(TargetUnusable):
        open_target(str(bad))
