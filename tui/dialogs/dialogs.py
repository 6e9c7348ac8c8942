"""Dialogs of the application; each is imported when it is asked for, not before the first paint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from textual.app import App
from textual.screen import ModalScreen

from foreign.count_text import counted
from tui.opening import Opening

if TYPE_CHECKING:
    from kernel.cleanup.leftovers import Leftover
    from kernel.connection.planner import Planner
    from probes.command import Armable
    from tui.dialogs.preset_screen import PickedPreset
    from tui.messages import ProbeTooFast
    from widgets.way_out import Way


CALLS_STAY: Final = "Its calls stay until another one is begun."
_MOST_PROBES: Final = 4
"""Probes that a question names."""


def show_progress(app: App[None], opening: Opening) -> None:
    """Show the progress of an opening; Stop gives the target up."""
    from widgets.dialogs.progress import ProgressDialog

    app.push_screen(ProgressDialog(f"opening {opening.spec}", lambda: opening.state, opening.cancel.set))


def show_trouble(app: App[None], what: str, why: str, remedy: str = "") -> None:
    """Show an error, its reason, and the ways out that there are now."""
    from tui.dialogs.screen_ways_out import of_dialog
    from tui.present.option_keys import BEHIND_DIALOG
    from widgets.dialogs.error_dialog import ErrorDialog

    def taken(way: Way | None) -> None:
        if way is not None:
            app.call_later(app.run_action, way.action)

    app.push_screen(ErrorDialog(what, BEHIND_DIALOG.text(why), [BEHIND_DIALOG.text(remedy), *of_dialog(app)]), taken)


def show_help(app: App[None]) -> None:
    """Show the keys of the screen that is on top."""
    from tui.help import help_of, note_on
    from widgets.dialogs.help import HelpScreen

    app.push_screen(HelpScreen(f"help: {note_on(type(app.screen)).title}", help_of(app.screen)))


def choose_target(app: App[None], opened: str, chosen: Callable[[str], object]) -> None:
    """Ask for a target; `opened` is the word of the open target, and `chosen` gets the word for `--target`."""
    from tui.dialogs.target_screen import TargetScreen

    def done(spec: str | None) -> None:
        if spec:
            chosen(spec)

    app.push_screen(TargetScreen(opened), done)


def choose_recording(app: App[None], opened: str, chosen: Callable[[str], object]) -> None:
    """Ask for a recording to compare with `opened`; `chosen` gets its path."""
    from tui.dialogs.target_list import other_recordings
    from tui.dialogs.target_screen import TargetScreen
    from widgets.dialogs.target_chooser import TargetChooser

    def done(file: str | None) -> None:
        if file:
            chosen(file)

    chooser = TargetChooser(title="compare with", example="FILE.pwr")
    app.push_screen(TargetScreen(look=lambda: other_recordings(opened), chooser=chooser), done)


def choose_preset(
    app: App[None], planner: Callable[[], Planner | None], chosen: Callable[[PickedPreset], object], name: str = ""
) -> None:
    """Ask for a preset for the target that `planner` returns; `chosen` gets its probes, `name` is searched first."""
    from tui.dialogs.preset_screen import PresetScreen

    def done(picked: PickedPreset | None) -> None:
        if picked is not None:
            chosen(picked)

    app.push_screen(PresetScreen(planner, name), done)


def save_preset(app: App[None], probe: Armable) -> None:
    """Ask for a name, and keep a probe under it."""
    from probes.presets.errors import PresetError
    from tui.dialogs import preset_model
    from widgets.dialogs.form import FormDialog

    def done(values: dict[str, str] | None) -> None:
        if values is None:
            return
        try:
            app.notify(preset_model.save(preset_model.preset_of(probe, values)), markup=False)
        except PresetError as error:
            app.notify(str(error), title="not saved", severity="error", markup=False)

    form = FormDialog("save as a preset", preset_model.save_form(probe), preset_model.wrong_with_name, by_line=True)
    app.push_screen(form, done)


def offer_to_remove(app: App[None], leftovers: Sequence[Leftover], agreed: Callable[[], object]) -> None:
    """Say what dead sessions have left in the kernel, and ask whether it shall go."""
    from widgets.dialogs.confirm import ConfirmDialog

    details = [
        f"{leftover.group}: {counted(len(leftover.events), 'event')}"
        + (f", {counted(leftover.settings, 'thing')} that it changed elsewhere" if leftover.settings else "")
        for leftover in leftovers
    ]
    question = "Sessions of probewright that died have left this in the kernel. Remove it?"

    def done(yes: bool | None) -> None:
        if yes:
            agreed()

    app.push_screen(ConfirmDialog(question, details, yes="Remove", no="Leave"), done)


def ask_too_fast(app: App[None], event: ProbeTooFast, chosen: Callable[[str], object]) -> None:
    """Ask about a probe that would exceed the limit, or show the rate of one on several functions before it is armed;
    `chosen` gets `arm`, `count`, `filter` or `quieter`, or is not called.
    """
    from widgets.dialogs.choose import Answer, ChoiceDialog

    def done(answer: str | None) -> None:
        if answer in ("arm", "count", "filter", "quieter"):
            chosen(answer)

    from probes.command import short_subject

    keeps = "Without the most frequent it keeps the limit" if event.exceeded else "Without the most frequent"
    reason = (
        f"The limit is {event.exceeded}."
        if event.exceeded
        else "Several functions are armed after their rate was shown."
    )
    details = [
        reason,
        *([f"The most frequent: {event.most}."] if event.most else []),
        *([f"{keeps}: {_short(event.quieter)}"] if event.quieter is not None else []),
        *([f"Counting only would take {event.cost_of_counting}."] if event.exceeded else []),
        *(["A filter makes fewer events; each call still runs the probe."] if event.exceeded else []),
    ]
    answers = (
        Answer("leave", "n", "Don't"),
        *([Answer("quieter", "w", "Without")] if event.quieter is not None else []),
        Answer("filter", "f", "Filter"),
        Answer("count", "c", "Count only"),
        Answer("arm", "a", "Arm"),
    )
    question = f"{short_subject(event.probe)}: {event.rate}. Arm it?"
    app.push_screen(ChoiceDialog(question, details, answers, "" if event.exceeded else "arm"), done)


def _short(probe: Armable) -> str:
    """Return a probe as a text of a few lines: of many functions the first few."""
    from probes.command import short_subject

    return str(probe).replace(probe.subject, short_subject(probe), 1)


def ask_armed_already(
    app: App[None], probes: Sequence[Armable], others: Sequence[Armable], chosen: Callable[[str], object]
) -> None:
    """Say that probes are armed already; `chosen` gets `show`, or `again` to arm them as `others`."""
    from widgets.dialogs.choose import Answer, ChoiceDialog

    def done(answer: str | None) -> None:
        if answer:
            chosen(answer)

    one = len(probes) == 1
    question = f"{probes[0]} is armed already." if one else f"{len(probes)} of these are armed already."
    details = [*([] if one else map(str, probes)), "A second one would record each hit once more."]
    answers = [Answer("show", "s", "Show its events" if one else "Show their events")]
    if others:
        details.append(f"Under another name: {', '.join(map(str, others))}")
        answers.append(Answer("again", "a", "Arm it again" if one else "Arm them again"))
    app.push_screen(ChoiceDialog(question, details, answers), done)


def pick(app: App[None], question: str, rows: Sequence[str], chosen: Callable[[int], object]) -> None:
    """Offer a list to choose a row from; `chosen` gets its number."""
    from widgets.dialogs.pick_list import PickList

    def done(row: int | None) -> None:
        if row is not None:
            chosen(row)

    app.push_screen(PickList(question, rows), done)


def ask(app: App[None], question: str, details: Sequence[str], yes: str, agreed: Callable[[], object]) -> None:
    """Ask before something is done that can't be taken back; Enter means no."""
    from widgets.dialogs.confirm import ConfirmDialog

    def done(answer: bool | None) -> None:
        if answer:
            agreed()

    app.push_screen(ConfirmDialog(question, details, yes=yes, no="Don't", careful=True), done)


