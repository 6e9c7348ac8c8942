"""Makes graph.tar.xz: short runs of the function_graph tracer on real kernels, with the kernel's own text of each.

    python -m tests.data.make_graph [KERNEL...]

A kernel that is named is booted (`kernel.lab`) and its runs replace those in the archive; without a name, all are.
"""

from __future__ import annotations

import io
import json
import sys
import tarfile
from pathlib import Path

import numpy as np

from events.names.kallsyms import Symbols
from kernel.lab.guest import boot, prepare
from kernel.lab.target import connect
from kernel.lab.work import Work
from probes.plans.graph_plan import GraphPlan
from tests.real.graph_runs import Run, run

ARCHIVE = Path(__file__).parent / "graph.tar.xz"
WORK = "cat /proc/version /nonexistent 2>/dev/null; sleep 0.01; cat /proc/uptime"
ROOTS = ("do_sys_openat2", "vfs_read")
ALL = GraphPlan(
    roots=ROOTS,
    max_depth=3,
    switches=True,
    interrupts=True,
    options=("funcgraph-proc", "funcgraph-abstime", "funcgraph-overrun"),
)
PLAIN = GraphPlan(roots=ROOTS, max_depth=4, args=False)
VALUES = GraphPlan(roots=ROOTS, max_depth=4, args=False, retaddr=True, options=("funcgraph-retval",))
HEX = GraphPlan(
    functions=("vfs_*", "ksys_*", "do_sys_openat2"),
    args=False,
    retaddr=True,
    options=("funcgraph-retval", "funcgraph-retval-hex", "nofuncgraph-overhead"),
)
PLANS = {
    "6.12": {"plain": PLAIN, "all": ALL},
    "7.2": {"plain": PLAIN, "all": ALL},
    "full": {"values": VALUES, "hex": HEX},
}


def main(kernels: list[str]) -> None:
    files: dict[str, bytes] = {}
    if ARCHIVE.exists():
        with tarfile.open(ARCHIVE) as tar:
            for member in tar:
                file = tar.extractfile(member)
                assert file is not None
                files[member.name] = file.read()
    for kernel in kernels or PLANS:
        prepare(kernel, python=True, work=Work(lambda step: print(step.text, file=sys.stderr)))
        for name, plan in PLANS[kernel].items():
            # Where everything is on, the kernel crashes when the tracer is switched on a second time.
            with boot(kernel, python=True, workload=False) as guest:
                target = connect(guest, "guest")
                symbols = Symbols(target.read("/proc/kallsyms"))
                files |= {
                    f"{kernel}-{name}/{key}": data for key, data in kept(run(guest, target, plan, WORK), symbols)
                }
                target.close()
    with tarfile.open(ARCHIVE, "w:xz", preset=9) as tar:
        for name, data in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    print(f"{ARCHIVE.stat().st_size} bytes", file=sys.stderr)


def kept(taken: Run, symbols: Symbols) -> list[tuple[str, bytes]]:
    """The files of one run."""
    raw: dict[int, bytes] = {}
    for batch in taken.batches:
        for chunk in batch.chunks:
            raw[chunk.cpu] = raw.get(chunk.cpu, b"") + chunk.data
    pids = {str(pid) for pid in np.unique(taken.ends.pid).tolist()}
    known = {
        "formats": [source.split("\n", 1) for source in taken.formats.values()],
        "options": sorted(taken.options),
        "cmdlines": {pid: comm for pid, comm in taken.cmdlines.items() if str(pid) in pids},
        "header": taken.header,
    }
    files = {f"cpu{cpu}.raw": data for cpu, data in raw.items()}
    files |= {"trace": taken.text.encode(), "known.json": json.dumps(known).encode()}
    return [*files.items(), ("kallsyms", used(taken, symbols))]


def used(taken: Run, symbols: Symbols) -> bytes:
    """The symbols that the records point into, each with an end."""
    lines = set()
    for address in {*taken.ends.function.tolist(), *taken.ends.retaddr.tolist()}:
        place = symbols.find(address)
        if place is not None:
            start = address - place.offset
            module = f"\t[{place.module}]" if place.module else ""
            lines.add(f"{start:016x} T {place.name}{module}")
            lines.add(f"{start + place.size:016x} T zz_behind_{place.name}{module}")
    for name in ("__irqentry_text_start", "__irqentry_text_end"):
        lines |= {f"{entry.address:016x} T zz{name}" for entry in symbols.named(name)}
    # Of two at one address the first counts: what is behind one may be the next.
    return "".join(f"{line}\n" for line in sorted(lines)).replace(" zz__irq", " __irq").encode()


if __name__ == "__main__":
    main(sys.argv[1:])
