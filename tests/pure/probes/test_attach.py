"""Why a function can't be probed: each reason from made-up facts, with the way out that belongs to it."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest

from btf.btf import Btf
from btf.kinds import Kind as BtfKind
from kernel.attach.explain import Attaching
from kernel.connection.open_target import open_target, shipped_recording
from kernel.connection.planner import Connection
from probes.attaching.attach import attachability, where_is
from probes.attaching.catalog import Catalog
from probes.attaching.kernel_text import Section, Sections
from probes.attaching.values import ALL, Absent, Attachability, Ground, How, Symbol, Why
from probes.facts.facts import Feature, TargetFacts, Trouble
from probes.facts.json_values import facts_from_dict, facts_to_dict
from probes.probe import Kind
from tests.btf_writer import Writer
from tests.probes_data import kernel

BOTH = frozenset({Feature.DYNAMIC_EVENTS, Feature.KPROBE_EVENTS, Feature.FPROBE_EVENTS})
FACTS = TargetFacts(
    "x86_64",
    "6.12.0",
    features=BOTH,
    functions=(
        "vfs_read",
        "uid_eq.isra.0",
        "half",
        "half.part.0",
        "listed_twin",
        "listed_twin",
        "one_of_two",
        "kprobe_busy",
        "ext4_readdir [ext4]",
        "__ftrace_invalid_address___16",
    ),
    blacklist=frozenset({"kprobe_busy", "bsearch", "notify_die"}),
)
OLD = replace(FACTS, features=BOTH - {Feature.FPROBE_EVENTS})
TABLE = {
    "vfs_read": [Symbol(0x1000)],
    "__pfx_vfs_read": [Symbol(0xFF0)],
    "vfs_read.cold": [Symbol(0x9000)],
    "half": [Symbol(0x1100)],
    "half.part.0": [Symbol(0x1200)],
    "uid_eq.isra.0": [Symbol(0x1300)],
    "listed_twin": [Symbol(0x2000, before="a_open", after="a_close"), Symbol(0x3000, module="mod", after="m_exit")],
    "one_of_two": [Symbol(0x4000), Symbol(0x5000, code=False)],
    "kprobe_busy": [Symbol(0x6000)],
    "bsearch": [Symbol(0x6100)],
    "strcmp": [Symbol(0x7000)],
    "hidden_twin": [Symbol(0x7100), Symbol(0x7200)],
    "start_kernel": [Symbol(0x8000, section=Section.INIT)],
    "poll_idle": [Symbol(0x8100, section=Section.NOINSTR)],
    "entry_SYSCALL_64": [Symbol(0x8200, section=Section.ENTRY)],
    "notify_die": [Symbol(0x8300)],
    "jiffies": [Symbol(0x8400, code=False)],
    "strcmp.cold": [Symbol(0x8500)],
    "__x64_sys_getpid": [Symbol(0x1000, aliases=("vfs_read",))],
    "__x64_sys_barred": [Symbol(0x6000, aliases=("kprobe_busy",))],
    "__x64_sys_silent": [Symbol(0x7000, aliases=("strcmp",))],
}


def absent(name: str) -> list[Absent]:
    return {"nf_log": [Absent("nf_tables", certain=True)], "xfs_open": [Absent("xfs", certain=False)]}.get(name, [])


GROUND = Ground(
    symbols=lambda name: TABLE.get(name, []),
    copies=lambda name: ["early.constprop.0"] if name == "early" else [],
    absent=absent,
)


def about(name: str, facts: TargetFacts = FACTS, ground: Ground = GROUND) -> Attachability:
    return attachability(name, facts, None, ground)


def whys(found: Attachability) -> list[Why]:
    return [reason.why for reason in found.reasons]


@pytest.mark.parametrize(
    ("name", "why", "says"),
    [
        ("strcmp", Why.NOTRACE, "notrace"),
        ("bsearch", Why.BLACKLIST, "kprobe blacklist"),
        ("notify_die", Why.BLACKLIST, "kprobe blacklist"),
        ("poll_idle", Why.NOINSTR, "noinstr"),
        ("entry_SYSCALL_64", Why.ENTRY, "assembly"),
        ("start_kernel", Why.INIT, "boots"),
        ("jiffies", Why.DATA, "variable"),
        ("__pfx_vfs_read", Why.PADDING, "padding in front of vfs_read"),
        ("strcmp.cold", Why.COLD, "unlikely part of strcmp"),
        ("__ftrace_invalid_address___16", Why.WEAK, "weak"),
        ("uid_eq", Why.RENAMED, "uid_eq.isra.0"),
        ("early", Why.RENAMED, "early.constprop.0 of it, which can't be traced either"),
        ("nf_log", Why.MODULE, "is in the module nf_tables, which isn't loaded"),
        ("xfs_open", Why.MODULE, "may be, by its name, in the module xfs"),
        ("nobody", Why.UNKNOWN, "no such function"),
    ],
)
def test_nothing_can_attach(name: str, why: Why, says: str) -> None:
    found = about(name)
    assert found.kinds == frozenset()
    assert whys(found)[0] is why
    assert says in found.text
    assert found.word == why.value


def test_everything_can_attach() -> None:
    catalog = Catalog(kernel("7.2")[0], FACTS)
    catalog.ground = GROUND
    found = catalog.attachability("vfs_read")
    assert found.kinds == {Kind.FPROBE, Kind.KPROBE, Kind.KRETPROBE}
    assert not (found.reasons or found.instead or found.called)


def test_types_alone_do_not_make_code() -> None:
    btf = kernel("7.2")[0]
    found = attachability("vfs_write", FACTS, btf, GROUND)
    assert whys(found) == [Why.INLINED]
    assert whys(attachability("vfs_write", FACTS, btf)) == [Why.UNTRACED], "without symbols nobody knows which"


def test_copies_and_their_originals() -> None:
    renamed = about("uid_eq")
    assert [(str(way.place), way.how) for way in renamed.instead] == [("uid_eq.isra.0", How.COPY)]
    copy = about("uid_eq.isra.0")
    assert copy.kinds == {Kind.FPROBE, Kind.KPROBE, Kind.KRETPROBE}
    assert whys(copy) == [Why.COPY]
    assert "isra copy of uid_eq" in copy.text
    part = about("half")
    assert part.kinds
    assert Why.COPIES in whys(part)
    assert [str(way.place) for way in part.instead] == ["half.part.0"]
    assert [(str(way.place), way.how) for way in about("half.part.0").instead] == [("half", How.ORIGINAL)]
    assert [str(way.place) for way in about("vfs_read.cold").instead] == ["vfs_read"]
    assert [str(way.place) for way in about("__pfx_vfs_read").instead] == ["vfs_read"]


def test_a_kprobe_may_sit_on_what_is_named_after_a_traceable_function() -> None:
    cold = about("vfs_read.cold")
    assert cold.kinds == {Kind.KPROBE}
    assert whys(cold) == [Why.COLD]
    assert about("vfs_read.cold", replace(FACTS, functions=("other",))).kinds == frozenset()
    assert about("vfs_read.cold", replace(FACTS, blacklist=frozenset({"vfs_read.cold"}))).kinds == frozenset()
    assert about("vfs_read.cold", ground=Ground()).kinds == frozenset(), "it may not be there"
    late = Ground(symbols=lambda name: [Symbol(1, section=None if name == "vfs_read" else Section.INIT)])
    assert about("vfs_read.constprop.0", ground=late).kinds == frozenset()
    copy = about("vfs_read.isra.0", ground=Ground(symbols=lambda _: [Symbol(1)]))
    assert copy.kinds == {Kind.KPROBE}
    assert whys(copy) == [Why.NOTRACE]
    assert about("vfs_read.isra.0", ground=Ground(symbols=lambda _: [Symbol(1), Symbol(2)])).kinds == frozenset()
    assert about("listed_twin.cold", ground=Ground(symbols=lambda name: [Symbol(1)] * (1 + ("." not in name)))).kinds
    assert not about("vfs_read.cold", ground=Ground(symbols=lambda name: [Symbol(1)] * (1 + ("." not in name)))).kinds


def test_twins() -> None:
    new, old = about("listed_twin"), about("listed_twin", OLD)
    assert new.kinds == {Kind.FPROBE}
    assert old.kinds == frozenset()
    assert "an fprobe takes all" in new.text
    assert "fprobe" not in old.text
    for found in (new, old):
        assert whys(found)[0] is Why.TWINS
        assert [(str(way.place), way.how, way.note) for way in found.instead] == [
            ("0x2000", How.TWIN, "between a_open and a_close"),
            ("0x3000", How.TWIN, "in mod, beside m_exit"),
        ]
        assert all(way.kinds == {Kind.KPROBE, Kind.KRETPROBE} for way in found.instead)
    assert where_is(Symbol(1)) == "beside ?"


def test_newer_kernels_take_their_own_for_a_name_that_a_module_has_too() -> None:
    shared = Ground(symbols=lambda _: [Symbol(0x1000), Symbol(0x2000, module="mod")])
    functions = ("shared", "shared [mod]")
    newer = replace(FACTS, functions=functions, readme=":mod:<module>")
    assert about("shared", newer, shared).kinds == {Kind.FPROBE, Kind.KPROBE, Kind.KRETPROBE}
    assert "a kprobe takes the kernel's own, an fprobe takes all" in about("shared", newer, shared).text
    assert about("shared", replace(newer, functions=("shared [mod]",)), shared).kinds == {Kind.FPROBE}
    assert about("shared", replace(newer, readme=""), shared).kinds == {Kind.FPROBE}
    both = Ground(symbols=lambda _: [Symbol(0x1000), Symbol(0x1800), Symbol(0x2000, module="mod")])
    assert about("shared", newer, both).kinds == {Kind.FPROBE}


def test_a_name_shared_with_something_else_is_no_name_for_a_kprobe() -> None:
    found = about("one_of_two")
    assert found.kinds == {Kind.FPROBE}
    assert "2 symbols" in found.text
    assert found.instead == ()
    assert about("one_of_two", ground=Ground()).kinds == {Kind.FPROBE, Kind.KPROBE, Kind.KRETPROBE}
    hidden = about("hidden_twin")
    assert whys(hidden) == [Why.NOTRACE, Why.TWINS]
    assert hidden.instead == (), "an address is no way round notrace"


def test_the_blacklist_is_for_kprobes() -> None:
    assert about("kprobe_busy").kinds == {Kind.FPROBE}
    assert about("kprobe_busy", OLD).kinds == frozenset()
    assert about("kprobe_busy", OLD).called
    copies = replace(FACTS, functions=("kprobe_busy", "kprobe_busy.isra.0", "uid_eq.isra.0"))
    assert about("kprobe_busy.isra.0", copies).kinds == {Kind.FPROBE}, "with its function"
    assert whys(about("kprobe_busy.cold", copies, Ground(symbols=lambda _: [Symbol(1)]))) == [Why.COLD]
    assert about("kprobe_busy.cold", copies, Ground(symbols=lambda _: [Symbol(1)])).kinds == frozenset()


def test_without_symbols_what_is_sure_is_said() -> None:
    bare = Ground()
    assert whys(about("bsearch", ground=bare)) == [Why.BLACKLIST]
    assert whys(about("uid_eq", ground=bare)) == [Why.RENAMED]
    assert whys(about("__pfx_vfs_read", ground=bare)) == [Why.PADDING]
    assert whys(about("vfs_read.cold", ground=bare)) == [Why.COLD]
    assert about("nobody", ground=bare).text == "no such function on this target"


def test_a_prefix_is_no_proof() -> None:
    """With the table of symbols, a name that only looks like padding or a cold part isn't there."""
    assert whys(about("__pfx_nobody")) == [Why.UNKNOWN]
    assert whys(about("nobody.cold")) == [Why.UNKNOWN]


