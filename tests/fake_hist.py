"""A tracefs whose hist triggers do as the kernel's: mixed into a `FakeTarget`.

As hist_register_trigger, hist_trigger_match and hist_unreg in kernel/trace/trace_events_hist.c: one with the same
keys, values, order, variables, filter and name is refused with EEXIST, or cleared where that is asked; histograms of
one name share their counts and have to be alike; a deletion takes the one that is alike, and one that is not there is
no error. An event happens by `hit`.
"""

from __future__ import annotations

import errno
import posixpath
from dataclasses import dataclass, field

from kernel.errors import FileRefused
from probes.hist.trigger import HistTrigger, parse_trigger
from tests.fake_target import FakeTarget

_TEXT = """# event histogram
#
# trigger info: {listed} [active]
#

{{ {key} }} hitcount: {hits}

Totals:
    Hits: {hits}
    Entries: 1
    Dropped: 0
"""


@dataclass
class Counts:
    """Hits of one histogram, or of all of one name."""

    hits: int = 0


@dataclass
class Hist:
    """One hist trigger."""

    written: str
    trigger: HistTrigger
    counts: Counts = field(default_factory=Counts)

    @property
    def alike(self) -> tuple[object, ...]:
        """All that has to be equal in histograms of one name."""
        one = self.trigger
        values = tuple(value.text for value in one.values if value.text != "hitcount")
        return (
            tuple(key.text for key in one.keys),
            values,
            tuple(map(str, one.variables)),
            tuple(map(str, one.actions)),
        )

    def is_same(self, other: Hist) -> bool:
        return self.alike == other.alike and all(
            getattr(self.trigger, name) == getattr(other.trigger, name) for name in ("name", "filter", "sort")
        )

    @property
    def listed(self) -> str:
        one = self.trigger
        parts = [f"name={one.name}"] if one.name else []
        parts += [f"keys={','.join(key.text for key in one.keys)}"]
        parts += [f"vals={','.join(['hitcount', *(value.text for value in one.values)])}"]
        parts += [*map(str, one.variables), "sort=hitcount", f"size={one.size or 2048}", *map(str, one.actions)]
        return f"hist:{':'.join(parts)}{f' if {one.filter}' if one.filter else ''}"


class HistKernel(FakeTarget):
    """See the module."""

    @property
    def hists(self) -> dict[str, list[Hist]]:
        """By the folder of the event, the oldest first."""
        return self.__dict__.setdefault("_hists", {})

    def on(self, event: str) -> list[Hist]:
        """Histograms of `group/event` in all instances."""
        return [hist for folder, hists in self.hists.items() if folder.endswith(f"/events/{event}") for hist in hists]

    def hit(self, event: str) -> None:
        """Have an event happen once."""
        counted: list[Counts] = []
        for hist in self.on(event):
            if all(hist.counts is not counts for counts in counted):
                hist.counts.hits += 1
                counted.append(hist.counts)
            for action in hist.trigger.actions:
                name = str(action).partition(".trace(")[2].partition(",")[0]
                self.hit(f"synthetic/{name}")

    def read(self, path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
        if not path.endswith("/hist"):
            return super().read(path, limit, offset)
        folder = posixpath.dirname(path)
        super().read(f"{folder}/trigger")
        texts = [
            _TEXT.format(
                listed=hist.listed, key=f"{hist.trigger.keys[0].text.partition('.')[0]}: 1", hits=hist.counts.hits
            )
            for hist in self.hists.get(folder, [])
        ]
        return "\n\n".join(texts).encode()

    def _event(self, place: str, event: str) -> None:
        super()._event(place, event)
        self.files[f"{place}/events/{event}/format"] = self.files[f"{place}/events/{event}/format"].replace(
            b"\nprint fmt", b"\tfield:u64 count;\toffset:8;\tsize:8;\tsigned:0;\n\nprint fmt"
        )

    def _rmdir(self, path: str) -> None:
        super()._rmdir(path)
        for folder in [folder for folder in self.hists if folder.startswith(f"{path}/")]:
            del self.hists[folder]

    def _trigger(self, path: str, data: bytes) -> None:
        text = data.decode()
        if not text.removeprefix("!").startswith("hist:"):
            super()._trigger(path, data)
            return
        trigger = parse_trigger(text)
        assert isinstance(trigger, HistTrigger)
        hists = self.hists.setdefault(posixpath.dirname(path), [])
        asked = Hist(text.removeprefix("!"), trigger)
        same = next((hist for hist in hists if hist.is_same(asked)), None)
        if trigger.remove:
            if same is not None:
                hists.remove(same)
                triggers = self.files[path].split(b"\n")
                triggers.remove(same.written.encode())
                self.files[path] = b"\n".join(triggers)
            return
        named = [hist for every in self.hists.values() for hist in every if trigger.name == hist.trigger.name != ""]
        if named and named[0].alike != asked.alike:
            raise FileRefused(path, errno.EINVAL)
        if same is not None:
            if not trigger.has("clear"):
                raise FileRefused(path, errno.EEXIST)
            same.counts.hits = 0
            return
        if trigger.has("clear"):
            raise FileRefused(path, errno.ENOENT)
        if named:
            asked.counts = named[0].counts
        hists.append(asked)
        super()._trigger(path, data)
