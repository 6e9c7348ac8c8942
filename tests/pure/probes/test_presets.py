"""Presets: what a file may hold, values that can't break out, edits that keep comments, where they are found."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.preset_files import Origin, Presets
from probes.command import parse_armable
from probes.presets.diff import difference
from probes.presets.errors import PresetError
from probes.presets.lines import line_of
from probes.presets.read import read_preset
from probes.presets.schema import Parameter, ParameterType, Preset, PresetView
from probes.presets.search import matches, nearest, ranked, words_of
from probes.presets.substitute import least_latency, substitute
from probes.presets.values import MAX_PATH, value_text
from probes.presets.write import edited, new_text
from probes.probe import Probe
from tui.dialogs.preset_model import listed, run_editor
from widgets.dialogs.preset_chooser import nothing_fits

TEXT = """# what the team uses
version = 1
name = "reads"
title = "Reads"  # a title
tags = ["files"]
view = "calls"
min_latency = "${slow}"
probes = [
    # the heart of it
    "f vfs_read%both count $retval if count > ${least} && comm == ${who}",
    ["f:a/b vfs_write%return count", "f:a/b vfs_write $arg3"],
]

[parameters.least]
type = "int"
default = 0x10

[parameters.who]
type = "comm"
help = "only this task"

[parameters.slow]
type = "duration"
default = "1.5ms"
"""


def wrong(text: str) -> PresetError:
    with pytest.raises(PresetError) as caught:
        read_preset(text)
    return caught.value


def test_a_file_is_read():
    preset = read_preset(TEXT)
    assert (preset.name, preset.title, preset.tags, preset.view) == ("reads", "Reads", ("files",), PresetView.CALLS)
    assert preset.parameters[0] == Parameter("least", ParameterType.INT, "16")
    assert preset.probes[1] == ("f:a/b vfs_write%return count", "f:a/b vfs_write $arg3")


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("title =", "titel =", 4, "titel is no key; did you mean title?"),
        ('help = "only', 'hlep = "only', 20, "hlep is no key; did you mean help?"),
        ("version = 1", "version = 2", 2, "it is for version 2, and this probewright knows version 1"),
        ("version = 1\n", "", 0, "`version = 1`"),
        ('"comm"', '"com"', 19, "type is one of int, str, duration"),
        ("default = 0x10", 'default = "many"', 16, "many is no int"),
        ("${least}", "${lest}", 10, "${lest} is no parameter; did you mean least?"),
        ('"f:a/b vfs_write $arg3"', '"q vfs_write"', 11, "A probe begins with"),
        ('name = "reads"', 'name = "../reads"', 3, "a name has small letters"),
        ('view = "calls"', 'view = "cals"', 6, "view is one of events, calls, summary"),
        ('view = "calls"', 'view = "events"', 7, 'min_latency is for view = "calls"'),
        ('"${slow}"', '"${least}"', 7, "no parameter of type duration is named least"),
        ('tags = ["files"]', 'tags = "files"', 5, "tags is a list of texts"),
        ('Reads"', "Reads", 4, "no TOML"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(old, new, line, words):
    assert TEXT.count(old) == 1
    error = wrong(TEXT.replace(old, new))
    assert words in str(error)
    assert not line or error.line == line


def test_keys_are_found_in_tables_and_within():
    text = 'a = """\nb = 1\n"""\n[t.one]\nb = 1\n[u]\nv = { w = 1 }\n'
    assert [line_of(text, path) for path in (("a",), ("t", "one", "b"), ("u", "v", "w"), ("b",))] == [1, 5, 7, 1]


@pytest.mark.parametrize("kind", ParameterType)
@pytest.mark.parametrize(("begin", "digit"), [("", "9"), ("0x", "f"), ("-", "1"), ("0.", "1")])
@pytest.mark.parametrize("unit", ["", "s"])
def test_a_number_of_any_length_is_refused_in_a_short_line(kind, begin, digit, unit):
    for digits in (400, 5_000):
        if digits < MAX_PATH and kind is ParameterType.PATH:
            continue
        with pytest.raises(PresetError) as caught:
            value_text(Parameter("p", kind), f"{begin}{digit * digits}{unit}", quoted=True)
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize("line", ['min_latency = "{}"', '[parameters.p]\ntype = "duration"\ndefault = "{}"'])
@pytest.mark.parametrize("digits", [400, 5_000])
def test_a_duration_of_any_length_is_refused_with_its_line(line, digits):
    head = 'version = 1\nname = "x"\ntitle = "x"\nprobes = ["f vfs_read"]\nview = "calls"\n'
    assert wrong(head + line.format("9" * digits + "s")).line >= 6


@given(st.text(max_size=300))
def test_no_text_is_more_than_refused(text):
    for whole in (text, f"version = 1\n{text}"):
        try:
            read = read_preset(whole)
        except PresetError as error:
            assert str(error)
        else:
            assert read.title and read.probes and all(read.probes)


def test_values_are_put_in_and_clauses_without_one_are_left_out():
    preset = read_preset(TEXT)
    assert substitute(preset, {})[0] == ("f vfs_read%both count $retval if count > 16",)
    assert substitute(preset, {"who": "cat"})[0] == ('f vfs_read%both count $retval if count > 16 && comm == "cat"',)
    assert substitute(preset, {"least": ""})[0] == ("f vfs_read%both count $retval",)
    assert (least_latency(preset, {}), least_latency(preset, {"slow": "2s"})) == (1_500_000, 2_000_000_000)
    for bad in ({"none": "1"}, {"least": "1 || 1"}, {"slow": "3"}, {"who": "sixteen letters!"}, {"who": 'a"b'}):
        with pytest.raises(PresetError):
            substitute(preset, bad)
    with pytest.raises(PresetError, match="has no parameter lest; did you mean least"):
        substitute(preset, {"lest": "1"})


KINDS = st.sampled_from(list(ParameterType))
HOSTILE = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="\"'\\#\n\t $(){};&|=<>~ab/0 if", max_size=40),
    st.integers().map(str),
)


@given(kind=KINDS, value=HOSTILE)
def test_no_value_breaks_out_of_a_filter(kind, value):
    preset = Preset(
        "x", "x", (("f vfs_read count if count == ${v} && common_pid == 1",),), parameters=(Parameter("v", kind),)
    )
    try:
        (texts,) = substitute(preset, {"v": value})
    except PresetError:
        return
    probe = parse_armable(texts[0])
    assert isinstance(probe, Probe)
    assert (probe.place.symbol, [str(arg) for arg in probe.fetchargs]) == ("vfs_read", ["count"])
    if not value:
        assert probe.filter == "common_pid == 1"
        return
    inner = probe.filter.removeprefix("count == ").removesuffix(" && common_pid == 1")
    assert "\n" not in texts[0] and "#" not in texts[0]
    if inner.startswith('"'):
        assert inner == f'"{value}"' and '"' not in value and "'" not in value and "\\" not in value
    else:
        assert str(int(inner)) == inner


@given(kind=KINDS, value=HOSTILE)
def test_no_value_breaks_out_of_a_place(kind, value):
    parameter = Parameter("v", kind)
    try:
        text = value_text(parameter, value, quoted=False)
    except PresetError:
        return
    assert len(f"p {text}:main".split()) == 2 and not set(text) & set("\"'\\#$(){};&|<>:\n")


@pytest.mark.parametrize("typed", ["EACCES", "-EACCES", " eacces", "13", "-13", "0xd"])
def test_an_error_is_what_functions_return(typed):
    assert value_text(Parameter("error", ParameterType.ERRNO), typed, quoted=True) == "-13"


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("EACCESS", "did you mean EACCES"),
        ("0", "errors are 1 to 4095"),
        ("-4096", "errors are 1 to 4095"),
        ("--13", "errors are 1 to 4095"),
        ("13 || 1", "say a name, as EACCES, or a number"),
        ("-", "say a name"),
    ],
)
def test_what_is_no_error_is_refused_with_the_way_out(typed, why):
    with pytest.raises(PresetError, match=why):
        value_text(Parameter("error", ParameterType.ERRNO), typed, quoted=True)


def test_an_edit_keeps_comments_and_what_is_not_changed():
    preset = read_preset(TEXT)
    changed = replace(preset, title="Big reads", tags=("files", "big"))
    text = edited(TEXT, changed)
    assert read_preset(text) == changed
    assert [a for a, b in zip(TEXT.splitlines(), text.splitlines(), strict=True) if a != b] == [
        'title = "Reads"  # a title',
        'tags = ["files"]',
    ]
    assert edited(TEXT, preset) == TEXT
    fewer = replace(preset, parameters=(replace(preset.parameters[0], default="32"), preset.parameters[2]))
    fewer = replace(fewer, probes=(("f vfs_read count if count > ${least}",),))
    assert read_preset(edited(TEXT, fewer)) == fewer
    assert "# what the team uses" in edited(TEXT, fewer)


@given(
    title=st.text(min_size=1, max_size=30).map(lambda t: " ".join(t.split())).filter(bool),
    description=st.text(max_size=80).map(lambda t: t.replace("\r", "").strip()),
    default=st.text(alphabet="abc /*", max_size=8),
)
def test_what_is_written_is_read_again(title, description, default):
    parameter = Parameter("path", ParameterType.PATH, default.strip(), "which")
    preset = Preset("one", title, (("f vfs_read", "p vfs_read"),), "why?", ("a",), description, (parameter,))
    assert read_preset(new_text(preset)) == preset


def test_differences_are_told_one_by_one():
    one = read_preset(TEXT)
    other = replace(one, title="Big", probes=(*one.probes[1:], ("p do_exit",)), parameters=one.parameters[:2])
    other = replace(other, parameters=(replace(one.parameters[0], default="7"), one.parameters[1]))
    assert [(c.what, c.before, c.after) for c in difference(one, other)] == [
        ("title", "Reads", "Big"),
        ("probe", one.probes[0][0], "p do_exit"),
        ("parameter least: default", "16", "7"),
        ("parameter slow", "duration 1.5ms", ""),
    ]
    assert difference(one, one) == ()


def test_words_and_tags_find_presets():
    preset = read_preset(TEXT)
    found = [
        text
        for text in ("", "READS", "vfs_write files", "#files reads", "#file", "writes")
        if matches("reads", preset, text)
    ]
    assert found == ["", "READS", "vfs_write files", "#files reads"]
    assert matches("broken", None, "brok") and not matches("broken", None, "#files")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("which opens are slow?", "slow-opens"),
        ("what files take long to open", "slow-opens"),
        ("Why is open slow", "slow-opens"),
        ("(slow, open)!", "slow-opens"),
        ("who kills my process?", "who-kills"),
        ("#files which opens are slow?", "slow-opens"),
    ],
)
def test_a_question_in_plain_words_finds_a_shipped_preset(text, name):
    found = [one.name for one in listed() if matches(one.name, one.preset, text)]
    assert name in found and len(found) < len(listed()) / 2


@pytest.mark.parametrize("text", ["slow-opemz", "Slow_opens"])
def test_a_name_that_is_misspelt_is_put_right_by_that_of_a_preset(text):
    """Not by the name of an event that one of them has, `slow_open`."""
    presets = [(one.name, one.preset) for one in listed()]
    near = nearest(text, presets)
    assert near[0] == "slow-opens" and set(near) <= {name for name, _ in presets}


def test_small_words_alone_are_looked_for():
    assert words_of("Who is?") == ["who", "is"] and words_of("? !") == []
    assert nothing_fits((), "slwo?") == nothing_fits((), "slwo")


@pytest.fixture
def places(tmp_path: Path) -> Presets:
    (tmp_path / "work/.probewright").mkdir(parents=True)
    (tmp_path / "work/deep/er").mkdir(parents=True)
    return Presets(tmp_path / "user", tmp_path / "work/deep/er")


def test_names_are_found_where_they_are(places, tmp_path):
    mine = TEXT.replace('"reads"', '"slow-opens"')
    assert places.find("slow-opens").origin is Origin.SHIPPED
    places.save("slow-opens", mine)
    assert places.find("slow-opens").origin is Origin.USER
    assert [e.shadowed for e in places.all() if e.name == "slow-opens"] == [False, True]
    places.save("slow-opens", mine, origin=Origin.PROJECT)
    with pytest.raises(PresetError, match="say project:slow-opens or user:slow-opens"):
        places.find("slow-opens")
    assert places.find("user:slow-opens").path == tmp_path / "user/slow-opens.toml"
    assert places.find("shipped:slow-opens").preset.title == "Slow opens, with the path"
    with pytest.raises(PresetError, match="is there already"):
        places.save("slow-opens", mine)
    with pytest.raises(PresetError, match="did you mean slow-opens"):
        places.find("slow-open")
    with pytest.raises(PresetError, match="is no name"):
        places.find("../x")
    assert not [path for path in (tmp_path / "user").iterdir() if path.suffix == ".new"]


OTHER = 54321
"""A uid that is not ours."""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
@pytest.mark.parametrize("origin", [Origin.PROJECT, Origin.USER])
@pytest.mark.parametrize("up", [0, 1, 2])
@pytest.mark.parametrize("spoil", ["another's", "all write", "group writes"])
def test_what_another_user_can_change_is_passed_over(places, tmp_path, monkeypatch, origin, up, spoil):
    """The file, its folder, or the folder above: each lets him choose what a name arms."""
    monkeypatch.delenv("SUDO_UID", raising=False)
    path = places.save("slow-opens", TEXT.replace('"reads"', '"slow-opens"'), origin=origin)
    assert places.find("slow-opens").origin is origin and places.passed_over == ()
    one = (path, *path.parents)[up]
    if spoil == "another's":
        os.chown(one, OTHER, -1)
    else:
        one.chmod(one.stat().st_mode | (0o002 if spoil == "all write" else 0o020))
    assert places.find("slow-opens").origin is Origin.SHIPPED
    begins = f"{path if up == 0 else path.parent} is passed over: "
    (told,) = [line for line in places.passed_over if line.startswith(begins)]
    assert str(one) in told
    assert ("belongs to another user (uid 54321)" if spoil == "another's" else "chmod go-w") in told
    assert places.find(str(path)).origin is Origin.FILE, "who names the file means it"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_a_link_into_a_folder_of_another_is_passed_over(places, tmp_path, monkeypatch):
    monkeypatch.delenv("SUDO_UID", raising=False)
    there = tmp_path / "there"
    there.mkdir()
    (there / "slow-opens.toml").write_text(TEXT.replace('"reads"', '"slow-opens"'))
    (tmp_path / "work/.probewright/slow-opens.toml").symlink_to(there / "slow-opens.toml")
    assert places.find("slow-opens").origin is Origin.PROJECT
    os.chown(there, OTHER, -1)
    assert places.find("slow-opens").origin is Origin.SHIPPED


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_behind_a_project_of_another_ours_is_found(places, tmp_path, monkeypatch):
    monkeypatch.delenv("SUDO_UID", raising=False)
    nearer = tmp_path / "work/deep/.probewright"
    nearer.mkdir()
    assert places.project == nearer
    os.chown(nearer, OTHER, -1)
    assert places.project == tmp_path / "work/.probewright"
    assert places.passed_over == (f"{nearer} is passed over: {nearer} belongs to another user (uid {OTHER})",)
    monkeypatch.setenv("SUDO_UID", str(OTHER))
    assert places.project == nearer, "of who called sudo"


def test_a_folder_that_is_made_is_looked_into_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        places = Presets(tmp_path / "config/probewright/presets", tmp_path)
        places.save("reads", TEXT)
    finally:
        os.umask(before)
    assert places.passed_over == () and places.find("reads").origin is Origin.USER


def test_a_file_that_is_none_is_listed_with_its_line(places, tmp_path):
    (tmp_path / "user").mkdir()
    (tmp_path / "user/broken.toml").write_text(TEXT.replace("title", "titel"))
    (tmp_path / "user/binary.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "user/other.toml").write_text(TEXT)
    errors = {entry.name: entry.error for entry in places.all() if entry.origin is Origin.USER}
    assert errors == {
        "binary": "it is no UTF-8 text",
        "broken": "line 4: titel is no key; did you mean title?",
        "other": "it is named reads, and its file is not",
    }
    with pytest.raises(PresetError, match=r"broken\.toml: line 4"):
        places.find("broken")
    assert places.find(str(tmp_path / "user/other.toml")).preset.name == "reads"


def test_those_that_come_along_are_good_and_say_what_they_answer():
    shipped = [entry for entry in Presets(Path("/none"), Path("/")).all() if entry.origin is Origin.SHIPPED]
    assert len(shipped) >= 12 and all(entry.preset for entry in shipped), [entry.error for entry in shipped]
    for entry in shipped:
        assert entry.preset is not None
        assert entry.preset.question.endswith("?") and entry.preset.tags and entry.preset.description
        for texts in substitute(entry.preset, {}):
            for text in texts:
                assert str(parse_armable(text)) == text


def one_probe(spec: str) -> str:
    return f'version = 1\nname = "x"\ntitle = "t"\nprobes = [\'{spec}\']\n[parameters.pid]\ntype = "pid"\n'


@pytest.mark.parametrize(
    "condition",
    [
        "(pid == ${pid} && count > 1)",
        "count > 1 && (count < 9 || common_pid == ${pid})",
        "count > 4096 || count == 0 && common_pid == ${pid} || count == 7",
        "count > 4096||common_pid == ${pid}",
    ],
)
def test_a_clause_that_cannot_be_left_out_has_no_parameter(condition):
    """What is left would be another filter, or none."""
    error = wrong(one_probe(f"f vfs_read count if {condition}"))
    assert "${pid}" in str(error) and error.line == 4


@pytest.mark.parametrize(
    ("condition", "without"),
    [
        ('comm == "x && y" && common_pid == ${pid}', 'comm == "x && y"'),
        ('common_pid == ${pid} && comm != "(a || b)"', 'comm != "(a || b)"'),
        ("count > 1&&common_pid == ${pid}&&count < 9", "count > 1 && count < 9"),
        ("(count > 1 || count == 0) && common_pid == ${pid}", "(count > 1 || count == 0)"),
        ("count == 3 || (count > 1 && common_pid == ${pid} && count < 9)", "count == 3 || (count > 1 && count < 9)"),
    ],
)
def test_a_clause_ends_outside_of_quotes(condition, without):
    preset = read_preset(one_probe(f"f vfs_read count if {condition}"))
    assert substitute(preset, {}) == ((f"f vfs_read count if {without}",),)
    assert "common_pid == 7" in substitute(preset, {"pid": "7"})[0][0]


def test_white_space_in_quotes_is_what_is_compared():
    preset = read_preset(one_probe('f  vfs_read\tcount   if comm == "a  b"  '))
    assert preset.probes == (('f vfs_read count if comm == "a  b"',),)


def test_the_filter_of_a_probe_in_braces_is_not_that_of_the_whole():
    text = (
        "lat:x {f vfs_read count if count > ${n} && comm == ${who}} to {f ${to}%return $retval} by common_pid"
        " if lat >= ${least} && ret == ${r}"
    )
    kinds = {
        "n": ParameterType.INT,
        "who": ParameterType.COMM,
        "to": ParameterType.STR,
        "least": ParameterType.DURATION,
        "r": ParameterType.INT,
    }
    preset = Preset("x", "x", ((text,),), parameters=tuple(Parameter(name, kind) for name, kind in kinds.items()))
    begin = 'lat:x {f vfs_read count if count > 5 && comm == "a if b"} to {f vfs_read%return $retval} by common_pid'
    always = {"n": "5", "who": "a if b", "to": "vfs_read"}
    for given_, filter_ in {
        (): "",
        (("r", "1"),): " if ret == 1",
        (("least", "1ms"), ("r", "1")): " if lat >= 1000000 && ret == 1",
    }.items():
        ((made,),) = substitute(preset, always | dict(given_))
        assert made == begin + filter_
        parse_armable(made)


def test_an_editor_that_cannot_be_meant_is_told(monkeypatch, tmp_path):
    file, seen = tmp_path / "a.toml", tmp_path / "seen"
    file.write_text(f"#!/bin/sh\ntouch {seen}\n")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    for words, told in {"vi '": "EDITOR can't be meant", " ": "vi: ", "no-such-editor": "no-such-editor: "}.items():
        monkeypatch.setenv("VISUAL", words)
        with pytest.raises(PresetError, match=told):
            run_editor(file)
    assert not seen.exists()  # a preset is no program


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("tcp", "tcp-retransmits"),
        ("tcp drop", "packet-drops"),
        ("drops", "packet-drops"),
        ("signals", "who-kills"),
        ("opens", "slow-opens"),
        ("", "block-latency"),
        ("#locks", "mutex-hold"),
    ],
)
def test_the_preset_that_is_named_so_comes_first(text: str, first: str) -> None:
    presets = [(one.name, one.preset) for one in listed()]
    found = ranked(presets, text)
    assert presets[found[0]][0] == first
    assert sorted(found) == [n for n, (name, preset) in enumerate(presets) if matches(name, preset, text)]


@given(st.permutations([(one.name, one.preset) for one in listed()]), st.text("aelors- #", max_size=8))
def test_those_that_match_are_ranked_and_no_others(presets: list[tuple[str, Preset | None]], text: str) -> None:
    found = ranked(presets, text)
    assert sorted(found) == [n for n, (name, preset) in enumerate(presets) if matches(name, preset, text)]
