"""Remedies that name options of the commands; the application names its keys instead (`tui.present.option_keys`)."""

from __future__ import annotations

from typing import Final

BY_TRACEFS: Final = "--via tracefs has tracefs record it"
FILTER_SHOWN: Final = "--filter compares it in the events shown"
COUNT_HITS: Final = "--count-only counts hits"
TOO_FAST: Final = "a filter makes them fewer; --force arms it all the same, --max-rate sets the limit"

COUNT_RECORDED: Final = "--by counts what is recorded, by key"

OPTION_REMEDIES: Final = (BY_TRACEFS, FILTER_SHOWN, COUNT_HITS, TOO_FAST, COUNT_RECORDED)
"""All of them; a message of `probes` or `kernel` that names an option has one of these words for word."""
