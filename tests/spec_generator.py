"""Commands for dynamic events, drawn over their whole grammar; about half are broken (tests/spec_mutation.py).

The same seed gives the same commands. What hangs on bytes of the kernel's code is left out: a kprobe inside of a
function, and one at an address, are good or not by where instructions begin, which no list tells.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from probes.facts.facts import Feature
from probes.facts.lookups import StaticEventField
from probes.syntax.text import UINT_MAX, kstrtol, kstrtoul, split
from tests.spec_arguments import Arguments, Where
from tests.spec_material import BAD_FILES, FILES, WELL_KNOWN, Material
from tests.spec_mutation import broken

_SYNTHETIC: tuple[str, ...] = (
    "int",
    "long",
    "u64",
    "s32",
    "char",
    "bool",
    "pid_t",
    "gfp_t",
    "char[16]",
    "char[]",
    "unsigned int",
)
_SYNTHETIC += ("unsigned long", "long[]", "unsigned long[]", "unsigned char", "size_t", "char[256]", "char[257]")

_INTERFACES = ("dynamic_events", "kprobe_events", "uprobe_events", "synthetic_events")
_ADDRESSES = ("0", "0x0", "1", "4096", "0x1000", "0xffffffffffffffff", "18446744073709551616", "0xdead000000000000")
_IN_MODULES = ("virtio_net:virtnet_poll", "virtio_net:nosuch", "nosuch:vfs_read", "virtio_net:vfs_read", "failover:")
_PATTERNS = (
    "nosuch",
    "vfs_rea?",
    "vfs_rea[c-e]",
    "vfs_rea[!d]",
    "vfs_\\read",
    "*_read",
    "vfs_*d",
    "[v",
    "5",
    "99999999",
    "0",
)


class Command(NamedTuple):
    """One write."""

    interface: str
    """File of tracefs."""
    text: str


class Generator:
    """Draws commands for one kernel."""

    def __init__(self, material: Material, seed: int, broken_share: float = 0.5) -> None:
        self._m = material
        self._rng = random.Random(seed)
        self._broken = broken_share
        features = material.facts.features
        by_name = Feature.FPROBE_EVENTS in features
        self._kinds = {"k": 34, "u": 14, "f": 7 if by_name else 2, "t": 18 if by_name else 2, "e": 20, "s": 8}
        self._arguments = Arguments(material, self._rng)

    def groups(self, count: int) -> Iterator[list[Command]]:
        """Groups of commands with `count` commands in all; within one, events of earlier commands are there."""
        left = count
        while left > 0:
            group = self._group()[:left]
            left -= len(group)
            if group:
                yield group

    def _group(self) -> list[Command]:
        rng = self._rng
        if rng.random() < 0.12:
            return [self._filter()]
        size = rng.choice((1, 1, 1, 1, 2, 3, 4, 5))
        kind = self._weighted(self._kinds)
        names = rng.sample(["g/e", "e", "g/", "my/one", "other/e"], 2)
        made: list[Command] = []
        while len(made) < size:
            if rng.random() < 0.15:
                kind = self._weighted(self._kinds)
            command = self._command(kind, rng.choice(names) if size > 1 else self._name(), made)
            if rng.random() < self._broken:
                command = command._replace(text=broken(command.text, rng))
            if rng.random() < 0.02:
                command = command._replace(interface=rng.choice(_INTERFACES))
            if knowable(command.text):
                made.append(command)
        return made

    def _command(self, kind: str, name: str, made: list[Command]) -> Command:
        rng = self._rng
        if made and rng.random() < 0.15:
            return self._deletion(made)
        if made and rng.random() < 0.3:
            return self._variation(rng.choice(made))
        if kind == "s":
            return self._synthetic(name)
        named = f":{name}" if name else ""
        if kind == "e":
            return Command("dynamic_events", self._eprobe(named, made))
        text = {"k": self._kprobe, "u": self._uprobe, "f": self._fprobe, "t": self._tprobe}[kind](named)
        special = {"k": "kprobe_events", "u": "uprobe_events"}.get(kind, "")
        return Command(special if special and rng.random() < 0.1 else "dynamic_events", text)

    def _weighted(self, weights: Mapping[str, int]) -> str:
        return self._rng.choices(list(weights), list(weights.values()))[0]

    def _name(self) -> str:
        rng = self._rng
        word = rng.choice(("e", "my_event", "E1", "x" * rng.choice((62, 63))))
        group = rng.choice(("g", "my-group", "G_1", "_", "y" * 63))
        if rng.random() < 0.03:
            return rng.choice(("sched/sched_switch", "kprobes/e", "synthetic/e", "syscalls.sys_enter_read"))
        return rng.choice(("", "", word, f"{group}/{word}", f"{group}/{word}", f"{group}.{word}", f"{group}/"))

    def _kprobe(self, name: str) -> str:
        rng = self._rng
        if rng.random() < 0.04:
            return f"{rng.choice('pr')}{name} {rng.choice(_ADDRESSES)}{self._arguments.draw(Where('k'))}"
        symbol = rng.choices(
            (self._m.functions, self._m.bare, self._m.text, self._m.data, ("nosuch", *_IN_MODULES)),
            (80, 8, 6, 2, 4),
        )[0]
        place = function = rng.choice(symbol)
        returns = rng.random() < 0.35
        letter = "r" if returns else "p"
        if returns and rng.random() < 0.4:
            letter, place = rng.choice(("p", "r")), f"{place}%return"
        elif returns and rng.random() < 0.2:
            letter = f"r{rng.choice((1, 10, 4096, 4097, 0))}"
        elif rng.random() < 0.06:
            place += rng.choice(("+0", "+0x0", "-1", "+4294967296", "+x", "+", "+0+0"))
        elif rng.random() < 0.05:
            function = rng.choice(WELL_KNOWN)
            place = f"{function}+{rng.choice((1, 2, 3))}"
        where = Where("k", returns, self._m.signature(function))
        return f"{letter}{name} {place}{self._arguments.draw(where)}"

    def _fprobe(self, name: str) -> str:
        rng = self._rng
        function = rng.choice(
            rng.choices((self._m.functions, self._m.bare, self._m.text, _PATTERNS), (80, 10, 6, 2))[0]
        )
        returns = rng.random() < 0.4
        letter = f"f{rng.choice((1, 10, 4096, 4097))}" if rng.random() < 0.03 else "f"
        where = Where("f", returns, self._m.signature(function))
        return f"{letter}{name} {function}{'%return' if returns else ''}{self._arguments.draw(where)}"

    def _tprobe(self, name: str) -> str:
        point = self._rng.choice(self._m.tracepoints) if self._rng.random() < 0.93 else "nosuch_tracepoint"
        return f"t{name} {point}{self._arguments.draw(Where('t', False, self._m.signature(point, tracepoint=True)))}"

    def _uprobe(self, name: str) -> str:
        rng = self._rng
        path = rng.choice(FILES if rng.random() < 0.9 else BAD_FILES)
        offset = rng.choice(("0x1000", "4096", "010", "0", "0x7fffffffffffffff"))
        returns = rng.random() < 0.3
        letter = rng.choice(("p", "r")) if returns else "p"
        suffix = "%return" if returns and letter == "p" else rng.choice(("", "", "", "%return"))
        counter = f"({rng.choice(('0x10', '8', '0'))})" if rng.random() < 0.15 else ""
        where = Where("u", letter == "r" or bool(suffix))
        return f"{letter}{name} {path}:{offset}{suffix}{counter}{self._arguments.draw(where)}"

    def _eprobe(self, name: str, made: Sequence[Command] = ()) -> str:
        rng = self._rng
        target = (
            rng.choice(list(self._m.events))
            if rng.random() < 0.93
            else rng.choice(("no/such", "g/e", "sched", "ftrace/print"))
        )
        fields = self._m.events.get(target, ())
        where = Where("e", False, None, {field.name: field for field in fields})
        if made and rng.random() < 0.3:
            target = rng.choice(made).text.split(" ")[0].partition(":")[2] or target
            where = where._replace(
                fields={name: StaticEventField(name, "u64", 8) for name in ("a", "x", "value", "__probe_ip")}
            )
        if rng.random() < 0.6:
            target = target.replace("/", ".", 1)
        condition = f" if {self._expression(where.fields)}" if rng.random() < 0.25 else ""
        return f"e{name} {target}{self._arguments.draw(where)}{condition}"

    def _synthetic(self, name: str) -> Command:
        rng = self._rng
        event = name.rpartition("/")[2] or "syn"
        parts = [f"{rng.choice(_SYNTHETIC)} {'abcdef'[n]}" for n in range(rng.choice((1, 1, 2, 3, 6)))]
        parts = [re.sub(r"^(.*?)(\[.*?\]) (\w)$", r"\1 \3\2", part) for part in parts]
        if rng.random() < 0.03:
            parts = [f"u8 f{n}" for n in range(rng.choice((63, 64, 65)))]
        body = rng.choice(("; ", ";", " ; ")).join(parts)
        if rng.random() < 0.3:
            return Command("synthetic_events", f"{event} {body}")
        return Command("dynamic_events", f"s:{rng.choice(('', '', 'synthetic/', 'other/'))}{event} {body}")

    def _filter(self) -> Command:
        rng = self._rng
        target, fields = rng.choice(list(self._m.events.items()))
        text = self._expression({field.name: field for field in fields})
        if rng.random() < self._broken:
            text = broken(text, rng)
        return Command(f"events/{target}/filter", text if text.strip() else "0")

    def _expression(self, fields: Mapping[str, StaticEventField]) -> str:
        """A filter."""
        rng = self._rng
        text = self._predicate(fields)
        for _ in range(rng.choice((0, 0, 1, 2))):
            other = self._predicate(fields)
            text = rng.choice(
                (f"{text} && {other}", f"{text}||{other}", f"({text}) && {other}", f"!({text}) || {other}")
            )
        return text

    def _predicate(self, fields: Mapping[str, StaticEventField]) -> str:
        rng = self._rng
        name = rng.choice([*fields, *fields, "common_pid", "comm", "CPU", "COMM", "common_type", "nosuch"])
        field = fields.get(name)
        text = (field is not None and "char" in field.type) or name in ("comm", "COMM")
        operator = rng.choice(("==", "!=", "~") if text else ("==", "!=", ">", "<", ">=", "<=", "&"))
        value = rng.choice(('"a*"', "'x'", '""') if text else ("0", "1", "-1", "0x10", "077", "18446744073709551615"))
        if rng.random() < 0.08:
            value = rng.choice(("CPUS{0}", "CPUS{0-1}", "vfs_read", '"x"', "5", "CPUS{}", "CPUS{9}"))
        if rng.random() < 0.04:
            name += rng.choice((".function", ".ustring"))
        space = rng.choice((" ", ""))
        return f"{name}{space}{operator}{space}{value}"

    def _deletion(self, made: list[Command]) -> Command:
        rng = self._rng
        head, _, rest = rng.choice(made).text.partition(" ")
        name = head.partition(":")[2] or rng.choice(("g/e", "kprobes/", "fprobes/e"))
        name = rng.choice((name, name.rpartition("/")[2], f"{name.partition('/')[0]}/", name))
        words = rest.split()[: rng.choice((0, 0, 1, 2))]
        sign = rng.choice(("-", "-", "-", f"!{head[:1]}"))
        return Command(rng.choice(("dynamic_events",) * 4 + _INTERFACES), " ".join([f"{sign}:{name}", *words]))

    def _variation(self, command: Command) -> Command:
        """The same command, or one that differs in a word."""
        rng = self._rng
        words = command.text.split(" ")
        if len(words) > 2 and rng.random() < 0.6:
            at = rng.randrange(2, len(words))
            words[at] = rng.choice(
                (words[at] + ":u8", words[at].partition(":")[0], "a=\\1", words[at].replace("8", "4"))
            )
        elif rng.random() < 0.3:
            words.append("added=\\1")
        elif len(words) > 1 and rng.random() < 0.3:
            words[1] = rng.choice(self._m.functions)
        return command._replace(text=" ".join(words))


def knowable(text: str) -> bool:
    """Whether the answer hangs on what is listed only: no kprobe between instructions, none in unknown code."""
    words = [word.text for word in split(text)]
    if len(words) < 2 or words[0][0] not in "pr" or "/" in words[1]:
        return True
    place = words[1].partition("%")[0]
    if kstrtoul(words[1]) is not None:
        named = re.search("[:/.][A-Za-z_][A-Za-z0-9_]*$", words[0]) is not None  # else its name is made of a secret
        return words[1] in _ADDRESSES and named
    match = re.search(r"[+-]", place)
    offset = kstrtol(place[match.start() :]) if match else 0
    if offset is None or not 0 < offset <= UINT_MAX:
        return True
    return match is not None and place[: match.start()] in WELL_KNOWN and offset in (1, 2, 3)
