"""Probes of bpftrace, perf probe and shells in our words: what they come to, and that no text breaks it."""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.connection.open_target import shipped_recording
from kernel.connection.planner import Planner
from kernel.hosts.arm_request import check_specification
from probes.command import CommandText, parse_armable
from probes.remedies import COUNT_HITS
from probes.syntax.parse_error import ParseError
from probes.translation import bpftrace
from probes.translation.scan import closing, opening, pieces
from probes.translation.translate import translate
from tui.__main__ import main
from tui.cli.specs.translation import machine_of
from tui.compose import specification
from tui.present.option_keys import WHERE_BUILT

WHOLE = [
    ('kprobe:vfs_read { printf("%d", arg2); }', "p vfs_read arg2=$arg3", ""),
    ('k:vfs_read{printf("%d",arg2)}', "p vfs_read arg2=$arg3", ""),
    ("bpftrace -e 'kprobe:vfs_read { printf(\"%s\\n\", comm); }'", "p vfs_read $comm", ""),
    (
        'sudo bpftrace -e \'kprobe:do_sys_openat2 /comm == "bash"/ { printf("%s", str(arg1)); }\'',
        'p do_sys_openat2 arg1=+0($arg2):string if comm == "bash"',
        "",
    ),
    ("kprobe:vfs_read { @[comm] = count(); }", "p vfs_read $comm", "hist:keys=comm"),
    ("kprobe:vfs_read { @[tid, comm] = count(); }", "p vfs_read $comm", "hist:keys=common_pid,comm"),
    (
        "kretprobe:vfs_read /retval > 0/ { @b = hist(retval); }",
        "r vfs_read ret=$retval if ret > 0",
        "hist:keys=ret.log2 if ret > 0",
    ),
    ("kr:vfs_read { @ = lhist(retval, 0, 2000, 200); }", "r vfs_read ret=$retval", "hist:keys=ret.buckets=200"),
    ("kprobe:vfs_read { @[tid] = sum(arg2); }", "p vfs_read arg2=$arg3", "hist:keys=common_pid:vals=arg2"),
    (
        "fentry:vfs_read /args.count > 4096/ { @[cpu] = count(); }",
        "f vfs_read count if count > 4096",
        "hist:keys=common_cpu if count > 4096",
    ),
    ('kfunc:vmlinux:vfs_read { printf("%d", args->file->f_pos) }', "f vfs_read f_pos=file->f_pos", ""),
    ('fexit:vfs_read { printf("%d %d", args.count, retval); }', "f vfs_read%return count ret=$retval", ""),
    (
        'tracepoint:syscalls:sys_enter_openat { printf("%s", str(args.filename)); }',
        "e syscalls.sys_enter_openat filename=+0($filename):ustring",
        "",
    ),
    ("t:sched:sched_switch /args.prev_pid > 1/ { }", "e sched.sched_switch $prev_pid if prev_pid > 1", ""),
    ("tracepoint:raw_syscalls:sys_enter { @[args.id] = count(); }", "e raw_syscalls.sys_enter $id", "hist:keys=id"),
    ("uprobe:/bin/sh:main /arg0 == 2/ { }", "p /bin/sh:main arg0=%di if arg0 == 2", ""),
    (
        'uretprobe:/bin/bash:readline { printf("%s", str(retval)); }',
        "r /bin/bash:readline ret=+0($retval):string",
        "",
    ),
    (
        "kprobe:vfs_read { @start[tid] = nsecs; } kretprobe:vfs_read /@start[tid]/ "
        "{ @us = hist((nsecs - @start[tid]) / 1000); delete(@start[tid]); }",
        "lat:vfs_read {p vfs_read} to {r vfs_read} by common_pid",
        "hist:keys=lat.log2",
    ),
    (
        'kprobe:vfs_read /comm == "cat"/ { @t[tid] = nsecs } kretprobe:vfs_read /@t[tid] != 0 && retval > 0/ '
        '{ $us = (nsecs - @t[tid]) / 1000; printf("%s %d", comm, $us); '
        "@[comm] = lhist($us, 0, 100, 10); delete(@t, tid) }",
        'lat:vfs_read {p vfs_read if comm == "cat"} to {r vfs_read $comm ret=$retval if ret > 0} '
        "by common_pid with comm,ret",
        "hist:keys=comm,lat.buckets=10000",
    ),
    (
        "fentry:vfs_read { @t[args.file] = nsecs; } fexit:vfs_write "
        "/@t[args.file] && nsecs - @t[args.file] > 1000000/ { @ns[args.count] = sum(nsecs - @t[args.file]); }",
        "lat:vfs_read {f vfs_read file} to {f vfs_write%return count file} by file with count if lat > 1000000",
        "hist:keys=count:vals=lat if lat > 1000000",
    ),
    ("perf probe --add 'tcp_sendmsg size'", "p tcp_sendmsg size", ""),
    ("sudo perf probe -a vfs_read", "p vfs_read", ""),
    ("perf probe -x /bin/bash readline%return $retval", "p /bin/bash:readline%return $retval", ""),
    ("mine=vfs_read%return $retval", "p:mine vfs_read%return $retval", ""),
    ("vfs_read@fs/read_write.c count", "p vfs_read count", ""),
    ("echo 'p:mine vfs_read count' > /sys/kernel/tracing/kprobe_events", "p:mine vfs_read count", ""),
]
"""Text, probe, trigger."""
IN_PART = [
    ("kprobe:vfs_read { @ = hist(arg2, 3); }", ("p vfs_read arg2=$arg3",), "@ = hist(arg2, 3)"),
    ("kprobe:vfs_read { @ = lhist(arg2, 50, 2000, 100); }", ("p vfs_read arg2=$arg3",), "begin at 0, and not at 50"),
    ("kprobe:vfs_read { @ = lhist(arg2, 0, 2000, 0); }", ("p vfs_read arg2=$arg3",), "lhist(arg2, 0, 2000, 0)"),
    ("kprobe:vfs_read { @ = lhist(arg2); }", ("p vfs_read arg2=$arg3",), "lhist(arg2)"),
    ('kprobe:vfs_read /@s[tid]/ { printf("%d", arg2); }', ("p vfs_read arg2=$arg3",), "/@s[tid]/"),
    ("kprobe:vfs_read /uid == 0/ { }", ("p vfs_read",), "/uid == 0/"),
    ("kprobe:vfs_read /arg2 & 5 == 4/ { }", ("p vfs_read",), "/arg2 & 5 == 4/"),
    ("kprobe:vfs_read { @ = count(); }", ("p vfs_read",), COUNT_HITS),
    ("kprobe:vfs_read { @[comm] = avg(arg2); }", ("p vfs_read $comm",), "avg"),
    ("kprobe:vfs_read { @s[tid] = nsecs; }", ("p vfs_read",), "@s[tid] = nsecs"),
    (
        "kprobe:vfs_read { @s[tid] = nsecs; } kretprobe:vfs_read /@s[tid]/ { @ = avg((nsecs - @s[tid]) / 1000); }",
        ("lat:vfs_read {p vfs_read} to {r vfs_read} by common_pid",),
        "avg((nsecs - @s[tid]) / 1000): the kernel counts by count, sum, hist and lhist",
    ),
    (
        "kprobe:do_sys_openat2 { @f[tid] = arg1; @x = 1 } kretprobe:do_sys_openat2 /@f[tid]/ { delete(@f[tid]); }",
        ("p do_sys_openat2", "r do_sys_openat2"),
        "not translated: @f[tid] = arg1 (and 3 more); paste one probe at a time, "
        "or the preset slow-opens has a like question",
    ),
    ('BEGIN { printf("x"); } kprobe:vfs_read { }', ("p vfs_read",), "BEGIN"),
    ("profile:hz:99 { @[kstack] = count(); }", (), "profile:hz:99"),
    ("bpftrace tool.bt", (), "a script is in its own file"),
    ("perf record -a", (), "only `perf probe`"),
    ("perf probe 'vfs_read:12'", (), ":12"),
    ("uprobe:libc:malloc { }", (), "its whole path"),
]
PROGRAM = 'uprobe:/bin/sh:main /arg0 == 2/ { printf("%s", str(arg1)); }'


