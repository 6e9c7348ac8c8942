"""Print a function's code: `probewright show --code FUNCTION`."""

from __future__ import annotations

from pathlib import Path

from kernel.attach.explain import AttachExplainer
from kernel.attach.function_body import BodyReader
from kernel.connection.kernel_info import KernelInfo
from probes.code.body import FunctionBody
from probes.code.rows import body_json, code_row, source_starts, summary_text
from probes.code.ways_out import ways_out_text
from tui.cli.console.output import emit, plain
from tui.cli.console.waiting import waiting
from tui.cli.status import DONE


def show_code(info: KernelInfo, name: str, *, as_json: bool, vmlinux: Path | None = None) -> int:
    """Print the code of each function of a name; return the exit status. Raises InputRefusal, TargetLost.

    `vmlinux`: file with debug information of the kernel; None: the paths of distributions.
    """
    explainer = AttachExplainer(info, vmlinux)
    reader = BodyReader(info, explainer.attachability, explainer.debug)
    with waiting("reading the function's code"):
        bodies = reader.bodies(name)
    for body in bodies:
        if as_json:
            emit(body_json(body))
        else:
            _print_body(body)
    return DONE


def _print_body(body: FunctionBody) -> None:
    module = f" [{body.module}]" if body.module else ""
    print(plain(f"{body.name}{module}: {summary_text(body)}"))
    print(plain(ways_out_text(body)))
    if body.refusal:
        print(plain(f"no kprobe: {body.refusal}"))
    for note in body.notes:
        print(plain(f"note: {note}"))
    width = max((len(body.label(part, one.offset)) for part, one in body.instructions()), default=0)
    for part in body.parts:
        print(plain(f"{part.place_at(0)}:"))
        for one, source in source_starts(part):
            if source:
                print(plain(f"  {source}"))
            row = code_row(body, part, one)
            mark = " " if row.takes_kprobe else "-"
            note = f"  # {row.note}" if row.note else ""
            print(plain(f"{mark} {row.place:<{width}}  {row.text:<40}{note}".rstrip()))
