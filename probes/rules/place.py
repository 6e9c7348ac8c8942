"""Check the place of a function probe by the kernel's rules (trace_kprobe.c, trace_fprobe.c).

The traceable functions, the blacklist and BTF tell whether a symbol exists; an address is assumed to be valid.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from btf.btf import Btf
from events.names.glob import Glob
from foreign.refusal import InputRefusal
from probes.code.architectures.arm64 import OF_SOME_KERNELS
from probes.code.architectures.table import ARCHITECTURES
from probes.code.body import FunctionBody
from probes.code.boundaries import instruction_at, places_around
from probes.facts.dialect import MAX_MAXACTIVE, Dialect
from probes.facts.facts import TargetFacts
from probes.facts.lookups import Environment, SymbolLanding
from probes.functions.function_index import index_of
from probes.probe import TEXT
from probes.syntax.refused import Refused
from probes.syntax.text import LETTERS, UINT_MAX, kstrtol, kstrtoul

_RETVAL = re.compile(r"\$retval(?![A-Za-z0-9_])")
_IBT_ENTRY = 4
"""Bytes of ENDBR64: with indirect branch tracking, the address after it is a function's entry too."""


@dataclass(frozen=True, slots=True)
class ParsedPlace:
    """Place of a probe as the kernel parses it."""

    symbol: str
    """Function, with its module; empty for an address."""
    at_entry: bool
    """True on a function's first instruction, except for return probes."""
    at_exit: bool
    registration_error: Refused | None = None
    """Error when the probe is registered, after all arguments are parsed and their symbols found."""
    place: str = ""
    """Place as a deletion names it, where that differs from the symbol."""
    notrace: Refused | None = None
    """Error when the probe is registered, before the kernel looks up the symbols in arguments."""
    absent: bool = False
    """True if the module isn't loaded or the place is an address: missing symbols may come with a module."""


def check_head(head: str, dialect: Dialect) -> str | None:
    """Check the part of the first word before the colon; returns the name after it, None where there is none."""
    letter, rest = head[0], head[1:]
    number, colon, name = rest.partition(":")
    if letter in "ft" and dialect.fprobe_on_graph:
        if rest and not rest.startswith(":"):
            raise Refused("BAD_MAXACT", 1, head, hint=no_number_hint(letter, rest))
        return name if colon else None
    if rest[:1].isascii() and rest[:1].isdigit():
        if letter == "p":
            raise Refused("BAD_MAXACT_TYPE" if dialect.btf_args else "MAXACT_NO_KPROBE", 1, number)
        value = kstrtoul(number, 0, UINT_MAX)
        if not value:
            raise Refused("BAD_MAXACT", 1, number)
        if value > MAX_MAXACTIVE:
            raise Refused("MAXACT_TOO_BIG", 1, number)
    return name if colon else None


def no_number_hint(letter: str, rest: str) -> str:
    """Return a hint on what may follow a letter that takes no number; empty where a number follows it."""
    return "" if rest[0].isdigit() else f"A blank, or a colon and a name, follows the {letter}"


def fprobe_spot(words: list[str], dialect: Dialect, facts: TargetFacts, environment: Environment) -> ParsedPlace:
    """Parse the place of an `f` command. Raises Refused with the column in the second word."""
    symbol, percent, suffix = words[1].partition("%")
    if percent and suffix != "return":
        raise Refused("BAD_ADDR_SUFFIX", len(symbol), percent + suffix)
    returns = bool(percent) or any(_RETVAL.search(word) for word in words[2:])
    if words[0][1:2].isdigit() and not returns:
        raise Refused("BAD_MAXACT_TYPE", 1, words[0], index=0)
    late = None
    if not _traceable(symbol, returns, dialect, facts, environment):
        code = "BAD_PROBE_ADDR" if dialect.fprobe_on_graph else "FAIL_REG_PROBE"
        late = Refused(code, 0, symbol, hint=_no_name(symbol))
    return ParsedPlace(symbol, not returns, returns, late)


def _no_name(place: str) -> str:
    """Return why a place can't be a function's name; empty: it may be one."""
    if "/" in place:
        return "A place in a program is PATH:FUNCTION or PATH:OFFSET, and its letter p or r"
    if ":" in place:
        return "An fprobe takes a function's name alone; a kprobe MODULE:FUNCTION; arguments stand behind a blank"
    if "+" in place:
        return "An fprobe sits where a function begins; p takes an offset"
    return "Arguments stand behind a blank, without brackets" if "(" in place else ""


