"""Keys in the specification: the verdict and the completions that each brings, on a whole kernel's types."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import open_target, shipped_recording
from kernel.connection.planner import Planner
from tests.bench._measure import Figure, Part, Row, Spread, cpu_timer, together
from tui.compose.completer import Completer
from tui.compose.functions.function_index import Functions

LINES = (
    "f vfs_read%return file->f_path.dentry->d_name.name:string count $retval if count > 4096",
    "f wake_up_new_task p->mm->exe_file->f_path.dentry->d_name.name:string p->comm p->pid if pid == 1",
    "p tcp_sendmsg $$args sk->__sk_common.skc_dport if size > 3",
    "t sched_switch prev->comm next->pid",
    "s:late pid_t who; unsigned int count; char comm[16]",
)


BEGINNINGS = [line[:end] for line in LINES for end in range(1, len(line) + 1)]
"""A key each."""

VERDICT = Figure(f"verdict on each of {len(BEGINNINGS)} keys, median", "ms", most=1, digits=2)
COMPLETIONS = Figure(f"completions at each of {len(BEGINNINGS)} keys, worst", "ms", most=16)


def milliseconds(work: Callable[[str], object]) -> list[Spread]:
    """CPU of each key; types are decoded by the first."""
    for beginning in BEGINNINGS:
        work(beginning)
    timers = [cpu_timer(functools.partial(work, beginning)) for beginning in BEGINNINGS]
    return [spread.each(lambda seconds: seconds * 1e3) for spread in together(timers)]


def verdict() -> list[Row]:
    taken = milliseconds(planner().check_typed)
    return [VERDICT.of(Spread(tuple(map(statistics.median, zip(*(one.rounds for one in taken), strict=True)))))]


def completions() -> list[Row]:
    info = planner().info
    completer = Completer(info, Functions(info.catalog.names, info.function))
    taken = milliseconds(lambda text: completer.complete(text, len(text)))
    worst = max(zip(taken, BEGINNINGS, strict=True), key=lambda one: one[0].median)
    middle = statistics.median(one.median for one in taken)
    return [COMPLETIONS.of(worst[0], f"{worst[1][-18:]!r}, median of the keys {middle:.1f} ms")]


@functools.cache
def planner() -> Planner:
    return Planner(KernelInfo(open_target(str(shipped_recording()))))


PARTS = (Part("verdict", (VERDICT,), verdict), Part("completions", (COMPLETIONS,), completions))
