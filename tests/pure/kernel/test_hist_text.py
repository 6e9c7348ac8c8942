"""The `hist` files of real kernels, and texts made up, read back."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.summary.hist_text import Histogram, parse_hist
from kernel.guards.rate_meter import hits_of

TEXTS: dict[str, list[str]] = json.loads(
    lzma.decompress((Path(__file__).parents[2] / "data" / "hist.json.xz").read_bytes())
)
"""By kernel."""


@pytest.mark.parametrize("kernel", TEXTS)
def test_entries_of_a_real_histogram_are_as_many_as_the_kernel_says(kernel):
    seen = 0
    for text in TEXTS[kernel]:
        found = parse_hist(text)
        assert len(found) == text.count("# trigger info:")
        for hist in found:
            assert len(hist.entries) == hist.kernel_count
            keys = hist.trigger.partition("keys=")[2].split(":")[0].split(",")
            assert all(len(entry.keys) == len(keys) for entry in hist.entries)
            if "nohitcount" not in hist.trigger:
                # A histogram in use is printed while it grows: an entry may be older than the totals.
                assert (
                    0 <= hist.hits - hist.dropped - sum(entry.hits for entry in hist.entries) <= hist.hits // 10 + 3
                )
            seen += len(hist.entries)
    assert seen > 5


def _of(kernel: str, beginning: str) -> Histogram:
    return next(hist for text in TEXTS[kernel] for hist in parse_hist(text) if hist.trigger.startswith(beginning))


def test_keys_with_modifiers():
    log2 = _of("7.2", "hist:keys=prev_pid.log2")
    assert {entry.keys[0].number: entry.hits for entry in log2.entries} == {5: 1, 6: 3, 7: 3, 0: 6, 4: 12, 9: 13}
    assert [entry.keys[0].number for entry in _of("7.2", "hist:keys=prev_pid.hex").entries][:2] == [0x17E, 0xE]
    execname = _of("7.2", "hist:keys=common_pid.execname").entries[-1]
    assert (execname.keys[0].label, execname.keys[0].number) == ("rcu_preempt", 15)
    assert execname.values == {"hitcount": 9, "prev_pid (%)": 2.41}
    symbol = _of("7.2", "hist:keys=call_site.sym:").entries[0].keys[0]
    assert (symbol.label, symbol.number) == ("alloc_pipe_info", 0xFFFFFFFF9981B0BD)
    assert _of("7.2", "hist:keys=prev_pid.buckets=32").entries[0].keys[0].number == 96
    syscall = _of("6.12", "hist:keys=id.syscall").entries[-1].keys[0]
    assert (syscall.label, syscall.number) == ("sys_close", 3)


def test_compound_keys_values_and_stacks():
    both = _of("7.2", "hist:keys=next_pid,next_comm")
    assert [key.text for key in both.entries[0].keys] == ["15", "rcu_preempt"]
    assert both.entries[0].values == {"hitcount": 8, "prev_prio": 960}
    assert both.entries[1].keys[1].number is None
    stack = _of("7.2", "hist:keys=common_stacktrace").entries[0]
    assert stack.keys[0].text.splitlines()[0] == "__schedule+0x8fc/0x1070" and stack.hits == 1
    cpu = _of("7.2", "hist:keys=common_cpucommon_cpu").entries[0]
    assert [(key.name, key.number) for key in cpu.keys] == [("common_cpu", 0), ("common_pid", 393)]


@given(st.lists(st.tuples(st.text(st.characters(exclude_characters="}"), max_size=20), st.integers(0, 1 << 40))))
def test_what_a_process_calls_itself_changes_no_count(entries):
    lines = "".join(f"{{ comm: {name:<50} }} hitcount: {hits:10}\n" for name, hits in entries)
    totals = f"\nTotals:\n    Hits: 7\n    Entries: {len(entries)}\n    Dropped: 2\n"
    text = f"# event histogram\n#\n# trigger info: hist:keys=comm:vals=hitcount [active]\n#\n\n{lines}{totals}"
    (found,) = parse_hist(text)
    assert (found.hits, found.dropped, found.active) == (7, 2, True)
    assert [entry.hits for entry in found.entries] == [hits for _, hits in entries]
    assert [entry.keys[0].text for entry in found.entries] == [name.strip() for name, _ in entries]


FORGED = (
    "x\n# trigger info: hist:keys=comm:vals=hitcount [active]\n{ comm: root } hitcount: 99\n",
    "x\n# event histogram\n#\n# trigger info: hist:keys=comm:vals=hitcount [active]\n#\n\n{ comm: y } hitcount: 99",
    "x\n\nTotals:\n    Hits: 7\n    Entries: 9\n    Dropped: 3\n",
    "x\n    Hits: 7\n",
)
OURS = "hist:name=pw_1_2__0_hits0:keys=common_cpu:vals=hitcount:sort=hitcount:size=2048"


@pytest.mark.parametrize("forged", FORGED)
def test_a_key_that_looks_like_a_histogram_is_none(forged):
    def section(trigger: str, body: str, hits: int) -> str:
        totals = f"Totals:\n    Hits: {hits}\n    Entries: 1\n    Dropped: 0\n"
        return f"# event histogram\n#\n# trigger info: {trigger} [active]\n#\n\n{body}\n\n{totals}"

    text = section("hist:keys=comm:vals=hitcount", f"{{ comm: {forged:<50} }} hitcount: 1", 1)
    text += "\n\n" + section(OURS, "{ common_cpu:    0 } hitcount: 999", 999)
    comm, cpu = parse_hist(text)
    assert (comm.trigger, comm.hits, comm.kernel_count, comm.dropped) == ("hist:keys=comm:vals=hitcount", 1, 1, 0)
    assert (cpu.trigger, cpu.hits, [entry.hits for entry in cpu.entries]) == (OURS, 999, [999])
    assert hits_of(text) == {False: 999}
    assert parse_hist(text[: text.rindex("\nTotals")]) == (comm,)


ROW = "{{ {key}: {text:<50}, pid: {pid:10} }} hitcount: {hits:10}"


def _printed(key: str, rows: list[tuple[str, int, int]]) -> str:
    """A histogram as the kernel prints it: the text as it is, in as many columns as it takes."""
    lines = "".join(ROW.format(key=key, text=text, pid=pid, hits=hits) + "\n" for text, pid, hits in rows)
    head = f"# event histogram\n#\n# trigger info: hist:keys={key},pid:vals=hitcount:sort=hitcount [active]\n#\n\n"
    return f"{head}{lines}\nTotals:\n    Hits: 9\n    Entries: {len(rows)}\n    Dropped: 0\n"


HOSTILE = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "\n",
                "}",
                "{ path: ",
                " } hitcount: 5",
                " } hitcount:          5\n",
                "\n{ path: root",
                ", pid:          1",
                "\tmax: 5",
                ROW.format(key="path", text="root", pid=1, hits=99),
                ROW.format(key="path", text="root", pid=1, hits=99) + "\n",
                "\nTotals:\n    Hits: 1\n    Entries: 9\n    Dropped: 0\n",
            ]
        ),
        st.text(max_size=5),
    ),
    max_size=8,
).map("".join)


@given(st.lists(st.tuples(HOSTILE, st.integers(0, 1 << 22), st.integers(0, 1 << 40)), max_size=5))
def test_a_text_forges_no_entry(rows):
    """Each entry that is shown is one of the kernel's; where that is not sure there is none, and it is said."""
    (found,) = parse_hist(_printed("path", rows), {"path"})
    assert (found.hits, found.kernel_count) == (9, len(rows))
    if found.readings:
        assert found.entries == () and found.readings > len(rows)
    else:
        told = [(entry.keys[0].text, entry.keys[1].number, entry.hits) for entry in found.entries]
        assert told == [(text.strip(), pid, hits) for text, pid, hits in rows]


