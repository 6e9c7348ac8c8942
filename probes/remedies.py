"""Remedies that name options of the commands; the application names its keys instead (`tui.present.option_keys`)."""

from __future__ import annotations

from typing import Final

BY_TRACEFS: Final = "--via tracefs has tracefs record it"
FILTER_SHOWN: Final = "--filter applies the condition to the shown events"
COUNT_HITS: Final = "--count-only counts hits"
TOO_FAST: Final = "a filter lowers the rate; --force arms the probe all the same, --max-rate sets the limit"

COUNT_RECORDED: Final = "--by counts what is recorded, by key"

OPTION_REMEDIES: Final = (BY_TRACEFS, FILTER_SHOWN, COUNT_HITS, TOO_FAST, COUNT_RECORDED)
"""Wording of all remedies: a message of `probes` or `kernel` that names an option has one of them word for word."""
