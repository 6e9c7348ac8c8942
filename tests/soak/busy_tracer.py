"""As `tests.soak.busy_target`, with a function_graph tracer: opens with what they call, by tasks that come and go."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import replace

from events.format import HeaderPage
from events.names.kallsyms import Symbols
from tests.events_data import page
from tests.fake_target import ROOT
from tests.soak.busy_target import (
    _LOSS,
    _MISSED,
    _NO_EXIT,
    _TASKS,
    CPUS,
    FUNCTION,
    PAGE_EVENTS,
    BusyStream,
    BusyTarget,
    _event,
    _shipped,
)

_HEAD = """name: {name}
ID: {number}
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

"""
_CALL = """\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;
\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;
"""
_TIMES = """\tfield:unsigned long long calltime;\toffset:24;\tsize:8;\tsigned:0;
\tfield:unsigned long long rettime;\toffset:32;\tsize:8;\tsigned:0;
"""
_NEXT = "\tfield:pid_t next_pid;\toffset:8;\tsize:4;\tsigned:1;\n"
_ENTRY, _EXIT, _SWITCH = 10, 11, 12
_FORMATS = {
    "ftrace/funcgraph_entry": (_ENTRY, _CALL),
    "ftrace/funcgraph_exit": (_EXIT, _CALL + _TIMES),
    "sched/sched_switch": (_SWITCH, _NEXT),
}
_BEGIN, _END, _AWAY = struct.Struct("<HBBiQi"), struct.Struct("<HBBiQiiQQ"), struct.Struct("<HBBii")
_INSIDE = PAGE_EVENTS // 2 - 2
"""Calls inside of the one of a sub-buffer; each has two events, as has the time off the CPU."""
_GLOBAL = {
    "max_graph_depth": b"0\n",
    "tracing_thresh": b"0\n",
    "set_graph_function": b"#### all functions enabled ####\n",
    "set_graph_notrace": b"#### no functions disabled ####\n",
}


class GraphStream(BusyStream):
    """A call a sub-buffer; of some the exit is not seen."""

    def _sub_buffers(self, ids: tuple[int, ...], cpu: int) -> Iterator[bytes]:
        header, number = HeaderPage(), cpu << 40
        outer, *inner = _addresses()
        while True:
            number += 1
            pid = 1000 + (number // self._calls_of_task * CPUS + cpu) % _TASKS
            records = [_begin(pid, outer, 0), _AWAY.pack(_SWITCH, 0, 0, pid, 0), _AWAY.pack(_SWITCH, 0, 0, 0, pid)]
            for call in range(_INSIDE):
                function = inner[(number + call) % len(inner)]
                records += [_begin(pid, function, 1), _end(pid, function, 1)]
            records.append(_end(pid, outer, 0) if number % _NO_EXIT else _begin(pid, inner[0], 1))
            data = b"".join(_event(record, self._delta) for record in records)
            yield page(0, data, header, 0 if number % _LOSS else _MISSED)


def _begin(pid: int, function: int, depth: int) -> bytes:
    return _BEGIN.pack(_ENTRY, 0, 0, pid, function, depth)


def _end(pid: int, function: int, depth: int) -> bytes:
    return _END.pack(_EXIT, 0, 0, pid, function, depth, 0, 1000, 3000)


def _addresses() -> list[int]:
    """Addresses of the function that is followed, and of some that it calls."""
    symbols = Symbols(_shipped().blob("symbols") or b"")
    found = map(symbols.address_of, (FUNCTION, "path_openat", "vfs_open", "getname_flags"))
    return [address for address in found if address is not None]


class BusyTracer(BusyTarget):
    """See the module."""

    def __init__(self, rate: int) -> None:
        super().__init__(rate, "tracer")
        self._facts = replace(self._facts, tracers=("function_graph", "nop"))
        self.files |= {f"{ROOT}/{name}": data for name, data in _GLOBAL.items()}
        for path, (number, fields) in _FORMATS.items():
            text = _HEAD.format(name=path.partition("/")[2], number=number) + fields + '\nprint fmt: ""\n'
            self.files[f"{ROOT}/events/{path}/format"] = text.encode()

    def _fill(self, path: str) -> None:
        super()._fill(path)
        self.files |= {
            **{f"{path}/set_ftrace_{name}": b"" for name in ("filter", "notrace", "pid", "notrace_pid")},
            f"{path}/current_tracer": b"nop\n",
            f"{path}/available_tracers": b"function_graph nop\n",
            f"{path}/events/sched/sched_switch/enable": b"0\n",
        }

    def new_stream(self, ids: Callable[[], tuple[int, ...]]) -> BusyStream:
        return GraphStream(lambda: tuple(number for number, _ in _FORMATS.values()), self.rate, self.calls_of_task)
