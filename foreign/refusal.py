"""The one error for input that is damaged or beyond a bound."""

from __future__ import annotations


class InputRefusal(ValueError):
    """Input from outside that is not taken; the message is one line with source, thing and bound.

    Attributes:
        source: file, path on a target, or name of a setting.
        thing: what of it is refused: `member vmlinux.btf has 90000000 bytes`.
        bound: what is allowed, `67108864 bytes`; empty where it is no question of size.
    """

    def __init__(self, source: str, thing: str, bound: str = "") -> None:
        allowed = f" (at most {bound})" if bound else ""
        text = f"{source}: {thing}{allowed}" if source else f"{thing}{allowed}"
        super().__init__(text.replace("\n", "\\n"))
        self.source = source
        self.thing = thing
        self.bound = bound