@pytest.mark.parametrize(
    ("machine", "probe", "told"),
    [
        ("x86_64", "p /bin/sh:main arg1=+0(%si):string arg0=%di if arg0 == 2", ""),
        ("aarch64", "p /bin/sh:main arg1=+0(%x1):string arg0=%x0 if arg0 == 2", ""),
        ("", "p /bin/sh:main arg1=+0(%si):string arg0=%di if arg0 == 2", "from the registers of x86-64"),
        ("s390x", "p /bin/sh:main", "registers of arguments are known of x86_64 and aarch64, not s390x"),
    ],
)
@pytest.mark.parametrize("form", ["{}", "bpftrace -e {!r}"])
def test_arguments_of_programs_are_in_the_registers_of_the_machine(machine, probe, told, form):
    found = translate(form.format(PROGRAM), machine)
    assert found is not None and found.probes == (probe,)
    assert told in found.notes_text and bool(told) == bool(found.notes_text)
    assert found.whole == (machine != "s390x")


@pytest.mark.parametrize(
    ("targets", "machine"),
    [
        (("lab:arm64:6.12",), "aarch64"),
        (("lab:7.2", "lab"), "x86_64"),
        (("local",), platform.machine()),
        (("lab", "lab:arm64"), ""),
        (("ssh://web1",), ""),
        (("labour.pwr",), ""),
        ((), ""),
    ],
)
def test_a_target_says_its_machine_where_its_name_does(targets, machine):
    assert machine_of(targets) == machine


