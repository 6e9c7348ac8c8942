"""`$arg*`, `$argN` and `%pd`, which the kernel replaces in the text before it reads the arguments.

traceprobe_expand_meta_args and traceprobe_expand_dentry_args in kernel/trace/trace_probe.c.
"""

from __future__ import annotations

from collections.abc import Sequence

from probes.facts.dialect import MAX_DENTRY_ARGS, MAX_META_ARGS
from probes.functions.signature import dentry_offsets
from probes.rules.messages.guesses import argument_meant, takes
from probes.rules.site import Site
from probes.syntax.refused import Refused
from probes.syntax.text import UINT_MAX, simple_strtoul


def expand_meta(words: list[str], site: Site) -> list[str]:
    """Put names for `$arg*` and for each bare `$argN`. Raises Refused with the word's index in `words`."""
    if not site.dialect.btf_args:
        return words
    star, found = _find_meta(words, site)
    if not found:
        return words
    site.queried = site.signature is not None
    params = site.signature.params if site.signature is not None else ()
    if not params:
        # Older kernels log it too, and read on until they trip over `$arg*` as a variable.
        if star is not None and site.dialect.star_logged_once:
            raise Refused("NOSUP_BTFARG", 0, words[star], found[-1])
        return words
    names = [param.name for param in params]
    out: list[str] = []
    used = 0
    for index, word in enumerate(words):
        if index == star:
            new = names
        elif word.startswith("$arg"):
            new = [_one(word, index, names, site)]
        else:
            out.append(word)
            continue
        for text in new:
            if used + len(text) + 1 > MAX_META_ARGS:
                raise Refused("ARGS_2LONG", 0, word, index)
            used += len(text) + 1
            out.append(text)
    return out


def _find_meta(words: list[str], site: Site) -> tuple[int | None, list[int]]:
    """Find `$arg*` and all words that begin with `$arg` (argv_has_var_arg)."""
    star: int | None = None
    found: list[int] = []
    for index, word in enumerate(words):
        if not word.startswith("$arg"):
            continue
        if not site.on_function:
            raise Refused("NOFENTRY_ARGS", 0, word, index)
        following = word[4:5]
        if following == "*":
            if star is not None:
                raise Refused("DOUBLE_ARGS", 0, word, index)
            star = index
        elif not (following.isascii() and following.isdigit()):
            raise _no_number(word, index, site)
        found.append(index)
    return star, found


def _one(word: str, index: int, names: list[str], site: Site) -> str:
    number, rest = simple_strtoul(word[4:], 10, site.dialect.saturates)
    if rest and not rest.startswith(":"):
        raise _no_number(word, index, site)
    number &= UINT_MAX  # it is kept in an int
    if number == 0:
        return _zero(word, index, site) + rest
    if number > len(names):  # of one that is negative there the kernel reads what lies before the parameters
        raise beyond_last(word, names, index)
    return names[number - 1] + rest


def _no_number(word: str, index: int, site: Site) -> Refused:
    hint, meant = argument_meant(word, site.signature)
    return Refused("BAD_VAR", 0, word, index, hint=hint, meant=meant)


def beyond_last(word: str, names: Sequence[str], index: int | None = None) -> Refused:
    """What the kernel says of an argument behind the last one, where BTF knows how many there are."""
    return Refused("NO_BTFARG", 0, word, index, hint=takes(names))


def _zero(word: str, index: int, site: Site) -> str:
    """What `$arg0` becomes: from 6.16 to 7.0 the kernel reads in front of the parameters (casts came with 7.1).

    A tracepoint's function has one there. Raises Refused.
    """
    if not site.dialect.fprobe_on_graph or site.dialect.typecast_known:
        raise Refused("BAD_ARG_NUM", 0, word, index)
    if not site.tracepoint:
        raise Refused("NO_BTF_ENTRY", 0, word, index)
    return "__data"


def expand_dentry(words: list[str], site: Site) -> list[str]:
    """Put the name's path for `:%pd` and `:%pD`. Raises Refused where it gets too long (the kernel logs nothing)."""
    if not site.dialect.dentry or site.user:
        return words
    offsets = dentry_offsets(site.btf)
    out: list[str] = []
    used = 0
    for index, word in enumerate(words):
        if not word.endswith((":%pd", ":%pD")):
            out.append(word)
            continue
        text = dentry_path(word, offsets)
        used += len(text) + 1
        if used > MAX_DENTRY_ARGS:
            raise Refused("refused_without_message", 0, word, index)
        out.append(text)
    return out


def dentry_path(word: str, offsets: tuple[int, int]) -> str:
    """Write `x=file:%pD` as the kernel does: `x=+0x0(+0x28(+0x48(file))):string`.

    Args:
        word: ends in `:%pd` or `:%pD`.
        offsets: of the name's pointer in `struct dentry`, of the dentry's pointer in `struct file`.
    """
    name, equal, body = word.partition("=")
    if not equal:
        body, name = word, ""
    value = body[:-4]
    if word.endswith("D"):
        value = f"+{offsets[1]:#x}({value})"
    return f"{name}{equal}+0x0(+{offsets[0]:#x}({value})):string"
