"""Programs of bpftrace that are easily read as another: what a translation says is the same, or it is refused."""

from __future__ import annotations

import pytest

from probes.translation.bpftrace import MOST
from probes.translation.translate import LONGEST, translate
from probes.translation.translated import Translation

BEGIN = "kprobe:vfs_read { @t[tid] = nsecs } "


def of(program: str) -> Translation:
    found = translate(program)
    assert found is not None
    return found


def ended(condition: str, body: str = "@ = hist(nsecs - @t[tid])") -> Translation:
    """Return the translation of a time whose end has a filter and statements."""
    return of(f"{BEGIN}kretprobe:vfs_read {condition} {{ {body} }}")


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("/tid == 5 || tid == 6 && nsecs - @t[tid] > 1000/", "|| beside a time; paste it with one side alone"),
        ("/@t[tid] && tid == 5 || tid == 6/", "|| beside a time; paste it with one side alone"),
        ("/@t[tid] && (tid == 5 && nsecs - @t[tid] > 5 && tid == 6 || tid == 7)/", "without it more is recorded"),
        ("/(tid == 5 || nsecs - @t[tid] > 1000) && tid == 6/", "without it more is recorded"),
    ],
)
def test_or_beside_a_time_is_refused(condition: str, reason: str) -> None:
    found = ended(condition)
    assert not found.whole and reason in found.notes and condition[1:8] in found.notes


def test_or_of_fields_stays_beside_a_time() -> None:
    found = ended('/@t[tid] && (retval == 1 || comm == "a") && nsecs - @t[tid] > 1000/')
    assert found.whole
    assert found.probes == (
        'lat:vfs_read {p vfs_read} to {r vfs_read ret=$retval if (ret == 1 || comm == "a")} '
        "by common_pid with ret if lat > 1000",
    )
    assert ended("/retval == 1 || retval == 2/").probes == (
        "lat:vfs_read {p vfs_read} to {r vfs_read ret=$retval if ret == 1 || ret == 2} by common_pid with ret",
    )


@pytest.mark.parametrize(
    ("body", "trigger"),
    [
        ("@[comm] = sum((nsecs - @t[tid]) / 1000)", "hist:keys=comm:vals=lat"),
        ("$d = nsecs - @t[tid]; @[comm] = sum($d / 1000)", "hist:keys=comm:vals=lat"),
        ("@[comm] = sum(nsecs - @t[tid])", "hist:keys=comm:vals=lat"),
        ("@[comm] = sum(nsecs - @t[tid] / 1000)", ""),
        ("@[comm] = sum((nsecs - @t[tid] / 1000))", ""),
        ("$us = nsecs - @t[tid] / 1000; @[comm] = sum($us)", ""),
        ("$us = nsecs - @t[tid]; @[comm] = sum($us); $us = (nsecs - @t[tid]) / 1000", ""),
        ("$us = nsecs - @t[tid]; $us /= 1000; @[comm] = sum($us)", ""),
        ("$us = nsecs - @t[tid]; $us++; @[comm] = sum($us)", ""),
        ("@[comm] = sum(nsecs - @t[tid]); @[tid] = sum(nsecs - @t[retval])", "hist:keys=comm:vals=lat"),
    ],
)
def test_only_the_time_itself_is_divided(body: str, trigger: str) -> None:
    found = ended("/@t[tid]/", body)
    assert found.triggers == ((trigger,) if trigger else ())
    assert found.whole == (bool(trigger) and "retval" not in body)
    assert found.whole or "@t[" in found.notes.replace("@t[tid]/", "")


@pytest.mark.parametrize(
    ("program", "probe", "trigger"),
    [
        (
            'kprobe:vfs_rename { printf("%s %s", str(((struct dentry *)arg1)->d_name.name),'
            " str(((struct dentry *)arg3)->d_name.name)); }",
            "p vfs_rename name=$arg2->d_name.name:string name_2=$arg4->d_name.name:string",
            "",
        ),
        (
            "fentry:vfs_link { @[args.old_dentry->d_inode->i_ino] = sum(args.dir->i_ino) }",
            "f vfs_link i_ino=old_dentry->d_inode->i_ino i_ino_2=dir->i_ino",
            "hist:keys=i_ino:vals=i_ino_2",
        ),
        (
            'kprobe:vfs_read /arg1 != 0/ { printf("%x", arg1); @[str(arg1)] = count(); }',
            "p vfs_read arg1=$arg2 arg1_2=+0($arg2):string if arg1 != 0",
            "hist:keys=arg1_2 if arg1 != 0",
        ),
        ('fexit:f { printf("%d %d %d", args.ret, retval, args.ret); }', "f f%return ret ret_2=$retval", ""),
        (
            "fentry:f { @ = hist(args.a->x); @x = lhist(args.b->x, 0, 10, 2) }",
            "f f x=a->x x_2=b->x",
            "hist:keys=x.log2 hist:keys=x_2.buckets=2",
        ),
        (
            'tracepoint:sched:sched_wakeup /comm == "a"/ { @[comm] = count(); printf("%s", str(args.comm)); }',
            'e sched.sched_wakeup comm=$COMM:string comm_2=$comm:string if COMM == "a"',
            "hist:keys=comm",
        ),
    ],
)
def test_each_value_has_a_field_of_its_own(program: str, probe: str, trigger: str) -> None:
    found = of(program)
    assert found.whole
    assert (found.probes, " ".join(found.triggers)) == ((probe,), trigger)


