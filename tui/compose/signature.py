"""Build the signature that the probe editor shows of a function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from events.names.event_names import event_name
from events.names.function_choice import ChoiceError, choice_or_any, is_choice, is_type
from events.names.place_kinds import IN_PROGRAMS, TRACEPOINT_LETTER, PlaceKind, kind_of_place, place_label
from foreign.refusal import InputRefusal
from kernel.connection.kernel_info import KernelInfo
from kernel.errors import KernelError
from probes.attaching.values import Alternative
from probes.facts.lookups import Environment
from probes.fetcharg import FetchArg
from probes.functions.capture_tree import CaptureNode, CaptureTree
from probes.functions.chosen_functions import names_meant
from probes.functions.function_index import STUB
from probes.lowering.arguments.pattern_result import result_fetcharg
from probes.probe import CALL_ENDS, PROGRAM_ENDS
from probes.programs.program_values import ProgramTree
from probes.refusal import CannotLower
from widgets.fields.signature import SignatureText

RESULT = "$retval"


class SignatureNode:
    """A node that opens itself; what the editor's tree asks for."""

    def __init__(self, tree: CaptureTree | ProgramTree | None, node: CaptureNode) -> None:
        """Take a node with the tree that opens it; None: it has no fields."""
        self._tree = tree
        self._node = node

    @property
    def label(self) -> str:
        return self._node.label

    @property
    def fetcharg(self) -> FetchArg | None:
        return self._node.fetcharg

    @property
    def c_type(self) -> str:
        return self._node.c_type

    @property
    def kernel_type(self) -> str:
        return self._node.kernel_type

    @property
    def offset(self) -> int | None:
        return self._node.offset

    @property
    def step(self) -> str:
        return self._node.step

    @property
    def expandable(self) -> bool:
        return self._node.expandable

    @property
    def reason(self) -> str:
        return self._node.reason

    def children(self) -> Sequence[SignatureNode]:
        tree = self._tree
        return [SignatureNode(tree, child) for child in tree.children(self._node)] if tree is not None else ()


def signature_of(info: KernelInfo, name: str, twin: Alternative | None = None) -> SignatureText:
    """Describe a function for the editor: prototype, fields, and the reason if no probe can be attached.

    Args:
        info: kernel info of its kernel.
        name: name of the function; of an event or tracepoint as in the list of places.
        twin: the function chosen among several of that name.
    """
    kind = kind_of_place(name)
    if kind in IN_PROGRAMS:
        return _of_program(info, name, kind)
    if kind is not PlaceKind.FUNCTION and not is_choice(name):
        return _of_tracepoint(info, name) if kind is PlaceKind.TRACEPOINT else _of_event(info, name)
    if is_choice(name):
        return _of_choice(info, name)
    function, about = info.function(name), info.catalog.attachability(name)
    if twin is not None:
        about = about._replace(kinds=twin.kinds)
    tree = info.tree(name)
    nodes = [SignatureNode(tree, node) for node in tree.roots()]
    retval = next((node for node in nodes if node.label == RESULT), None)
    return SignatureText(
        name,
        function.prototype,
        [node for node in nodes if node is not retval],
        retval,
        where=f"[{function.module}]" if function.module else "",
        trouble=function.reason if not about.kinds else "",
        about=about,
    )


def _of_event(info: KernelInfo, name: str) -> SignatureText:
    """Return the fields of an event. May wait for the target."""
    nodes = [SignatureNode(None, node) for node in info.event_values(name)]
    if name in info.recorded_events:
        told = f"{event_name(name)}: enter shows its events in this recording"
    else:
        told = "all its fields are recorded if none is ticked"
    trouble = "" if nodes else "the fields of this event can't be read"
    return SignatureText(name, told, nodes, trouble=trouble, has_ends=False)


def _of_program(info: KernelInfo, name: str, kind: PlaceKind) -> SignatureText:
    """Return the values of a function or static probe of a program. May wait for the target."""
    tree = ProgramTree()
    nodes = [SignatureNode(tree, node) for node in info.program_values(name)]
    retval = next((node for node in nodes if node.label == RESULT), None)
    path, is_static = name.partition(":")[0], kind is PlaceKind.USDT
    told = f"{'static probe' if is_static else 'function'} {place_label(name)} of {path}"
    others = [node for node in nodes if node is not retval]
    trouble = "" if nodes else "the program can't be read, or has no such place"
    return SignatureText(name, told, others, retval, trouble=trouble, has_ends=not is_static, ends=PROGRAM_ENDS)


def _of_tracepoint(info: KernelInfo, name: str) -> SignatureText:
    """Return the arguments of a tracepoint, whose structures can be opened."""
    own, tree = name.removeprefix(TRACEPOINT_LETTER), info.tree(name)
    nodes = [SignatureNode(tree, node) for node in tree.roots() if node.label != RESULT]
    module = info.function(f"{STUB}{own}").module
    where = f"[{module}]" if module else ""
    return SignatureText(own, f"{own}({tree.parameters})", nodes, where=where, has_ends=False)


def _of_choice(info: KernelInfo, text: str) -> SignatureText:
    """Return the fields of several functions: the value of their common type, else arguments by number."""
    tree = info.tree(text)
    roots = tree.roots()
    values = "" if is_type(text) else "$arg1, $arg2, …, "
    labels = ", ".join(node.label for node in roots)
    told = f"all functions that fit {choice_or_any(text).short_text} (of each: {values}{labels})"
    nodes = [_with_sign(info, text, node) for node in roots]
    retval = next((SignatureNode(tree, node) for node in nodes if node is not None and node.label == RESULT), None)
    others = [SignatureNode(tree, node) for node in nodes if node is not None and node.label != RESULT]
    return SignatureText(text, told, others, retval)


def _with_sign(info: KernelInfo, text: str, node: CaptureNode) -> CaptureNode | None:
    """Give the result of functions with different types one that shows errors; None: no function has a result."""
    if node.label != RESULT or node.c_type:
        return node
    arg = result_fetcharg(_functions_of(info, text), info.btf)
    return replace(node, fetcharg=arg, kernel_type=arg.type or node.kernel_type) if arg is not None else None


def _functions_of(info: KernelInfo, text: str) -> Sequence[str]:
    """Return the functions that a text stands for; none where the kernel's code or a file has to be read for that."""
    try:
        return names_meant(text, info.catalog.names, info.btf, info.facts, Environment())
    except (ChoiceError, CannotLower, InputRefusal, KernelError):
        return ()


def signature_unread(name: str, module: str) -> SignatureText:
    """Return the signature of a function while the types of its module are being read, or of an event its fields."""
    kind = kind_of_place(name)
    has_ends = kind in (PlaceKind.FUNCTION, PlaceKind.SYMBOL)
    if not module:
        ends = PROGRAM_ENDS if kind is PlaceKind.SYMBOL else CALL_ENDS
        return SignatureText(name, "", [], trouble="reading its fields …", has_ends=has_ends, ends=ends)
    trouble = f"reading the types of module {module} …"
    return SignatureText(name, "", [], where=f"[{module}]", trouble=trouble, has_ends=has_ends)
