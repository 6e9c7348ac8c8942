"""Complete a specification at the cursor. Pure, and fast enough for every keystroke.

All completions are accepted by `probes.check`: places by the probes that can attach there, arguments and fields by
the tree of captures (`probes.functions.capture_tree`), everything else by calling the check itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from events.names.function_choice import is_choice, is_own_choice
from probes.code.architectures.table import ARCHITECTURES
from probes.completion.argument import complete_argument
from probes.completion.choice import NOTHING, Completion, Completions, ItemKind, NameSources, Priority
from probes.completion.chosen_functions import complete_choice, complete_type, unclosed_type
from probes.completion.deletion import complete_deletion
from probes.completion.filter import complete_filter
from probes.completion.program import complete_program
from probes.completion.scope import Scope
from probes.completion.source import complete_source, source_heads
from probes.completion.static import LATENCY, complete_static, heads
from probes.completion.synthetic import complete_synthetic
from probes.completion.user_event import complete_user_event, user_event_heads
from probes.facts.facts import Feature, TargetFacts
from probes.probe import ProbeKind
from probes.sources.kinds import KINDS
from probes.static_events import ON
from probes.syntax.parse import split_command
from probes.syntax.text import Word
from probes.user_events.event import is_user_event

__all__ = ["complete"]

_MAX_PLACES = 60
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
_INSTRUCTIONS = (
    ("%retinsn", "at each return instruction: which one, and what it returns"),
    ("%tailcall", "at each jump to another function that returns in its place"),
)
_TRACK = ("%track", "every function that takes the same object from then on")


def complete(text: str, cursor: int, sources: NameSources) -> Completions:
    """Return the completions at the cursor.

    Args:
        text: the specification as far as it is typed.
        cursor: position in the text, from 0 to its length.
        sources: sources of names.
    """
    before = text[:cursor]
    if "#" in before:
        return NOTHING
    first = before.lstrip()
    if first.startswith("s:"):
        return _to_name_end(complete_synthetic(before, sources), text)
    if is_user_event(before):
        return complete_user_event(before)
    if first.startswith("-"):
        return complete_deletion(before, sources)
    if first.split(" ", 1)[0].partition(":")[0] in (ON, LATENCY):
        return _to_name_end(complete_static(before, sources), text)
    if " " in first and first.split(" ", 1)[0] in KINDS:
        return complete_source(before)
    if (typed := unclosed_type(before)) is not None:
        return complete_type(typed, cursor, sources)
    words = split_command(before)
    if not words or not before[-1:].strip():
        words.append(Word("", cursor))
    word, condition = words[-1], _FILTER.search(before)
    if len(words) == 1:
        completions = _head(word, sources)
    elif words[0].text[0] not in dict(_letters(sources.facts)):
        return Completions(
            cursor,
            cursor,
            (),
            Priority.NEEDED,
            _missing_kind_reason("this kernel has no such kind of probe", sources),
        )
    elif condition is not None and cursor > condition.end() and len(words) > 2:
        scope = Scope.of(text[: condition.start()], sources)
        completions = complete_filter(before, condition.end(), scope) if scope is not None else NOTHING
    elif len(words) == 2:
        completions = _place(words[0].text, word, sources)
    else:
        scope = Scope.of(" ".join(w.text for w in words[:-1]), sources)
        completions = complete_argument(word, scope) if scope is not None else NOTHING
    return _to_name_end(completions, text)


def _to_name_end(completions: Completions, text: str) -> Completions:
    """Extend the replaced range to the end of the name at the cursor."""
    rest = re.match(r"\w*", text[completions.end :])
    end = completions.end + (rest.end() if rest else 0)
    return Completions(completions.start, end, completions.items, completions.urge, completions.note)


def _letters(facts: TargetFacts) -> list[tuple[str, str]]:
    """Return the kinds of probes that a kernel has, with descriptions."""
    return [
        (letter_offered, about)
        for letter_offered, about, features in _LETTERS
        if any(facts.has(feature) for feature in features)
    ]


def _head(word: Word, sources: NameSources) -> Completions:
    letter, colon, _ = word.text.partition(":")
    end = word.start + len(word.text)
    if colon:
        return Completions(end, end, note="GROUP/EVENT or EVENT: a name of your own for the event")
    items = [
        Completion(f"{letter_offered} ", ItemKind.LETTER, letter_offered, description=about)
        for letter_offered, about in _letters(sources.facts)
        if letter_offered.startswith(letter)
    ]
    if sources.facts.has(Feature.SYNTHETIC_EVENTS) and "s".startswith(letter):
        items.append(
            Completion("s:", ItemKind.LETTER, "s:", description="a synthetic event: fields that others fill")
        )
    facts = sources.facts
    items += [*heads(letter, facts), *source_heads(letter, facts), *user_event_heads(letter, facts)]
    if not letter and sources.made():
        items.append(Completion("-:", ItemKind.LETTER, "-:", description="take one of our events away"))
    return Completions(
        word.start, end, tuple(items), Priority.NEEDED, "" if items else "begin with f, p, r, t, e, s:, on or lat:"
    )


def _missing_kind_reason(reason: str, sources: NameSources) -> str:
    """Return why a kind is not offered; if tracefs could not be read, the reason for that."""
    return (
        f"what this kernel has cannot be seen: {sources.facts.unreadable.what}"
        if sources.facts.unreadable
        else reason
    )


def _place(head: str, word: Word, sources: NameSources) -> Completions:
    if head[0] == "t":
        return _names(word, sources.tracepoints(word.text), "tracepoint")
    if head[0] == "e":
        return _names(word, sources.event_names(word.text), "event")
    if head[0] in "pr" and "/" in word.text:
        if not sources.facts.has(Feature.UPROBE_EVENTS):
            reason = _missing_kind_reason("this kernel has no probes in programs", sources)
            return Completions(word.start, word.start, (), Priority.NEEDED, reason)
        return complete_program(head, word, sources)
    return _functions(head, word, sources) if head[0] in "fpr" else NOTHING


def _names(word: Word, names: Sequence[str], kind: str) -> Completions:
    items = tuple(Completion(f"{name} ", ItemKind.PLACE, name) for name in names[:_MAX_PLACES])
    end = word.start + len(word.text)
    return Completions(word.start, end, items, Priority.NEEDED, "" if items else f"no {kind} has this in its name")


def _functions(head: str, word: Word, sources: NameSources) -> Completions:
    symbol, percent, _ = word.text.partition("%")
    if head[0] == "f" and is_own_choice(symbol):
        return complete_choice(word, _ENDS, sources)
    module, colon, name = symbol.rpartition(":")
    end = word.start + len(word.text)
    items: list[Completion] = []
    exact = sources.function(name)
    inside = _INSTRUCTIONS if sources.facts.machine in ARCHITECTURES and not sources.is_recording else ()
    pattern = is_choice(name)
    can_attach = _attaches(head, exact.kinds)
    if (pattern and percent) or (can_attach and (not colon or exact.module == module)):
        more = () if pattern else (_TRACK,) if head[0] == "f" else inside
        ends = _ENDS[:1] if head[0] == "r" else (*_ENDS, *more)
        items += [
            Completion(f"{symbol}{suffix} ", ItemKind.PLACE, f"{name}{suffix}", description=about)
            for suffix, about in ends
            if f"{symbol}{suffix}".startswith(word.text)
        ]
    if not percent and name:
        items += [
            Completion(
                f"{module}{colon}{function.name}",
                ItemKind.PLACE,
                function.name,
                function.prototype,
                description=function.reason,
            )
            for function in sources.functions(name)
            if function.name != name and _attaches(head, function.kinds) and (not colon or function.module == module)
        ][:_MAX_PLACES]
    is_complete = not percent or word.text in (f"{symbol}{e}" for e, _ in (*_ENDS, _TRACK, *_INSTRUCTIONS))
    if pattern and is_complete:  # a pattern stands for all matching functions; another match would change its meaning
        return Completions(word.start, end, tuple(items), Priority.STANDS)
    urge = Priority.USUAL if can_attach and is_complete else Priority.NEEDED
    if items:
        return Completions(word.start, end, tuple(items), urge)
    note = exact.reason if exact.module or exact.prototype else "no function has this in its name"
    return Completions(word.start, end, (), urge, note if name else "type part of a function's name")


def _attaches(head: str, kinds: frozenset[ProbeKind]) -> bool:
    """Return whether a probe of this letter can attach to a function with these kinds."""
    wanted = {"p": ProbeKind.KPROBE, "r": ProbeKind.KRETPROBE}.get(head[0])
    return wanted in kinds if wanted else bool(kinds)