def ask_end_of_all(
    app: App[None], probes: Sequence[str], end_graph: Callable[[], object], disarm: Callable[[], object]
) -> None:
    """Ask whether the call graph is to end alone, or all armed probes are to be disarmed as well."""
    from widgets.dialogs.choose import Answer, ChoiceDialog

    def done(answer: str | None) -> None:
        if answer in ("graph", "all"):
            end_graph()
        if answer == "all":
            disarm()

    more = [f"and {len(probes) - _MOST_PROBES} more"] if len(probes) > _MOST_PROBES else []
    details = [CALLS_STAY, "The probes can be armed again:", *(f"  {one}" for one in probes[:_MOST_PROBES]), *more]
    answers = (Answer("leave", "n", "Don't"), Answer("graph", "g", "Graph alone"), Answer("all", "a", "All"))
    question = f"End the call graph, and disarm {counted(len(probes), 'probe')}?"
    app.push_screen(ChoiceDialog(question, details, answers), done)


def ask_depth(app: App[None], name: str, chosen: Callable[[int | None], object]) -> None:
    """Ask for the depth of a call graph; `chosen` gets the levels, 0 for all, or None where the errors of all levels
    are wanted.
    """
    from widgets.dialogs.choose import Answer, ChoiceDialog

    def done(answer: str | None) -> None:
        if answer:
            chosen(None if answer == "errors" else int(answer.removeprefix("levels")))

    details = [
        "How many levels, the function included? Each costs time in the kernel, and room in its buffer.",
        "Enter takes 3. For more than 8: probewright graph --depth N",
        "Errors: all levels with return values, for the functions that failed first.",
    ]
    answers = [Answer(f"levels{n}", str(n), str(n)) for n in range(1, 9)]
    answers += [Answer("levels0", "a", "All"), Answer("errors", "e", "Errors")]
    app.push_screen(ChoiceDialog(f"Trace what {name} calls", details, answers, marked="levels3"), done)


def close_all(app: App[None], *, waiting: bool = True) -> None:
    """Close every dialog; not `waiting`: down to one that goes on with the target that was opened."""
    while isinstance(app.screen, ModalScreen):
        if not waiting and getattr(app.screen, "WAITS_FOR_TARGET", False):
            return
        app.pop_screen()