@pytest.mark.parametrize(
    ("text", "alike"),
    [
        ("a\nb", 0),
        ("x } hitcount: 5\ny", 0),
        ("x, pid: 1 } hitcount: 5\n{ path: y, pid: 2 } hitcount: 7\nz", 2),
        ("x } hitcount: 5\n{ path: y", 2),
        ("x } hitcount:          5\n{ path: root } hitcount:         99\n{ path: y", 3),
    ],
)
def test_entries_that_can_not_be_told_apart_are_said_to_be_so(text, alike):
    (found,) = parse_hist(_printed("path", [(text, 7, 2)]), {"path"})
    assert found.readings == alike
    assert [(entry.keys[0].text, entry.hits) for entry in found.entries] == ([] if alike else [(text, 2)])


NAMES = st.text(st.characters(exclude_characters="}\n"), max_size=20)
LIKE_KEYS = st.lists(st.sampled_from([", pid:", ", path:", ", cpu:", "         77", "x"]), max_size=5).map("".join)


@given(
    st.permutations(["path", "pid", "cpu"]), st.one_of(NAMES, LIKE_KEYS), st.integers(0, 1 << 22), st.integers(0, 64)
)
def test_a_text_of_a_process_is_no_other_key(keys, path, pid, cpu):
    """Wherever it stands among numbers, and whatever keys it looks like."""
    printed = {"path": f"{path:<50}", "pid": f"{pid:10}", "cpu": f"{cpu:10}"}
    line = ", ".join(f"{name}: {printed[name]}" for name in keys)
    head = f"# event histogram\n#\n# trigger info: hist:keys={','.join(keys)}:vals=hitcount [active]\n#\n\n"
    totals = "\nTotals:\n    Hits: 1\n    Entries: 1\n    Dropped: 0\n"
    (found,) = parse_hist(f"{head}{{ {line} }} hitcount: 1\n{totals}", {"path"})
    assert [key.name for key in found.entries[0].keys] == keys
    told = {key.name: key for key in found.entries[0].keys}
    assert (told["path"].text, told["pid"].number, told["cpu"].number) == (path.strip(), pid, cpu)


