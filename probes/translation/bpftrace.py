"""Programs of bpftrace as probes: functions, tracepoints, a filter, printf, counts and histograms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from probes.translation.bpftrace_value import Field, Place, Untranslatable, field, is_number
from probes.translation.scan import closing, opening, pieces
from probes.translation.translated import NOT_TRANSLATED, Translated

_KINDS: Final = {
    **dict.fromkeys(("kprobe", "k"), "kprobe"),
    **dict.fromkeys(("kretprobe", "kr"), "kretprobe"),
    **dict.fromkeys(("fentry", "kfunc", "f"), "fentry"),
    **dict.fromkeys(("fexit", "kretfunc", "fr"), "fexit"),
    **dict.fromkeys(("tracepoint", "t"), "tracepoint"),
    **dict.fromkeys(("uprobe", "u"), "uprobe"),
    **dict.fromkeys(("uretprobe", "ur"), "uretprobe"),
}
_HEADS: Final = {
    "kprobe": "p {}",
    "kretprobe": "r {}",
    "fentry": "f {}",
    "fexit": "f {}%return",
    "tracepoint": "e {}",
    "uprobe": "p {}",
    "uretprobe": "r {}",
}
_COMPARED: Final = re.compile(r"(?P<left>[^=!<>&|]++)(?P<sign>==|!=|<=|>=|<|>|&)(?P<right>[^=!<>&|]++)")
_AGGREGATE: Final = re.compile(
    r"@(?P<name>\w*+)(?:\[(?P<keys>[^\]]*+)\])?+\s*+=\s*+(?P<function>\w++)\((?P<values>.*)\)", re.DOTALL
)
_PRINTED: Final = re.compile(r"(?:printf|print)\s*+\((.*)\)", re.DOTALL)
_KEYS: Final = {"pid": "common_pid", "tid": "common_pid", "cpu": "common_cpu"}
_STACK: Final = {"kstack": "common_stacktrace"}
_REGISTERS: Final = "arguments are taken from the registers of x86-64"
_LOG2: Final = "hist: the kernel's ~ 2^n counts what is above 2^(n-1) up to 2^n (bpftrace's bucket begins at 2^n)"
_BOUNDS: Final = "lhist: what is out of its bounds has buckets of the same width here"
_THREAD: Final = "pid is the thread here (bpftrace's tid)"


def translated(program: str, machine: str = "") -> Translated:
    """Translate a program, as it stands behind `-e`; `machine`: see `Place`."""
    probes: list[str] = []
    triggers: list[str] = []
    left: list[str] = []
    for head, body in _clauses(program):
        names, condition = _split_head(head)
        for name in names:
            try:
                clause = _Clause(name, condition, body, machine)
            except Untranslatable as why:
                left.append(f"{NOT_TRANSLATED}{why}")
                continue
            probes.append(clause.spec)
            triggers += clause.triggers
            left += clause.left_out
    if len(probes) > 1 and triggers:
        left += [f"{NOT_TRANSLATED}{one} (of several probes)" for one in triggers]
        triggers = []
    return Translated("bpftrace", tuple(probes), tuple(triggers), tuple(dict.fromkeys(left)))


def _clauses(program: str) -> Iterator[tuple[str, str]]:
    """Heads and bodies: `kprobe:f /filter/`, `printf(...)`."""
    while (begin := opening(program, "{")) >= 0:
        end = closing(program, begin)
        yield program[:begin].strip(), program[begin + 1 : end]
        program = program[end + 1 :]


def _split_head(head: str) -> tuple[list[str], str]:
    """Names of probes, and the filter between slashes; a path has slashes, too."""
    condition = ""
    if head.endswith("/"):
        rest = head[:-1]
        at = max(rest.find(" /"), -1)
        if at < 0:
            at = rest.find("/") - 1
        head, condition = rest[: at + 1], rest[at + 2 :]
    return [name.strip() for name in head.split(",") if name.strip()], condition.strip()


class _Clause:
    """One probe of a program. Raises Untranslatable where it is none of ours."""

    def __init__(self, name: str, condition: str, body: str, machine: str) -> None:
        word, colon, rest = name.partition(":")
        if word not in _KINDS or not colon or not rest:
            raise Untranslatable(name)
        self.place = Place(_KINDS[word], machine)
        self.head = _HEADS[self.place.kind].format(_placed(self.place.kind, rest))
        self.fields: dict[str, str] = {}
        self.left_out: list[str] = []
        self.triggers: list[str] = []
        self.condition = ""
        for statement in (one.strip() for one in pieces(body, ";")):
            if statement:
                self._try(self._statement, statement)
        if condition:
            self._try(self._filter, condition)

    @property
    def spec(self) -> str:
        """The probe."""
        fields = (text if name == text.lstrip("$") else f"{name}={text}" for name, text in self.fields.items())
        return " ".join([self.head, *fields, *(["if", self.condition] if self.condition else [])])

    def _try(self, do: object, text: str) -> None:
        try:
            do(text)  # type: ignore[operator]
        except Untranslatable as why:
            self.left_out.append(f"{NOT_TRANSLATED}{why}")

    def _statement(self, text: str) -> None:
        if (printed := _PRINTED.fullmatch(text)) is not None:
            for value in list(pieces(printed[1], ","))[1:]:
                self._try(self._record, value.strip())
        elif (counted := _AGGREGATE.fullmatch(text)) is not None:
            self._aggregate(counted)
        else:
            raise Untranslatable(text)

    def _record(self, value: str) -> str:
        """Record a value; gives its name."""
        if is_number(value) or value.startswith('"'):
            return value
        if value == "pid":
            self.left_out.append(_THREAD)
        found: Field = field(value, self.place)
        if found.text:
            self.fields.setdefault(found.name, found.text)
        if "%" in found.text and not self.place.machine:
            self.left_out.append(_REGISTERS)
        return found.name

    def _key(self, key: str) -> str:
        if key in _STACK or key in _KEYS:
            if key == "pid":
                self.left_out.append(_THREAD)
            return {**_STACK, **_KEYS}[key]
        name = self._record(key)
        if not name or is_number(name) or name.startswith('"'):
            raise Untranslatable(f"@[{key}]")
        return name

    def _aggregate(self, found: re.Match[str]) -> None:
        keys = [self._key(key.strip()) for key in pieces(found["keys"] or "", ",") if key.strip()]
        values = [value.strip() for value in pieces(found["values"], ",")]
        function, vals = found["function"], ""
        if function in ("hist", "lhist"):
            keys.append(f"{self._key(values[0])}.{self._buckets(found[0], function, values)}")
        elif function == "sum":
            vals = f":vals={self._key(values[0])}"
        elif function != "count":
            raise Untranslatable(found[0])
        if not keys:
            raise Untranslatable(f"{found[0]}: a histogram has keys; --count-only counts hits")
        self.triggers.append(f"hist:keys={','.join(keys)}{vals}")

    def _buckets(self, statement: str, function: str, values: list[str]) -> str:
        """Return the modifier of a key; the kernel's buckets begin at 0."""
        if function == "hist":
            if len(values) > 1:  # hist(x, bits): 2^bits buckets for each power of two
                raise Untranslatable(statement)
            self.left_out.append(_LOG2)
            return "log2"
        if len(values) != 4 or not all(value.isdecimal() for value in values[1:]) or not int(values[3]):
            raise Untranslatable(statement)
        if int(values[1]) % int(values[3]):
            raise Untranslatable(f"{statement}: the kernel's buckets begin at 0, and not at {values[1]}")
        self.left_out.append(_BOUNDS)
        return f"buckets={values[3]}"

    def _filter(self, text: str) -> None:
        """`pid == 1 && comm == "sh"`: all of it, or none."""
        if any(sign in text for sign in ("@", "?", "strncmp", "strcontains")):
            raise Untranslatable(f"/{text}/: without it more is recorded")
        parts: list[str] = []
        for part in re.split(r"(&&|\|\||[()])", text):
            found = _COMPARED.fullmatch(part.strip())
            if found is None:
                if part.strip() not in ("", "&&", "||", "(", ")"):
                    raise Untranslatable(f"/{text}/: without it more is recorded")
                parts.append(part.strip())
                continue
            name = found["left"].strip()
            try:
                known = name if name == "comm" else self._record(name)
            except Untranslatable:
                raise Untranslatable(f"/{text}/: without it more is recorded") from None
            if not known:
                raise Untranslatable(f"/{text}/: without it more is recorded")
            parts.append(f"{known} {found['sign']} {found['right'].strip()}")
        self.condition = " ".join(filter(None, parts)).replace("( ", "(").replace(" )", ")")


def _placed(kind: str, rest: str) -> str:
    """The place as we write it: a function's module and a tracepoint's group are before the last colon."""
    before, colon, name = rest.rpartition(":")
    if kind in ("uprobe", "uretprobe"):
        if not colon or not before.startswith("/"):
            raise Untranslatable(f"{kind}:{rest}: a program has its whole path")
        return rest
    if kind == "tracepoint":
        if not colon or "*" in rest:
            raise Untranslatable(f"tracepoint:{rest}")
        return f"{before}.{name}"
    return rest if before and before != "vmlinux" and kind.startswith("k") else name
