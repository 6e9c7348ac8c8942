"""What a kernel says of a probe, before or after it was asked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """The kernel's error (error_log) and what we add to it."""

    code: str
    """Symbolic name as in the ERRORS table of kernel/trace/trace_probe.h (`NO_BTF_FIELD`), or a name of our own in
    lower case where the kernel has none (`missing_capability`)."""
    message: str
    """The kernel's sentence."""
    column: int | None = None
    """Column of the kernel's caret in `command`, from 0; None where there is no position."""
    token: str = ""
    """The word that is wrong, as a rule the one the caret stands under; see `Verdict.caret`."""
    hint: str = ""
    """The reason in plain words, and the way out."""
    nearest: tuple[str, ...] = ()
    """Up to three names that exist."""
    corrected: str = ""
    """The whole text put right, where somebody looked for it (`probes.corrections.corrections`); empty: not known."""

    @property
    def clause(self) -> str:
        """The kernel's sentence without its full stop, as some of them have one: more is said behind it."""
        return self.message if self.message.endswith(("..", "etc.")) else self.message.removesuffix(".")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Accepted, or refused with the reason."""

    command: str
    """The text the verdict is about, words joined by one space, as error_log shows it."""
    error: Refusal | None = None
    by_kernel: bool = False
    """True: this kernel said so itself. False: computed."""

    @property
    def caret(self) -> int | None:
        """Column of what is wrong in `command`, from 0; None where there is no position.

        That of the kernel, but for an argument of a function that is not there: the kernel points at the argument
        (NO_BTF_ENTRY), before it looks for the function.
        """
        error = self.error
        if error is None or error.column is None or error.code != "NO_BTF_ENTRY":
            return None if error is None else error.column
        at = self.command.find(f" {error.token}") + 1 if error.token else 0
        return at if 0 < at < error.column else error.column

    @property
    def ok(self) -> bool:
        """Whether the kernel takes it."""
        return self.error is None
