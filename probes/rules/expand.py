"""Expand `$arg*`, `$argN` and `%pd` as the kernel does in the text before it parses the arguments.

traceprobe_expand_meta_args and traceprobe_expand_dentry_args in kernel/trace/trace_probe.c.
"""

from __future__ import annotations

from collections.abc import Sequence

from probes.facts.dialect import MAX_DENTRY_ARGS, MAX_META_ARGS
from probes.functions.signature import dentry_offsets
from probes.rules.messages.guesses import arguments_hint, guess_argument
from probes.rules.site import Site
from probes.syntax.refused import Refused
from probes.syntax.text import UINT_MAX, simple_strtoul


def expand_meta(words: list[str], site: Site) -> list[str]:
    """Replace `$arg*` and each bare `$argN` by parameter names. Raises Refused with the word's index in `words`."""
    if not site.dialect.btf_args:
        return words
    star, meta_words = _find_meta(words, site)
    if not meta_words:
        return words
    site.queried = site.signature is not None
    params = site.signature.params if site.signature is not None else ()
    if not params:
        # Older kernels log this too, but read on and fail at `$arg*` as a variable.
        if star is not None and site.dialect.star_logged_once:
            raise Refused("NOSUP_BTFARG", 0, words[star], meta_words[-1])
        return words
    names = [param.name for param in params]
    expanded: list[str] = []
    used = 0
    for index, word in enumerate(words):
        if index == star:
            replacement = names
        elif word.startswith("$arg"):
            replacement = [_parameter_name(word, index, names, site)]
        else:
            expanded.append(word)
            continue
        for text in replacement:
            if used + len(text) + 1 > MAX_META_ARGS:
                raise Refused("ARGS_2LONG", 0, word, index)
            used += len(text) + 1
            expanded.append(text)
    return expanded


def _find_meta(words: list[str], site: Site) -> tuple[int | None, list[int]]:
    """Return the index of `$arg*`, and of all words that begin with `$arg` (argv_has_var_arg)."""
    star: int | None = None
    meta_words: list[int] = []
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
        meta_words.append(index)
    return star, meta_words


def _parameter_name(word: str, index: int, names: list[str], site: Site) -> str:
    number, rest = simple_strtoul(word[4:], 10, site.dialect.saturates)
    if rest and not rest.startswith(":"):
        raise _no_number(word, index, site)
    number &= UINT_MAX  # the kernel stores the number in an int
    if number == 0:
        return _zeroth_parameter(word, index, site) + rest
    if number > len(names):  # for a negative int the kernel reads memory before the parameters
        raise beyond_last(word, names, index)
    return names[number - 1] + rest


def _no_number(word: str, index: int, site: Site) -> Refused:
    hint, meant = guess_argument(word, site.signature)
    return Refused("BAD_VAR", 0, word, index, hint=hint, corrections=meant)


def beyond_last(word: str, names: Sequence[str], index: int | None = None) -> Refused:
    """Return the error for an argument after the last one, where BTF knows their number."""
    return Refused("NO_BTFARG", 0, word, index, hint=arguments_hint(names))


def _zeroth_parameter(word: str, index: int, site: Site) -> str:
    """Expand `$arg0`: from 6.16 to 7.0 the kernel reads memory before the parameters (7.1 introduced casts).

    A tracepoint's function has a parameter there. Raises Refused.
    """
    if not site.dialect.fprobe_on_graph or site.dialect.typecast_known:
        raise Refused("BAD_ARG_NUM", 0, word, index)
    if not site.tracepoint:
        raise Refused("NO_BTF_ENTRY", 0, word, index)
    return "__data"


def expand_dentry(words: list[str], site: Site) -> list[str]:
    """Replace `:%pd` and `:%pD` by the path to the name. Raises Refused if too long; the kernel logs nothing."""
    if not site.dialect.dentry or site.user:
        return words
    offsets = dentry_offsets(site.btf)
    expanded: list[str] = []
    used = 0
    for index, word in enumerate(words):
        if not word.endswith((":%pd", ":%pD")):
            expanded.append(word)
            continue
        text = dentry_path(word, offsets)
        used += len(text) + 1
        if used > MAX_DENTRY_ARGS:
            raise Refused("refused_without_message", 0, word, index)
        expanded.append(text)
    return expanded


def dentry_path(word: str, offsets: tuple[int, int]) -> str:
    """Write `x=file:%pD` as the kernel does: `x=+0x0(+0x28(+0x48(file))):string`.

    Args:
        word: an argument that ends in `:%pd` or `:%pD`.
        offsets: offsets of the name's pointer in `struct dentry`, of the dentry's pointer in `struct file`.
    """
    name, equal, body = word.partition("=")
    if not equal:
        body, name = word, ""
    value = body[:-4]
    if word.endswith("D"):
        value = f"+{offsets[1]:#x}({value})"
    return f"{name}{equal}+0x0(+{offsets[0]:#x}({value})):string"
