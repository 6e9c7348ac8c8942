"""What has to be asked of a target before it can be offered: nothing is read for a key, everything by `learn`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.errors import TargetLost
from probes.command import CommandText
from probes.facts.facts import Feature
from probes.plans.plan import Via
from probes.syntax.parse import parse_probe
from tests.fake_target import FACTS, ROOT, FakeTarget
from tests.pure.probes.test_program import files
from tui.compose.completer import Completer
from tui.compose.functions.function_index import Functions
from tui.compose.specification import asks_target, specification_of

KALLSYMS = b"ffffffff81000000 T vfs_read\nffffffff82000000 D jiffies_64\nffffffff82000008 d jiffies.1\n"
MADE = (
    b"p:pw_100_abc/mine vfs_read\np:pw_100_abc_2/mine vfs_read\np:pw_100_abcd/other vfs_read\np:kprobes/x vfs_read\n"
)
FORMAT = b"""name: sched_switch
ID: 300
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;

print fmt: "prev_comm=%s prev_pid=%d", REC->prev_comm, REC->prev_pid
"""


class Asked(FakeTarget):
    """Counts what it is asked for."""

    asked = 0

    def read(self, path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
        self.asked += 1
        return super().read(path, limit, offset)

    def list(self, path: str) -> list[str]:
        self.asked += 1
        return list(super().list(path))


@pytest.fixture
def target() -> Asked:
    known = {
        "/usr/bin/pie": files()["pie"],
        "/usr/bin/notes": b"no program",
        "/proc/kallsyms": KALLSYMS,
        f"{ROOT}/dynamic_events": MADE,
        f"{ROOT}/available_events": b"sched:sched_switch\n",
        f"{ROOT}/events/sched/sched_switch/format": FORMAT,
    }
    features = FACTS.features | {Feature.UPROBE_EVENTS, Feature.SYNTHETIC_EVENTS, Feature.EPROBE_EVENTS}
    return Asked(known, replace(FACTS, functions=("vfs_read",), features=features))


@pytest.fixture
def completer(target: Asked) -> Completer:
    planner = Planner(KernelInfo(target))
    return Completer(planner.info, Functions(planner.info.catalog.names, planner.info.function))


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("p /usr/b", set(), {"/usr/bin"}),
        ("p /usr/bin", set(), {"/usr/bin/"}),
        ("p /usr/bin/", set(), {"/usr/bin/pie", "/usr/bin/notes"}),
        ("p /usr/bin/pie", set(), {"/usr/bin/pie:"}),
        ("p /usr/bin/notes:", set(), set()),
        ("r /usr/bin/pie:work", set(), {"/usr/bin/pie:work "}),
        ("p vfs_read @jiffies_6", set(), {"@jiffies_64"}),
        ("on ", set(), {"sched/sched_switch "}),
        ("lat:x sched/", set(), {"sched/sched_switch "}),
        ("on sched/sched_switch if prev_", set(), {"prev_comm ", "prev_pid "}),
        ("-:", set(), {"-:pw_100_abc/mine", "-:pw_100_abc_2/mine"}),
    ],
)
def test_what_is_learnt_is_offered(
    completer: Completer, target: Asked, text: str, before: set[str], after: set[str]
) -> None:
    completer.complete("p vfs", 5)  # facts and types, which are there before anything is typed
    asked = target.asked
    assert {item.text for item in completer.complete(text, len(text)).items} == before
    assert target.asked == asked
    assert asks_target(CommandText.parse(text))
    completer.learn(text)
    asked = target.asked
    assert {item.text for item in completer.complete(text, len(text)).items} == after
    assert target.asked == asked
    completer.learn(text)
    if text[0] != "-":  # events come and go
        assert target.asked == asked


UNREAD = [
    ("e ", "the names of events"),
    ("e:mine sched/nob", "the names of events"),
    ("on nobody", "the names of events"),
    ("lat:x sched/sched_switch to nobody", "the names of events"),
    ("on sched/sched_switch if ", "the names of events"),
    ("p /usr/nobody", "/usr"),
    ("p /usr/bin/pie:nobody", "/usr/bin"),
    ("p vfs_read @nobody", "the kernel's variables"),
    ("-:nobody", "the events that we made"),
]


@pytest.mark.parametrize(("text", "names"), UNREAD)
def test_what_is_being_read_is_not_said_to_be_missing(completer: Completer, text: str, names: str) -> None:
    assert completer.complete(text, len(text)).note == f"being read: {names}"
    completer.learn(text)
    found = completer.complete(text, len(text))
    assert "being read" not in found.note and "not read" not in found.note


def test_another_name_is_missing_once_the_names_are_known(completer: Completer) -> None:
    completer.learn("on nobody")
    assert completer.complete("on nobodyx", 10).note == "no event has this in its name"
    assert completer.complete("e nobody", 8).note == "no event has this in its name"


@pytest.mark.parametrize("text", ["e nobody", "p /usr/nobody"])
def test_a_kind_that_the_kernel_lacks_is_not_waited_for(text: str) -> None:
    lacking = FACTS.features - {Feature.UPROBE_EVENTS, Feature.EPROBE_EVENTS}
    planner = Planner(KernelInfo(Asked({}, replace(FACTS, features=lacking))))
    completer = Completer(planner.info, Functions((), planner.info.function))
    assert completer.complete(text, len(text)).note.startswith("this kernel has no")


def test_the_fields_of_an_event_are_being_read(completer: Completer) -> None:
    completer.learn("on sched/")
    text = "on sched/sched_switch if prev_"
    assert completer.complete(text, len(text)).note == "being read: the fields of sched/sched_switch"
    completer.learn(text)
    assert {item.text for item in completer.complete(text, len(text)).items} == {"prev_comm ", "prev_pid "}


@pytest.mark.parametrize(("text", "names"), UNREAD[:2] + UNREAD[-1:])
def test_what_could_not_be_read_is_not_said_to_be_missing(
    completer: Completer, monkeypatch: pytest.MonkeyPatch, text: str, names: str
) -> None:
    def lost(*_: object) -> None:
        raise TargetLost("the connection is lost")

    monkeypatch.setattr(Completer, "_learn", lost)
    with pytest.raises(TargetLost):
        completer.learn(text)
    assert completer.complete(text, len(text)).note == f"not read: {names}; the connection is lost"


def test_a_deletion_is_judged_by_what_is_there(target: Asked) -> None:
    planner = Planner(KernelInfo(target))
    assert planner.check_typed("-:pw_100_abc/mine").verdict.ok
    assert not planner.check_typed("-:pw_100_abc/nobody").verdict.ok


def test_a_lost_connection_is_no_verdict_of_a_probe(target: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of the kernel are tried when a probe is judged for them."""
    planner = Planner(KernelInfo(target))
    planner.via = Via.BPF
    probe = parse_probe("f vfs_read")
    assert specification_of(planner, probe).verdict is not None

    def cut(*_: object) -> bytes:
        raise TargetLost("the connection was lost")

    planner = Planner(KernelInfo(target))
    planner.via = Via.BPF
    _ = planner.info.facts
    monkeypatch.setattr(target, "read", cut)
    shown = specification_of(planner, probe)
    assert (shown.verdict, shown.notes) == (None, ("the connection was lost",))
