"""Why a function can't be probed: each reason from made-up facts, with the way out that belongs to it."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest

from btf.btf import Btf
from btf.kinds import Kind as BtfKind
from kernel.attach.explain import AttachExplainer
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import open_target, shipped_recording
from probes.attaching.attach import attachability, where_is
from probes.attaching.catalog import Catalog
from probes.attaching.kernel_text import TextSection, TextSections
from probes.attaching.values import ALL, AbsentModule, Attachability, ReasonKind, Relation, SymbolEntry, SymbolLookups
from probes.facts.facts import Feature, TargetFacts, Trouble
from probes.facts.json_values import facts_from_dict, facts_to_dict
from probes.probe import ProbeKind
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
    "vfs_read": [SymbolEntry(0x1000)],
    "__pfx_vfs_read": [SymbolEntry(0xFF0)],
    "vfs_read.cold": [SymbolEntry(0x9000)],
    "half": [SymbolEntry(0x1100)],
    "half.part.0": [SymbolEntry(0x1200)],
    "uid_eq.isra.0": [SymbolEntry(0x1300)],
    "listed_twin": [
        SymbolEntry(0x2000, previous="a_open", next="a_close"),
        SymbolEntry(0x3000, module="mod", next="m_exit"),
    ],
    "one_of_two": [SymbolEntry(0x4000), SymbolEntry(0x5000, code=False)],
    "kprobe_busy": [SymbolEntry(0x6000)],
    "bsearch": [SymbolEntry(0x6100)],
    "strcmp": [SymbolEntry(0x7000)],
    "hidden_twin": [SymbolEntry(0x7100), SymbolEntry(0x7200)],
    "start_kernel": [SymbolEntry(0x8000, section=TextSection.INIT)],
    "poll_idle": [SymbolEntry(0x8100, section=TextSection.NOINSTR)],
    "entry_SYSCALL_64": [SymbolEntry(0x8200, section=TextSection.ENTRY)],
    "notify_die": [SymbolEntry(0x8300)],
    "jiffies": [SymbolEntry(0x8400, code=False)],
    "strcmp.cold": [SymbolEntry(0x8500)],
    "__x64_sys_getpid": [SymbolEntry(0x1000, aliases=("vfs_read",))],
    "__x64_sys_barred": [SymbolEntry(0x6000, aliases=("kprobe_busy",))],
    "__x64_sys_silent": [SymbolEntry(0x7000, aliases=("strcmp",))],
}


def absent(name: str) -> list[AbsentModule]:
    return {
        "nf_log": [AbsentModule("nf_tables", is_proven=True)],
        "xfs_open": [AbsentModule("xfs", is_proven=False)],
    }.get(name, [])


GROUND = SymbolLookups(
    symbols=lambda name: TABLE.get(name, []),
    copies=lambda name: ["early.constprop.0"] if name == "early" else [],
    absent=absent,
)


def about(name: str, facts: TargetFacts = FACTS, ground: SymbolLookups = GROUND) -> Attachability:
    return attachability(name, facts, None, ground)


def whys(found: Attachability) -> list[ReasonKind]:
    return [reason.kind for reason in found.reasons]


@pytest.mark.parametrize(
    ("name", "why", "says"),
    [
        ("strcmp", ReasonKind.NOTRACE, "notrace"),
        ("bsearch", ReasonKind.BLACKLIST, "kprobe blacklist"),
        ("notify_die", ReasonKind.BLACKLIST, "kprobe blacklist"),
        ("poll_idle", ReasonKind.NOINSTR, "noinstr"),
        ("entry_SYSCALL_64", ReasonKind.ENTRY, "assembly"),
        ("start_kernel", ReasonKind.INIT, "boots"),
        ("jiffies", ReasonKind.DATA, "variable"),
        ("__pfx_vfs_read", ReasonKind.PADDING, "padding in front of vfs_read"),
        ("strcmp.cold", ReasonKind.COLD, "unlikely part of strcmp"),
        ("__ftrace_invalid_address___16", ReasonKind.WEAK, "weak"),
        ("uid_eq", ReasonKind.RENAMED, "uid_eq.isra.0"),
        ("early", ReasonKind.RENAMED, "early.constprop.0 of it, which can't be traced either"),
        ("nf_log", ReasonKind.MODULE, "is in the module nf_tables, which isn't loaded"),
        ("xfs_open", ReasonKind.MODULE, "may be, by its name, in the module xfs"),
        ("nobody", ReasonKind.UNKNOWN, "no such function"),
    ],
)
def test_nothing_can_attach(name: str, why: ReasonKind, says: str) -> None:
    found = about(name)
    assert found.kinds == frozenset()
    assert whys(found)[0] is why
    assert says in found.text
    assert found.word == why.value


def test_everything_can_attach() -> None:
    catalog = Catalog(kernel("7.2")[0], FACTS)
    catalog.sources = GROUND
    found = catalog.attachability("vfs_read")
    assert found.kinds == {ProbeKind.FPROBE, ProbeKind.KPROBE, ProbeKind.KRETPROBE}
    assert not (found.reasons or found.alternatives or found.has_code)


def test_types_alone_do_not_make_code() -> None:
    btf = kernel("7.2")[0]
    found = attachability("vfs_write", FACTS, btf, GROUND)
    assert whys(found) == [ReasonKind.INLINED]
    assert whys(attachability("vfs_write", FACTS, btf)) == [ReasonKind.UNTRACED], "without symbols nobody knows which"


def test_copies_and_their_originals() -> None:
    renamed = about("uid_eq")
    assert [(str(way.place), way.relation) for way in renamed.alternatives] == [("uid_eq.isra.0", Relation.COPY)]
    copy = about("uid_eq.isra.0")
    assert copy.kinds == {ProbeKind.FPROBE, ProbeKind.KPROBE, ProbeKind.KRETPROBE}
    assert whys(copy) == [ReasonKind.COPY]
    assert "isra copy of uid_eq" in copy.text
    part = about("half")
    assert part.kinds
    assert ReasonKind.COPIES in whys(part)
    assert [str(way.place) for way in part.alternatives] == ["half.part.0"]
    assert [(str(way.place), way.relation) for way in about("half.part.0").alternatives] == [
        ("half", Relation.ORIGINAL)
    ]
    assert [str(way.place) for way in about("vfs_read.cold").alternatives] == ["vfs_read"]
    assert [str(way.place) for way in about("__pfx_vfs_read").alternatives] == ["vfs_read"]


def test_a_kprobe_may_sit_on_what_is_named_after_a_traceable_function() -> None:
    cold = about("vfs_read.cold")
    assert cold.kinds == {ProbeKind.KPROBE}
    assert whys(cold) == [ReasonKind.COLD]
    assert about("vfs_read.cold", replace(FACTS, functions=("other",))).kinds == frozenset()
    assert about("vfs_read.cold", replace(FACTS, blacklist=frozenset({"vfs_read.cold"}))).kinds == frozenset()
    assert about("vfs_read.cold", ground=SymbolLookups()).kinds == frozenset(), "it may not be there"
    late = SymbolLookups(
        symbols=lambda name: [SymbolEntry(1, section=None if name == "vfs_read" else TextSection.INIT)]
    )
    assert about("vfs_read.constprop.0", ground=late).kinds == frozenset()
    copy = about("vfs_read.isra.0", ground=SymbolLookups(symbols=lambda _: [SymbolEntry(1)]))
    assert copy.kinds == {ProbeKind.KPROBE}
    assert whys(copy) == [ReasonKind.NOTRACE]
    assert (
        about("vfs_read.isra.0", ground=SymbolLookups(symbols=lambda _: [SymbolEntry(1), SymbolEntry(2)])).kinds
        == frozenset()
    )
    assert about(
        "listed_twin.cold", ground=SymbolLookups(symbols=lambda name: [SymbolEntry(1)] * (1 + ("." not in name)))
    ).kinds
    assert not about(
        "vfs_read.cold", ground=SymbolLookups(symbols=lambda name: [SymbolEntry(1)] * (1 + ("." not in name)))
    ).kinds


def test_twins() -> None:
    new, old = about("listed_twin"), about("listed_twin", OLD)
    assert new.kinds == {ProbeKind.FPROBE}
    assert old.kinds == frozenset()
    assert "an fprobe takes all" in new.text
    assert "fprobe" not in old.text
    for found in (new, old):
        assert whys(found)[0] is ReasonKind.TWINS
        assert [(str(way.place), way.relation, way.note) for way in found.alternatives] == [
            ("0x2000", Relation.TWIN, "between a_open and a_close"),
            ("0x3000", Relation.TWIN, "in mod, beside m_exit"),
        ]
        assert all(way.kinds == {ProbeKind.KPROBE, ProbeKind.KRETPROBE} for way in found.alternatives)
    assert where_is(SymbolEntry(1)) == "beside ?"


def test_newer_kernels_take_their_own_for_a_name_that_a_module_has_too() -> None:
    shared = SymbolLookups(symbols=lambda _: [SymbolEntry(0x1000), SymbolEntry(0x2000, module="mod")])
    functions = ("shared", "shared [mod]")
    newer = replace(FACTS, functions=functions, readme=":mod:<module>")
    assert about("shared", newer, shared).kinds == {ProbeKind.FPROBE, ProbeKind.KPROBE, ProbeKind.KRETPROBE}
    assert "a kprobe takes the kernel's own, an fprobe takes all" in about("shared", newer, shared).text
    assert about("shared", replace(newer, functions=("shared [mod]",)), shared).kinds == {ProbeKind.FPROBE}
    assert about("shared", replace(newer, readme=""), shared).kinds == {ProbeKind.FPROBE}
    both = SymbolLookups(
        symbols=lambda _: [SymbolEntry(0x1000), SymbolEntry(0x1800), SymbolEntry(0x2000, module="mod")]
    )
    assert about("shared", newer, both).kinds == {ProbeKind.FPROBE}


def test_a_name_shared_with_something_else_is_no_name_for_a_kprobe() -> None:
    found = about("one_of_two")
    assert found.kinds == {ProbeKind.FPROBE}
    assert "2 symbols" in found.text
    assert found.alternatives == ()
    assert about("one_of_two", ground=SymbolLookups()).kinds == {
        ProbeKind.FPROBE,
        ProbeKind.KPROBE,
        ProbeKind.KRETPROBE,
    }
    hidden = about("hidden_twin")
    assert whys(hidden) == [ReasonKind.NOTRACE, ReasonKind.TWINS]
    assert hidden.alternatives == (), "an address is no way round notrace"


def test_the_blacklist_is_for_kprobes() -> None:
    assert about("kprobe_busy").kinds == {ProbeKind.FPROBE}
    assert about("kprobe_busy", OLD).kinds == frozenset()
    assert about("kprobe_busy", OLD).has_code
    copies = replace(FACTS, functions=("kprobe_busy", "kprobe_busy.isra.0", "uid_eq.isra.0"))
    assert about("kprobe_busy.isra.0", copies).kinds == {ProbeKind.FPROBE}, "with its function"
    assert whys(about("kprobe_busy.cold", copies, SymbolLookups(symbols=lambda _: [SymbolEntry(1)]))) == [
        ReasonKind.COLD
    ]
    assert about("kprobe_busy.cold", copies, SymbolLookups(symbols=lambda _: [SymbolEntry(1)])).kinds == frozenset()


def test_without_symbols_what_is_sure_is_said() -> None:
    bare = SymbolLookups()
    assert whys(about("bsearch", ground=bare)) == [ReasonKind.BLACKLIST]
    assert whys(about("uid_eq", ground=bare)) == [ReasonKind.RENAMED]
    assert whys(about("__pfx_vfs_read", ground=bare)) == [ReasonKind.PADDING]
    assert whys(about("vfs_read.cold", ground=bare)) == [ReasonKind.COLD]
    assert about("nobody", ground=bare).text == "no such function on this target"


def test_a_prefix_is_no_proof() -> None:
    """With the table of symbols, a name that only looks like padding or a cold part isn't there."""
    assert whys(about("__pfx_nobody")) == [ReasonKind.UNKNOWN]
    assert whys(about("nobody.cold")) == [ReasonKind.UNKNOWN]