def test_a_filter_of_a_tracepoint_sees_the_event_as_it_is() -> None:
    """The filter of an `e` probe is that of the event it is of: a field that is made is none there."""
    assert not of('tracepoint:syscalls:sys_enter_openat /str(args.filename) == "/etc/passwd"/ { }').whole
    found = of('tracepoint:sched:sched_switch /args.next_comm == "sh"/ { printf("%s", str(args.next_comm)); }')
    assert found.probes == (
        'e sched.sched_switch next_comm=$next_comm:string next_comm_2=$next_comm if next_comm == "sh"',
    )


@pytest.mark.parametrize("other", ["arg1", "PAGE_SIZE", "$1", "retval"])
def test_a_filter_compares_with_numbers_and_texts_alone(other: str) -> None:
    assert "without it more is recorded" in of(f"kprobe:vfs_read /arg2 == {other}/ {{ }}").notes


def test_both_ends_of_a_time_have_no_field_of_one_name() -> None:
    end = 'fexit:b { printf("%d %d", args.y->n, nsecs - @t[tid]) }'
    found = of(f'fentry:a {{ @t[tid] = nsecs; printf("%d", args.x->n) }} {end}')
    assert not found.whole and "n: it is of both probes of a time" in found.notes


DONE = "/@t[tid]/ { @ = hist(nsecs - @t[tid]); delete(@t[tid]) }"


@pytest.mark.parametrize(
    "program",
    [
        f"kprobe:a,kprobe:b {{ @t[tid] = nsecs }} kretprobe:b,kretprobe:a {DONE}",
        f"k:a {{ @t[tid] = nsecs }} kprobe:b {{ @t[tid] = nsecs }} kretprobe:b {DONE} kr:a {DONE}",
    ],
)
def test_probes_of_one_map_belong_together_by_their_function(program: str) -> None:
    found = of(program)
    assert found.whole
    assert found.probes == tuple(f"lat:{name} {{p {name}}} to {{r {name}}} by common_pid" for name in "ab")


def test_system_calls_belong_together_by_their_name() -> None:
    begins, ends = (
        ",".join(f"tracepoint:syscalls:sys_{side}_{name}" for name in names)
        for side, names in (("enter", ("read", "write")), ("exit", ("write", "read")))
    )
    assert of(f"{begins} {{ @t[tid] = nsecs }} {ends} {DONE}").probes == tuple(
        f"lat:{name} syscalls/sys_enter_{name} to syscalls/sys_exit_{name} by common_pid"
        for name in ("read", "write")
    )


@pytest.mark.parametrize(
    ("begins", "ends"),
    [
        ("kprobe:a,kprobe:b", "kretprobe:a,kretprobe:c"),
        ("kprobe:a,kprobe:b", "kretprobe:a"),
        ("kprobe:a", "kretprobe:a,kretprobe:b"),
        ("kprobe:a,kprobe:a", "kretprobe:a,kretprobe:a"),
        ("kprobe:a,kprobe:b", "fexit:a,fexit:b"),
        (
            "tracepoint:block:block_rq_insert,tracepoint:block:block_rq_issue",
            "tracepoint:block:block_rq_complete,tracepoint:block:block_rq_requeue",
        ),
    ],
)
def test_what_has_no_one_counterpart_is_refused(begins: str, ends: str) -> None:
    found = of(f"{begins} {{ @t[tid] = nsecs }} {ends} {DONE}")
    assert not found.whole and not found.probes
    assert "@t begins at" in found.notes and "paste one begin with its end at a time" in found.notes


def test_a_time_of_a_pattern_is_refused() -> None:
    found = of(f"kprobe:vfs_* {{ @t[tid] = nsecs }} kretprobe:vfs_* {DONE}")
    assert not found.probes and "write its name for the pattern" in found.notes


def test_the_time_since_the_last_of_its_own_is_refused() -> None:
    found = of("kprobe:a { @ = hist(nsecs - @t[tid]); @t[tid] = nsecs }")
    assert not found.whole and not found.probes


def test_what_is_printed_without_a_format_is_recorded() -> None:
    assert of("kretprobe:vfs_read { print(retval); }").probes == ("r vfs_read ret=$retval",)
    assert "@x" in of("kretprobe:vfs_read { print(@x); }").notes


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sched:sched_process_exec", "$filename:string"),
        ("sched:sched_switch", "$filename:string"),
        ("syscalls:sys_enter_execve", "+0($filename):ustring"),
    ],
)
def test_only_texts_of_system_calls_lie_in_the_program(name: str, text: str) -> None:
    found = of(f'tracepoint:{name} {{ printf("%s", str(args.filename)); }}')
    assert found.probes == (f"e {name.replace(':', '.')} filename={text}",)
    assert ("(fault) on Linux 6.1" in found.notes_text) == ("syscalls" in name)


def test_more_probes_than_are_translated_are_refused_in_a_line() -> None:
    assert len(of("k:f{} " * MOST).probes) == MOST
    for program in ("k:f{}" * (MOST + 1), ",".join(["k:f"] * (MOST + 1)) + "{}", "k:f{a}" * (LONGEST // 6)):
        found = of(program)
        assert (
            not found.probes
            and found.notes_text == f"not translated: more than {MOST} probes of one program; paste fewer at a time"
        )


@pytest.mark.parametrize("names", [("BEGIN",), ("BEGIN", "END"), ("END", "interval:s:1")])
def test_what_begins_and_ends_a_program_is_to_be_left_out(names: tuple[str, ...]) -> None:
    program = "".join(f'{name} {{ printf("x"); }} ' for name in names)
    found = of(f"kprobe:vfs_read {{ @[comm] = count(); }} {program}")
    assert not found.whole and found.way_out == f"leave {' and '.join(names)} out"