ROOT = Path(__file__).parents[3]

OURS = (
    "f vfs_read count",
    "p:vfs_read count",
    "kprobe:vfs_read",
    "f:a/b vfs_read",
    "on sched:sched_switch",
    "s:x u64 a",
)


@pytest.mark.parametrize(("text", "probe", "trigger"), WHOLE)
def test_what_is_simple_is_translated(planner: Planner, text: str, probe: str, trigger: str) -> None:
    found = translate(text)
    assert found is not None and found.whole
    assert (found.probes, found.triggers) == ((probe,), (trigger,) if trigger else ())
    verdict = check_specification(probe, planner)
    assert verdict.ok or (verdict.error is not None and verdict.error.code == "no_symbols")  # of a program elsewhere
    shown = specification.typed(planner, CommandText.parse(text)).shown.verdict
    assert shown is not None and shown.error is not None
    assert (shown.error.code, shown.error.corrected) == ("of_another_tool", probe)
    assert trigger in shown.error.hint
    counted = specification.counted_by(planner.info, text)
    assert counted == ({parse_armable(probe): (trigger,)} if trigger else {})
    if counted and verdict.ok:
        plan = planner.check(parse_armable(probe)).plan
        assert plan is not None
        assert planner.with_triggers(plan, [trigger]).events[0].triggers, "this kernel takes it"


def test_where_buckets_differ_is_told() -> None:
    for function, told in (("hist(arg2)", "up to 2^n"), ("lhist(arg2, 0, 2000, 200)", "out of its bounds")):
        found = translate(f"kprobe:vfs_read {{ @ = {function}; }}")
        assert found is not None and found.whole and told in found.notes_text


@pytest.mark.parametrize(("text", "probes", "missing"), IN_PART)
def test_what_is_not_is_said(planner: Planner, text: str, probes: tuple[str, ...], missing: str) -> None:
    found = translate(text)
    assert found is not None and not found.whole
    assert found.probes == probes
    assert missing in found.notes_text
    shown = specification.typed(planner, CommandText.parse(text)).shown.verdict
    assert shown is not None and shown.error is not None and WHERE_BUILT.text(missing) in shown.error.hint


