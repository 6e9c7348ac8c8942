"""Change the global settings of the function_graph tracer, if nobody else relies on them.

Each is restored, unless somebody else has changed it since: the undo is registered before the first change.
"""

from __future__ import annotations

from collections.abc import Mapping

from foreign.count_text import counted
from kernel.cleanup.undo import UndoList
from kernel.errors import FileRefused, TargetUnusable
from kernel.target import Step, Target
from kernel.tracefs import Instance, Tracefs
from kernel.tracers.users import BY_THRESHOLD, other_tracer_users
from probes.plans.graph_plan import GraphPlan

_BY_GRAPH = frozenset(("function_graph",))
_MOST_NAMES = 4096
"""Most functions of someone else that are restored; more would take unpredictably long."""


class GlobalSettings:
    """Setter of set_graph_function, set_graph_notrace, max_graph_depth and tracing_thresh."""

    def __init__(self, target: Target, tracefs: Tracefs, instance: Instance, undo: UndoList) -> None:
        self._target = target
        self._tracefs = tracefs
        self._instance = instance
        self._undo = undo

    def set(self, plan: GraphPlan) -> None:
        """Set the values that a plan needs, before the tracer starts.

        Raises:
            TargetUnusable: someone else uses a setting that would have to change, or the kernel knows no such
                function.
            FileRefused, TargetLost.
        """
        self._set_number("tracing_thresh", plan.threshold_us, BY_THRESHOLD)
        self._set_number("max_graph_depth", plan.max_depth, _BY_GRAPH)
        self._set_functions("set_graph_function", plan.roots)
        self._set_functions("set_graph_notrace", plan.not_below)

    def _set_number(self, name: str, wanted: int, tracers: frozenset[str]) -> None:
        before = self._read(name)
        if before is None and not wanted:
            return
        if before is not None and before.strip() == str(wanted):
            return
        self._require_unused(name, tracers)
        undo_step = self._tracefs.write(name, before or "0\n")._replace(expects=b"%d" % wanted)
        self._undo.do(self._tracefs.write(name, f"{wanted}\n"), undo_step)

    def _set_functions(self, name: str, wanted: tuple[str, ...]) -> None:
        before = parse_functions(self._read(name) or "")
        if not wanted and not before:
            return
        self._require_unused(name, _BY_GRAPH)
        if len(before) > _MOST_NAMES:
            raise TargetUnusable(
                f"{name} holds {counted(len(before), 'function')} of someone else, too many to put back"
            )
        effect = self._words(name, wanted)
        undo_step = self._words(name, before)._replace(expects=effect.data)
        self._undo.prepare(undo_step)
        try:
            # The kernel takes all words, or those valid, when the file is closed (ftrace_graph_release).
            self._target.perform(effect)
        except FileRefused as error:
            word = self._refused_word(name, wanted)
            self._target.perform(self._words(name, before))  # it is emptied even if a word was rejected
            self._undo.forget(undo_step)
            if word:
                raise TargetUnusable(f"{word}: the kernel traces no function of this name ({error})") from error
            raise

    def _refused_word(self, name: str, words: tuple[str, ...]) -> str:
        for word in words:
            try:
                self._target.perform(self._tracefs.write(name, f"{word}\n", append=True))
            except FileRefused:
                return word
        return ""

    def _words(self, name: str, words: tuple[str, ...]) -> Step:
        """Return the step that writes words, each with white space behind it: else the kernel checks it at close,
        without an error.
        """
        return self._tracefs.write(name, "".join(f"{word}\n" for word in words) or "\n")

    def _read(self, name: str) -> str | None:
        try:
            return self._tracefs.read(name)
        except FileRefused:
            return None

    def _require_unused(self, name: str, tracers: frozenset[str]) -> None:
        other_users = [user for user in other_tracer_users(self._tracefs, self._instance) if user.tracer in tracers]
        if other_users:
            raise TargetUnusable(
                f"{name} is of the whole kernel and would have to change, but {other_users[0]}",
                "leave that setting as it is, or wait until the other tracer is off",
            )


def parse_functions(text: str) -> tuple[str, ...]:
    """Return the names in set_graph_function: one per line, `[module]` behind a module's; `#### …` if there are
    none.
    """
    lines = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return tuple(dict.fromkeys(words[0] for words in lines))


class TracerOptions:
    """Setter of the tracer's options, which older kernels share among all instances."""

    def __init__(self, target: Target, tracefs: Tracefs, instance: Instance, undo: UndoList) -> None:
        self._target = target
        self._tracefs = tracefs
        self._instance = instance
        self._undo = undo

    def set(self, wanted: Mapping[str, bool]) -> None:
        """Change options that have another value.

        Raises:
            TargetUnusable: that would affect someone else's tracer.
            FileRefused, TargetLost.
        """
        other_users = [user for user in other_tracer_users(self._tracefs, self._instance) if user.tracer in _BY_GRAPH]
        for name, on in wanted.items():
            file = f"options/{name}"
            present, new = self._instance.read(file).strip(), "1" if on else "0"
            if present == new:
                continue
            root_value = self._tracefs.read(file).strip()
            # The undo step is for the root of tracefs: it still exists when our instance is gone.
            undo_step = self._tracefs.write(file, root_value)._replace(expects=new.encode())
            self._undo.do(self._instance.write(file, new), undo_step)
            # Only a change shows whether the option is shared, or one for each instance that disappears with it.
            if self._tracefs.read(file).strip() == root_value:
                self._undo.forget(undo_step)
            elif other_users:
                raise TargetUnusable(
                    f"the option {name} is of the whole kernel and would have to change, but {other_users[0]}",
                    "leave that option as it is, or wait until the other tracer is off",
                )
