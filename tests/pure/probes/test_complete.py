"""What completion offers: ranked, in time, and nothing that the check refuses."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btf.btf import Btf
from btf.kinds import Kind as BtfKind
from btf.search import Search
from probes.attaching.catalog import Catalog, Function
from probes.check import check_typed
from probes.completion.choice import Completion, Completions, ItemKind, NameSources, Priority, ranked
from probes.completion.complete import complete
from probes.facts.facts import Feature
from probes.facts.lookups import Environment, StaticEventField
from probes.probe import ProbeKind
from probes.programs.program import Program, SymbolNotPlaced
from tests.btf_writer import stored
from tests.probes_data import KERNELS, kernel
from tests.pure.probes.test_program import files, program
from tests.steps import at_most

ALL = [*KERNELS, "arm64"]
FIELDS = (
    StaticEventField("prev_comm", "char[16]", 16),
    StaticEventField("prev_pid", "pid_t", 4, signed=True),
    StaticEventField("prev_state", "long", 8, signed=True),
)
VARIABLES = ("init_task", "jiffies", "jiffies_64")
FOLDERS = {"/": ["etc", "usr"], "/usr": ["bin", "lib"], "/usr/bin": ["a b", "pie", "small", "unread"]}
MADE = ("p:pw_1/one vfs_read count=%dx:u64", "p:pw_1/one vfs_write count=%dx:u64", "p:pw_1/two vfs_write")


@functools.cache
def known(name: str) -> NameSources:
    btf, facts, _ = kernel(name)
    facts = replace(facts, features=facts.features | {Feature.UPROBE_EVENTS, Feature.SYNTHETIC_EVENTS})
    catalog = Catalog(btf, facts)
    search = Search(catalog.names)
    points = [n.removeprefix("__probestub_") for n in btf.functions if n.startswith("__probestub_")]

    def functions(query: str) -> Sequence[Function]:
        return [catalog.function(catalog.names[i]) for i in search.find(query, 60).indices]

    def event(group: str, name: str) -> tuple[StaticEventField, ...] | None:
        return FIELDS if (group, name) == ("sched", "sched_switch") else None

    structs = sorted({*btf.names_of(BtfKind.STRUCT)})
    return NameSources(
        facts,
        lambda name: btf,
        functions,
        catalog.function,
        lambda query: [point for point in points if query in point],
        lambda query: [one for one in ("sched/sched_switch",) if query in one],
        Environment(event, program=look),
        FOLDERS.get,
        lambda query: [one for one in VARIABLES if one.startswith(query)],
        lambda query: [one for one in structs if query in one],
        lambda: MADE,
    )


def look(path: str) -> Program:
    if not path.startswith("/usr/bin/") or path.removeprefix("/usr/bin/") not in files():
        raise SymbolNotPlaced("no_symbols", "not read yet")
    return program(path.removeprefix("/usr/bin/"))


def offered(text: str, name: str = "7.2") -> Completions:
    return complete(text, len(text), known(name))


def texts(text: str, name: str = "7.2") -> list[str]:
    return [item.text for item in offered(text, name).items]


def take(text: str, wanted: str, name: str = "7.2") -> str:
    """The text with the item of this label taken."""
    found = offered(text, name)
    item = next(item for item in found.items if item.label == wanted)
    return found.taken(text, item)[0]


def verdict(text: str, name: str) -> str:
    now = known(name)
    error = check_typed(text, now.btf(""), now.facts, environment=now.environment, existing=MADE).verdict.error
    return "" if error is None else f"{error.code} {error.token}"


def test_a_path_by_taking_what_is_offered() -> None:
    text = ""
    for label in (
        "f",
        "vfs_read",
        "vfs_read%return",
        "file->",
        "f_path.",
        "dentry->",
        "d_name.",
        "name",
        "name:string",
    ):
        text = take(text + ("vfs_re" if label == "vfs_read" else ""), label)
    assert text == "f vfs_read%return file->f_path.dentry->d_name.name:string "
    assert verdict(text, "7.2") == ""


def test_what_ends_the_path_is_offered_with_its_best_type_first() -> None:
    found = offered("f vfs_read file->f_path.dentry->d_name.name")
    assert [item.label for item in found.items] == ["name:string", "name:ustring", "name:x64"]
    assert found.items[0].kind is ItemKind.TYPE
    assert found.items[0].description == "text in the kernel's memory"
    assert found.urge is Priority.USUAL
    assert [item.label for item in offered("f vfs_read count").items] == ["count", "count:s64", "count:x64"]
    assert offered("f vfs_read count").urge is Priority.STANDS


def test_a_member_shows_its_c_type_and_where_it_is() -> None:
    item = offered("f vfs_read file->f_pos").items[0]
    assert (item.label, item.c_type) == ("f_pos", "loff_t")
    assert item.offset is not None and item.offset > 0
    assert next(i for i in offered("f vfs_read file->").items if i.label == "f_mode").description == "u32"


@pytest.mark.parametrize("typed", ["file->f_po", "file.f_po", "file->F_PO", "x=file->f_po", "count file->f_po"])
def test_members_are_found_however_they_are_asked_for(typed: str) -> None:
    text = take(f"f vfs_read {typed}", "f_pos")
    assert text.endswith("file->f_pos")


@pytest.mark.parametrize(
    ("typed", "name"),
    [("f vfs_read file->f_falgs", "f_flags"), ("f vfs_read cuont", "count"), ("f vfs_read fiel", "file->")],
)
def test_a_misspelt_name_offers_the_similar_ones(typed: str, name: str) -> None:
    assert name in [item.label for item in offered(typed).items]
    assert not offered("f vfs_read zzz").items


def test_variables_are_those_of_the_place_and_the_kernel() -> None:
    assert {"$retval", "$$args ", "$arg* ", "$comm", "$stack", "$arg1"} <= set(texts("f vfs_read $"))
    assert "$retval" not in texts("p vfs_read ")
    assert texts("f vfs_read%return ")[0] == "$retval"
    assert "%di" in texts("p vfs_read %")
    assert texts("f vfs_read %") == []
    assert "%x0" in texts("p vfs_read %", "arm64")


def test_letters_are_those_of_the_kernel() -> None:
    assert texts("") == ["f ", "p ", "r ", "t ", "e ", "s:", "on ", "lat:", "-:"]
    assert texts("", "6.1") == ["f ", "p ", "r ", "e ", "s:", "on ", "lat:", "-:"]
    assert texts("o") == ["on "]
    assert texts("la") == ["lat:"]
    assert offered("z").note == "begin with f, p, r, t, e, s:, on or lat:"
    assert texts("f:") == []
    assert offered("f:").note


def test_what_is_made_of_events_that_are_there() -> None:
    text = take(take("", "on") + "switch", "sched/sched_switch")
    assert text == "on sched/sched_switch "
    assert verdict(text, "7.2") == ""
    assert offered("lat:").note.startswith("NAME BEGIN to END by KEY")
    text = "lat:x "
    for label in ("sched/sched_switch", "to", "sched/sched_switch", "by"):
        text = take(text, label)
    assert text == "lat:x sched/sched_switch to sched/sched_switch by "
    assert "KEY=KEY" in offered(text).note
    assert texts("lat:x {f vfs_read count} ") == []


def test_a_name_with_an_underscore_in_front_comes_behind_its_like() -> None:
    names = ["__d_name", "_lock", "d_name", "d_iname", "name", "__name"]
    assert [names[n] for n in ranked(names, "name")] == ["name", "d_name", "d_iname", "__d_name", "__name"]
    assert [names[n] for n in ranked(names, "__")] == ["__d_name", "__name"]
    assert [names[n] for n in ranked(names, "")] == ["d_name", "d_iname", "name", "__d_name", "_lock", "__name"]


def test_places_can_be_attached_to() -> None:
    assert texts("f vfs_read")[:3] == ["vfs_read ", "vfs_read%return ", "vfs_read%both "]
    assert texts("r vfs_read")[0] == "vfs_read "
    assert texts("f vfs_read%b") == ["vfs_read%both "]
    assert texts("f ") == []
    assert offered("f ").note == "type part of a function's name"
    for item in offered("p vfs").items:
        assert ProbeKind.KPROBE in known("7.2").function(item.label).kinds


@pytest.mark.parametrize("typed", ["vfs_re*", "vfs_rea?", "vfs_re[an]*", "vfs_re*%return", "no_such_function_*"])
@pytest.mark.parametrize("head", ["f", "p"])
def test_a_pattern_stands_as_it_is(head: str, typed: str) -> None:
    assert offered(f"{head} {typed}").urge is Priority.STANDS


def test_where_a_pattern_is_probed_is_completed() -> None:
    found = offered("f vfs_re*%re")
    assert [one.text for one in found.items] == ["vfs_re*%return "]
    assert found.urge is Priority.NEEDED


def test_tracepoints_and_events() -> None:
    assert "sched_switch " in texts("t sched_sw")
    assert "prev->" in texts("t sched_switch ")
    assert texts("e sched") == ["sched/sched_switch "]
    for head in ("e ", "on ", "lat:wait ", "lat:wait sched.sched_switch to "):
        assert texts(f"{head}sched.sched_sw") == ["sched.sched_switch "]
        assert texts(f"{head}sched/sched_sw") == ["sched/sched_switch "]
    assert texts("e sched/sched_switch $prev_") == ["$prev_comm", "$prev_pid", "$prev_state"]
    assert texts("e sched/sched_switch $prev_comm")[0] == ":string "
    assert ":string " not in texts("e sched/sched_switch $prev_pid")
    assert offered("e sched/sched_wakeup ").note == "the fields of this event are not known yet"


def test_filters() -> None:
    assert texts("f vfs_read count file->f_pos if ")[:2] == ["count ", "f_pos "]
    assert texts("f vfs_read count if count ") == ["== ", "!= ", "< ", "<= ", "> ", ">= ", "& "]
    assert texts("f vfs_read $comm if comm ") == ["== ", "!= ", "~ "]
    assert texts("f vfs_read count if count > 3 ") == ["&& ", "|| "]
    assert texts('f vfs_read $comm if comm ~ "a*" && co')[0] == "comm "
    assert texts("f vfs_read count if count > ") == []
    assert offered("f vfs_read count if count > ").note == "a number"


def test_the_function_of_a_pattern_is_a_field_of_its_filter() -> None:
    begin = "f vfs_* count=$arg1:u64 if "
    assert texts(begin)[:2] == ["func ", "count "] and texts(f"{begin}fu") == ["func "]
    assert texts(f"{begin}func ") == ["== ", "!= "]
    assert all(verdict(f"{begin}func {sign}vfs_read", "7.2") == "" for sign in texts(f"{begin}func "))
    names = texts(f"{begin}func == ")
    assert "vfs_read " in names and all(name.startswith("vfs_") for name in names)
    assert texts(f"{begin}func != vfs_rea")[0] == "vfs_read "
    assert texts(f"{begin}func == ext4_") == []
    assert offered(f"{begin}func == ext4_").note == "no function has this name"
    assert "func " not in texts("f vfs_read count if ")
    for kernel_ in KERNELS:
        offers = "func " in texts(begin, kernel_)
        assert offers == (verdict(f"{begin}func == vfs_read", kernel_) == ""), kernel_


def test_a_place_in_a_program_by_taking_what_is_offered() -> None:
    text = "p /"
    for label in ("usr", "usr/", "bin", "bin/", "pie", "pie:"):
        text = take(text, label)
    assert text == "p /usr/bin/pie:"
    text = take(f"{text}wor", "work")
    assert [item.label for item in offered(text).items][:2] == ["work", "work%return"]
    text = take(text, "work")
    assert text == "p /usr/bin/pie:work "
    assert verdict(text, "7.2") == ""
    assert {"$arg1", "$comm", "%di", "$stack"} <= set(texts(text))
    assert "$retval" in texts("p /usr/bin/pie:work%return ")
    assert "$retval" not in texts(text)
    assert all(verdict(f"{text}{one}", "7.2") == "" for one in texts(text) if not one.startswith("if"))


def test_what_is_not_known_of_a_path_is_said() -> None:
    assert offered("p /etc/").note == "no such folder is known"
    assert offered("p /usr/bin/x").note == "nothing in this folder has this in its name"
    assert "a b" not in [item.label for item in offered("p /usr/bin/").items]  # a blank would end the word
    assert offered("p /usr/bin/unread:").note == "its symbols are not known here: give an offset, 0x…"
    assert "f /" not in texts("f /")


def test_static_probes_of_a_program() -> None:
    static = [item.label for item in offered("p /usr/bin/pie:sdt_").items]
    assert static and all(one.startswith("sdt_") for one in static)
    assert all(verdict(f"p /usr/bin/pie:{one}", "7.2") == "" for one in static)
    assert [item.label for item in offered("r /usr/bin/pie:").items] == []  # they do not return


def test_a_synthetic_event() -> None:
    text = "s:"
    assert offered(text).note
    text = take("s:late", "late")
    assert {"u64", "char", "pid_t", "unsigned int"} <= {item.label for item in offered(text).items}
    assert [item.label for item in offered(f"{text}unsigned c").items] == ["unsigned char"]
    text = take(f"{text}pid", "pid_t")
    assert offered(text).note.startswith("a name for the field")
    text = take(f"{text}who", ";")
    assert text == "s:late pid_t who; "
    text = f"{take(f'{text}ch', 'char')}comm[16]"
    assert text == "s:late pid_t who; char comm[16]"
    assert (verdict(text, "7.2"), offered(text).urge) == ("", Priority.STANDS)


def test_a_deletion_of_our_own_events() -> None:
    assert set(texts("-")) == {"-:pw_1/two", "-:pw_1/one"}
    assert texts("-:tw") == ["-:pw_1/two"]
    assert all(verdict(one, "7.2") == "" for one in texts("-:"))
    assert offered("-:zz").note == "no event that we made has this in its name"
    assert offered("-:pw_1/one").urge is Priority.STANDS


def test_variables_of_the_kernel() -> None:
    assert [item.label for item in offered("p vfs_read @jif").items] == ["@jiffies", "@jiffies_64"]
    found = texts("p vfs_read @jiffies")
    assert "@jiffies:x64 " in found and "@jiffies_64" in found
    inside = texts("p vfs_read +8(@init_task")
    assert "+8(@init_task" not in inside and "@init_task):x64 " in inside
    assert all(verdict(f"p vfs_read {one}", "7.2") == "" for one in found)
    assert offered("p vfs_read @").note


def test_a_field_of_an_event_is_read_as_a_structure() -> None:
    """7.1 and 7.2 cast fields of events."""
    head = "e sched/sched_switch "
    assert "(task_struct)" in texts(f"{head}(task_str")
    assert texts(f"{head}(task_struct)") == ["(task_struct)prev_pid->", "(task_struct)prev_state->"]
    path = f"{head}(task_struct)prev_state->"
    assert "(task_struct)prev_state->comm" in texts(f"{path}com")
    text = take(take(f"{path}comm", "(task_struct)prev_state->comm:string"), "if")
    assert text.startswith(f"{path}comm:string ")
    within = [item.label for item in offered(f"{path}mm->").items]
    assert within == [] or all(within)
    assert texts(f"{head}(task_str", "6.12") == []
    assert texts("f vfs_read (fil") == []


def test_a_cast_of_any_expression() -> None:
    """7.3 casts arguments, too."""
    now = known("7.2")
    newer = replace(now, facts=replace(now.facts, features=now.facts.features | {Feature.TYPECAST}))
    text = "f vfs_read (file)f"
    assert [item.text for item in complete(text, len(text), newer).items] == ["(file)file->", "(file)buf->"]
    text = "f vfs_read (file)file->f_mod"
    assert "(file)file->f_mode" in [item.text for item in complete(text, len(text), newer).items]
    text = "f vfs_read (file)file->f_mode"
    for item in complete(text, len(text), newer).items:
        if item.kind is ItemKind.TYPE:
            whole = f"f vfs_read {item.text}"
            assert check_typed(whole, newer.btf(""), newer.facts).verdict.ok, whole


def test_values_of_an_enum_have_names() -> None:
    name = "f wake_up_new_task p->sched_task_group->css.flags"
    assert offered(name).items
    found = [item for item in _enum_values() if item.label]
    assert found
    assert all(item.text.strip() == item.label and item.description.lstrip("-").isdigit() for item in found)


def test_names_of_errors_are_completed_where_something_was_returned() -> None:
    text = "f vfs_read%return $retval if ret == "
    assert "-ENOENT" in [item.label for item in offered(text).items]
    found = offered(f"{text}-eno")
    assert [item.label for item in found.items][:2] == ["-ENOENT", "-ENOEXEC"]
    taken = found.taken(f"{text}-eno", found.items[0])[0]
    checked = check_typed(taken, known("7.2").btf(""), known("7.2").facts)
    assert checked.plan is not None, checked.verdict
    assert checked.plan.events[0].filter == "ret == -2"
    assert not offered("f vfs_read count if count == ").items


def _enum_values() -> Sequence[Completion]:
    """Values for the first argument of some function that is an enum."""
    btf = kernel("7.2").btf
    for name in btf.functions:
        prototype = btf.prototype(btf.function(name))  # type: ignore[arg-type]
        for param in prototype.params:
            if btf.type(param.type_id).__class__.__name__ == "Enum" and known("7.2").function(name).kinds:
                return offered(f"f {name} {param.name} if {param.name} == ").items
    return ()


def test_what_is_typed_already_is_not_doubled() -> None:
    text = "f vfs_read file->f_pa.dentry->d_flags count"
    found = complete(text, text.index("_pa") + 3, known("7.2"))
    item = next(item for item in found.items if item.label == "f_path.")
    assert found.taken(text, item)[0] == "f vfs_read file->f_path.dentry->d_flags count"
    text = "f vfs_re count"
    found = complete(text, 8, known("7.2"))
    assert found.taken(text, found.items[0])[0] == "f vfs_read count"
    text = "f vfs_readlink"
    assert complete(text, 8, known("7.2")).end == len(text)


def test_an_event_as_it_is_has_a_filter_on_its_fields() -> None:
    assert texts("on sched/sched_switch ") == texts("on sched/sched_switch i") == ["if "]
    assert offered("on sched/sched_switch ").urge is Priority.STANDS
    assert texts("on sched/sched_switch if ") == [f"{field.name} " for field in FIELDS]
    assert texts("on sched/sched_switch if prev_p")[0].startswith("prev_p")
    assert "== " in texts("on sched/sched_switch if prev_pid ")
    assert offered("on sched/sched_switch if ").urge is Priority.NEEDED
    assert texts("on sched/sched_switch prev_pid ") == texts("on no/event if ") == []


@pytest.mark.parametrize("name", KERNELS)
def test_open_brackets_want_what_can_be_read_in_them(name: str) -> None:
    """The kernel reads no memory behind $comm, and nothing stands that is not closed."""
    for text in (
        "f vfs_read +8(",
        "f vfs_read count x=+u8(-16($",
        "f vfs_read +8(count",
        "f vfs_read +8(file->f_inode",
    ):
        found = offered(text, name)
        assert found.items and found.urge is Priority.NEEDED
        assert not any("comm" in item.text for item in found.items)
    assert "$stack" in texts("f vfs_read +8(", name) and "$comm" in texts("f vfs_read ", name)


def _walk(name: str, letter: str, seed: int) -> tuple[str, bool]:
    """Take random items; gives the text, and whether it is said to stand."""
    dice = random.Random(seed)
    text = f"{letter} "
    places = {
        "t": known(name).tracepoints(""),
        "e": known(name).events(""),
    }.get(letter) or [f for f in kernel(name).btf.functions if known(name).function(f).kinds]
    if letter in "pr":
        places = [place for place in places if ProbeKind.KPROBE in known(name).function(place).kinds]
    if not places or f"{letter} " not in texts("", name):
        return "", False
    text += dice.choice(places) + ("%return" if letter == "f" and dice.random() < 0.4 else "") + " "
    for _ in range(12):
        found = offered(text, name)
        if not found.items:
            return text, found.urge is not Priority.NEEDED
        if text.endswith(" ") and text.count(" ") > 2 and found.urge is not Priority.NEEDED and dice.random() < 0.5:
            return text, True
        text = found.taken(text, dice.choice(found.items))[0]
        if len(text) > 150:
            break
    return text, offered(text, name).urge is not Priority.NEEDED


@pytest.mark.parametrize("letter", list("fprte"))
@pytest.mark.parametrize("name", ALL)
def test_what_is_offered_is_accepted(name: str, letter: str) -> None:
    """What completion offers and the check refuses is a defect."""
    stood = 0
    for seed in range(12):
        text, stands = _walk(name, letter, seed)
        if stands:
            stood += 1
            assert verdict(text, name) in ("", "ARG_TOO_LONG"), text
    assert stood > 4 or (letter == "t" and name in ("6.1", "arm64"))


def _walk_on(text: str, name: str, dice: random.Random) -> str:
    """Take random items to where the text can stand; names that nobody offers are made up."""
    for number in range(40):
        found = offered(text, name)
        ends = text.endswith(" ") or text.startswith("s:")
        if found.urge is not Priority.NEEDED and ends and dice.random() < 0.3:
            break
        if not found.items and found.urge is not Priority.NEEDED:
            break
        if found.items:
            text = found.taken(text, dice.choice(found.items))[0]
        elif text.startswith("s:") and not text.endswith(f"f{number - 1}"):
            text += f"f{number}" + dice.choice(["", "[4]", "[]"] if text.endswith("char ") else [""])
        else:
            break
        if len(text) > 160:
            break
    return text


@pytest.mark.parametrize(
    "head",
    [
        "p /usr/bin/pie:",
        "r /usr/bin/pie:w",
        "p /usr/bin/pie:sdt_",
        "p /usr/bin/pie:work $",
        "p /usr/bin/pie:work %",
        "s:made ",
        "s:made char f[16]; ",
        "-:",
        "p vfs_read x=@j",
        "f vfs_read +8(@i",
        "e sched/sched_switch (task_str",
        "e sched/sched_switch x=(task_struct)prev_state->",
    ],
)
@pytest.mark.parametrize("name", ALL)
def test_what_is_offered_beside_functions_is_accepted(name: str, head: str) -> None:
    """Of each kind of place, and whatever is taken on the way."""
    stood = 0
    for seed in range(8):
        text = _walk_on(head, name, random.Random(f"{head}{seed}"))
        found = offered(text, name)
        if found.urge is Priority.NEEDED or text == head:
            continue
        stood += 1
        assert verdict(text, name) in ("", "ARG_TOO_LONG"), text
    casts = "(" in head and head[0] == "e"
    elsewhere = "/usr/bin" in head and name == "arm64"
    assert stood > 3 or (casts and name != "7.2") or elsewhere or (head.startswith("f") and name in ("6.1", "arm64"))


@pytest.mark.parametrize("name", ALL)
def test_each_leaf_of_many_structures_is_accepted(name: str) -> None:
    btf = kernel(name).btf
    dice = random.Random(7)
    functions = [f for f in btf.functions if known(name).function(f).kinds]
    leaves = 0
    for function in dice.sample(functions, min(6, len(functions))):
        for item in offered(f"f {function} ", name).items:
            head = f"f {function} {item.text}"
            found = offered(head, name).items if item.text.endswith("->") else [item]
            for one in dice.sample(found, min(60, len(found))):
                text = f"f {function} {one.text}" if one is item else offered(head, name).taken(head, one)[0]
                if text.endswith(("->", ".", "[", "if ")):
                    continue
                leaves += 1
                assert verdict(text, name) == "", text
    assert leaves > 20


@given(st.text(st.sampled_from("fprte: vfs_read%return->.[]$()+-8@,=!&|~<>if\"'\\x0count"), max_size=60), st.data())
def test_no_text_is_too_odd(text: str, data: st.DataObject) -> None:
    cursor = data.draw(st.integers(0, len(text)))
    found = complete(text, cursor, known("7.2"))
    assert 0 <= found.start <= found.end <= len(text)
    for item in found.items[:5]:
        new, place = found.taken(text, item)
        assert 0 <= place <= len(new)
        assert new[: found.start] == text[: found.start]


def test_no_key_asks_for_much_work() -> None:
    """The second time: types are decoded by the first. `make bench` has the seconds of it."""
    btf = Btf.load(stored("btf-7.2"))
    _, facts, _ = kernel("7.2")
    catalog = Catalog(btf, facts)
    search = Search(btf.functions)

    def functions(query: str) -> Sequence[Function]:
        return [catalog.function(btf.functions[i]) for i in search.find(query, 60).indices]

    whole = NameSources(facts, lambda name: btf, functions, catalog.function)
    line = "f wake_up_new_task%both p->mm->exe_file->f_path.dentry->d_name.name:string p->comm if comm == "
    for end in range(len(line) + 1):
        complete(line, end, whole)
        with at_most(80_000):
            complete(line, end, whole)


def test_a_parameter_of_damaged_types_may_have_no_name():
    types = kernel("7.2")[0]
    data = bytearray(types._data)
    at = types.offset(types.function("vfs_read").type_id) + 12  # behind the header of the prototype
    data[at : at + 4] = bytes(4)
    damaged = Btf.load(bytes(data))
    sources = replace(known("7.2"), btf=lambda _: damaged)
    for text in ("f vfs_read count=", "f vfs_read -", "f vfs_read (struct file *)", "f vfs_read count if "):
        complete(text, len(text), sources)
    found = complete("f vfs_read ", 11, sources)
    assert [one.label for one in found.items if one.kind is ItemKind.ARGUMENT] == ["buf", "count", "pos"]