def written_probes() -> list[str]:
    """Return all probes that presets and pages give as examples."""
    pages = [*ROOT.glob("docs/*.md"), ROOT / "README.md", *ROOT.glob("probes/presets/shipped/*.toml")]
    texts = {text for page in pages for text in re.findall(r"[`'\"]([^`'\"\n]+)[`'\"]", page.read_text())}
    other = ("perf ", "bpftrace ")  # read as a name and a word, which no kernel has
    return sorted(
        text
        for text in texts
        if " " in text and not text.startswith(other) and is_probe(re.sub(r"\$\{\w+\}", "1", text))
    )


def is_probe(text: str) -> bool:
    try:
        parse_armable(text)
    except ParseError:
        return False
    return True


def test_no_probe_that_is_written_anywhere_is_taken_for_one_of_another_tool() -> None:
    found = written_probes()
    assert len(found) > 60 and any(text.startswith("lat:mutex_hold {") for text in found)
    assert not [text for text in found if translate(text) is not None]


@pytest.mark.parametrize("text", OURS)
def test_what_is_ours_is_left_alone(text: str) -> None:
    assert translate(text) is None


def test_several_probes_of_a_program_are_several() -> None:
    found = translate('kprobe:vfs_read,kprobe:vfs_write /pid == 1/ { printf("%d", arg2); }')
    assert found is not None
    assert found.probes == tuple(f"p {name} arg2=$arg3 if common_pid == 1" for name in ("vfs_read", "vfs_write"))
    assert "pid is the thread" in found.notes_text


def test_each_of_several_probes_has_its_own_triggers() -> None:
    found = translate(
        "kprobe:vfs_read,kprobe:vfs_write { @[comm] = count(); } kprobe:vfs_open { @x[tid] = count(); }"
    )
    assert found is not None and found.whole
    assert found.triggers_by_probe == {
        "p vfs_read $comm": ("hist:keys=comm",),
        "p vfs_write $comm": ("hist:keys=comm",),
        "p vfs_open": ("hist:keys=common_pid",),
    }
    assert "each probe counts into a table of its own" in found.notes_text


def test_times_of_tracepoints_are_between_their_events() -> None:
    found = translate(
        "tracepoint:syscalls:sys_enter_read { @t[tid] = nsecs; } "
        "tracepoint:syscalls:sys_exit_read /@t[tid] && args.ret > 0/ { @ = hist(nsecs - @t[tid]); delete(@t[tid]); }"
    )
    assert found is not None and found.whole
    assert found.triggers_by_probe == {
        "lat:read syscalls/sys_enter_read to syscalls/sys_exit_read by common_pid with ret if (ret > 0)": (
            "hist:keys=lat.log2 if (ret > 0)",
        )
    }


def test_presets_that_are_named_come_along() -> None:
    shipped = {path.stem for path in (ROOT / "probes/presets/shipped").glob("*.toml")}
    assert set(bpftrace._PRESETS.values()) <= shipped


def test_what_is_counted_is_said_as_it_is_typed(capsys: pytest.CaptureFixture[str]) -> None:
    program = "kprobe:vfs_read { @[comm] = count(); } kprobe:vfs_write { @[tid] = count(); }"
    assert main(["check", "-t", str(shipped_recording()), program]) == 0
    said = capsys.readouterr().err
    assert "'p vfs_read $comm' --trigger 'hist:keys=comm', 'p vfs_write' --trigger 'hist:keys=common_pid'" in said
    assert main(["run", "-t", "lab", "-t", "lab:6.1", program]) != 0
    assert "on several hosts a trigger is for all probes: run them apart, as 'p vfs_read" in capsys.readouterr().err


def test_check_says_what_it_comes_to(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "-t", str(shipped_recording()), "fentry:vfs_read { @[comm] = count(); }"]) == 0
    said = capsys.readouterr()
    assert "bpftrace, in our words: 'f vfs_read $comm'" in said.err and "hist:keys=comm" in said.err
    assert "f vfs_read" in said.out


