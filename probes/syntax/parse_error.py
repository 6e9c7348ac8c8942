"""Define the error of a text in the specification language that can't be parsed."""

from __future__ import annotations

from probes.facts.errors_table import message_of
from probes.verdict import Refusal

_OWN_MESSAGES = {
    "unknown_kind": "A probe begins with f, p, r, t, e or s:",
    "user_probe": "A probe in a user-space program is none on a function of the kernel",
    "deletion": "A deletion arms nothing",
    "no_event_named": "A deletion needs an event's name",
    "no_place": "A probe needs a function",
    "no_filter": "No filter after 'if'",
    "bad_choice": "This stands for no functions",
    "bad_both": "%both is for function probes `f` and `p` at a function's entry",
    "bad_track": "%track is for a probe `f` on one function",
    "bad_retinsn": "%retinsn and %tailcall are for a kprobe `p` on one function, without an offset",
    "no_event": "An event is named by group/event",
    "event_as_it_is": "An event as it is has all its fields; what follows is `if` and a filter",
    "bad_latency": "A time between events is `lat:NAME BEGIN to END by KEY`",
    "object_word": "Behind an object come programs=NAME,NAME and MAP=STRUCT",
    "unknown_option": "There is no such option",
    "bad_option": "This is no value of the option",
    "bad_user_event": "This defines no event of programs",
    "bad_index": "An index is a number in brackets",
}


class ParseError(Exception):
    """A text that can't be parsed; `refusal` has column and reason."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


_REMEDIES = {
    "no_filter": "Put a condition behind the if, or leave it out",
    "no_place": "The function follows: f vfs_read",
    "no_event": "The event follows: e sched.sched_switch",
    "unknown_kind": "f vfs_read count",
}


def refuse(code: str, column: int, token: str = "", hint: str = "") -> ParseError:
    """Build the error for a code of the kernel's or of our own."""
    message = message_of(code) or _OWN_MESSAGES.get(code, code)
    return ParseError(Refusal(code, message, column, token, hint or _REMEDIES.get(code, "")))
