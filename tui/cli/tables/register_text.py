"""Print what can be read of a function's call by each means: `probewright show --regs FUNCTION`."""

from __future__ import annotations

from btf.errors import BtfError
from foreign.refusal import InputRefusal
from kernel.attach.readable_values import ReadableValueReader
from kernel.connection.kernel_info import KernelInfo
from probes.readable.rows import report_json, report_lines
from tui.cli.console.output import emit, plain
from tui.cli.console.waiting import waiting
from tui.cli.status import DONE


def show_registers(info: KernelInfo, name: str, *, as_json: bool) -> int:
    """Print the report on a function; return the exit status. Raises InputRefusal where types lie, TargetLost."""
    with waiting("reading what can be attached"):
        try:
            report = ReadableValueReader(info).report(name)
        except BtfError as error:
            raise InputRefusal(name, str(error)) from None
    if as_json:
        emit(report_json(report))
        return DONE
    for line in report_lines(report):
        print(plain(line))
    return DONE
