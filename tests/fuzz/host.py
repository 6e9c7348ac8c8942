"""Texts of a host that lies: its lists, tables, configuration and journals; and long texts that a person pastes."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import threading
from random import Random
from typing import Any

from events.batch import Batch, Chunk
from events.names.kallsyms import Symbols
from events.stacks.stack import field_frames, kernel_frames, user_frames
from events.store.store import Store
from events.summary.hist_text import sections
from kernel.attach.absent_modules import AbsentModules
from kernel.cleanup.stale_journals import read_journals
from kernel.errors import KernelError
from kernel.facts.gather import gather, read_config
from kernel.graph.function_graph import support
from kernel.graph.shared_settings import parse_functions
from kernel.guards.trampoline_guard import refuse_second_start
from kernel.tracefs import Tracefs, parse_error_log
from kernel.tracers.users import other_tracer_users
from probes.check import check_typed
from probes.command import parse_armable
from probes.hist.trigger import changes_existing_histogram, parse_trigger
from probes.syntax.parse_error import ParseError
from probes.translation.translate import translate
from tests.events_data import captured
from tests.fake_target import FACTS, ROOT, FakeTarget
from tests.fuzz import material
from tests.fuzz.kinds import Kind
from tests.fuzz.mutation import damaged, damaged_text
from tui.output.otlp_http import OtlpHttp
from tui.output.otlp_settings import settings_of

_CONFIG = "CONFIG_KPROBES=y\nCONFIG_FUNCTION_GRAPH_TRACER=y\n# CONFIG_FPROBE is not set\n" * 20
_JOURNAL = "v1 boot\n+ write /sys/kernel/tracing/x 31 30\n- write /sys/kernel/tracing/x 31 30\n"
_PROFILE = "  vfs_read__exit                     12               0\n  myprobe       3    4\n"
_FILES = {
    "/proc/kallsyms": "ffffffff81000000 T _text\nffffffff81001000 T record_read\nffffffff81002000 t a.cold\t[m]\n",
    "/proc/modules": "mod 1 0 - Live 0x0\nother 4096 2 mod, Live 0xffffffffc0000000 (OE)\n",
    "/proc/sys/kernel/random/boot_id": "boot\n",
    "/proc/100/stat": "100 (sh) S 1 1 1 0 -1 4194560 1 1 1 1 0 0 0 0 20 0 1 0 12345 1 1\n",
    "/proc/100/status": "Name:\tsh\nUid:\t0\t0\t0\t0\n",
    "/proc/100/environ": "HOME=/root\0XDG_RUNTIME_DIR=/run/user/0\0",
    "/lib/modules/6.12.0/modules.dep": "kernel/fs/mod.ko.xz: kernel/lib/other.ko\n",
    "/lib/modules/6.12.0/modules.symbols": "alias symbol:record_read mod\n",
    "/run/user/0/probewright/100_9ix.journal": _JOURNAL,
    f"{ROOT}/set_ftrace_filter": "#### all functions enabled ####\nvfs_read:traceoff:count=3\nvfs_write\n",
    f"{ROOT}/set_ftrace_notrace": "#### no functions disabled ####\n",
    f"{ROOT}/set_graph_function": "vfs_read\nvfs_write [mod]\n",
    f"{ROOT}/set_graph_notrace": "",
    f"{ROOT}/max_graph_depth": "0\n",
    f"{ROOT}/tracing_thresh": "0\n",
    f"{ROOT}/current_tracer": "function\n",
    f"{ROOT}/enabled_functions": "vfs_read (1) R   \ttramp: ftrace_caller+0x0/0x65 (direct+0x0/0x20)\n",
    f"{ROOT}/kprobe_profile": _PROFILE,
    f"{ROOT}/uprobe_profile": "  /bin/sh  main     5\n",
    f"{ROOT}/kprobe_events": "p:kprobes/myprobe vfs_read file=%di\nr4:kprobes/ret vfs_write $retval\n",
    f"{ROOT}/error_log": "[  1.0] trace_kprobe: error: Bad type\n  Command: p vfs_read x:u99\n        ^\n",
    f"{ROOT}/instances/one/current_tracer": "function_graph\n",
    f"{ROOT}/instances/one/available_tracers": "function_graph function nop\n",
}
"""What a host has beside `material.machine()`."""
_HISTS = [text for text in material.small_files() if "hitcount" in text]
_TRIGGERS = (
    "hist:keys=common_pid.execname,stack.stacktrace:vals=hitcount,len.log2:sort=len.descending:size=2048 if len > 5",
    'hist:keys=pid:ts0=common_timestamp.usecs if comm ~ "a*"',
    "hist:keys=next_pid:lat=common_timestamp.usecs-$ts0:onmatch(a.b).wake($lat,pid):onmax($lat).save(a)",
    "!hist:keys=id.syscall,args.buckets=10:pause",
    'traceoff:3 if (pid == 5 || pid > 7) && comm == "x"',
    "enable_event:sched:sched_switch:1",
    "stacktrace:5",
)
_PROGRAMS = (
    'kprobe:vfs_read /comm == "bash" && arg2 > 4096/ { @bytes[comm, pid] = sum(arg2); @h = hist(arg2); }\n',
    "bpftrace -e 'kretprobe:vfs_* { @[kstack] = count(); printf(\"%s %d\\n\", comm, retval); }'",
    'tracepoint:syscalls:sys_enter_openat { printf("%s\\n", str(args->filename)); }\nBEGIN { @x = 1; }',
    "perf probe -x /bin/bash 'readline%return ret=$retval:string'",
    "echo 'p:myprobe do_sys_openat2 dfd=%ax filename=+0(%dx):string' > /sys/kernel/tracing/kprobe_events",
    "uprobe:/lib/libc.so.6:malloc { @[((struct file *)arg0)->f_path.dentry->d_name.name] = lhist(arg1, 0, 9, 1); }",
)
_SPECIFICATIONS = (
    "f record_read record->name record->inner.value record->matrix[1] $retval",
    'p:mine vfs_read+4 @jiffies_64 x=+0(%di):string $stack0 if n > 5 && name ~ "a*"',
    "f vfs_read%return file->f_pos count $$retval $$args cast(record, struct record)->name:ustring",
    "t sched_switch prev->pid next->comm",
    "e sched/sched_switch prev_comm:string next_pid if next_pid > 100",
    "u /bin/sh:main $arg1 $comm",
    "r4 vfs_write ret=$retval:x64[2]",
)
_LONGEST = 100 << 10
"""Characters of a text that is pasted."""


def _host(random: Random) -> bytes:
    files = {**material.machine(), **_FILES}
    for path in random.sample(list(_FILES), random.choice((1, 2, 5))):
        files[path] = damaged_text(files[path], random)
    files["/boot/config-6.12.0"] = damaged_text(_CONFIG, random)
    if random.random() < 0.5:
        packed = damaged(gzip.compress(files["/boot/config-6.12.0"].encode("utf-8", "replace"), mtime=0), random)
        files["/proc/config.gz"] = packed.decode("latin-1")
    return json.dumps(files).encode()


def _feed_host(data: bytes) -> None:
    plain: dict[str, str] = json.loads(data)
    packed = plain.pop("/proc/config.gz", "").encode("latin-1", "replace")
    files = {path: text.encode("utf-8", "surrogatepass") for path, text in plain.items()}
    target = FakeTarget({**files, "/proc/config.gz": packed}, owner="100_9ix")
    config = read_config(target, "6.12.0")
    gather(target)
    tracefs = Tracefs(target, ROOT)
    support(target, config)
    other_tracer_users(tracefs, tracefs.instance("ours"))
    for name in ("set_ftrace_filter", "set_graph_function"):
        parse_functions(tracefs.read(name))
    tracefs.kprobe_profile()
    parse_error_log(tracefs.read("error_log"))
    refuse_second_start(target, tracefs)
    read_journals(target, ROOT)
    modules = AbsentModules(target, "6.12.0")
    modules.with_function("record_read")
    modules.with_function("mod")
    _ask_symbols(Symbols.parse(files["/proc/kallsyms"]))


def _ask_symbols(symbols: Symbols) -> None:
    for address in (0, 0xFFFFFFFF81001004, (1 << 64) - 1):
        symbols.find(address)
        symbols.text(address)
        symbols.at(address)
        symbols.neighbours(address)
    for name in ("record_read", "", "vfs_read."):
        for entry in symbols.named(name):
            symbols.aliases(entry)
        symbols.beginning(name)
    symbols.code_of_modules()


def _stacks(random: Random) -> bytes:
    real = captured("7.2", "mixed")
    return damaged(b"".join(data[: 6 * 4096] for data in real.raw.values()), random)


def _feed_stacks(data: bytes) -> None:
    real = captured("7.2", "mixed")
    store = Store(real.decoder, 1 << 24)
    store.expect_stacks({fmt.path for fmt in real.decoder.formats.values()})
    half = len(data) // 2 // 4096 * 4096
    store.feed(Batch((Chunk(0, data[:half]), Chunk(1, data[half:])), drained=True))
    store.flush()
    for seq in range(store.first_seq, min(store.next_seq, store.first_seq + 20)):
        record = store.record(seq)
        kernel_frames(record, lambda _: real.symbols)
        user_frames(record)
        field_frames(record, lambda _: real.symbols)


def _text(*whole: str, repeated: bool = False) -> Any:
    """Make damaged texts; with `repeated`, sometimes of 100 KB."""

    def make(random: Random) -> bytes:
        text = random.choice(whole)
        if repeated and random.random() < 0.4:
            part = text[: random.randrange(len(text)) + 1] if random.random() < 0.5 else text
            text = random.choice((part * (_LONGEST // len(part)), part + random.choice(_SIGNS) * _LONGEST + text))
        return damaged_text(text, random)[: _LONGEST + 1000].encode("utf-8", "surrogatepass")

    return make


_SIGNS = (
    " ",
    "(",
    ")",
    "{",
    "[",
    "->",
    ",",
    "a",
    "0",
    "&&",
    "|",
    '"',
    "'",
    "\\",
    "/",
    ":",
    "\n",
    "a ",
    "*",
    "+",
    "x=",
    "!",
)


def _feed_trigger(data: bytes) -> None:
    text = data.decode("utf-8", "surrogatepass")
    changes_existing_histogram(text)
    str(parse_trigger(text))


def _feed_hist(data: bytes) -> None:
    sections(data.decode("utf-8", "surrogatepass"))


def _feed_program(data: bytes) -> str:
    found = translate(data.decode("utf-8", "surrogatepass"))
    return "no program" if found is None else "translated" if found.whole else "in part"


def _feed_specification(data: bytes) -> None:
    text = data.decode("utf-8", "surrogatepass")
    check_typed(text, None, FACTS)
    str(parse_armable(text))


_ANSWERS = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    b'HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n{"partialSuccess":{"rejectedLogRecords":"5","errorMessage":"x"}}',
    b"HTTP/1.1 429 Too Many\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n",
    b"HTTP/1.1 503 No\r\nRetry-After: Wed, 21 Oct 2037 07:28:00 GMT\r\nContent-Length: 0\r\n\r\n",
    b'HTTP/1.0 400 Bad Request\r\n\r\n{"code":3,"message":"no logs"}',
)


def _collector(random: Random) -> bytes:
    answer = random.choice(_ANSWERS)
    if random.random() < 0.5:
        return damaged(answer, random)
    return damaged_text(answer.decode(), random).encode("utf-8", "surrogatepass")


def _feed_collector(data: bytes) -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        far = threading.Thread(target=_answer, args=(server, data), daemon=True)
        far.start()
        line = OtlpHttp(settings_of(f"http://127.0.0.1:{server.getsockname()[1]}", {}))
        answer = line.post(line.packed(b"{}"), 2.0)
        line.close()
        far.join(5)
    assert answer.is_accepted or answer.reason, "nothing is said of what was not taken"
    assert answer.wait is None or 0 <= answer.wait <= 3600
    return "taken" if answer.is_accepted else "again" if answer.can_retry else "refused"


def _answer(server: socket.socket, data: bytes) -> None:
    """Answer the first request by some bytes, and hang up."""
    line, _ = server.accept()
    with line:
        line.settimeout(2)
        heard = b""
        while b"\r\n\r\n" not in heard and (more := line.recv(1 << 16)):
            heard += more
        line.sendall(data)
        line.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):  # whoever asked reads no more than it wants
            while line.recv(1 << 16):
                pass


KINDS: dict[str, Kind] = {
    "host": Kind(_host, _feed_host, (KernelError,), 3),
    "stacks": Kind(_stacks, _feed_stacks, (), 2),
    "tables": Kind(_text(*_HISTS), _feed_hist, (), 2),
    "triggers": Kind(_text(*_TRIGGERS, repeated=True), _feed_trigger, (ParseError,), 3),
    "translations": Kind(_text(*_PROGRAMS, repeated=True), _feed_program, (), 3),
    "specifications": Kind(_text(*_SPECIFICATIONS, repeated=True), _feed_specification, (ParseError,), 3),
    "collector": Kind(_collector, _feed_collector, (), 2),
}
