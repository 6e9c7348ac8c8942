"""Probes in the words of other tools: right, quoted, or refused with the reason; nothing of a probe breaks out."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probes.command import parse_armable
from probes.export.bpftrace.condition import condition
from probes.export.bpftrace.value import BpftraceValue
from probes.export.comment import write as write_comment
from probes.export.dialect import CannotExport
from probes.export.export import DIALECTS, dialect_named, export
from probes.export.quoting import in_c_comment, one_line, sh_parts, sh_word
from probes.facts.facts import Feature, TargetFacts
from probes.lowering.lower import lower
from probes.plans.plan import Plan, PlannedEvent
from probes.static_events import StaticEvent
from tests.probes_data import kernel
from tui.cli.args.parser import DIALECTS as OFFERED

HOSTILE = (
    "$(touch /tmp/broken)",
    "`touch /tmp/broken`",
    "'; touch /tmp/broken; '",
    '"; touch /tmp/broken; "',
    "\n touch /tmp/broken\n",
    "*/ int main(){} /*",
    "\x1b]0;evil\x07",
    "a\\nb\\c%s%d",
    "}\nkernel.init=/tmp/evil\n{",
    "café \u202e \udcff",
    "# not a comment",
    "-n -e --help",
    "x,y;p:evil",
    '" evil=1 "',
)
SHELLS = tuple(shell for shell in ("dash", "bash", "busybox") if shutil.which(shell))
FACTS = TargetFacts("x86_64", "7.2")
MORE = {Feature.UPROBE_EVENTS, Feature.EPROBE_EVENTS, Feature.SYNTHETIC_EVENTS}
"""Of every kernel here, though their cut-down facts do not hold it."""
SCRIPTS = ("sh", "trace-cmd", "perf")


def text_of(name: str, spec: str, kernel_name: str = "7.2") -> str:
    """A specification in a dialect, for a kernel."""
    btf, facts, _ = kernel(kernel_name)
    dialect = dialect_named(name)
    facts = replace(facts, features=facts.features | MORE)
    known = replace(facts, features=dialect.lowered_for(facts))
    return export(dialect, [lower(parse_armable(one), btf, known, "pw_x") for one in spec.split(" | ")], facts).text


def hostile_plan(text: str, *, filter_: bool = True, trigger: bool = True, immediate: bool = False) -> Plan:
    """A plan as nobody would lower it: foreign text wherever text can be."""
    words = f'note=\\"{text}":string' if immediate else "count=$arg3:u64"
    event = PlannedEvent(
        "pw_x",
        "evil",
        f"p:pw_x/evil vfs_read {words}",
        "-:pw_x/evil",
        filter=f'comm == "{text}"' if filter_ else "",
        triggers=(f"hist:keys={text}",) if trigger else (),
    )
    return Plan(parse_armable("p vfs_read"), (event,), (f"loss {text}",))


def made(name: str, plan: Plan) -> str | None:
    """The text; None where it is refused, with a reason."""
    try:
        return export(dialect_named(name), [plan], FACTS).text
    except CannotExport as error:
        assert error.reasons and all(error.reasons)
        return None


def test_the_command_line_offers_every_dialect() -> None:
    assert tuple(dialect.name for dialect in DIALECTS) == OFFERED


@pytest.mark.parametrize("kernel_name", ["6.1", "6.12", "7.2", "arm64"])
@pytest.mark.parametrize("dialect", OFFERED)
def test_every_kernel_has_an_entry_and_an_exit(dialect: str, kernel_name: str) -> None:
    text = text_of(dialect, "f vfs_read%both file->f_pos count $retval", kernel_name)
    assert text.isascii()
    assert "vfs_read" in text
    kept = kernel_name != "6.1" or dialect == "bpftrace"  # the exit shows an argument of the entry
    if dialect == "perf":
        assert f"'vfs_read=vfs_read%return {'f_pos=+' if kept else 'ret='}" in text
        assert "'vfs_read__entry=vfs_read f_pos=+" in text
    if dialect == "bpftrace":
        assert f'kptr(@vfs_read__exit_arg0[tid, reg("sp"){"" if kernel_name == "arm64" else " - 8"}] + ' in text
    if dialect == "bootconfig" and kept:
        assert 'probes = "vfs_read%return f_pos=file->f_pos count ret=$retval frame=$stack"' in text
    if dialect == "cmdline" and kept:
        line = "r:pw_x/vfs_read__exit,vfs_read,f_pos=file->f_pos,count,ret=$retval,frame=$stack"
        assert text.startswith("kprobe_event=p:pw_x/vfs_read__entry,vfs_read,") and line in text


def test_bpftrace_has_its_own_names_of_the_registers_of_arm64() -> None:
    text = text_of("bpftrace", "p vfs_read %x0 %x19 %sp %lr", "arm64")
    assert re.findall(r'reg\("(\w+)"\)', text) == ["r0", "r19", "sp", "r30"]
    assert re.findall(r'reg\("(\w+)"\)', text_of("bpftrace", "p vfs_read %di %r8")) == ["di", "r8"]


def test_shell_scripts_choose_their_group_when_they_run() -> None:
    for name in SCRIPTS:
        text = text_of(name, "f vfs_read%both count $retval")
        code = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
        assert "pw_x" not in code


def test_bpftrace_says_where_it_knows_no_module() -> None:
    event = PlannedEvent("pw_x", "x", "p:pw_x/x loop:lo_open", "-:pw_x/x")
    found = export(dialect_named("bpftrace"), [Plan(parse_armable("p loop:lo_open"), (event,))], FACTS)
    note = "bpftrace finds lo_open by its name alone, not in loop only"
    assert found.notes == (note,) and f"// note: {note}\n" in found.text and "\nkprobe:lo_open\n" in found.text


@pytest.mark.parametrize("dialect", ["sh", "trace-cmd"])
def test_the_text_of_a_filter_is_no_name_of_a_group(dialect: str) -> None:
    text = text_of(dialect, 'f:pw_x/x vfs_read file:%pD if file == "pw_x/x"')
    assert """ 'file == "pw_x/x"'""" in text


def test_a_trigger_that_names_our_event_follows_its_group() -> None:
    events = [
        PlannedEvent("pw_x", "made", "p:pw_x/made vfs_read", "-:pw_x/made"),
        PlannedEvent(
            "sched", "sched_switch", "", "", triggers=("hist:keys=a:onmatch(pw_x.made).b(a)",), recorded=False
        ),
    ]
    text = export(dialect_named("sh"), [Plan(parse_armable("p vfs_read"), tuple(events))], FACTS).text
    assert """'hist:keys=a:onmatch('"$group"'.made).b(a)'""" in text
    assert "sched/sched_switch/enable" not in text
    boot = export(dialect_named("bootconfig"), [Plan(parse_armable("p vfs_read"), tuple(events))], FACTS).text
    assert 'actions = "hist:keys=a:onmatch(kprobes.made).b(a)"' in boot


@pytest.mark.parametrize(
    ("dialect", "spec", "reason"),
    [
        ("cmdline", "f vfs_read count if count > 5", "no filters"),
        ("cmdline", 'p vfs_read note=\\"a,b":string', "can't be escaped"),
        ("cmdline", "e sched.sched_switch $next_pid", "kprobes and kretprobes only"),
        ("cmdline", "p /bin/true:0x1000 %di", "kprobes and kretprobes only"),
        ("bootconfig", "p /bin/true:0x1000 %di", "kprobes and synthetic events only"),
        ("bootconfig", "r10 vfs_read $retval", "maxactive"),
        ("bootconfig", "f wake_up_new_task " + " ".join(f"a{n}=p->pid" for n in range(40)), "255 characters"),
        ("perf", 'p vfs_read note=\\"a":string', "quotes"),
        ("perf", "s:mine u64 a", "no synthetic"),
        ("bpftrace", "s:mine u64 a", "no synthetic"),
        ("bpftrace", "p /bin/true:0x1000 %di", "by symbol"),
        ("bpftrace", 'f vfs_read count $comm if comm ~ "*x"', "beginning only"),
        ("bpftrace", "p vfs_read $arg7", "no register"),
    ],
)
def test_what_a_dialect_cannot_say_is_refused_with_the_reason(dialect: str, spec: str, reason: str) -> None:
    with pytest.raises(CannotExport, match=re.escape(reason)):
        text_of(dialect, spec)


def test_perf_says_that_it_shows_fields_of_events_without_the_types_they_were_given() -> None:
    btf, facts, _ = kernel("7.2")
    facts = replace(facts, features=facts.features | MORE)
    plans = [
        lower(parse_armable(f"e sched.sched_switch next=$next_pid{kind}"), btf, facts, "pw_x") for kind in (":x8", "")
    ]
    typed, plain = (export(dialect_named("perf"), [plan], facts) for plan in plans)
    assert [note for note in typed.notes if "without the type: next=$next_pid:x8" in note]
    assert "without the type" in typed.text
    assert not [note for note in plain.notes if "without" in note]


def test_bpftrace_shows_a_field_of_an_event_as_wide_as_its_type() -> None:
    for kind, value in {
        ":x8": "(uint8)args->next_prio",
        ":s16": "(int16)args->next_prio",
        ":x32": "(uint32)args->next_prio",
        "": "    args->next_prio",
    }.items():
        assert f"{value});" in text_of("bpftrace", f"e sched.sched_switch $next_prio{kind}")


def test_two_probes_of_one_name_are_refused() -> None:
    for dialect in OFFERED:
        with pytest.raises(CannotExport, match="two probes"):
            text_of(dialect, "p:a/x vfs_read | p:b/x vfs_write")


def test_filters_become_conditions() -> None:
    fields = {
        "count": BpftraceValue("", (), "arg2"),
        "name": BpftraceValue("", (), "str(kptr(arg1))", is_text=True),
    }
    assert condition('!(count > 0x10) && name == "a"', fields) == ('! ( arg2 > 16 ) && str(kptr(arg1)) == "a"')
    assert condition("count & 010", fields) == "arg2 & 8"
    assert condition('name ~ "ab*"', fields) == 'strncmp(str(kptr(arg1)), "ab", 2) == 0'
    for negated in ("!count == 5", "!count > 5", "!count & 4", '!name ~ "ab*"', '!name == "a"'):
        said = condition(negated, fields)
        assert said == f"! ({condition(negated[1:], fields)})"
    for bad in ("other == 1", "count ~ 1", 'count == "a"', 'name ~ "*a"', "count == other", "CPUS{1}"):
        with pytest.raises(CannotExport):
            condition(bad, fields)


# -- hostile text ---------------------------------------------------------------------------------------------------

ANY = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40) | st.sampled_from(
    HOSTILE
)


def _shell(shell: str) -> list[str]:
    return ["busybox", "sh"] if shell == "busybox" else [shell]


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=ANY)
def test_a_word_is_one_word_in_every_shell(shell: str, text: str) -> None:
    script = f"set -- {sh_word(text)}\nprintf '%s:%s' $# \"$1\"\n"
    assert script.replace("\n", "").isprintable() and script.isascii()
    done = subprocess.run([*_shell(shell)], input=script.encode(), capture_output=True, env={"PATH": "/usr/bin:/bin"})
    assert done.stdout == b"1:" + text.encode("utf-8", "surrogateescape"), done.stderr


def test_no_word_holds_nul() -> None:
    with pytest.raises(ValueError, match="NUL"):
        sh_word("a\0b")
    for name in ("sh", "trace-cmd", "comment"):
        assert made(name, hostile_plan("a\0b")) is None


@given(text=ANY)
def test_parts_are_the_text_with_a_variable_in_it(text: str) -> None:
    word = sh_parts(f"<GROUP>/{text}<GROUP>", re.compile("<GROUP>"), "group")
    script = f"group=ours\nprintf %s {word}\n"
    done = subprocess.run(["dash"], input=script.encode(), capture_output=True)
    assert done.stdout == b"ours/" + text.encode("utf-8", "surrogateescape") + b"ours"


@given(text=ANY)
def test_comments_stay_comments(text: str) -> None:
    assert one_line(text).isascii() and (one_line(text).isprintable() or not text)
    told = in_c_comment(f"*{text}/")
    assert "*/" not in told and "/*" not in told


@pytest.mark.parametrize("name", SCRIPTS)
@settings(max_examples=40)
@given(text=ANY)
def test_no_shell_script_is_broken_out_of(name: str, text: str) -> None:
    """It parses, and what its commands are given is the very text."""
    plan = hostile_plan(text, trigger=name != "perf", immediate=name == "sh")
    script = made(name, plan)
    if script is None:
        return
    assert script.isascii() and script.replace("\n", "").isprintable()
    parsed = subprocess.run(["dash", "-n"], input=script.encode(), capture_output=True)
    assert parsed.returncode == 0, parsed.stderr
    words = _data_words(script)
    expected = f'comm == "{text}"'
    assert any(word == expected.encode("utf-8", "surrogateescape") for word in words), words


def _data_words(script: str) -> list[bytes]:
    """Run the lines that carry data with the functions replaced by one that prints its arguments."""
    start = script.index("trap 'exit 130' INT")
    lines = script[start:].splitlines()[1:]
    keep = "\n".join(lines)
    found = re.search(r"^(?:arm|add|perf record|trace-cmd record)", keep, re.MULTILINE)
    assert found
    body = keep[found.start() :]
    body = re.split(r"^(?:# No cat|reader=|# Reading)", body, flags=re.MULTILINE)[0].replace(">&2 &", "")
    told = "told() { for each; do printf '%s\\0' \"$each\"; done; }\n"
    names = 'arm() { told "$@"; }; add() { told "$@"; }\n'
    names += 'perf() { told "$@"; }; dd() { :; }\n'
    body = body.replace("trace-cmd record", "told")
    variables = "group=g owner=o instance=/i tracing=/t file=f seconds=\n"
    run = subprocess.run(
        ["dash", "-c", told + names + variables + body, "x"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={"PATH": "/usr/bin:/bin"},
    )
    return (run.stdout + run.stderr).split(b"\0")


@given(text=ANY)
def test_a_c_comment_is_one_comment(text: str) -> None:
    comment = made("comment", hostile_plan(text, immediate=True))
    assert comment is not None
    assert comment.startswith("/*\n") and comment.endswith(" */\n")
    inside = comment[2:-3]
    assert "*/" not in inside and "/*" not in inside and comment.isascii()


@settings(max_examples=40)
@given(text=ANY)
def test_the_commands_of_a_comment_write_the_very_text(text: str) -> None:
    comment = made("comment", hostile_plan(text))
    assert comment is not None
    joined = re.sub(r"\n \* # ", "\n", comment)
    line = next(line for line in joined.splitlines() if line.endswith("/filter"))
    command = line.removeprefix(" * # ").rpartition(" >")[0]
    done = subprocess.run(["dash", "-c", command], capture_output=True)
    wanted = f'comm == "{text}"'.encode("utf-8", "surrogateescape") + b"\n"
    assert done.stdout == wanted


def test_the_commands_of_a_comment_leave_the_top_of_tracefs_alone() -> None:
    """Somebody else may have set a filter there; an instance has its own, and goes at the end."""
    event = PlannedEvent("sched", "sched_switch", "", "", filter="prev_pid == 1", triggers=("traceoff",))
    comment = write_comment([Plan(StaticEvent("sched/sched_switch", "prev_pid == 1"), (event,))], FACTS).text
    commands = [line.removeprefix(" * # ") for line in comment.splitlines() if line.startswith(" * # ")]
    changed = [re.split(">+", command)[-1].strip("'") for command in commands if ">" in command]
    assert len(changed) == 5
    assert all(file.startswith("instances/") for file in changed)
    made_, gone = commands[1], commands[-1]
    assert made_.startswith("mkdir instances/") and gone == made_.replace("mkdir", "rmdir")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("asked", "waits"), [("08", 8), ("0009", 9), ("0", 0), ("000", 0), ("10", 10)])
def test_seconds_are_no_octal_number(shell: str, asked: str, waits: int) -> None:
    script = text_of("sh", "f vfs_read count")
    begin = script[: script.index("\ntracing=")] + "\nreader=$$; sleep() { :; }\n"
    end = script[script.index("if [ -z") :] + 'echo "$passed"\n'
    done = subprocess.run([*_shell(shell), "-s", asked], input=begin + end, capture_output=True, text=True)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", f"{waits}\n")


@given(text=ANY)
def test_a_bootconfig_has_the_keys_it_should_have(text: str) -> None:
    config = made("bootconfig", hostile_plan(text))
    if config is None:
        return
    lines = [line.strip() for line in config.splitlines() if not line.startswith("#")]
    assert [re.split(r"[ =]", line)[0] for line in lines] == [
        *("ftrace.instance.probewright", "event.kprobes.evil", "probes", "enable", "filter", "actions", "}", "}")
    ]
    for line in lines:
        value = line.partition(" = ")[2]
        if value:
            mark = value[0]
            assert mark in "\"'" and value.endswith(mark) and mark not in value[1:-1]


@given(text=ANY)
def test_the_command_line_stays_one_word(text: str) -> None:
    line = made("cmdline", hostile_plan(text, filter_=False, trigger=False, immediate=True))
    if line is not None:
        assert text == "" or re.fullmatch(r"kprobe_event=[^\s\";]+\n", line)
    assert made("cmdline", hostile_plan(text, filter_=True, trigger=False)) is None


@given(text=ANY)
def test_bpftrace_strings_are_strings(text: str) -> None:
    script = made("bpftrace", hostile_plan(text, trigger=False, immediate=True))
    if script is None:
        return
    assert script.isascii() and script.replace("\n", "").isprintable()
    code = "".join(line for line in script.splitlines() if not line.startswith(("//", "#!")))
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "S", code)
    assert (
        bare
        == "kprobe:vfs_read/comm == S/{  printf(S,    comm, tid, cpu, nsecs / 1000000000, nsecs / 1000 % 1000000);}"
    )


@pytest.mark.parametrize(
    "spec", ["f vfs_read%both file->f_pos count $retval $comm", "f wake_up_new_task p->in_execve $comm"]
)
def test_bpftrace_formats_have_a_value_for_each_place(spec: str) -> None:
    for call in re.findall(r'printf\("((?:[^"\\]|\\.)*)",\n(.*)\);', text_of("bpftrace", spec)):
        depth, values = 0, 1
        for char in call[1]:
            depth += (char in "([") - (char in ")]")
            values += char == "," and depth == 0
        assert len(re.findall(r"%(?!%)", call[0])) == values
    assert text_of("bpftrace", spec).count("printf(") == len(re.findall(r'comm=\\"%s\\"', text_of("bpftrace", spec)))


@pytest.mark.parametrize(
    ("name", "tool", "report"), [("perf", "perf", "script"), ("trace-cmd", "trace-cmd", "report")]
)
def test_an_earlier_recording_is_not_taken_for_one_that_failed(
    name: str, tool: str, report: str, tmp_path: Path
) -> None:
    tracing, bin_ = tmp_path / "tracing", tmp_path / "bin"
    (tracing / "instances").mkdir(parents=True)
    (tracing / "dynamic_events").touch()
    bin_.mkdir()
    for program, does in ((tool, f'[ "$1" = {report} ] && cat "$3"'), ("rmdir", 'rm -r "$@"')):
        (bin_ / program).write_text(f"#!/bin/sh\n{does}\n")
        (bin_ / program).chmod(0o755)
    event = PlannedEvent("sched", "sched_switch", "", "")
    script = made(name, Plan(StaticEvent("sched/sched_switch"), (event,))) or ""
    (tmp_path / "file").write_text("events of yesterday\n")
    done = subprocess.run(
        ["sh", "-c", script.replace("/sys/kernel/tracing", str(tracing)), "sh", "1", "file"],
        cwd=tmp_path,
        env={"PATH": f"{bin_}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "" and done.returncode != 0
    assert (tmp_path / "file.old").read_text() == "events of yesterday\n"


def test_perf_adds_by_one_call_what_has_the_same_options() -> None:
    lines = (
        *("p:pw_x/a vfs_read", "p:pw_x/b vfs_write", "p:pw_x/c loop:lo_open", "p:pw_x/d loop:lo_release"),
        *("p:pw_x/e /bin/sh:0x10", "p:pw_x/f /bin/ls:0x10", "p:pw_x/g /bin/ls:0x20", "p:pw_x/h vfs_open"),
    )
    events = tuple(PlannedEvent("pw_x", line[7], line, f"-:pw_x/{line[7]}") for line in lines)
    script = made("perf", Plan(parse_armable("p vfs_read"), events)) or ""
    calls = re.findall(r"^add ((?:.*\\\n)*.*)", script, re.MULTILINE)
    told = [(re.findall(r"-[mx] \S+", call), re.findall(r"'(\w)=", call)) for call in calls]
    assert told == [
        *(([], ["a", "b"]), (["-m 'loop'"], ["c", "d"]), (["-x '/bin/sh'"], ["e"]), (["-x '/bin/ls'"], ["f", "g"])),
        ([], ["h"]),
    ]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("some", [True, False])
def test_what_perf_added_before_it_failed_is_taken_back(shell: str, some: bool, tmp_path: Path) -> None:
    (tmp_path / "dynamic_events").touch()
    perf = tmp_path / "perf"
    adds = 'printf "p:%s/one f\\n" "${4%%:*}" >>dynamic_events' if some else ":"
    perf.write_text(f'#!/bin/sh\ncase $3 in --add) {adds}; exit 1 ;; --del) echo "$4" >>gone; exit 1 ;; esac\n')
    perf.chmod(0o755)
    script = text_of("perf", "f vfs_read%both count").replace("/sys/kernel/tracing", str(tmp_path))
    done = subprocess.run(
        [*_shell(shell), "-c", script],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and ("left behind" in done.stderr) is some
    assert (tmp_path / "gone").exists() is some


@pytest.mark.parametrize("asked", [[], ["9"]])
@pytest.mark.parametrize("shell", SHELLS)
def test_events_that_end_early_are_told(shell: str, asked: list[str], tmp_path: Path) -> None:
    tracing, bin_ = tmp_path / "tracing", tmp_path / "bin"
    (tracing / "instances").mkdir(parents=True)
    (tracing / "dynamic_events").touch()
    bin_.mkdir()
    remove = bin_ / "rmdir"
    remove.write_text('#!/bin/sh\nrm -r "$@"\n')
    remove.chmod(0o755)
    event = PlannedEvent("sched", "sched_switch", "", "")
    script = made("sh", Plan(StaticEvent("sched/sched_switch"), (event,))) or ""
    script = script.replace("/sys/kernel/tracing", str(tracing))
    # a file system of tracefs makes these
    script = script.replace("\necho mono", '\nmkdir -p "$instance/events/sched/sched_switch"; echo mono', 1)
    for reads, status in (("", 1), (': >"$instance/trace_pipe"', 0)):
        done = subprocess.run(
            [*_shell(shell), "-c", script.replace("\ndd if=", f"\n{reads}\ndd if=", 1), "sh", *asked],
            env={"PATH": f"{bin_}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == status, done.stderr
        assert ("the events end early" in done.stderr) is bool(status)


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
@pytest.mark.parametrize("name", SCRIPTS)
def test_shellcheck_has_nothing_to_say(name: str, tmp_path: Path) -> None:
    specs = ['f vfs_read%both file->f_pos count $retval | f wake_up_new_task p->comm:string if comm != "a\'b"']
    texts = [text_of(name, spec) for spec in specs]
    texts += [made(name, hostile_plan(each, trigger=name != "perf")) or "" for each in HOSTILE]
    files = []
    for number, text in enumerate(text for text in texts if text):
        files.append(tmp_path / f"{number}.sh")
        files[-1].write_text(text)
    done = subprocess.run(["shellcheck", "--shell=sh", *files], capture_output=True, text=True)
    assert done.stdout == "" and len(files) > 10


def test_a_feature_is_left_out_only_where_the_tool_lacks_it() -> None:
    _, facts, _ = kernel("7.2")
    assert dialect_named("sh").lowered_for(facts) == facts.features
    assert Feature.FPROBE_EVENTS not in dialect_named("bootconfig").lowered_for(facts)
    assert Feature.ENTRY_ARGS_AT_EXIT in dialect_named("bpftrace").lowered_for(kernel("6.1").facts)
    assert shlex.split(sh_word("a b")) == ["a b"]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("taken", [True, False])
def test_a_synthetic_event_of_somebody_else_is_not_removed(shell: str, taken: bool, tmp_path: Path) -> None:
    """Its name is global: the script removes only one that it has made."""
    (tmp_path / "instances").mkdir()
    (tmp_path / "dynamic_events").touch()
    script = text_of("sh", "s:mine u64 a").replace("/sys/kernel/tracing", str(tmp_path))
    refuses = 'put() { echo "$2" >>lines; message=taken; case $2 in s:*) false ;; esac; }\narm() {'
    script = script.replace("arm() {", refuses if taken else refuses.replace("false", ":"), 1)
    subprocess.run([*_shell(shell), "-c", script, "sh", "0"], cwd=tmp_path, capture_output=True)
    lines = (tmp_path / "lines").read_text().splitlines()
    assert any(line.startswith("s:") for line in lines)
    assert any(line.startswith("-:synthetic/mine") for line in lines) is not taken