def test_kernels_that_can_do_less() -> None:
    none = replace(FACTS, features=frozenset())
    assert whys(about("vfs_read", none))[0] is ReasonKind.TRACER
    assert about("vfs_read", none).kinds == frozenset()
    only_f = about("vfs_read", replace(FACTS, features=BOTH - {Feature.KPROBE_EVENTS}))
    assert only_f.kinds == {ProbeKind.FPROBE}
    assert whys(only_f)[0] is ReasonKind.NO_KPROBES


@pytest.mark.parametrize("why", [ReasonKind.PRIVILEGES, ReasonKind.LOCKDOWN, ReasonKind.MACHINE])
def test_what_is_in_the_way_of_every_probe_comes_first(why: ReasonKind) -> None:
    trouble = Trouble("something is in the way", "take it away", code="" if why is ReasonKind.MACHINE else why)
    facts = replace(FACTS, troubles=(Trouble("only a pity", fatal=False), trouble))
    found = about("vfs_read", facts)
    assert found.kinds == frozenset()
    assert [(r.kind, r.text, r.remedy) for r in found.reasons[:1]] == [
        (why, "something is in the way", "take it away")
    ]
    assert whys(about("strcmp", facts)) == [why, ReasonKind.NOTRACE]
    unseen = about("vfs_read", replace(facts, functions=()))
    assert whys(unseen) == [why], "nothing is known of a function where the list can't be read"
    assert whys(about("nobody", replace(facts, functions=()))) == [why, ReasonKind.UNKNOWN]


