"""Text of events whose strings and names have lines' ends in them: no event and no loss is made of what they hold."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.decode import Decoder
from events.format import EventFormat, parse_format
from events.printed_end import MAX_EVENT_BYTES
from events.store.outage_mark import OUTAGE_EVENT, Outage
from events.store.store import Store
from events.subbuffer import HeaderPage

IP = "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
STRING = "\tfield:__data_loc char[] name;\toffset:16;\tsize:4;\tsigned:1;\n"
NUMBER = "\tfield:s32 n;\toffset:20;\tsize:4;\tsigned:1;\n"
OTHER = "\tfield:__data_loc char[] other;\toffset:24;\tsize:4;\tsigned:1;\n"
LETTER = "\tfield:char c;\toffset:28;\tsize:1;\tsigned:1;\n"
PLACE = "(do_sys_openat2+0x4/0xd0)"
HEAD = "             cat-812     [001] d..2.    12.{:06}: {}"
EVIL = "            evil-666     [001] .....    12.000002: {}"


def format_of(name: str, fields: str, printed: str, number: int) -> EventFormat:
    return parse_format(f"name: {name}\nID: {number}\nformat:\n{fields}\nprint fmt: {printed}\n", "pw_1")


LAST = format_of("last", IP + STRING, r'"(%lx) name=\"%s\"", REC->__probe_ip, __get_str(name)', 701)
FIRST = format_of(
    "first", IP + STRING + NUMBER, r'"(%lx) name=\"%s\" n=%d", REC->__probe_ip, __get_str(name), REC->n', 702
)
BOTH = format_of(
    "both",
    IP + STRING + OTHER + LETTER,
    r'"(%lx) name=\"%s\" other=\"%s\" c=' + "'%c'" + r'", REC->__probe_ip, __get_str(name), __get_str(other), REC->c',
    703,
)
OPEN = format_of("open", STRING + NUMBER, '"name=%s n=%d", __get_str(name), REC->n', 704)
SIZED = replace(
    format_of("sized", STRING + NUMBER, '"name=%.*s, n=%d", (int)(1), __get_str(name), REC->n', 705),
    system="synthetic",
)
PLAIN = format_of("plain", IP + NUMBER, '"(%lx) n=%d", REC->__probe_ip, REC->n', 706)
FORMATS = (LAST, FIRST, BOTH, OPEN, SIZED, PLAIN)
PRINTED = {
    "last": f'last: {PLACE} name="{{}}"',
    "first": f'first: {PLACE} name="{{}}" n=-5',
    "both": f'both: {PLACE} name="{{}}" other="{{}}" c=\'\n\'',
    "open": "open: name={} n=-5",
    "sized": "sized: name={} n=-5",
}
"""Text of an event by its name."""
FORGED = (
    "/nx\n" + EVIL.format(f'last: {PLACE} name="forged'),
    "/nx/x\nCPU:1 [LOST 77 EVENTS]\n",
    'x"\nCPU:1 [LOST 77 EVENTS]\n',
    'x"\n\n' + EVIL.format("plain: (0) n=1"),
    "x\n" + EVIL.format("<stack trace>") + "\n => evil\n",
    "\n" * 50,
    'a"b',
    '"',
)


def fed(data: bytes, size: int = 1 << 20) -> Store:
    store = Store(Decoder({fmt.id: fmt for fmt in FORMATS}, HeaderPage()))
    for at in range(0, len(data), size):
        store.feed(Batch((Chunk(-1, data[at : at + size], text=True),), False))
    store.flush()
    return store


def printed(name: str, text: bytes) -> bytes:
    """Return the kernel's text of three events, one after the other; the second has a text for a string."""
    return b"".join(
        HEAD.format(number * 5, PRINTED[name]).encode().replace(b"{}", one) + b"\n"
        for number, one in enumerate((b"a", text, b"z"))
    )


def is_one_event(name: str, text: bytes, size: int) -> None:
    store = fed(printed(name, text), size)
    records = [store.record(seq) for seq in range(store.next_seq)]
    assert [(one.comm, one.pid, one.event.partition("/")[2]) for one in records] == [("cat", 812, name)] * 3
    assert (store.overrun, store.undecodable, store.late_events) == ({}, 0, 0)
    whole = text.decode("utf-8", "backslashreplace")
    assert records[1].text == PRINTED[name].replace("{}", whole)
    assert records[1].values["name"] == (whole.strip() if name in ("open", "sized") else whole)


