"""Values of well-known functions against what the kernel reads by a second event on the same calls.

The second event is a kprobe that knows no BTF and no names: arguments are registers and places on the stack as the
architecture's calling convention has them, written down here by hand, and fields are dereferences with the offsets
that bpftool's dump of the running kernel gives. What is returned is the register too. Where there is `$arg*`, that is
compared as well. The two events of a call are paired by the order in which its task made them, by a clock that
counts: others differ between CPUs. Functions that interrupts call are not among these, for there kprobes miss some.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pytest

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from probes.facts.facts import Feature
from probes.refusal import CannotLower
from probes.syntax.parse import parse_probe
from tests.real.conftest import REQUIRED

KERNELS = ["7.2", "6.12", "6.1", "arm64:6.12"]
WORKLOAD = Path(__file__).with_name("workload.sh").read_bytes()
MORE = b"""
python3 -I -S -c 'import os; os.getuid(); r, w = os.pipe(); os.write(w, b"pipe"); os.read(r, 4); os.dup2(r, 30)'
cp /proc/version values-v; ln -s values-v values-l; readlink values-l; rm values-v values-l
"""
REGISTERS = {
    "x86_64": ["%di", "%si", "%dx", "%cx", "%r8", "%r9", "+8(%sp)", "+16(%sp)", "+24(%sp)"],
    "aarch64": [*(f"%x{n}" for n in range(8)), "+0(%sp)"],
}
RESULT = {"x86_64": "%ax", "aarch64": "%x0"}

pytestmark = pytest.mark.skipif(
    shutil.which("bpftool") is None and not REQUIRED, reason="bpftool is not installed: apt install bpftool"
)


class Case(NamedTuple):
    """A function: its arguments in order and its fields, each as the other event reads it; one for each number of
    arguments that kernels give it.

    `A1` is the first argument's register, `[inode.i_sb]` an offset, `[task_struct.in_execve!]` a bit-field's type.
    """

    function: str
    args: list[str]
    fields: dict[str, str] = {}  # noqa: RUF012 - nobody writes to it
    result: str = ""
    """Type of what is returned; empty: not compared."""


NAME = "+0(+[dentry.d_name]+[qstr.name]({})):string"
FILE = "+0(+[dentry.d_name]+[qstr.name](+[file.f_path]+[path.dentry]({}))):string"
CASES = [
    Case("vfs_read", [FILE.format("A1"), "+0(A2):string", "A3:u64", "A4:x64"],
         {"file->f_pos": "+[file.f_pos](A1):s64", "file->f_inode->i_ino": "+[inode.i_ino](+[file.f_inode](A1)):u64",
          "pos[0]": "+0(A4):s64"}, "s64"),
    Case("vfs_write", [FILE.format("A1"), "+0(A2):string", "A3:u64", "A4:x64"],
         {"file->f_inode->i_mode": "+[inode.i_mode](+[file.f_inode](A1)):u16"}, "s64"),
    Case("do_sys_openat2", ["A1:s32", "A3:x64"],
         {"filename:ustring": "+u0(A2):string", "how->flags": "+[open_how.flags](A3):u64"}),
    Case("path_openat", ["A1:x64", "A2:x64", "A3:u32"],
         {"op->open_flag": "+[open_flags.open_flag](A2):s32", "op->acc_mode": "+[open_flags.acc_mode](A2):s32"},
         "x64"),
    Case("do_filp_open", ["A1:s32", "A2:x64", "A3:x64"]),
    Case("inode_permission", ["A1:x64", "A2:x64", "A3:s32"],
         {"inode->i_mode": "+[inode.i_mode](A2):u16",
          "inode->i_sb->s_id:string": "+[super_block.s_id](+[inode.i_sb](A2)):string"}, "s32"),
    Case("security_file_permission", [FILE.format("A1"), "A2:s32"], {}, "s32"),
    Case("security_file_open", [FILE.format("A1")],
         {"file->f_flags": "+[file.f_flags](A1):u32", "file->f_op->open:symbol":
          "+[file_operations.open](+[file.f_op](A1)):symbol"}),
    Case("__fput", [FILE.format("A1")], {"file->f_flags": "+[file.f_flags](A1):u32"}),
    Case("filp_close", [FILE.format("A1"), "A2:x64"]),
    Case("vfs_statx", ["A1:s32", "A2:x64", "A3:s32", "A4:x64", "A5:u32"],
         {"filename->name:string": "+0(+[filename.name](A2)):string"}),
    Case("vfs_getattr", ["A1:x64", "A2:x64", "A3:u32", "A4:u32"],
         {"path->dentry:%pd": NAME.format("+[path.dentry](A1)"), "path->mnt->mnt_flags":
          "+[vfsmount.mnt_flags](+[path.mnt](A1)):s32"}, "s32"),
    Case("vfs_unlink", ["A1:x64", "A2:x64", NAME.format("A3"), "A4:x64"], {"dir->i_ino": "+[inode.i_ino](A2):u64"}),
    Case("vfs_symlink", ["A1:x64", "A2:x64", NAME.format("A3"), "+0(A4):string"]),
    Case("vfs_symlink", ["A1:x64", "A2:x64", NAME.format("A3"), "+0(A4):string", "A5:x64"]),
    Case("alloc_fd", ["A1:u32", "A2:u32", "A3:u32"], {}, "s32"),
    Case("do_pipe2", ["A1:x64", "A2:s32"]),
    Case("pipe_read", ["A1:x64", "A2:x64"], {"iocb->ki_pos": "+[kiocb.ki_pos](A1):s64", "iocb->ki_filp->f_flags":
         "+[file.f_flags](+[kiocb.ki_filp](A1)):u32"}),
    Case("pipe_write", ["A1:x64", "A2:x64"], {"from->count": "+[iov_iter.count](A2):u64"}),
    Case("kernel_clone", ["A1:x64"], {"args->flags": "+[kernel_clone_args.flags](A1):u64", "args->exit_signal":
         "+[kernel_clone_args.exit_signal](A1):s32"}, "s32"),
    Case("wake_up_new_task", ["A1:x64"],
         {"p->comm:string": "+[task_struct.comm](A1):string", "p->prio": "+[task_struct.prio](A1):s32",
          "p->in_execve": "+[task_struct.in_execve~](A1):[task_struct.in_execve!]",
          "p->sched_reset_on_fork": "+[task_struct.sched_reset_on_fork~](A1):[task_struct.sched_reset_on_fork!]",
          "p->mm->start_code": "+[mm_struct.start_code](+[task_struct.mm](A1)):u64"}),
    Case("do_exit", ["A1:s64"]),
    Case("exit_signals", ["A1:x64"],
         {"tsk->flags": "+[task_struct.flags](A1):u32", "tsk->pid": "+[task_struct.pid](A1):s32",
          "tsk->signal->nr_threads": "+[signal_struct.nr_threads](+[task_struct.signal](A1)):s32"}),
    Case("mmput", ["A1:x64"], {"mm->start_code": "+[mm_struct.start_code](A1):u64"}),
    Case("begin_new_exec", ["A1:x64"],
         {"bprm->filename:string": "+0(+[linux_binprm.filename](A1)):string", "bprm->argc":
          "+[linux_binprm.argc](A1):s32", "bprm->interp:string": "+0(+[linux_binprm.interp](A1)):string"}),
    Case("setup_arg_pages", ["A1:x64", "A2:u64", "A3:s32"]),
    Case("vm_mmap_pgoff", [FILE.format("A1"), "A2:u64", "A3:u64", "A4:u64", "A5:u64", "A6:u64"], {}, "u64"),
    Case("do_mmap", [FILE.format("A1"), "A2:u64", "A3:u64", "A4:u64", "A5:u64", "A6:u64", "A7:u64", "A8:x64",
                     "A9:x64"]),
    Case("do_mmap", [FILE.format("A1"), "A2:u64", "A3:u64", "A4:u64", "A5:u64", "A6:u64", "A7:x64", "A8:x64"]),
    Case("from_kuid_munged", ["A1:x64", "A2:u32"], {}, "u32"),
    Case("sk_alloc", ["A1:x64", "A2:s32", "A3:u32", "A4:x64", "A5:s32"],
         {"prot->name:string": "+[proto.name](A4):string"}, "x64"),
    Case("__sock_create", ["A1:x64", "A2:s32", "A3:s32", "A4:s32", "A5:x64", "A6:s32"]),
    # A struct of two longs by value: its second half holds a bit, and what is behind it moves.
    Case("do_sock_setsockopt", ["A1:x64", "A2:u8", "A3:s32", "A4:s32", "A5:x64", "A5:x64", "A6:b1@0/64", "A7:s32"],
         {"sock->type": "+[socket.type](A1):s16"}, "s32"),
    Case("sock_setsockopt", ["A1:x64", "A2:s32", "A3:s32", "A4:x64", "A4:x64", "A5:b1@0/64", "A6:u32"],
         {"sock->type": "+[socket.type](A1):s16"}, "s32"),
    Case("unix_create", ["A1:x64", "A2:x64", "A3:s32", "A4:s32"], {"sock->state": "+[socket.state](A2):s32"}),
    Case("unix_stream_sendmsg", ["A1:x64", "A2:x64", "A3:u64"],
         {"msg->msg_flags": "+[msghdr.msg_flags](A2):u32", "sock->sk->sk_type":
          "+[sock.sk_type](+[socket.sk](A1)):u16", "sock->sk->__sk_common.skc_family":
          "+[sock.__sk_common]+[sock_common.skc_family](+[socket.sk](A1)):u16"}),
    Case("unix_stream_recvmsg", ["A1:x64", "A2:x64", "A3:u64", "A4:s32"], {}, "s32"),
    Case("inet_sendmsg", ["A1:x64", "A2:x64", "A3:u64"],
         {"sock->sk->sk_protocol": "+[sock.sk_protocol](+[socket.sk](A1)):u16", "sock->sk->sk_kern_sock":
          "+[sock.sk_kern_sock~](+[socket.sk](A1)):[sock.sk_kern_sock!]"}),
    Case("inet_bind", ["A1:x64", "A2:x64", "A3:s32"],
         {"uaddr->sa_family": "+[sockaddr.sa_family](A2):u16"}, "s32"),
    Case("udp_sendmsg", ["A1:x64", "A2:x64", "A3:u64"]),
    Case("inet_release", ["A1:x64"], {"sock->flags": "+[socket.flags](A1):u64"}),
]  # fmt: skip


class Types:
    """Offsets in the dump of bpftool."""

    def __init__(self, btf: bytes, folder: Path) -> None:
        path = folder / "vmlinux"
        path.write_bytes(btf)
        command = ["bpftool", "--json", "btf", "dump", "file", str(path), "format", "raw"]
        done = subprocess.run(command, capture_output=True, check=True)
        self._types = {one["id"]: one for one in json.loads(done.stdout)["types"]}

    @cached_property
    def _structs(self) -> dict[str, int]:
        return {one["name"]: i for i, one in self._types.items() if one["kind"] == "STRUCT"}

    def bits(self, path: str) -> tuple[int, int]:
        """Offset and size of `struct.member` in bits; size 0: no bit-field. Members of anonymous structs too."""
        struct, _, member = path.partition(".")
        found = self._member(self._structs[struct], member)
        assert found is not None, path
        return found

    def _member(self, struct: int, name: str) -> tuple[int, int] | None:
        for member in self._types[struct]["members"]:
            if member["name"] == name:
                return member["bits_offset"], member.get("bitfield_size", 0)
            if member["name"] == "(anon)" and (inner := self._member(member["type_id"], name)) is not None:
                return inner[0] + member["bits_offset"], inner[1]
        return None

    def text(self, template: str) -> str:
        """Put numbers for the names in a template; a bit-field is taken out of the long it is in."""

        def number(match: re.Match[str]) -> str:
            path = match[1].rstrip("!~")
            offset, size = self.bits(path)
            if match[1].endswith("!"):
                return f"b{size}@{offset % 64}/64"
            if match[1].endswith("~"):
                return str(offset // 64 * 8)
            assert offset % 8 == size == 0, path
            return str(offset // 8)

        text = re.sub(r"\[([\w.]+[!~]?)\]", number, template)
        return re.sub(r"\+(\d+)\+(\d+)", lambda m: f"+{int(m[1]) + int(m[2])}", text)  # a struct in a struct


class Pair(NamedTuple):
    """Two events on the same place."""

    case: Case
    ours: str
    theirs: str


class Seen(NamedTuple):
    """All that was made and traced."""

    pairs: dict[str, list[Pair]]
    """At the entry, at the exit, and with `$arg*`."""
    values: dict[str, dict[int, list[list[str]]]]
    """Of each call of each event, by task."""


GROUP = "pw_thirty"


@pytest.fixture(scope="module")
def seen(guest: Guest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    planner = Planner(KernelInfo(connect(guest, "thirty")))
    try:
        made = Maker(planner, Types(planner.info.target.btf(), tmp_path_factory.mktemp("btf")))
        yield Seen(made.pairs, _values(_trace(guest, made.lines), made.names))
    finally:
        planner.info.close()


class Maker:
    """Makes the events for every case that this kernel has."""

    def __init__(self, planner: Planner, types: Types) -> None:
        self._planner, self._types = planner, types
        self._machine = planner.info.facts.machine
        self.lines: list[str] = []
        self.names: dict[str, list[str]] = {}
        """Event -> its columns."""
        self.pairs: dict[str, list[Pair]] = {"entry": [], "exit": [], "star": []}
        has_star = planner.info.facts.has(Feature.BTF_ARGS)
        for function in dict.fromkeys(case.function for case in CASES):
            case = self._entry([case for case in CASES if case.function == function])
            if case is not None and case.result:
                self._exit(case)
            # A call whose buffer holds 4,000 bytes of text makes no event at all where text is recorded.
            odd = function.endswith("setsockopt") or (case is not None and "+0(A2):string" in case.args)
            if case is not None and case.result and has_star and not odd:
                self._star(case)

    def _ours(self, event: str, text: str) -> int | None:
        try:
            plan = self._planner.lower(parse_probe(f"f:{GROUP}/{event} {text}"), GROUP)
        except CannotLower as error:
            assert error.refusal.code == "not_traceable", (text, error.refusal)
            return None
        self.lines.append(plan.events[0].line)
        self.names[event] = [column.name for column in plan.events[0].columns]
        return len(self.names[event])

    def _theirs(self, letter: str, case: Case, event: str, texts: list[str]) -> None:
        words = [f"v{number}={text}" for number, text in enumerate(texts)]
        self.names[event] = [f"v{number}" for number in range(len(texts))]
        self.lines.append(" ".join([f"{letter}:{GROUP}/{event}", case.function, *words]))

    def _entry(self, cases: list[Case]) -> Case | None:
        """The case with as many arguments as the function has here; None: it can't be probed."""
        case = cases[0]
        ours, theirs = f"oe_{case.function}", f"te_{case.function}"
        count = self._ours(ours, " ".join([case.function, "$$args", *case.fields]))
        if count is None:
            return None
        counts = [case for case in cases if len(case.args) + len(case.fields) == count]
        assert counts, (case.function, self.names[ours])
        case = counts[0]
        texts = [self._types.text(text) for text in (*case.args, *case.fields.values())]
        places = REGISTERS[self._machine]
        self._theirs("p", case, theirs, [re.sub(r"\bA(\d)\b", lambda m: places[int(m[1]) - 1], t) for t in texts])
        self.pairs["entry"].append(Pair(case, ours, theirs))
        return case

    def _exit(self, case: Case) -> None:
        ours, theirs = f"ox_{case.function}", f"tx_{case.function}"
        count = self._ours(ours, f"{case.function}%return $retval")
        assert count == 1
        self._theirs("r", case, theirs, [f"{RESULT[self._machine]}:{case.result}"])
        self.pairs["exit"].append(Pair(case, ours, theirs))

    def _star(self, case: Case) -> None:
        self.lines.append(f"p:{GROUP}/ts_{case.function} {case.function} $arg*")
        self.names[f"ts_{case.function}"] = []
        self.pairs["star"].append(Pair(case, f"oe_{case.function}", f"ts_{case.function}"))