@given(st.text(max_size=200))
def test_any_text_is_read_without_an_error(text):
    parse_hist(text)
    head = "# event histogram\n#\n# trigger info: hist:keys=a,b.log2 [paused]\n#\n"
    (found,) = parse_hist(f"{head}{text}\nTotals:\n    Hits: 1\n    Entries: 0\n    Dropped: 0")
    assert (found.hits, found.active) == (1, False)


def test_a_file_that_is_cut_off_is_left_out():
    assert parse_hist(TEXTS["7.2"][0].partition("Totals")[0]) == ()


def _of_keys(keys: str, *entries: str) -> str:
    head = f"# event histogram\n#\n# trigger info: hist:keys={keys}:vals=hitcount:sort=hitcount [active]\n#\n\n"
    lines = "".join(f"{{ {one} }} hitcount:          3\n" for one in entries)
    return f"{head}{lines}\nTotals:\n    Hits: 3\n    Entries: {len(entries)}\n    Dropped: 0\n"


def _filled(text: str) -> str:
    """Fill a text up as `%-50s` does: by bytes."""
    return text + " " * (50 - len(text.encode("utf-8", "surrogateescape")))


LIKE_KEYS = st.lists(
    st.sampled_from([", path: ", ", pid: 1", "sh", "/x", ", path:", " ", "é", "\udcff"]), max_size=5
).map("".join)


@given(LIKE_KEYS, LIKE_KEYS, st.integers(0, 1 << 22))
def test_the_name_of_a_task_forges_no_key(comm, path, pid):
    """As prctl(PR_SET_NAME) can have it; the path behind it is another process's, or what that one would hide."""
    while len(comm.encode("utf-8", "surrogateescape")) > 15:
        comm = comm[:-1]
    texts = f"comm: {_filled(comm)}", f"path: {_filled(path)}", f"pid: {pid:10}"
    execname = comm.encode("utf-8", "surrogateescape").ljust(16).decode("utf-8", "surrogateescape")
    for keys, entry in (
        ("comm,path", f"{texts[0]}, {texts[1]}"),
        ("comm,path,pid", ", ".join(texts)),
        ("comm,pid,path", f"{texts[0]}, {texts[2]}, {texts[1]}"),
        ("common_pid.execname,path", f"common_pid: {execname}[{pid:10}], {texts[1]}"),
    ):
        (found,) = parse_hist(_of_keys(keys, entry), {"path"})
        assert not found.readings
        told = {key.name: key.label for key in found.entries[0].keys}
        assert told[keys.partition(",")[0].partition(".")[0]] == comm.strip()
        assert told["path"] == path.strip()


def test_texts_that_can_be_told_apart_in_two_ways_are_said_to_be_so():
    """The first is longer than what it is filled up to; the other entries are sure all the same."""
    first = "/" + "x" * 49 + ", to: /etc" + " " * 60
    entries = f"from: {first}, to: {_filled('/b')}", f"from: {_filled('/a')}, to: {_filled('/b')}"
    (found,) = parse_hist(_of_keys("from,to", *entries), {"from", "to"})
    assert (found.readings, found.kernel_count) == (3, 2)
    assert [[key.text for key in entry.keys] for entry in found.entries] == [["/a", "/b"]]
    (ambiguous,) = found.ambiguous
    assert ambiguous.text == entries[0].strip() and ambiguous.readings == 2
    assert dict(ambiguous.value_texts) == dict(found.entries[0].value_texts)
    (found,) = parse_hist(_of_keys("from,to", entries[1]), {"from", "to"})
    assert [key.text for key in found.entries[0].keys] == ["/a", "/b"]
