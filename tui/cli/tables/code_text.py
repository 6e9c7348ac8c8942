"""Print a function's code, or the variables at an instruction: `probewright show --code FUNCTION[+0xOFFSET]`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from foreign.refusal import InputRefusal
from kernel.attach.explain import AttachExplainer
from kernel.attach.function_body import BodyReader
from kernel.connection.kernel_info import KernelInfo
from probes.code.body import CodePart, FunctionBody, Instruction
from probes.code.boundaries import instruction_at, places_around
from probes.code.rows import body_json, code_row, instruction_json, source_starts, source_text, summary_text
from probes.code.ways_out import ways_out_text
from probes.readable.variables import PlaceVariable, variable_json, variable_lines
from probes.syntax.text import kstrtoul
from tui.cli.console.output import emit, plain
from tui.cli.console.waiting import waiting
from tui.cli.status import DONE


def show_code(info: KernelInfo, name: str, *, as_json: bool, vmlinux: Path | None = None) -> int:
    """Print the code of each function of a name; return the exit status. Raises InputRefusal, TargetLost.

    `vmlinux`: file with debug information of the kernel; None: the paths of distributions.
    """
    reader = _reader(info, vmlinux)
    with waiting("reading the function's code"):
        bodies = reader.bodies(name)
    for body in bodies:
        if as_json:
            emit(body_json(body))
        else:
            _print_body(body)
    return DONE


def show_instruction(info: KernelInfo, name: str, written: str, *, as_json: bool, vmlinux: Path | None) -> int:
    """Print an instruction of each function of a name, and the variables there; return the exit status.

    `written`: its offset as written. Raises InputRefusal, TargetLost.
    """
    offset = kstrtoul(written)
    if offset is None:
        raise InputRefusal(f"{name}+{written}", "the offset of an instruction is a number, such as 0x1c")
    reader = _reader(info, vmlinux)
    with waiting("reading the function's code"):
        bodies = reader.bodies(name)
    for body in bodies:
        part = next((one for one in body.parts if one.name == name), body.parts[0])
        if (found := instruction_at(part, offset)) is None:
            around = " and ".join(places_around(part, offset))
            raise InputRefusal(f"{name}+{written}", f"no instruction begins there; those around it are {around}")
        with waiting("reading debug information"):
            variables = reader.variables(part, found)
        if as_json:
            emit(
                {
                    "function": body.name,
                    **instruction_json(body, part, found),
                    "variables": [variable_json(one) for one in variables],
                }
            )
        else:
            _print_instruction(body, part, found, variables)
    return DONE


def _reader(info: KernelInfo, vmlinux: Path | None) -> BodyReader:
    explainer = AttachExplainer(info, vmlinux)
    return BodyReader(info, explainer.attachability, explainer.debug)


def _print_instruction(
    body: FunctionBody, part: CodePart, found: Instruction, variables: Sequence[PlaceVariable]
) -> None:
    row = code_row(body, part, found)
    note = f"  # {row.note}" if row.note else ""
    print(plain(f"{part.place_at(found.offset)}: {row.text}{note}"))
    if source := source_text(found):
        print(plain(source))
    for line in variable_lines(variables) or ["no variable is in scope there"]:
        print(plain(line))


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