def _trace(guest: Guest, lines: list[str]) -> str:
    """Write the events, let the workload run, give what was traced of it."""
    program = b"while [ ! -e /tmp/go ]; do sleep 0.2; done\necho BEGIN >/sys/kernel/tracing/trace_marker\n"
    program += WORKLOAD.replace(b"command -v python3", MORE + b"command -v python3", 1)
    subprocess.run([*guest.ssh_command, "cat >/tmp/work"], input=program, check=True)
    for start in range(0, len(lines), 20):
        written = "\n".join(f"echo {shlex.quote(line)} >>dynamic_events" for line in lines[start : start + 20])
        guest.run(f"set -e; cd /sys/kernel/tracing\n{written}")
    script = f"""echo 1 >/sys/kernel/rcu_expedited; cd /sys/kernel/tracing
    read -r before _ <buffer_size_kb; echo 16384 >buffer_size_kb
    echo counter >trace_clock; echo event-fork >trace_options; sh /tmp/work >/dev/null 2>&1 & echo $! >set_event_pid
    echo 1 >events/{GROUP}/enable; touch /tmp/go; wait; echo 0 >tracing_on; cat trace
    echo 0 >events/{GROUP}/enable; echo >dynamic_events; echo >set_event_pid; echo noevent-fork >trace_options
    echo local >trace_clock; echo >trace; echo $before >buffer_size_kb; echo 1 >tracing_on"""
    text = guest.run(script).decode("utf-8", "backslashreplace")
    assert " LOST " not in text
    return text.partition("tracing_mark_write: BEGIN")[2]


