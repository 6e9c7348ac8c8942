"""The dialog with the local variables at an instruction: read in a worker, as debug information takes its time."""

from __future__ import annotations

from textual import on, work
from textual.message import Message

from foreign.refusal import InputRefusal
from kernel.attach.function_body import BodyReader
from kernel.errors import KernelError
from probes.code.body import CodePart, Instruction
from probes.readable.variables import PlaceVariable
from widgets.functions.variable_dialog import VariableDialog


class VariablesRead(Message):
    """The variables were read, or can't be."""

    def __init__(self, variables: tuple[PlaceVariable, ...], reason: str = "") -> None:
        super().__init__()
        self.variables = variables
        self.reason = reason


class VariableScreen(VariableDialog):
    """Reads the debug information in a worker."""

    def __init__(self, reader: BodyReader, part: CodePart, instruction: Instruction) -> None:
        super().__init__(part.place_at(instruction.offset))
        self._reader = reader
        self._part = part
        self._instruction = instruction

    def on_mount(self) -> None:
        """Begin to read."""
        self._look()

    @work(thread=True, group="variables")
    def _look(self) -> None:
        try:
            found = self._reader.variables(self._part, self._instruction)
        except (InputRefusal, KernelError) as error:
            self.post_message(VariablesRead((), str(error)))
        else:
            self.post_message(VariablesRead(found))

    @on(VariablesRead)
    def _read(self, event: VariablesRead) -> None:
        event.stop()
        if event.reason:
            self.say(event.reason)
        else:
            self.show(event.variables)
