"""Keys in the specification: the verdict and the completions that each brings, on a whole kernel's types."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from kernel.connection import Connection
from kernel.open import open_target, shipped_recording
from tui.completing import Completer
from tui.functions import Functions

ROUNDS = 5
LINES = (
    "f vfs_read%return file->f_path.dentry->d_name.name:string count $retval if count > 4096",
    "f wake_up_new_task p->mm->exe_file->f_path.dentry->d_name.name:string p->comm p->pid if pid == 1",
    "p tcp_sendmsg $$args sk->__sk_common.skc_dport if size > 3",
    "t sched_switch prev->comm next->pid",
    "s:late pid_t who; unsigned int count; char comm[16]",
)


def _keys(work: Callable[[str], object]) -> list[tuple[float, str]]:
    """Seconds of CPU for each beginning of the lines, the best of some rounds; types are decoded by the first."""
    found = []
    for line in LINES:
        for end in range(1, len(line) + 1):
            best = float("inf")
            for _ in range(ROUNDS):
                begin = time.thread_time()
                work(line[:end])
                best = min(best, time.thread_time() - begin)
            found.append((best, line[:end]))
    return found


def run() -> list[tuple[str, str, str, bool]]:
    connection = Connection(open_target(str(shipped_recording())))
    functions = Functions(connection.catalog.names, connection.function)
    completer = Completer(connection, functions)
    checks = _keys(connection.check_typed)
    offers = _keys(lambda text: completer.complete(text, len(text)))
    typical = statistics.median(seconds for seconds, _ in checks)
    worst, at = max(offers)
    middle = statistics.median(seconds for seconds, _ in offers)
    figure = f"{worst * 1e3:.1f} ms ({at[-18:]!r}), median {middle * 1e3:.1f} ms"
    return [
        (f"verdict on each of {len(checks)} keys, median", f"{typical * 1e3:.2f} ms", "<= 1 ms", typical <= 0.001),
        (f"completions at each of {len(offers)} keys, worst", figure, "<= 16 ms", worst <= 0.016),
    ]
