"""Every way out by a key that a message of the application offers; `tests/interface/test_ways_out.py` takes each."""

from __future__ import annotations

from typing import Final

from widgets.way_out import Way

RECONNECT: Final = Way(("f7",), "tries now", "reconnect")
NEW_CONNECTION: Final = Way(("f7",), "makes a new connection now", "reconnect")
TRY_AGAIN: Final = Way(("f7",), "tries again", "reconnect")
GIVE_UP: Final = Way(("f8",), "gives up", "give_up")
LEAVE_END: Final = Way(("f8",), "leaves it to itself", "give_up")
OTHER_TARGET: Final = Way(("f4",), "chooses another target", "targets")
CHOOSE_TARGET: Final = Way(("f4",), "chooses one")
SEARCH_FUNCTIONS: Final = Way(("f2",), "begins another search")
BUILD_PROBE: Final = Way(("f2",), "builds a probe")
OPEN_KERNEL: Final = Way(("f4",), "opens a kernel")
RUNNING_KERNEL: Final = Way(("f4",), "chooses a kernel that runs")
OPEN_ANEW: Final = Way(("f4",), "opens the target anew")
LEAVE_FOR_TARGET: Final = Way(("escape", "f4"), "chooses one")
DISARM_ALL: Final = Way(("f3", "D"), "disarms all")
WHAT_HELPS: Final = Way(("f3", "L"), "says what helps")
ARM_ONE: Final = Way(("f2", "a function", "enter", "enter"), "arms one")
BOTH_ENDS: Final = Way(("f2", "a function", "enter", "b", "enter"), "")
HOLD_ROWS: Final = Way(("space",), "holds them")
SEARCH_EVENTS: Final = Way(("e", "/"), "searches the events")
SUM_UP: Final = Way(("s",), "sums up what was recorded")
SHOW_DETAILS: Final = Way(("enter",), "opens them here")
SHOW_CALLS: Final = Way(("g",), "shows the calls of one")
TRACE_CALLS: Final = Way(("f2", "a function", "enter", "G"), "traces what it calls")
GIVE_TRIGGER: Final = Way(("T",), "gives it one")
ADD_TRIGGER: Final = Way(("f3", "T"), "offers it")
HOSTS_TRIGGER: Final = Way(("T",), "gives all one")
SHOW_LINES: Final = Way(("ctrl+l",), "shows its lines")
SEE_HOSTS: Final = Way(("f9",), "shows the hosts", "hosts")
HOSTS_TRY_AGAIN: Final = Way(("r",), "tries again")
HOSTS_DISARM: Final = Way(("D",), "takes everything away")
HOSTS_RECONNECT: Final = Way(("f7",), "reconnects the disconnected hosts at once", "reconnect")
HOSTS_BUILD: Final = Way(("f2",), "builds one")
HOSTS_PRESET: Final = Way(("f5",), "has presets")
ARM_BUILT_EVERYWHERE: Final = Way(("f9", "a"), "arms on all hosts")
ARM_PRESET_EVERYWHERE: Final = Way(("f9", "f5"), "arms on all hosts")
NO_FILTER: Final = Way(("f", "ctrl+u", "enter"), "shows all")
TAKE_BACK: Final = Way(("u",), "takes it back")
TAKE_BACK_ELSEWHERE: Final = Way(("f3", "u"), "takes it back")
TAKE_BACK_BEHIND: Final = Way(("escape", "u"), "takes it back")
BY_TRACEFS: Final = Way(("ctrl+t",), "has tracefs record it")
BY_TRACEFS_ELSEWHERE: Final = Way(("f2", "ctrl+t"), "has tracefs record what is armed then")
BY_TRACEFS_BEHIND: Final = Way(("escape", "f2", "ctrl+t"), "has tracefs record what is armed then")
WITH_STACKS_ELSEWHERE: Final = Way(("f2", "ctrl+s"), "has the stacks of what is armed then recorded")
COUNT_RECORDED: Final = Way(("f3", "y"), "counts what is recorded, by key")
COUNT_HITS: Final = Way(("f3", "L", "c"), "only counts hits, once it is armed")
FILTER_SHOWN: Final = Way(("f",), "filters the events shown by it")
FILTER_SHOWN_ELSEWHERE: Final = Way(("f3", "f"), "filters the events shown by it")
FILTER_SHOWN_BEHIND: Final = Way(("escape", "f"), "filters the events shown by it")

WAYS: Final = {name: way for name, way in globals().items() if isinstance(way, Way)}
"""Ways out by name."""
