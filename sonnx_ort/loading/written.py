"""Where in its author's program a node was written, as its file says.

Exporters leave that in a model, each in its form:

- That of PyTorch with `dynamo=True` writes a traceback, the classes of the modules and their names
  into the metadata of nodes: `pkg.torch.onnx.stack_trace`, `class_hierarchy` and `name_scopes`.
- That of PyTorch with `dynamo=False` begins the names of nodes with the module,
  `/layer1/layer1.0/conv/Conv`. With `verbose=True` it writes the calls into the doc string.
- tf2onnx, which Keras uses, begins the names of nodes with the scope, `sequential/dense/MatMul`.

A file may say anything. So this describes a node to a person and decides nothing. It is cut to a
length, and what does not print is escaped.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import onnx_ir as ir

from sonnx_ort.terms.text import printable

_PYTORCH = "pkg.torch.onnx."
_STACK_TRACE = f"{_PYTORCH}stack_trace"
_CLASSES = f"{_PYTORCH}class_hierarchy"
_SCOPES = f"{_PYTORCH}name_scopes"
_PLACE = (_STACK_TRACE, _CLASSES, _SCOPES, "namespace")
"""What says where a node was written; the last one says it to viewers of graphs."""

_LONGEST = 200
"""The most characters of a path, a function or a scope."""

_MOST_READ = 100_000
"""The most characters of an entry that are read; a traceback of a hundred calls has 20,000."""

_MOST_DIGITS = 9
"""The most digits of a line."""


@dataclass(frozen=True, slots=True)
class Written:
    """Where a node was written.

    Attributes:
        file: The path of the source file, as the model has it; empty if it names none.
        line: The line, from 1; 0 if there is no file.
        function: The function, with its class where that is certain: `Net.forward`. It may be
            empty.
        scope: The module or layer that contains the node, `layer1.0.conv`. It may be empty.
    """

    file: str = ""
    line: int = 0
    function: str = ""
    scope: str = ""

    def __str__(self) -> str:
        """The place as a clause that follows the name of a node."""
        scope = f"scope '{self.scope}'" if self.scope else ""
        if not self.file:
            return f"written in {scope}"
        function = f" in {self.function}" if self.function else ""
        return f"written at {self.file}:{self.line}{function}" + (f", {scope}" if scope else "")

    def document(self) -> dict[str, object]:
        """Its JSON form, without what is not known."""
        entries: dict[str, object] = {
            "file": self.file,
            "line": self.line,
            "function": self.function,
            "scope": self.scope,
        }
        return {name: value for name, value in entries.items() if value}


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of a traceback."""

    file: str
    line: int
    function: str

    @property
    def is_of_pytorch(self) -> bool:
        """Whether PyTorch makes it: its modules call a function that computes."""
        return _OF_PYTORCH.search(self.file) is not None


_OF_PYTORCH = re.compile(r"[\\/](?:site|dist)-packages[\\/]torch[\\/]|[\\/]torch[\\/]nn[\\/]")

_LINE = rf"(?P<line>\d{{1,{_MOST_DIGITS}}})"
_IN_TRACEBACK = re.compile(
    rf'^ *File "(?P<file>.*)", line {_LINE}, in (?P<function>.*)$', re.MULTILINE
)
_IN_DOC_STRING = re.compile(rf"^(?P<file>.+)\({_LINE}\): (?P<function>.+)$", re.MULTILINE)
_IN_LIST = re.compile(r"'([^']*)'")


def written(
    properties: Mapping[str, str], *, name: str = "", doc_string: str = "", producer: str = ""
) -> Written | None:
    """Read where a node was written; None if the model does not say.

    Args:
        properties: The metadata of the node.
        name: Its name.
        doc_string: Its doc string.
        producer: What wrote the model, as `producer_name` says.
    """
    calls = _calls(_IN_TRACEBACK, properties.get(_STACK_TRACE, ""))
    scope = _module(properties.get(_SCOPES, ""))
    classes = _listed(properties.get(_CLASSES, ""))
    if producer == "pytorch":
        calls = calls or _calls(_IN_DOC_STRING, doc_string)[::-1]
        scope = scope or (_module_before(name) if name.startswith("/") else "")
    elif producer == "tf2onnx":
        scope = scope or name.rpartition("/")[0]
    own = [at for at, call in enumerate(calls) if not call.is_of_pytorch]
    at = own[-1] if own else len(calls) - 1
    if at < 0:
        return Written(scope=_as_much_as_fits(scope)) if scope else None
    function = _function(calls, at, classes)
    return Written(
        _cut_path(calls[at].file),
        calls[at].line,
        _as_much_as_fits(function),
        _as_much_as_fits(scope),
    )


def _calls(pattern: re.Pattern[str], text: str) -> list[_Call]:
    found = pattern.finditer(text[:_MOST_READ])
    return [_Call(each["file"], int(each["line"]), each["function"]) for each in found]


def _listed(text: str) -> list[str]:
    """The entries of a list of texts, as Python writes it."""
    return _IN_LIST.findall(text[:_MOST_READ])


def _module(scopes: str) -> str:
    """The name of the innermost module; the last entry is the node itself."""
    return (["", "", *_listed(scopes)])[-2]


def _module_before(name: str) -> str:
    """The module in a node's name, such as `layer1.0.conv` in `/layer1/layer1.0/conv/Conv`.

    A part repeats the one in front of it where a container such as Sequential numbers its modules.
    """
    parts: list[str] = []
    for part in name.split("/")[1:-1]:
        if parts and part.startswith(f"{parts[-1]}."):
            parts.pop()
        parts.append(part)
    return ".".join(parts)


def _function(calls: Sequence[_Call], at: int, classes: Sequence[str]) -> str:
    """The function of a call, with its class if each class, but the operator, has one `forward`."""
    function = calls[at].function
    forwards = [place for place, call in enumerate(calls) if call.function == "forward"]
    modules = classes[:-1]
    if at not in forwards or len(forwards) != len(modules):
        return function
    return f"{modules[forwards.index(at)].rpartition('.')[2]}.{function}"


def _as_much_as_fits(text: str) -> str:
    shown = printable(text[: _LONGEST + 1])
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 3]}..."


def _cut_path(text: str) -> str:
    """The end of a path tells most."""
    shown = printable(text[-_LONGEST - 1 :])
    return shown if len(shown) <= _LONGEST else f"...{shown[3 - _LONGEST :]}"


def where_written(node: ir.Node, producer: str | None) -> Written | None:
    """Where a node was written; None if its model does not say.

    Args:
        node: The node.
        producer: What wrote the model, as `producer_name` says.
    """
    return written(
        node.metadata_props,
        name=node.name or "",
        doc_string=node.doc_string or "",
        producer=producer or "",
    )


def carry(properties: Mapping[str, str], node: ir.Node) -> None:
    """Let a node say where it was written, unless it does: it takes the place of one, or guards it.

    Args:
        properties: The metadata of that one.
        node: The node, which is changed.
    """
    if not node.metadata_props.keys() & _PLACE:
        node.metadata_props.update((key, properties[key]) for key in _PLACE if key in properties)
