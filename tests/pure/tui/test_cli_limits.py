"""Limits on the command line: what is asked for reaches the watch, and too fast is a refusal with its own status."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kernel.guards.limits import MAX_RATE, STORM, Limits, MeasuredRate, too_fast_error
from kernel.session.probe_steps import Mode
from probes.plans.cost_estimate import EventRate
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbePlace
from tui.cli import main
from tui.cli.args.parser import parse
from tui.cli.follow.follow import ArmOptions, arm_options_of, limits_of
from tui.cli.follow.loss_printer import print_stopped_probes

PLAN = Plan(Probe(ProbePlace("vfs_read")), (PlannedEvent("g", "a", "f:g/a vfs_read", "-:g/a"),))


@pytest.mark.parametrize(
    ("words", "limits", "how"),
    [
        ([], Limits(MAX_RATE, STORM), ArmOptions()),
        (["--max-rate", "0", "--storm", "9"], Limits(0, 9), ArmOptions()),
        (["--force"], Limits(), ArmOptions(at_any_rate=True)),
        (["--count-only"], Limits(), ArmOptions(mode=Mode.COUNT)),
        (
            ["--trigger", " stacktrace ", "--trigger", "traceoff:1"],
            Limits(),
            ArmOptions(triggers=("stacktrace", "traceoff:1")),
        ),
    ],
)
def test_what_is_asked_for(words, limits, how):
    arguments = parse(["run", "f vfs_read", *words])
    assert limits_of(arguments) == limits
    assert arm_options_of(arguments) == how


def test_the_application_takes_limits_too():
    arguments = parse(["--max-rate", "7"])
    assert (arguments.max_rate, arguments.storm) == (7, None)


@pytest.mark.parametrize("words", [["--max-rate", "-1"], ["--storm", "x"], ["--trigger", " "]])
def test_what_is_no_limit_is_refused(words):
    with pytest.raises(SystemExit) as ended:
        parse(["run", "f vfs_read", *words])
    assert ended.value.code == main.USAGE


def test_too_fast_is_a_refusal_that_says_the_way_out(monkeypatch, capsys):
    def run(arguments):
        raise too_fast_error(PLAN, MeasuredRate({"g/a": EventRate(9e6, 9e6)}, 0.1), Limits())

    monkeypatch.setattr(main.importlib, "import_module", lambda name: SimpleNamespace(run=run))
    assert main.run(parse(["run", "f vfs_read"])) == main.REFUSED
    said = capsys.readouterr().err
    assert "vfs_read: about 9,000,000 events a second" in said
    assert "--force" in said


def test_what_was_stopped_is_told_in_one_line(capsys):
    told = SimpleNamespace(text="vfs_read was stopped: \x1b[31m")
    print_stopped_probes(SimpleNamespace(guard=SimpleNamespace(take=lambda: [told])))
    assert capsys.readouterr().err == "probewright: vfs_read was stopped: \\x1b[31m; --storm sets the limit\n"
