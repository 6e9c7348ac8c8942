"""What one kernel answers to a command of its own syntax, computed: error, message and column as in its error_log.

For function probes (`f`, `p`, `r`); other kinds are not computed yet and say so. Events that exist already are not
known here: DIFF_PROBE_TYPE and its kin are left to the kernel.
"""

from __future__ import annotations

from btf.btf import Btf
from probes.argument import check_argument, check_entry_data
from probes.dialect import MAX_ARGS, MAX_LINE, Dialect, dialect_of
from probes.errors_table import NO_MATCH, message_of
from probes.expand import expand_dentry, expand_meta
from probes.facts import TargetFacts
from probes.hints import hint_for
from probes.names import check_name
from probes.place import Spot, check_head, fprobe_spot, kprobe_spot
from probes.signature import signature_of
from probes.site import Refused, Site
from probes.text import split
from probes.verdict import Refusal, Verdict

NOT_COMPUTED = "not_computed"
"""Our code where only the kernel itself can say."""
_OWN = {
    NOT_COMPUTED: "This kind of command is not checked here yet; the kernel will say",
    "refused_without_message": "The kernel refuses this without a word",
    "line_too_long": f"A command is at most {MAX_LINE} characters long",
}


def kernel_verdict(text: str, btf: Btf | None, facts: TargetFacts) -> Verdict:
    """Compute this kernel's answer to a command, as it is written to `dynamic_events`."""
    argv = [word.text for word in split(text)]
    command = " ".join(argv)
    if len(text) > MAX_LINE:
        return Verdict(command, Refusal("line_too_long", _OWN["line_too_long"]))
    if not argv:
        return Verdict(command)
    dialect = dialect_of(facts)
    try:
        _check(argv, btf, facts, dialect)
    except _At as error:
        return Verdict(command, _refusal(error.refused, error.index, argv))
    return Verdict(command)


class _At(Exception):  # noqa: N818
    """A Refused with the word it belongs to."""

    def __init__(self, refused: Refused, index: int) -> None:
        super().__init__(refused.code)
        self.refused = refused
        self.index = index if refused.index is None else refused.index


def _check(argv: list[str], btf: Btf | None, facts: TargetFacts, dialect: Dialect) -> None:
    """Go through one command in the kernel's order. Raises _At."""
    letter = argv[0][0]
    if letter not in "fpr" or (len(argv) > 1 and letter != "f" and "/" in argv[1]):
        raise _At(Refused(NOT_COMPUTED, 0, argv[0]), 0)
    if len(argv) < 2 or (letter == "f" and not dialect.fprobe):
        # The message is as young as the late look-up of fprobe targets, within a few releases.
        raise _At(Refused(NO_MATCH if dialect.fprobe_on_graph else "refused_without_message", 0), 0)
    spot, name = _site(argv, btf, facts, dialect)
    if name is not None and (bad := check_name(name)) is not None:
        raise _At(Refused(bad[0], len(argv[0]) - len(name) + bad[1], name), 0)
    signature = signature_of(btf, spot.symbol) if btf is not None and spot.symbol else None
    site = Site(dialect, btf, signature, spot.at_entry, spot.at_exit, fprobe=letter == "f")
    _arguments(argv, site)
    try:
        check_entry_data(site)
    except Refused as error:
        raise _At(error, 2) from None
    if spot.late is not None:
        raise _At(spot.late, 1)


def _site(argv: list[str], btf: Btf | None, facts: TargetFacts, dialect: Dialect) -> tuple[Spot, str | None]:
    try:
        name = check_head(argv[0], dialect)
    except Refused as error:
        raise _At(error, 0) from None
    try:
        if argv[0][0] == "f":
            return fprobe_spot(argv, dialect, facts), name
        return kprobe_spot(argv[0], argv[1], btf, facts), name
    except Refused as error:
        raise _At(error, 1) from None


def _arguments(argv: list[str], site: Site) -> None:
    try:
        words = expand_meta(argv[2:], site)
        if len(words) > MAX_ARGS:
            _too_many(argv, site)
            words = words[:MAX_ARGS]
        words = expand_dentry(words, site)
    except Refused as error:
        raise _At(Refused(error.code, error.offset, error.token), (error.index or 0) + 2) from None
    names: list[str] = []
    size = 0
    for index, word in enumerate(words):
        try:
            name, width = check_argument(word, index, names, size, site)
        except Refused as error:
            raise _At(error, index + 2) from None
        names.append(name)
        size += width


def _too_many(argv: list[str], site: Site) -> None:
    """More than 128 arguments: 6.1 reads the first ones, 6.12 says nothing, later ones say so."""
    if not site.dialect.btf_args:
        return
    code = "TOO_MANY_ARGS" if site.dialect.fprobe_on_graph else "refused_without_message"
    raise Refused(code, 0, argv[2])


def _refusal(error: Refused, index: int, argv: list[str]) -> Refusal:
    """Place the caret (__trace_probe_log_err) and add what we know."""
    message = message_of(error.code) or _OWN.get(error.code, error.code)
    if error.code[0].islower():
        return Refusal(error.code, message, None, error.token)
    lengths = [len(word) + 1 for word in argv]
    column = sum(lengths) if index >= len(argv) else sum(lengths[:index]) + error.offset
    hint, nearest = hint_for(error.code, error.token, error.names)
    return Refusal(error.code, message, column, error.token, hint, nearest)
