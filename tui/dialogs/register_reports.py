"""Reports on what can be read of a function by each means, asked of the target and measured there."""

from __future__ import annotations

from btf.errors import BtfError
from foreign.refusal import InputRefusal
from kernel.attach.readable_values import ReadableValueReader
from kernel.connection.kernel_info import KernelInfo
from kernel.errors import KernelError
from probes.readable.hit_cost import CostReport
from probes.readable.report import FunctionReport


class RegisterReports:
    """A `widgets.dialogs.register_dialog.ReportSource` of one function."""

    def __init__(self, info: KernelInfo, name: str) -> None:
        self.function = name
        self._info = info
        self._reader = ReadableValueReader(info)

    @property
    def can_measure(self) -> bool:
        """True where the kernel runs."""
        return self._info.target.is_kernel

    def report(self) -> FunctionReport | str:
        """Return the report, or why there is none."""
        try:
            return self._reader.report(self.function)
        except (BtfError, InputRefusal, KernelError) as error:
            return str(error)

    def costs(self) -> CostReport | str:
        """Return what a hit costs, measured now, or why that can't be measured."""
        from kernel.attach.hit_cost import measure

        try:
            return measure(self._info, self._reader)
        except (BtfError, InputRefusal, KernelError) as error:
            return str(error)
