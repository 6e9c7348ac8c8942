"""The pages that are made are as they would be made now, and what the others lead to is there."""

from __future__ import annotations

import re
import shutil
import subprocess
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from kernel.preset_files import Presets
from probes.check import check
from probes.facts.facts import Feature
from probes.presets.read import read_preset
from probes.sources.source import is_source
from probes.user_events.event import is_user_event
from tui.cli.args.fast_path import COMMANDS
from tui.cli.args.parser import parsers
from tui.docs.pages import PAGES
from tui.docs.text import cell, table
from tui.help import PANES

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
WRITTEN = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.glob("*.md")])


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_up_to_date(name):
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), "make docs"


def test_every_command_and_every_pane_is_told():
    assert all(f"\n## {name}\n" in PAGES["commands.md"]() for name in COMMANDS)
    assert all(f"\n### {pane.title}\n" in PAGES["keys.md"]() for pane in PANES.values())


@pytest.mark.parametrize(
    "tool", [["mandoc", "-Tlint", "-Wwarning"], ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8"]]
)
def test_the_manual_page_is_read_without_a_warning(tool):
    if shutil.which(tool[0]) is None:
        pytest.skip(f"{tool[0]} is not installed")
    asked = subprocess.run([*tool, str(DOCS / "probewright.1")], capture_output=True, text=True)
    said = asked.stdout + asked.stderr if tool[0] == "mandoc" else asked.stderr
    assert [line for line in said.splitlines() if "missing date" not in line] == []


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in link:
            assert (page.parent / link).exists(), link


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_options_that_are_told_are_there(page):
    """Of lines that call the program: commands, and the options behind them."""
    known = {option for parser in _all(parsers()[1]) for option in parser._option_string_actions}
    known |= set(parsers()[0]._option_string_actions)
    for line in re.findall(r"^ {4,}(?:sudo )?probewright (.*)", page.read_text(encoding="utf-8"), re.MULTILINE):
        told = re.sub(r"'[^']*'|\"[^\"]*\"", "X", line.partition("  #")[0].partition(" -- ")[0])
        for option in re.findall(r"(?<=\s)(--?[a-z][a-z-]*[0-9]?)", f" {told}"):
            assert option in known or option == "-fsS", (line, option)


def _all(parser):
    yield parser
    for action in parser._actions:
        for sub in getattr(action, "choices", None) or {}:
            if isinstance(action.choices, dict):
                yield from _all(action.choices[sub])


def test_text_stays_text():
    assert cell("a|b <c> *d* \\e") == "a\\|b \\<c\\> \\*d\\* \\\\e"
    assert cell("write `->` or `|`") == "write `->` or `\\|`"
    assert cell("one ` alone") == "one \\` alone"
    assert table(("a", "b"), [("1", "2")]) == "| a | b |\n| --- | --- |\n| 1 | 2 |\n"


def _specs():
    for page in WRITTEN:
        for line in re.findall(
            r"^ {4,}(probewright (?:run|record|check|export|preset save) .*)", page.read_text("utf-8"), re.MULTILINE
        ):
            for spec in re.findall(r"(?<!path=)(?<!trigger )(?<!filter )'([^']*)'", line.partition("  #")[0]):
                yield pytest.param(spec, id=f"{page.name}: {spec}")


@pytest.mark.parametrize("spec", list(_specs()))
def test_specifications_that_are_told_are_taken(spec, planner):
    """By the kernel of the shipped recording; programs are on no recording, and that kernel has not every tracer."""
    if is_source(spec) or is_user_event(spec):
        features = planner.info.facts.features | {Feature.USER_EVENTS}
        facts = replace(planner.info.facts, tracers=("timerlat", "osnoise", "hwlat"), features=features)
        assert check(spec, None, facts).ok
        return
    verdict = planner.check(spec).verdict
    assert verdict.ok or (verdict.error.code == "no_symbols" and "/usr/bin/bash" in spec), verdict


def test_the_preset_that_is_told_is_one():
    text = (DOCS / "presets.md").read_text("utf-8")
    (found,) = re.findall(r"(?:^    .*\n|^\n)*^    version = 1\n(?:^    .*\n|^\n)*", text, re.MULTILINE)
    preset = read_preset(textwrap.dedent(found))
    assert preset.view == "calls" and [one.name for one in preset.parameters] == ["least", "pid", "slow"]


def test_every_shipped_preset_that_is_told_is_there():
    names = {entry.name for entry in Presets().all()}
    told = re.findall(
        r"probewright (?:run|preset show|preset check) ([a-z]+-[a-z-]+)", (ROOT / "README.md").read_text()
    )
    assert told and set(told) <= names
