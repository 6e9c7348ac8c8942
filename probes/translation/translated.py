"""Represent the translation of another tool's probe."""

from __future__ import annotations

from typing import Final, NamedTuple

NOT_TRANSLATED: Final = "not translated: "
"""Prefix of notes on parts that the translation lacks."""


class Translation(NamedTuple):
    """Translation of a text of another tool."""

    tool: str
    probes: tuple[str, ...] = ()
    """Specifications; empty: no part can be translated."""
    counting: tuple[tuple[str, ...], ...] = ()
    """Hist triggers of each probe, in the order of the probes; missing at the end: no triggers."""
    differences: tuple[str, ...] = ()
    """Notes on parts that can't be translated, and on differences."""
    way_out: str = ""
    """Advice where a part can't be translated."""

    @property
    def triggers(self) -> tuple[str, ...]:
        """Hist triggers of all probes."""
        return tuple(trigger for probe_triggers in self.counting for trigger in probe_triggers)

    @property
    def triggers_by_probe(self) -> dict[str, tuple[str, ...]]:
        """Hist triggers by probe, each probe once."""
        by_probe: dict[str, tuple[str, ...]] = dict.fromkeys(self.probes, ())
        for probe, triggers in zip(self.probes, self.counting, strict=False):
            by_probe[probe] = tuple(dict.fromkeys((*by_probe[probe], *triggers)))
        return by_probe

    @property
    def whole(self) -> bool:
        """True if the probes and triggers express the whole text."""
        return bool(self.probes) and not any(note.startswith(NOT_TRANSLATED) for note in self.differences)

    @property
    def notes_text(self) -> str:
        """Notes on the translation and its triggers, in a line."""
        counting_notes = (f"the trigger {note} counts" for note in dict.fromkeys(self.triggers))
        return "; ".join(filter(None, (*counting_notes, self.notes)))

    @property
    def notes(self) -> str:
        """Notes without the triggers: the first untranslated part with advice, and all differences."""
        missing = [note for note in self.differences if note.startswith(NOT_TRANSLATED)]
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        first = (f"{missing[0]}{more}", *([self.way_out] if self.way_out else [])) if missing else ()
        differing = [note for note in self.differences if note not in missing]
        return "; ".join((*first, *differing))
