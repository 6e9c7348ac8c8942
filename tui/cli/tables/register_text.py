"""Print what can be read of a function's call by each means: `probewright show --regs FUNCTION`."""

from __future__ import annotations

from btf.errors import BtfError
from foreign.refusal import InputRefusal
from kernel.attach.readable_values import ReadableValueReader
from kernel.connection.kernel_info import KernelInfo
from probes.readable.hit_cost import cost_json, cost_lines
from probes.readable.rows import report_json, report_lines
from tui.cli.console.output import emit, plain
from tui.cli.console.waiting import waiting
from tui.cli.status import DONE


def show_registers(info: KernelInfo, name: str, *, as_json: bool, measured: bool) -> int:
    """Print the report on a function, with costs of hits where they are `measured`; return the exit status.

    Raises InputRefusal (types lie, nothing can be timed), TargetUnusable, TargetLost.
    """
    reader = ReadableValueReader(info)
    try:
        with waiting("reading what can be attached"):
            report = reader.report(name)
        costs = None
        if measured:
            from kernel.attach.hit_cost import measure

            with waiting("timing hits"):
                costs = measure(info, reader)
    except BtfError as error:
        raise InputRefusal(name, str(error)) from None
    if as_json:
        emit({**report_json(report), "costs": cost_json(costs) if costs is not None else None})
        return DONE
    for line in [*report_lines(report), *(["", *cost_lines(costs)] if costs is not None else [])]:
        print(plain(line))
    return DONE
