"""What a probe in the words of another tool comes to in ours."""

from __future__ import annotations

from typing import Final, NamedTuple

NOT_TRANSLATED: Final = "not translated: "
"""What begins with this is missing in the translation."""


class Translation(NamedTuple):
    """One text of another tool."""

    tool: str
    probes: tuple[str, ...] = ()
    """Specifications; none: nothing of it can be translated."""
    counting: tuple[tuple[str, ...], ...] = ()
    """Hist triggers of each probe; shorter than these: the rest have none."""
    left_out: tuple[str, ...] = ()
    """What can't be translated, and what differs."""
    way_out: str = ""
    """What helps where something can't be translated."""

    @property
    def triggers(self) -> tuple[str, ...]:
        """The hist triggers of all probes."""
        return tuple(one for each in self.counting for one in each)

    @property
    def triggers_by_probe(self) -> dict[str, tuple[str, ...]]:
        """All probes, each once, with its hist triggers."""
        found: dict[str, tuple[str, ...]] = dict.fromkeys(self.probes, ())
        for probe, triggers in zip(self.probes, self.counting, strict=False):
            found[probe] = tuple(dict.fromkeys((*found[probe], *triggers)))
        return found

    @property
    def whole(self) -> bool:
        """Whether all of it is said by the probes and triggers."""
        return bool(self.probes) and not any(one.startswith(NOT_TRANSLATED) for one in self.left_out)

    @property
    def told(self) -> str:
        """In a line what one should know."""
        counted = (f"the trigger {one} counts" for one in dict.fromkeys(self.triggers))
        return "; ".join(filter(None, (*counted, self.notes)))

    @property
    def notes(self) -> str:
        """The same without the triggers: of what can't be translated the first, with what helps, and what differs."""
        missing = [one for one in self.left_out if one.startswith(NOT_TRANSLATED)]
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        first = (f"{missing[0]}{more}", *([self.way_out] if self.way_out else [])) if missing else ()
        differing = [one for one in self.left_out if one not in missing]
        return "; ".join((*first, *differing))
