"""The dialog with what can be read of a function by each means: asked and measured in a worker."""

from __future__ import annotations

from textual import on, work
from textual.message import Message

from btf.errors import BtfError
from foreign.refusal import InputRefusal
from kernel.attach.readable_values import ReadableValueReader
from kernel.connection.kernel_info import KernelInfo
from kernel.errors import KernelError
from probes.readable.hit_cost import CostReport
from probes.readable.report import FunctionReport
from widgets.dialogs.register_dialog import RegisterDialog


class ReportRead(Message):
    """The report on a function was made, or can't be."""

    def __init__(self, report: FunctionReport | None, costs: CostReport | None = None, reason: str = "") -> None:
        super().__init__()
        self.report = report
        self.costs = costs
        self.reason = reason


class RegisterScreen(RegisterDialog):
    """Asks the target in a worker, as a remote host takes its time."""

    def __init__(self, info: KernelInfo, name: str) -> None:
        super().__init__(name)
        self._info = info
        self._reader = ReadableValueReader(info)
        self._report: FunctionReport | None = None
        self._measuring = False

    def on_mount(self) -> None:
        """Begin to read."""
        self._look()

    @work(thread=True, group="registers")
    def _look(self) -> None:
        try:
            self.post_message(ReportRead(self._reader.report(self.function)))
        except (BtfError, InputRefusal, KernelError) as error:
            self.post_message(ReportRead(None, reason=str(error)))

    @work(thread=True, group="registers")
    def _measure(self, report: FunctionReport) -> None:
        from kernel.attach.hit_cost import measure

        try:
            self.post_message(ReportRead(report, measure(self._info, self._reader)))
        except (BtfError, InputRefusal, KernelError) as error:
            self.post_message(ReportRead(None, reason=str(error)))

    @on(ReportRead)
    def _read(self, event: ReportRead) -> None:
        event.stop()
        self._measuring = False
        if event.report is None:
            self.say(event.reason)
            return
        self._report = event.report
        self.show(event.report, event.costs)

    def action_measure(self) -> None:
        """Time hits, once the report is there and no measurement runs."""
        if not self._info.target.is_kernel:
            self.say("hits are timed on a running kernel: this target is none")
        elif self._report is not None and not self._measuring:
            self._measuring = True
            self.say("timing a system call with each means armed in turn: some seconds …")
            self._measure(self._report)
