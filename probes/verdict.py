"""Represent a kernel's verdict on a probe, computed or as the kernel gave it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """The kernel's error (error_log), with hint and corrections from probewright."""

    code: str
    """Symbolic name as in the ERRORS table of kernel/trace/trace_probe.h (`NO_BTF_FIELD`), or probewright's own name
    in lower case where the kernel has none (`missing_capability`)."""
    message: str
    """The kernel's message."""
    column: int | None = None
    """Column of the kernel's caret in `command`, from 0; None where there is no position."""
    token: str = ""
    """The wrong word, as a rule the word under the kernel's caret; see `Verdict.caret`."""
    hint: str = ""
    """The reason in plain words, and the remedy."""
    nearest: tuple[str, ...] = ()
    """Up to three similar names that exist."""
    corrected: str = ""
    """The whole text corrected (`probes.corrections.corrections`); empty: not computed or unknown."""

    @property
    def clause(self) -> str:
        """The kernel's message without the full stop that some messages have, so that more can follow."""
        return self.message if self.message.endswith(("..", "etc.")) else self.message.removesuffix(".")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Acceptance of a command, or its refusal with the reason."""

    command: str
    """The command judged, words joined by single spaces, as error_log shows it."""
    error: Refusal | None = None
    by_kernel: bool = False
    """True: the kernel itself gave this verdict. False: computed."""

    @property
    def caret(self) -> int | None:
        """Column of the error in `command`, from 0; None where there is no position.

        The kernel's own column, except for an argument of a nonexistent function: there the kernel points at the
        argument (NO_BTF_ENTRY) before it looks for the function.
        """
        error = self.error
        if error is None or error.column is None or error.code != "NO_BTF_ENTRY":
            return None if error is None else error.column
        at = self.command.find(f" {error.token}") + 1 if error.token else 0
        return at if 0 < at < error.column else error.column

    @property
    def ok(self) -> bool:
        """True if the kernel accepts the command."""
        return self.error is None