def _values(text: str, names: dict[str, list[str]]) -> dict[str, dict[int, list[list[str]]]]:
    """The values of each event, by task; strings may have anything in them, line ends too."""
    found: dict[str, dict[int, list[list[str]]]] = defaultdict(lambda: defaultdict(list))
    for record in re.split(r"\n(?= {0,15}\S[^\n]{0,15}-\d+ +\[\d+\] )", text):
        head = re.match(r".*?-(\d+) +\[\d+\].*?: ([ot][esx]_\w+): \(.*?\)(.*)", record, re.DOTALL)
        if head is None or head[2] not in names:
            continue
        columns = names[head[2]]
        pattern = "".join(rf" {name}=(.*)" for name in columns) if columns else ""
        values = re.fullmatch(pattern, head[3].rstrip("\n"), re.DOTALL) if columns else None
        assert values is not None or not columns, record
        listed = list(values.groups()) if values is not None else re.findall(r"\w+=(\S+)", head[3])
        found[head[2]][int(head[1])].append(listed)
    return found


def _that_were_read(case: Case, values: dict[int, list[list[str]]]) -> dict[int, list[list[str]]]:
    """The values without numbers behind a null pointer: of these the kernel records what the buffer held before.

    A pipe is read without a position, for instance.
    """
    behind = {len(case.args) + n: int(text[text.index("(A") + 2]) - 1 for n, text in enumerate(case.fields.values())}

    def was_read(call: list[str], n: int) -> bool:
        return n not in behind or call[behind[n]] != "0x0"

    return {
        task: [[value if was_read(call, n) else "null" for n, value in enumerate(call)] for call in calls]
        for task, calls in values.items()
    }


