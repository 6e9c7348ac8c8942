"""Filters by chance on live kernels: what the kernel's own filter chooses beside the live condition and our verdict.

A filter that is taken chooses the same events in the kernel, once it is in the kernel's words, and on the screen; one
that the kernel refuses is refused. What is refused though the kernel would take it is counted.
To hunt further: `COUNT` and `SEED` below.
"""

from __future__ import annotations

import base64
import json
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from events.batch import Batch, Chunk
from events.conditions.condition_parser import ConditionError, parse_condition
from events.conditions.field_kinds import value_kinds
from events.decode import Decoder
from events.format import HeaderPage, parse_format
from events.store.store import Store
from kernel.facts.gather import readme_features
from kernel.lab.guest import Guest
from probes.facts.dialect import Dialect, dialect_of
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import UNKNOWN, StaticEventField
from probes.kernel_verdict import parse_existing
from probes.lowering.filters.filter_words import kernel_filter
from probes.rules.events.fields import built_fields
from probes.rules.events.filter import check_filter
from probes.rules.events.filter_meaning import MISREAD, misread
from probes.rules.readers import RuleContext
from probes.syntax.refused import RefusedWord
from tests.filter_generator import CALL, FIELDS, RENAME, SPELLINGS, TASK, VALUES, Generator

KERNELS = ["6.1", "6.12", "7.2"]
COUNT = 240
SEED = 12
WRITER = Path(__file__).with_name("filter_writer.py").read_text()
ROWS = [(value, SPELLINGS[number % len(SPELLINGS)]) for number, value in enumerate(VALUES)]
NAMES = [text for text in SPELLINGS if len(text.encode()) <= 15]

Fields = Mapping[str, Mapping[str, StaticEventField]]


class Judged(NamedTuple):
    """A filter and what we say of it."""

    event: str
    text: str
    lowered: str
    code: str
    """Of the refusal; empty: there is none."""


class Events(NamedTuple):
    """What one event recorded without a filter."""

    store: Store
    fields: Mapping[str, StaticEventField]

    def chosen(self, text: str) -> list[int] | None:
        """Rows that the live condition holds of; None: it is none."""
        formats = self.store.decoder.formats.values()
        names = [field.name for one in formats for field in one.fields]
        try:
            found = parse_condition(text, value_kinds(formats, names), lambda _: TASK)
        except ConditionError:
            return None
        return found.candidates(self.store.columns(0, self.store.next_seq)).nonzero()[0].tolist()


def _judged(event: str, text: str, fields: Fields, dialect: Dialect) -> Judged:
    lowered = kernel_filter(text, fields[event], {})
    try:
        refusal = misread(check_filter(lowered, fields[event], UNKNOWN, dialect, 2), dialect.btf_args)
    except RefusedWord as error:
        return Judged(event, text, lowered, error.refused.code)
    return Judged(event, text, lowered, "" if refusal is None else refusal.code)


def _answers(guest: Guest, filters: list[tuple[str, str]]) -> tuple[dict[str, Events], list[list[int] | None]]:
    """What each event recorded, and which rows each filter chose; None where the kernel refused it."""
    arguments = [f"{name}={value}" for name, value in FIELDS.items()]
    work = json.dumps({"rows": ROWS, "names": NAMES, "fields": arguments, "filters": filters})
    program = f"import io, sys; sys.stdin = io.StringIO({work!r}); exec({WRITER!r})"
    done = subprocess.run([*guest.ssh_command, "python3 -"], input=program.encode(), capture_output=True, check=False)
    first, *lines = done.stdout.decode().splitlines() or [""]
    assert len(lines) == len(filters), done.stderr.decode()[-2000:]
    told, header = json.loads(first)
    events = {}
    for event, (text, pages) in told.items():
        layout = parse_format(text, event.partition("/")[0])
        store = Store(Decoder({layout.id: layout}, HeaderPage.parse(header)))
        store.feed(Batch((Chunk(0, base64.b64decode(pages)),), True))
        store.flush()
        fields = {f.name: StaticEventField(f.name, f.type, f.size, f.signed) for f in layout.fields}
        events[event] = Events(store, fields)
    return events, [json.loads(line) for line in lines]


def _known(guest: Guest) -> tuple[Fields, Dialect]:
    readme = guest.run("cat /sys/kernel/tracing/README").decode()
    features = readme_features(readme) | {Feature.DYNAMIC_EVENTS, Feature.UPROBE_EVENTS}
    facts = TargetFacts("x86_64", "", features=frozenset(features), readme=readme, cpus=2)
    line = f"p:{CALL} /lib/libc.so:0x10 {' '.join(f'{name}={value}' for name, value in FIELDS.items())}"
    (built,) = parse_existing([line], RuleContext(dialect_of(facts), None, facts, UNKNOWN))
    names = {name: StaticEventField(name, "char[16]", 16) for name in ("oldcomm", "newcomm")}
    return {CALL: built_fields(built), RENAME: names}, dialect_of(facts)


def _same_field(told: StaticEventField, ours: StaticEventField) -> bool:
    kind = told.type.replace("[]", "[") if "__data_loc" not in told.type else told.type
    return ours.type.startswith(kind) and (told.size, told.signed) == (ours.size, ours.signed)


@pytest.mark.parametrize("guest", KERNELS, indirect=True)
def test_filters_choose_what_they_say(guest: Guest) -> None:
    fields, dialect = _known(guest)
    judged = [_judged(event, text, fields, dialect) for event, text in Generator(SEED).filters(COUNT)]
    judged.sort(key=lambda one: one.event != CALL)  # the order in which the guest answers
    events, answers = _answers(guest, [(one.event, one.lowered) for one in judged])
    told = events[CALL].fields
    assert [name for name in FIELDS if not _same_field(told[name], fields[CALL][name])] == []
    assert len(events[CALL].store) == len(ROWS)
    wrong: list[str] = []
    counts = Counter[str]()
    for one, kernels in zip(judged, answers, strict=True):
        ours = events[one.event].chosen(one.text)
        counts[one.code] += 1
        if (kernels is None) != (one.code != "" and one.code not in MISREAD):
            wrong.append(f"{one}: the kernel chose {kernels}")
        elif not one.code:
            counts["empty"] += not kernels
            counts["all"] += kernels is not None and len(kernels) == len(events[one.event].store)
            if kernels != ours:
                wrong.append(f"{one}: the kernel chose {kernels}, the condition {ours}")
        else:
            counts["justified"] += one.code in MISREAD and kernels != ours
    assert not wrong, "\n".join(wrong)
    assert counts[""] > COUNT / 2, counts
    assert counts[""] - counts["empty"] - counts["all"] > COUNT / 4, counts
    assert counts["justified"] > sum(counts[code] for code in MISREAD) / 2, counts
