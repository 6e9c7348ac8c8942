"""What may stand at the cursor of a specification that is being typed: pure, and quick enough for every key.

What is offered is what `probes.check` accepts: places by what can attach there, arguments and fields by the tree that
is ticked from (`probes.functions.capture_tree`), everything else by asking the check itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from probes.completion.argument import complete_argument
from probes.completion.choice import NOTHING, Completion, Completions, ItemKind, NameSources, Priority
from probes.completion.deletion import complete_deletion
from probes.completion.filter import complete_filter
from probes.completion.program import complete_program
from probes.completion.scope import Scope
from probes.completion.static import LATENCY, complete_static, heads
from probes.completion.synthetic import complete_synthetic
from probes.facts.facts import Feature, TargetFacts
from probes.probe import ProbeKind
from probes.static_events import ON
from probes.syntax.text import Word, is_pattern, split

__all__ = ["complete"]

_MOST_PLACES = 60
_FILTER = re.compile(r"\sif(?=\s|$)")
_LETTERS = (
    ("f", "a function, at its entry or exit", (Feature.FPROBE_EVENTS, Feature.KPROBE_EVENTS)),
    ("p", "a function or an instruction in it (kprobe)", (Feature.KPROBE_EVENTS,)),
    ("r", "the return of a function (kretprobe)", (Feature.KPROBE_EVENTS,)),
    ("t", "a tracepoint, with its arguments", (Feature.TPROBE_EVENTS,)),
    ("e", "an event, with its fields", (Feature.EPROBE_EVENTS,)),
)
_ENDS = (
    ("", "when it is called"),
    ("%return", "when it returns, with what it returns"),
    ("%both", "both: what did the call change"),
)


def complete(text: str, cursor: int, known: NameSources) -> Completions:
    """Give what may stand at the cursor.

    Args:
        text: the specification, as far as it is typed.
        cursor: a place in it, from 0 to its length.
        known: where names come from.
    """
    before = text[:cursor]
    if "#" in before:
        return NOTHING
    first = before.lstrip()
    if first.startswith("s:"):
        return _to_the_end(complete_synthetic(before, known), text)
    if first.startswith("-"):
        return complete_deletion(before, known)
    if first.split(" ", 1)[0].partition(":")[0] in (ON, LATENCY):
        return _to_the_end(complete_static(before, known), text)
    words = split(before)
    if not words or not before[-1:].strip():
        words.append(Word("", cursor))
    word, condition = words[-1], _FILTER.search(before)
    if len(words) == 1:
        found = _head(word, known)
    elif words[0].text[0] not in dict(_letters(known.facts)):
        return Completions(
            cursor, cursor, (), Priority.NEEDED, _no_kind("this kernel has no such kind of probe", known)
        )
    elif condition is not None and cursor > condition.end() and len(words) > 2:
        scope = Scope.of(text[: condition.start()], known)
        found = complete_filter(before, condition.end(), scope) if scope is not None else NOTHING
    elif len(words) == 2:
        found = _place(words[0].text, word, known)
    else:
        scope = Scope.of(" ".join(w.text for w in words[:-1]), known)
        found = complete_argument(word, scope) if scope is not None else NOTHING
    return _to_the_end(found, text)


def _to_the_end(found: Completions, text: str) -> Completions:
    """An item replaces the rest of the name the cursor stands in."""
    rest = re.match(r"\w*", text[found.end :])
    end = found.end + (rest.end() if rest else 0)
    return Completions(found.start, end, found.items, found.urge, found.note)


def _letters(facts: TargetFacts) -> list[tuple[str, str]]:
    """Kinds of probe that a kernel has, and what they are."""
    return [(one, about) for one, about, features in _LETTERS if any(facts.has(feature) for feature in features)]


def _head(word: Word, known: NameSources) -> Completions:
    letter, colon, _ = word.text.partition(":")
    end = word.start + len(word.text)
    if colon:
        return Completions(end, end, note="GROUP/EVENT or EVENT: a name of your own for the event")
    items = [
        Completion(f"{one} ", ItemKind.LETTER, one, about=about)
        for one, about in _letters(known.facts)
        if one.startswith(letter)
    ]
    if known.facts.has(Feature.SYNTHETIC_EVENTS) and "s".startswith(letter):
        items.append(Completion("s:", ItemKind.LETTER, "s:", about="a synthetic event: fields that others fill"))
    items += heads(letter, known.facts)
    if not letter and known.made():
        items.append(Completion("-:", ItemKind.LETTER, "-:", about="take one of our events away"))
    return Completions(
        word.start, end, tuple(items), Priority.NEEDED, "" if items else "begin with f, p, r, t, e, s:, on or lat:"
    )


def _no_kind(why: str, known: NameSources) -> str:
    """Return why a kind is not offered; where nobody could look for it, what kept us from that."""
    return f"what this kernel has cannot be seen: {known.facts.unseen.what}" if known.facts.unseen else why


def _place(head: str, word: Word, known: NameSources) -> Completions:
    if head[0] == "t":
        return _names(word, known.tracepoints(word.text), "tracepoint")
    if head[0] == "e":
        return _names(word, known.events(word.text), "event")
    if head[0] in "pr" and "/" in word.text:
        if not known.facts.has(Feature.UPROBE_EVENTS):
            why = _no_kind("this kernel has no probes in programs", known)
            return Completions(word.start, word.start, (), Priority.NEEDED, why)
        return complete_program(head, word, known)
    return _functions(head, word, known) if head[0] in "fpr" else NOTHING


def _names(word: Word, names: Sequence[str], what: str) -> Completions:
    items = tuple(Completion(f"{name} ", ItemKind.PLACE, name) for name in names[:_MOST_PLACES])
    end = word.start + len(word.text)
    return Completions(word.start, end, items, Priority.NEEDED, "" if items else f"no {what} has this in its name")


def _functions(head: str, word: Word, known: NameSources) -> Completions:
    symbol, percent, _ = word.text.partition("%")
    module, colon, name = symbol.rpartition(":")
    end = word.start + len(word.text)
    items: list[Completion] = []
    exact = known.function(name)
    pattern = is_pattern(name)
    there = _attaches(head, exact.kinds)
    if (pattern and percent) or (there and (not colon or exact.module == module)):
        ends = _ENDS if head[0] != "r" else _ENDS[:1]
        items += [
            Completion(f"{symbol}{suffix} ", ItemKind.PLACE, f"{name}{suffix}", about=about)
            for suffix, about in ends
            if f"{symbol}{suffix}".startswith(word.text)
        ]
    if not percent and name:
        items += [
            Completion(f"{module}{colon}{one.name}", ItemKind.PLACE, one.name, one.prototype, about=one.reason)
            for one in known.functions(name)
            if one.name != name and _attaches(head, one.kinds) and (not colon or one.module == module)
        ][:_MOST_PLACES]
    whole = not percent or word.text in (f"{symbol}{e}" for e, _ in _ENDS)
    if pattern and whole:  # it stands for all that fit: one of these is something else
        return Completions(word.start, end, tuple(items), Priority.STANDS)
    urge = Priority.USUAL if there and whole else Priority.NEEDED
    if items:
        return Completions(word.start, end, tuple(items), urge)
    note = exact.reason if exact.module or exact.prototype else "no function has this in its name"
    return Completions(word.start, end, (), urge, note if name else "type part of a function's name")


def _attaches(head: str, kinds: frozenset[ProbeKind]) -> bool:
    """Whether a probe of this letter can sit on a function of which these kinds are known."""
    wanted = {"p": ProbeKind.KPROBE, "r": ProbeKind.KRETPROBE}.get(head[0])
    return wanted in kinds if wanted else bool(kinds)