def test_kernels_that_can_do_less() -> None:
    none = replace(FACTS, features=frozenset())
    assert whys(about("vfs_read", none))[0] is Why.TRACER
    assert about("vfs_read", none).kinds == frozenset()
    only_f = about("vfs_read", replace(FACTS, features=BOTH - {Feature.KPROBE_EVENTS}))
    assert only_f.kinds == {Kind.FPROBE}
    assert whys(only_f)[0] is Why.NO_KPROBES


@pytest.mark.parametrize("why", [Why.PRIVILEGES, Why.LOCKDOWN, Why.MACHINE])
def test_what_is_in_the_way_of_every_probe_comes_first(why: Why) -> None:
    trouble = Trouble("something is in the way", "take it away", code="" if why is Why.MACHINE else why)
    facts = replace(FACTS, troubles=(Trouble("only a pity", fatal=False), trouble))
    found = about("vfs_read", facts)
    assert found.kinds == frozenset()
    assert [(r.why, r.text, r.remedy) for r in found.reasons[:1]] == [
        (why, "something is in the way", "take it away")
    ]
    assert whys(about("strcmp", facts)) == [why, Why.NOTRACE]
    unseen = about("vfs_read", replace(facts, functions=()))
    assert whys(unseen) == [why], "nothing is known of a function where the list can't be read"
    assert whys(about("nobody", replace(facts, functions=()))) == [why, Why.UNKNOWN]