@pytest.mark.parametrize("guest", KERNELS, indirect=True, scope="module")
class TestValues:
    def test_at_the_entry(self, seen: Seen) -> None:
        """Arguments and fields, thirty functions and more."""
        hit = calls = 0
        for pair in seen.pairs["entry"]:
            ours, theirs = (_that_were_read(pair.case, seen.values[one]) for one in (pair.ours, pair.theirs))
            assert ours == theirs, _difference(pair, ours, theirs)
            hit += bool(ours)
            calls += sum(map(len, ours.values()))
        assert hit >= 30, [pair.case.function for pair in seen.pairs["entry"] if not seen.values[pair.ours]]
        assert calls > 500

    def test_what_is_returned(self, seen: Seen) -> None:
        hit = 0
        for pair in seen.pairs["exit"]:
            ours, theirs = seen.values[pair.ours], seen.values[pair.theirs]
            assert ours == theirs, _difference(pair, ours, theirs)
            hit += bool(ours)
        assert hit >= 12

    def test_all_arguments_of_the_kernel(self, seen: Seen) -> None:
        """`$arg*`, which shows pointers where we show strings; on a kernel that has it."""
        compared = 0
        for pair in seen.pairs["star"]:
            ours, theirs = seen.values[pair.ours], seen.values[pair.theirs]
            assert ours.keys() == theirs.keys(), pair.case.function
            plain = [(n, int(text[1])) for n, text in enumerate(pair.case.args) if text.startswith("A")]
            for task, calls in theirs.items():
                for mine, stars in zip(ours[task], calls, strict=True):
                    # As numbers: of a struct that wraps one `$arg*` shows the bytes.
                    wrong = [n for n, at in plain if int(mine[n], 0) != int(stars[at - 1], 0)]
                    assert wrong == [], (pair.case.function, mine, stars)
                    compared += len(plain)
        assert compared > 300 or not seen.pairs["star"]


def _difference(
    pair: Pair, ours: dict[int, list[list[str]]], theirs: dict[int, list[list[str]]]
) -> str:  # pragma: no cover
    """The first call that differs."""
    for task in ours.keys() | theirs.keys():
        mine, other = ours.get(task, []), theirs.get(task, [])
        if len(mine) != len(other):
            return f"{pair.case.function}: task {task}: {len(mine)} calls, {len(other)} seen by the other"
        for one, two in zip(mine, other, strict=True):
            if one != two:
                return f"{pair.case.function}: {one} != {two}"
    return ""