def tprobe_spot(words: list[str]) -> ParsedPlace:
    """Parse the place of a `t` command; the tracepoint need not exist yet. Raises Refused."""
    name, percent, suffix = words[1].partition("%")
    if percent:
        raise Refused("BAD_ADDR_SUFFIX", len(name), percent + suffix)
    if (invalid := re.search(f"[^{LETTERS}0-9_]", name)) is not None:
        raise Refused("BAD_TP_NAME", invalid.start(), name, names=(re.split("[/.:]", name)[-1],))
    for index, word in enumerate(words[2:], 2):
        if (match := _RETVAL.search(word)) is not None:
            raise Refused("RETVAL_ON_PROBE", match.start(), word, index=index)
    if words[0][1:2].isdigit():
        raise Refused("BAD_MAXACT_TYPE", 1, words[0], index=0)
    return ParsedPlace(name, at_entry=True, at_exit=False)


def _traceable(symbol: str, returns: bool, dialect: Dialect, facts: TargetFacts, environment: Environment) -> bool:
    """Return whether a pattern names traceable functions.

    Up to 6.12 ftrace reads the pattern: a number is a position in its list of functions, `!` means all other
    functions. Newer kernels search all symbols, so that any name of an address is valid.
    """
    index = index_of(facts)
    if dialect.fprobe_on_graph and environment.symbol is not None and symbol not in index.modules:
        return _matched(symbol, index.modules) or any(map(index.count, environment.symbol(symbol).twins))
    if not dialect.fprobe_on_graph:
        negative, symbol = symbol.startswith("!"), symbol.removeprefix("!")
        if symbol[:1].isascii() and symbol[:1].isdigit():
            number = kstrtoul(symbol)
            return number is not None and 0 < number <= len(facts.functions)
        if negative:
            return not returns and _matched(symbol, index.modules)
    return _matched(symbol, index.modules)


def _matched(pattern: str, names: Mapping[str, str]) -> bool:
    if not re.search(r"[*?\[\\]", pattern):
        return pattern in names
    return any(map(Glob.plain(pattern).matches, names))


def kprobe_spot(
    head: str, word: str, btf: Btf | None, facts: TargetFacts, dialect: Dialect, environment: Environment
) -> ParsedPlace:
    """Parse the place of a `p` or `r` command. Raises Refused with the column in the second word."""
    returns = head.startswith("r")
    address = kstrtoul(word)
    if address is not None:
        # The kernel accepts an address outside of its code: a module may be loaded there.
        late = Refused("FAIL_REG_PROBE", 0, word) if address == 0 else None
        return ParsedPlace("", at_entry=False, at_exit=False, registration_error=late, place=word, absent=True)
    symbol, percent, suffix = word.partition("%")
    if percent and suffix != "return":
        raise Refused("BAD_ADDR_SUFFIX", len(symbol), percent + suffix)
    returns = returns or bool(percent)
    sign = re.search(r"[+-]", symbol)
    offset = 0
    if sign is not None:
        number = kstrtol(symbol[sign.start() :])
        if number is None or not 0 <= number <= UINT_MAX:
            raise Refused("BAD_PROBE_ADDR", 0, symbol)
        offset, symbol = number, symbol[: sign.start()]
    if ":" in symbol:
        return _module_spot(symbol, offset, returns, facts, dialect, environment)
    if symbol == TEXT and offset:  # a function is assumed to begin there
        return ParsedPlace(symbol, not returns, returns, None, f"{symbol}+{offset}")
    _check_symbol(symbol, btf, facts, environment, dialect.fprobe_on_graph)
    place = f"{symbol}+{offset}" if offset else ""
    landing = _land(symbol, offset, environment)
    if landing is None:
        late = Refused("BAD_PROBE_ADDR", 0, word, hint=f"Nothing of the kernel lies so far behind {symbol}")
        return ParsedPlace(symbol, at_entry=False, at_exit=returns, registration_error=late, place=place)
    notrace, late = _check_code(landing, facts, environment)
    is_part = "." in landing.symbol and not index_of(facts).count(
        landing.symbol
    )  # such a part has neither ENDBR64 nor a call of ftrace
    ibt = _has_ibt(btf, facts) and not is_part and (landing.offset == 0 or _has_endbr(landing, environment))
    entry = landing.offset == 0 or (landing.offset == _IBT_ENTRY and ibt)
    if late is None and not entry:
        if code_at(landing.symbol, landing.offset, environment) is not None:
            late = check_instruction(word, landing.symbol, landing.offset, environment)
        elif (architecture := ARCHITECTURES.get(facts.machine)) is not None and architecture.is_inside(
            landing.offset, has_mark=ibt, has_ftrace_call=not is_part
        ):
            late = Refused(architecture.INSIDE_ERROR, 0, word)
    if returns and not entry:
        raise Refused("BAD_RETPROBE", 0, symbol)
    return ParsedPlace(symbol, entry and not returns, returns, late, place, notrace)