def test_codes_of_troubles_are_kept_in_recordings() -> None:
    facts = replace(FACTS, troubles=(Trouble("no", "yes", code=ReasonKind.LOCKDOWN),))
    assert facts_from_dict(facts_to_dict(facts)).troubles == facts.troubles
    old = facts_to_dict(facts)
    del old["troubles"][0]["code"]
    assert facts_from_dict(old).troubles == (Trouble("no", "yes"),)


def test_sections() -> None:
    marks = {"_stext": 100, "_etext": 200, "_sinittext": 300, "_einittext": 400, "__init_begin": 250}
    marks |= {"__init_end": 450, "__noinstr_text_start": 120, "__noinstr_text_end": 130, "__entry_text_start": 150}
    sections = TextSections(marks.get)
    assert [sections.at(a) for a in (119, 120, 129, 130, 150)] == [
        None,
        TextSection.NOINSTR,
        TextSection.NOINSTR,
        None,
        None,
    ]
    assert [sections.at(a) for a in (299, 300, 420, 450)] == [
        TextSection.INIT,
        TextSection.INIT,
        TextSection.INIT,
        None,
    ]
    assert [sections.is_code(a) for a in (99, 100, 199, 200, 350)] == [False, True, True, False, True]
    assert TextSections({}.get).is_code(5) is None


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
    for facts, kinds in ((newer, ALL), (FACTS, ALL - {ProbeKind.FPROBE}), (OLD, ALL - {ProbeKind.FPROBE})):
        found = about("__x64_sys_getpid", facts)
        assert found.kinds == kinds
        assert whys(found)[0] is ReasonKind.ALIAS and "another name of vfs_read" in found.text
        assert [(str(way.place), way.relation) for way in found.alternatives] == [("vfs_read", Relation.ALIAS)]
    assert about("__x64_sys_barred", newer).kinds == {ProbeKind.FPROBE}
    assert whys(about("__x64_sys_silent"))[0] is ReasonKind.NOTRACE


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
        catalog.sources = SymbolLookups(
            lambda name: TABLE.get(name, []), sections=lambda names: {n: sections[n] for n in sections.keys() & names}
        )
    names = [*catalog.names, *TABLE, "nobody", "__pfx_half", "half"]
    assert [*map(catalog.survey(names).attachability, names)] == [catalog.attachability(name) for name in names]


def test_functions_of_a_recording_are_answered_at_once_as_one_by_one() -> None:
    with contextlib.closing(KernelInfo(open_target(str(shipped_recording())))) as info:
        catalog = info.catalog
        names = [*catalog.names, "nobody", catalog.names[0]]
        AttachExplainer(info).attachability(names[0])
        assert [*map(catalog.survey(names).attachability, names)] == [catalog.attachability(name) for name in names]