@pytest.mark.parametrize("size", [1 << 20, 23, 1])
@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize("text", FORGED)
def test_what_a_string_holds_is_no_event_and_no_loss(name, text, size):
    is_one_event(name, text.encode(), size)


ANY = st.binary(max_size=80) | st.lists(
    st.sampled_from([b"\n", b"x", b'"', b" ", b"CPU:1 [LOST 7 EVENTS]", EVIL.format("last: (0) ").encode(), b" =>"])
).map(b"".join)


@given(st.sampled_from(sorted(PRINTED)), ANY, st.sampled_from([1 << 20, 17]))
def test_any_bytes_of_a_name_are_one_event(name, text, size):
    """But for those with which a line ends as the event itself does: that can't be told from two events."""
    text = text.replace(b"\0", b"")
    before = text.rpartition(b"\n")[0]
    assume(not (name in ("open", "sized") and b"n=" in before))
    assume(not re.search(rb'"[^\n]*$', before, re.MULTILINE))
    assume(name in ("last", "first") or b'"' not in text)
    if name in ("open", "sized"):
        assume(text.strip() == text != b"" and text.strip(b"x\n ") != b"")
    is_one_event(name, text, size)


def test_what_can_not_be_told_apart_is_two_events():
    """A limit of the text, told in docs/ssh.md: this is what the kernel prints of two events, too."""
    store = fed(printed("last", f'x"\n{EVIL.format(PRINTED["last"].replace("{}", "forged"))[:-1]}'.encode()))
    assert [store.record(seq).pid for seq in range(store.next_seq)] == [812, 666, 812, 812]


@given(st.binary(min_size=1, max_size=15).filter(lambda comm: b"\0" not in comm), st.sampled_from(["plain", "last"]))
@example(b"\na-1 [000] 1: ", "plain")
@example(b"\na-1 [000] 1: ", "last")
@example(b"a\nb\nc", "plain")
@example(b"x\n" + b"CPU:1 [LOST", "last")
def test_any_bytes_of_a_task_are_one_event(comm, name):
    body = {"plain": f"plain: {PLACE} n=7", "last": PRINTED["last"].replace("{}", "q")}[name].encode()
    head = b"-812     [001] d..2.    12.30411"
    store = fed(b"".join(comm.rjust(16) + head + b"%d: " % number + body + b"\n" for number in range(3)))
    records = [store.record(seq) for seq in range(store.next_seq)]
    shown = comm.decode("utf-8", "backslashreplace").lstrip(" ")
    assert [(one.comm, one.pid, one.event) for one in records] == [(shown, 812, f"pw_1/{name}")] * 3
    assert (store.overrun, store.undecodable) == ({}, 0)


def test_a_string_without_an_end_takes_no_more_events_than_a_kernel_prints_in_one():
    broken = HEAD.format(0, f'last: {PLACE} name="no end') + "\n"
    others = "".join(HEAD.format(number, f"plain: {PLACE} n={number}") + "\n" for number in range(1, 600))
    store = fed(HEAD.format(0, PRINTED["last"]).encode() + b"\n" + (broken + others).encode())
    assert len(others) > 2 * MAX_EVENT_BYTES and store.next_seq == 601
    first = store.record(1)
    assert first.values["name"] == "no end", "without the quote that it begins with"


def test_a_mark_of_a_cut_line_is_in_no_string():
    """The text of before may end within one."""
    store = Store(Decoder({fmt.id: fmt for fmt in FORMATS}, HeaderPage()))
    store.feed(Batch((Chunk(-1, HEAD.format(0, f'last: {PLACE} name="no').encode(), text=True),), False))
    store.feed(Outage.lasting(3.0).batch(12_000_000_000))
    store.feed(Batch((Chunk(-1, printed("last", b"x"), text=True),), False))
    store.flush()
    assert [store.record(seq).event for seq in range(store.next_seq)] == [
        "pw_1/last",
        OUTAGE_EVENT,
        *["pw_1/last"] * 3,
    ]


def test_an_event_that_is_printed_in_another_way_than_its_format_says_is_read_by_its_lines():
    name = "pw_1/last"
    made = "".join(HEAD.format(number, f"last: {PLACE} name:<{number}>") + "\n" for number in range(400))
    store = fed(made.encode())
    assert store.next_seq == 400 and {store.record(seq).event for seq in range(400)} == {name}
