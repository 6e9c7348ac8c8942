"""Presets of first failures: what a file may hold, what it asks for, and that it has no probes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernel.preset_files import Origin, Presets
from probes.check import CheckResult
from probes.command import Armable
from probes.presets.diff import difference
from probes.presets.errors import PresetError
from probes.presets.failure_request import failure_request
from probes.presets.judge import judge
from probes.presets.read import read_preset
from probes.presets.schema import Parameter, ParameterType, PresetView
from probes.presets.search import ranked
from probes.presets.values import value_text
from probes.presets.write import edited, new_text

TEXT = """version = 1
name = "fails"
title = "Opens that fail"
view = "failures"
calls = ["${call}", "vfs_mkdir"]  # both
errno = "${error}"

[parameters.call]
type = "call"
default = "openat"

[parameters.error]
type = "errno"
"""


def test_a_file_is_read_and_written_again():
    preset = read_preset(TEXT)
    assert (preset.view, preset.probes) == (PresetView.FAILURES, ())
    assert (preset.calls, preset.errno) == (("${call}", "vfs_mkdir"), "${error}")
    assert read_preset(new_text(preset)) == preset
    other = replace(preset, calls=("mkdirat",), errno="EACCES", parameters=())
    assert read_preset(edited(TEXT, other)) == other
    assert edited(TEXT, preset) == TEXT
    told = [(change.what, change.before, change.after) for change in difference(preset, other)]
    assert told[:2] == [("calls", "${call}, vfs_mkdir", "mkdirat"), ("errno", "${error}", "EACCES")]


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('view = "failures"', 'view = "events"', 5, 'calls are for view = "failures"'),
        ('calls = ["${call}", "vfs_mkdir"]', "calls = []", 4, "needs the calls that may fail"),
        ('"vfs_mkdir"', '"vfs mkdir"', 5, "is no call: say a system call or a function"),
        ('"${call}"', '"${error}"', 5, "no parameter of type call is named error"),
        ('"${error}"', '"${call}"', 6, "no parameter of type errno is named call"),
        ('errno = "${error}"', 'errno = "ENOENTT"', 6, "did you mean ENOENT"),
        ('errno = "${error}"', 'probes = ["f vfs_read"]', 6, "it takes no probes"),
        ('errno = "${error}"', 'min_latency = "1ms"', 6, 'min_latency is for view = "calls"'),
    ],
)
def test_what_is_wrong_is_named_with_its_line(old, new, line, words):
    assert TEXT.count(old) == 1
    with pytest.raises(PresetError, match=words.replace("(", r"\(")) as caught:
        read_preset(TEXT.replace(old, new))
    assert caught.value.line == line


def test_an_errno_is_for_failures_only():
    with pytest.raises(PresetError, match='errno is for view = "failures"'):
        read_preset(TEXT.replace('"failures"', '"events"').replace('calls = ["${call}", "vfs_mkdir"]', ""))


def test_values_say_which_calls_and_errors_are_meant():
    preset = read_preset(TEXT)
    assert failure_request(preset, {}) == (("openat", "vfs_mkdir"), frozenset())
    asked = failure_request(preset, {"call": " read , vfs_*,read", "error": "enoent"})
    assert asked == (("read", "vfs_*", "vfs_mkdir"), frozenset([-2]))
    assert failure_request(preset, {"error": "13"}, ["mkdirat"]) == (("mkdirat",), frozenset([-13]))
    assert failure_request(replace(preset, errno="EXDEV"), {}).errnos == {-18}
    with pytest.raises(PresetError, match="say the system call or the function that fails"):
        failure_request(replace(preset, calls=("${call}",)), {"call": ""})
    for bad in ({"call": "vfs_read; rm"}, {"call": 'a"b'}, {"error": "ENONE"}, {"cal": "x"}):
        with pytest.raises(PresetError):
            failure_request(preset, bad)
    with pytest.raises(PresetError, match="is no call"):
        failure_request(preset, {}, ["a b"])


def test_a_call_is_one_word_wherever_it_stands():
    parameter = Parameter("call", ParameterType.CALL)
    assert value_text(parameter, "openat, vfs_*", quoted=False) == "openat,vfs_*"
    assert value_text(parameter, "openat", quoted=True) == '"openat"'


def test_it_has_no_probes_to_arm():
    def check(probe: Armable) -> CheckResult:
        raise AssertionError(probe)

    with pytest.raises(PresetError, match="run fails openat"):
        judge(read_preset(TEXT), {}, check)


@pytest.mark.parametrize(
    "question", ["which function returned this error first", "who failed first?", "first error", "#errors function"]
)
def test_the_question_finds_the_shipped_one_first(question):
    entries = [entry for entry in Presets().all() if entry.origin is Origin.SHIPPED]
    found = ranked([(entry.name, entry.preset) for entry in entries], question)
    assert entries[found[0]].name == "first-failure"


@pytest.mark.parametrize("word", ["error", "who failed", "errno"])
def test_single_words_find_it_too(word):
    entries = [entry for entry in Presets().all() if entry.origin is Origin.SHIPPED]
    found = ranked([(entry.name, entry.preset) for entry in entries], word)
    assert "first-failure" in [entries[n].name for n in found[:3]]