def test_codes_of_troubles_are_kept_in_recordings() -> None:
    facts = replace(FACTS, troubles=(Trouble("no", "yes", code=Why.LOCKDOWN),))
    assert facts_from_dict(facts_to_dict(facts)).troubles == facts.troubles
    old = facts_to_dict(facts)
    del old["troubles"][0]["code"]
    assert facts_from_dict(old).troubles == (Trouble("no", "yes"),)


def test_sections() -> None:
    marks = {"_stext": 100, "_etext": 200, "_sinittext": 300, "_einittext": 400, "__init_begin": 250}
    marks |= {"__init_end": 450, "__noinstr_text_start": 120, "__noinstr_text_end": 130, "__entry_text_start": 150}
    sections = Sections(marks.get)
    assert [sections.at(a) for a in (119, 120, 129, 130, 150)] == [None, Section.NOINSTR, Section.NOINSTR, None, None]
    assert [sections.at(a) for a in (299, 300, 420, 450)] == [Section.INIT, Section.INIT, Section.INIT, None]
    assert [sections.is_code(a) for a in (99, 100, 199, 200, 350)] == [False, True, True, False, True]
    assert Sections({}.get).is_code(5) is None


def test_names_of_real_kernels_have_one_answer_each() -> None:
    for name in ("7.2", "6.1"):
        btf, facts, _ = kernel(name)
        catalog = Catalog(btf, facts)
        for one in catalog.names[::97]:
            found = catalog.attachability(one)
            assert found.kinds or found.reasons, one
            assert found.name == one


