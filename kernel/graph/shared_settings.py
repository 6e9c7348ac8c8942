"""Settings of the function_graph tracer that are not of one instance: changed only where nobody else counts on them.

Each is put back as it was, where nobody else has changed it since: the undo is registered before the first change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kernel.cleanup.undo import UndoList
from kernel.errors import FileRefused, TargetUnusable
from kernel.target import Step, Target
from kernel.tracefs import Instance, Tracefs
from probes.plans.graph_plan import GraphPlan

_BY_GRAPH = frozenset(("function_graph",))
_BY_THRESHOLD = _BY_GRAPH | frozenset(
    (
        *("irqsoff", "preemptoff", "preemptirqsoff", "wakeup", "wakeup_rt", "wakeup_dl"),
        *("hwlat", "osnoise", "timerlat"),
    )
)
"""Tracers that look at tracing_thresh."""
_MOST_NAMES = 4096
"""Functions of someone else that are put back; of more there is no telling how long it takes."""


class TracerUser(NamedTuple):
    """An instance with a tracer that is on."""

    instance: str
    """Its name; empty: the top of tracefs."""
    tracer: str

    def __str__(self) -> str:
        where = f"in the instance {self.instance}" if self.instance else "at the top of tracefs"
        return f"{self.tracer} is on {where}"


def users(tracefs: Tracefs, ours: Instance) -> list[TracerUser]:
    """Who else has a tracer on. Raises TargetLost."""
    found: list[TracerUser] = []
    for name in ("", *tracefs.instances()):
        instance = tracefs.instance(name) if name else tracefs
        if instance.path == ours.path:
            continue
        try:
            tracer = instance.read("current_tracer").strip()
        except FileRefused:  # it went away
            continue
        if tracer and tracer != "nop":
            found.append(TracerUser(name, tracer))
    return found


class GlobalSettings:
    """set_graph_function, set_graph_notrace, max_graph_depth and tracing_thresh."""

    def __init__(self, target: Target, tracefs: Tracefs, instance: Instance, undo: UndoList) -> None:
        self._target = target
        self._tracefs = tracefs
        self._instance = instance
        self._undo = undo

    def set(self, plan: GraphPlan) -> None:
        """Make them what a plan needs, before the tracer is switched on.

        Raises:
            TargetUnusable: someone else uses one that would have to change, or the kernel knows no such function.
            FileRefused, TargetLost.
        """
        self._set_number("tracing_thresh", plan.threshold_us, _BY_THRESHOLD)
        self._set_number("max_graph_depth", plan.max_depth, _BY_GRAPH)
        self._set_functions("set_graph_function", plan.roots)
        self._set_functions("set_graph_notrace", plan.not_below)

    def _set_number(self, name: str, wanted: int, by: frozenset[str]) -> None:
        before = self._read(name)
        if before is None and not wanted:
            return
        if before is not None and before.strip() == str(wanted):
            return
        self._require_unused(name, by)
        back = self._tracefs.write(name, before or "0\n")._replace(expects=b"%d" % wanted)
        self._undo.do(self._tracefs.write(name, f"{wanted}\n"), back)

    def _set_functions(self, name: str, wanted: tuple[str, ...]) -> None:
        before = parse_functions(self._read(name) or "")
        if not wanted and not before:
            return
        self._require_unused(name, _BY_GRAPH)
        if len(before) > _MOST_NAMES:
            raise TargetUnusable(f"{name} holds {len(before)} functions of someone else, too many to put back")
        effect = self._words(name, wanted)
        back = self._words(name, before)._replace(expects=effect.data)
        self._undo.prepare(back)
        try:
            # The kernel takes all words, or what it took of them, when the file is closed (ftrace_graph_release).
            self._target.perform(effect)
        except FileRefused as error:
            word = self._refused_word(name, wanted)
            self._target.perform(self._words(name, before))  # it is emptied even where a word was refused
            self._undo.forget(back)
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
        """A word without white space behind it is only looked at when the file is closed, and then no error comes."""
        return self._tracefs.write(name, "".join(f"{word}\n" for word in words) or "\n")

    def _read(self, name: str) -> str | None:
        try:
            return self._tracefs.read(name)
        except FileRefused:
            return None

    def _require_unused(self, name: str, by: frozenset[str]) -> None:
        others = [user for user in users(self._tracefs, self._instance) if user.tracer in by]
        if others:
            raise TargetUnusable(
                f"{name} is of the whole kernel and would have to change, but {others[0]}",
                "leave that setting as it is, or wait until the other tracer is off",
            )


def parse_functions(text: str) -> tuple[str, ...]:
    """Names in set_graph_function: one a line, a module's with `[module]` behind it; `#### …` if there are none."""
    lines = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return tuple(dict.fromkeys(words[0] for words in lines))


class TracerOptions:
    """The options of the tracer, which older kernels have once for all instances."""

    def __init__(self, target: Target, tracefs: Tracefs, instance: Instance, undo: UndoList) -> None:
        self._target = target
        self._tracefs = tracefs
        self._instance = instance
        self._undo = undo

    def set(self, wanted: Mapping[str, bool]) -> None:
        """Switch options that are not as they should be.

        Raises:
            TargetUnusable: that would change what someone else's tracer does.
            FileRefused, TargetLost.
        """
        others = [user for user in users(self._tracefs, self._instance) if user.tracer in _BY_GRAPH]
        for name, on in wanted.items():
            file = f"options/{name}"
            now, new = self._instance.read(file).strip(), "1" if on else "0"
            if now == new:
                continue
            top = self._tracefs.read(file).strip()
            # The way back is at the top: it is there when our instance is gone.
            back = self._tracefs.write(file, top)._replace(expects=new.encode())
            self._undo.do(self._instance.write(file, new), back)
            # Only a change shows whether there is one such option, or one for each instance that goes with it.
            if self._tracefs.read(file).strip() == top:
                self._undo.forget(back)
            elif others:
                raise TargetUnusable(
                    f"the option {name} is of the whole kernel and would have to change, but {others[0]}",
                    "leave that option as it is, or wait until the other tracer is off",
                )