def test_check_judges_what_it_counts_by(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["check", "-t", str(shipped_recording()), "--json", "kprobe:vfs_read { @ = hist(arg2); }"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["ok"]
    monkeypatch.setattr(bpftrace, "_KEYS", {"tid": "nosuch"})  # as on a kernel without that field
    assert main([*words[:-1], "kprobe:vfs_read { @[tid] = count(); }"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["ok"] and found["lowered"] and found["error"]["token"] == "hist:keys=nosuch"


def test_a_run_of_a_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-t", str(shipped_recording()), "kprobe:vfs_read /uid == 0/ { }"]) != 0
    said = capsys.readouterr().err
    assert "/uid == 0/: without it more is recorded" in said and "'p vfs_read'" in said


BITS = (
    *("kprobe:vfs_read", "tracepoint:a:b", "uprobe:/bin/sh:main", "BEGIN", "bpftrace -e '", "perf probe ", "echo '"),
    *(
        "/pid == 1/",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        '"',
        "'",
        "@",
        "=",
        "count()",
        "hist(",
        "arg0",
        "str(arg1)",
        ",",
        ";",
    ),
    *(",", ";", "\\", " ", "\n", "args.x", "retval", "((struct file *)arg0)->f_pos", "%return", ":12", "é", "x"),
)


@given(st.lists(st.sampled_from(BITS), max_size=30).map("".join) | st.text(max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    found = translate(text)
    for probe in found.probes if found is not None else ():
        try:
            parse_armable(probe)
        except ParseError as refused:
            assert refused.refusal.message


@given(st.text(alphabet="a,;(){}[]\"'\\", max_size=40))
def test_nothing_is_lost_where_a_text_is_split(text: str) -> None:
    assert ",".join(pieces(text, ",")) == text
    at = opening(text, "{")
    assert at == -1 or (text[at] == "{" and at < closing(text, at) <= len(text))


NAMES = st.sampled_from(("kprobe:vfs_read", "kprobe:vfs_write", "kprobe:vfs_open"))
NUMBERS = st.lists(st.integers(0, 5), max_size=3)
FILTERS = st.sampled_from(("", "/arg1 > 5/", '/comm == "sh" && arg0 != 0/', "/(arg2 == 1 || arg3 == 2) && tid == 7/"))


@st.composite
def clauses(draw: st.DrawFn) -> str:
    names = draw(st.lists(NAMES, min_size=1, max_size=2, unique=True))
    printed = "".join(f", arg{number}" for number in draw(NUMBERS))
    more = draw(st.sampled_from(("", "; @[comm] = count()", "; @[arg4] = hist(arg5)")))
    return f'{",".join(names)} {draw(FILTERS)} {{ printf("x"{printed}){more}; }}'


@pytest.mark.skipif(shutil.which("bpftrace") is None, reason="bpftrace is not installed")
@given(st.lists(clauses(), min_size=6, max_size=12))
def test_bpftrace_reads_the_same(programs: list[str]) -> None:
    """Its own tree has as many probes, and each records the arguments that it names."""
    text = "\n".join(programs)
    tree = subprocess.run(["bpftrace", "-d", "-e", text], capture_output=True, text=True, check=False, timeout=60)
    parsed = (tree.stdout + tree.stderr).partition("AST after: parser")[2].partition("AST after")[0]
    if not parsed:
        pytest.skip("bpftrace shows no tree here")
    theirs: list[tuple[str, set[str]]] = []
    names: list[str] = []
    inside = True
    for line in parsed.splitlines():
        if (head := re.fullmatch(r" (kprobe:\w+)", line)) is not None:
            names = [] if inside else names
            names.append(head[1].replace("kprobe:", "p "))
            theirs.append((names[-1], set()))
            inside = False
        elif (argument := re.search(r"builtin: (arg\d)", line)) is not None:
            inside = True
            for _, arguments in theirs[-len(names) :]:
                arguments.add(argument[1])
        elif line.startswith("  "):
            inside = True
    found = translate(text)
    assert found is not None
    ours = [(" ".join(one.split()[:2]), set(re.findall(r"(arg\d)=\$", one))) for one in found.probes]
    assert ours == theirs