def test_another_name_of_a_traceable_function() -> None:
    newer = replace(FACTS, readme=":mod:<module>")  # fprobes are made of graph tracing
    for facts, kinds in ((newer, ALL), (FACTS, ALL - {Kind.FPROBE}), (OLD, ALL - {Kind.FPROBE})):
        found = about("__x64_sys_getpid", facts)
        assert found.kinds == kinds
        assert whys(found)[0] is Why.ALIAS and "another name of vfs_read" in found.text
        assert [(str(way.place), way.how) for way in found.instead] == [("vfs_read", How.ALIAS)]
    assert about("__x64_sys_barred", newer).kinds == {Kind.FPROBE}
    assert whys(about("__x64_sys_silent"))[0] is Why.NOTRACE


@pytest.mark.parametrize("facts", [FACTS, OLD, replace(FACTS, features=frozenset()), replace(FACTS, functions=())])
@pytest.mark.parametrize("with_types", [True, False])
@pytest.mark.parametrize("seen", [True, False])
def test_many_at_once_are_answered_as_one_by_one(facts: TargetFacts, with_types: bool, seen: bool):
    writer = Writer()
    proto = writer.add(BtfKind.FUNC_PROTO)
    for name in (*TABLE, "only_in_btf", "ext4_readdir", "half"):
        writer.add(BtfKind.FUNC, name, proto)
    catalog = Catalog(Btf.load(writer.data()) if with_types else None, facts)
    if seen:
        lone = {n: s[0] for n, s in TABLE.items() if len(s) == 1 and s[0].code and not s[0].module and "." not in n}
        lone = {name: symbol for name, symbol in lone.items() if not symbol.aliases}
        sections = {name: symbol.section for name, symbol in lone.items()}
        catalog.ground = Ground(
            lambda name: TABLE.get(name, []), sections=lambda names: {n: sections[n] for n in sections.keys() & names}
        )
    names = [*catalog.names, *TABLE, "nobody", "__pfx_half", "half"]
    assert [*map(catalog.survey(names).about, names)] == [catalog.attachability(name) for name in names]


def test_functions_of_a_recording_are_answered_at_once_as_one_by_one() -> None:
    with contextlib.closing(Connection(open_target(str(shipped_recording())))) as connection:
        catalog = connection.catalog
        names = [*catalog.names, "nobody", catalog.names[0]]
        Attaching(connection).about(names[0])
        assert [*map(catalog.survey(names).about, names)] == [catalog.attachability(name) for name in names]