def _module_spot(
    text: str, offset: int, returns: bool, facts: TargetFacts, dialect: Dialect, environment: Environment
) -> ParsedPlace:
    """Parse the place `module:symbol`; in a module that isn't loaded, no function counts as a function entry yet."""
    module, _, symbol = text.partition(":")
    index, place = index_of(facts), f"{text}+{offset}" if offset else ""
    if module not in index.loaded:
        return ParsedPlace(text, at_entry=False, at_exit=returns, place=place, absent=True)
    traceable = index.modules.get(symbol) == module
    if not traceable and environment.symbol is not None and not environment.symbol(symbol).modules:
        unknown = Refused("BAD_PROBE_ADDR", 0, text)
        if dialect.btf_args:
            raise unknown
        return ParsedPlace(
            text, at_entry=False, at_exit=returns, registration_error=unknown, place=place
        )  # 6.1 looks up the symbol when it registers the probe
    if returns and offset:
        raise Refused("BAD_RETPROBE", 0, text)
    notrace = None if traceable or environment.symbol is None else Refused("FAIL_REG_PROBE", 0, text)
    late = check_instruction(f"{text}+{offset:#x}", symbol, offset, environment, module) if offset else None
    return ParsedPlace(text, not offset and not returns, returns, late, place, notrace)


def _check_symbol(symbol: str, btf: Btf | None, facts: TargetFacts, environment: Environment, on_graph: bool) -> None:
    """Check that a symbol exists, and only once. Raises Refused."""
    index = index_of(facts)
    traceable = index.count(symbol)
    count = traceable
    if environment.symbol is not None:
        counts = environment.symbol(symbol)
        # Up to 6.12 symbols of modules count too, later only where the kernel itself has none.
        count = (counts.kernel or counts.modules) if on_graph else counts.kernel + counts.modules
    if count > 1:
        raise Refused("NON_UNIQ_SYMBOL", 0, symbol)
    if count == 0:
        base = symbol.removeprefix("__pfx_")
        probable = symbol in facts.blacklist or (btf is not None and btf.function(symbol) is not None)
        probable = probable or (base != symbol and index.count(base) > 0)
        if environment.symbol is not None or not probable:
            raise Refused("BAD_PROBE_ADDR", 0, symbol, hint=_no_name(symbol))


def _land(symbol: str, offset: int, environment: Environment) -> SymbolLanding | None:
    """Return the symbol at an offset, possibly beyond the named symbol (_kprobe_addr in kernel/kprobes.c)."""
    if not offset or environment.landing is None:
        return SymbolLanding(symbol, offset, 0, code=True)
    return environment.landing(symbol, offset)


def _check_code(
    at: SymbolLanding, facts: TargetFacts, environment: Environment
) -> tuple[Refused | None, Refused | None]:
    """Return the errors at registration for a symbol that is notrace, and for a symbol on the kprobe blacklist.

    Code split off by the compiler, `name.cold`, counts as its function (within_notrace_func,
    within_kprobe_blacklist), and all names of an address count.
    """
    symbol, refused = at.symbol, Refused("FAIL_REG_PROBE", 0, at.symbol)
    if not at.code:
        return refused, refused
    index, names = index_of(facts), {symbol, symbol.partition(".")[0]}
    if environment.symbol is not None:
        names.update(environment.symbol(symbol).twins)
    return None if any(map(index.count, names)) else refused, refused if names & facts.blacklist else None


def code_at(symbol: str, offset: int, environment: Environment, module: str = "") -> FunctionBody | None:
    """Return the code that has an offset of a function; None: it can't be read, or the name is not unique."""
    if environment.bodies is None:
        return None
    try:
        bodies = environment.bodies(symbol)
    except InputRefusal:
        return None
    found = [body for body in bodies if not module or body.module == module]
    return found[0] if len(found) == 1 and offset < found[0].parts[0].size else None


def check_instruction(
    word: str, symbol: str, offset: int, environment: Environment, module: str = ""
) -> Refused | None:
    """Return the error for an offset where no instruction begins, or one without kprobes; None: none is known.

    On x86-64 the kernel decodes a function from its beginning (can_probe in arch/x86/kernel/kprobes/core.c).
    """
    body = code_at(symbol, offset, environment, module)
    if body is None:
        return None
    found = instruction_at(body.parts[0], offset)
    if found is None:
        code = ARCHITECTURES[body.machine].INSIDE_ERROR
        near = places_around(body.parts[0], offset)
        return Refused(code, 0, word, hint="It points into an instruction", corrections=near)
    if found.refusal and found.refusal != OF_SOME_KERNELS:
        return Refused("FAIL_REG_PROBE", 0, word, hint=f"No kprobe there: {found.refusal}")
    return None


def _has_endbr(at: SymbolLanding, environment: Environment) -> bool:
    """Return whether a function begins with ENDBR64, as indirectly called functions do; True if unknown."""
    return not at.start or environment.call_at is None or environment.call_at(at.start) != 0


def _has_ibt(btf: Btf | None, facts: TargetFacts) -> bool:
    return facts.machine == "x86_64" and btf is not None and btf.function("ibt_save") is not None
