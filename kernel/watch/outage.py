"""What a cut line leaves among the events, under the name by which the kernel's side knows it."""

from events.store.outage_mark import EVENT, LineCut

__all__ = ["EVENT", "LineCut"]
