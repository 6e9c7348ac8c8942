"""Error for input that is damaged or exceeds a bound."""

from __future__ import annotations


class InputRefusal(ValueError):
    """Rejection of input from outside; the message is one line with source, thing and bound.

    Attributes:
        source: file, path on a target, or name of a setting.
        thing: the rejected part: `member vmlinux.btf has 90000000 bytes`.
        bound: the allowed maximum, `67108864 bytes`; empty if the size is not the reason.
    """

    def __init__(self, source: str, thing: str, bound: str = "") -> None:
        allowed = f" (at most {bound})" if bound else ""
        text = f"{source}: {thing}{allowed}" if source else f"{thing}{allowed}"
        super().__init__(text.replace("\n", "\\n"))
        self.source = source
        self.thing = thing
        self.bound = bound
