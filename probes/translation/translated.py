"""What a probe in the words of another tool comes to in ours."""

from __future__ import annotations

from typing import Final, NamedTuple

NOT_TRANSLATED: Final = "not translated: "
"""What begins with this is missing in the translation."""


class Translated(NamedTuple):
    """One text of another tool."""

    tool: str
    probes: tuple[str, ...] = ()
    """Specifications; none: nothing of it can be translated."""
    triggers: tuple[str, ...] = ()
    """Hist triggers for the event of the only probe."""
    left_out: tuple[str, ...] = ()
    """What can't be translated, and what differs."""

    @property
    def whole(self) -> bool:
        """Whether all of it is said by the probes and triggers."""
        return bool(self.probes) and not any(one.startswith(NOT_TRANSLATED) for one in self.left_out)

    @property
    def told(self) -> str:
        """In a line what one should know."""
        return "; ".join((*(f"the trigger {one} counts" for one in self.triggers), *self.left_out))
