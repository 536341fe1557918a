"""The content of an evidence record.

Among it are the nodes that a rewrite added, removed or changed.
"""

import functools
import hashlib
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import cast

import onnx

from sonnx_ort.errors import SonnxError, printable
from sonnx_ort.loading.file_traversal import names_needed
from sonnx_ort.loading.functions import resolve_default_domain
from sonnx_ort.loading.saving import external_locations
from sonnx_ort.loading.traversal import in_words
from sonnx_ort.profile.rule import Status
from sonnx_ort.versions import version_of

NodePath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A node, and its replacement.

    Attributes:
        node: The node as in messages, such as "Div 'divide'"; empty for added nodes.
        path: The nodes whose subgraphs contain it, outermost first.
        became: The nodes that compute its outputs, and the new nodes that these read, in their
            order.
    """

    node: str
    path: NodePath
    became: tuple[str, ...]

    def __str__(self) -> str:
        """The change as a clause."""
        became = ", ".join(self.became) or "nothing"
        return printable(f"{self.node or 'added'}{_inside_of(self.path)}: {became}")


def _inside_of(path: NodePath) -> str:
    """The subgraphs that contain a node, as the end of its name."""
    return "".join(f" in {step}" for step in reversed(path))


def changes(before: onnx.ModelProto, after: onnx.ModelProto) -> tuple[Change, ...]:
    """Find every node of a model that the rewritten model changed, and every added node.

    Documentation and metadata of nodes are ignored.
    """
    old, new = (resolve_default_domain(model).graph for model in (before, after))
    return tuple(_changes(old, new, ()))


def _changes(before: onnx.GraphProto, after: onnx.GraphProto, path: NodePath) -> Iterator[Change]:
    """The changed nodes with what replaces each, then what was added for none of them."""
    old, new = list(before.node), list(after.node)
    made_by = {name: index for index, node in enumerate(new) for name in node.output if name}
    known = {name for node in old for name in node.output}
    covered: set[int] = set()
    for node in old:
        successors = {made_by[name] for name in node.output if name in made_by}
        if successors and all(_content(new[index]) == _content(node) for index in successors):
            covered |= successors
        else:
            group = _made_for(successors, new, made_by, known)
            covered |= group
            yield Change(
                in_words(node), path, tuple(in_words(new[index]) for index in sorted(group))
            )
        for index in sorted(successors)[:1]:
            yield from _inside(node, new[index], path)
    added = tuple(in_words(node) for index, node in enumerate(new) if index not in covered)
    if added:
        yield Change("", path, added)


def _inside(before: onnx.NodeProto, after: onnx.NodeProto, path: NodePath) -> Iterator[Change]:
    """The changes in the subgraphs of a node that still has the same operator."""
    if _operator(before) != _operator(after):
        return
    bodies = _bodies(after)
    for name, body in _bodies(before).items():
        if name in bodies:
            yield from _changes(body, bodies[name], (*path, f"{in_words(before)} {name}"))


def _made_for(
    chosen: Iterable[int], nodes: list[onnx.NodeProto], made_by: Mapping[str, int], known: set[str]
) -> set[int]:
    """The chosen nodes with all new nodes on which they depend."""
    found: set[int] = set()
    pending = list(chosen)
    while pending:
        index = pending.pop()
        if index in found:
            continue
        found.add(index)
        read = (
            name for name in names_needed(nodes[index]) if name in made_by and name not in known
        )
        pending.extend(made_by[name] for name in read)
    return found


def _content(node: onnx.NodeProto) -> tuple[object, ...]:
    """The operator, name, inputs, outputs and attributes of a node, without its subgraphs."""
    attributes = sorted(map(_attribute, node.attribute))
    return _operator(node), node.name, tuple(node.input), tuple(node.output), attributes


def _attribute(attribute: onnx.AttributeProto) -> tuple[str, bytes]:
    bare = onnx.AttributeProto()
    bare.CopyFrom(attribute)
    for left_out in ("doc_string", "g", "graphs"):
        bare.ClearField(left_out)
    content: bytes = bare.SerializeToString(deterministic=True)
    return attribute.name, content


def _bodies(node: onnx.NodeProto) -> dict[str, onnx.GraphProto]:
    return {a.name: a.g for a in node.attribute if a.HasField("g")}


def _operator(node: onnx.NodeProto) -> tuple[str, str, str]:
    return node.domain, node.op_type, node.overload


FORMAT = "sonnx_ort.record/1"
"""The name and version of the format; a change that breaks readers raises the version."""

PACKAGES = (
    "sonnx_ort",
    "ml_dtypes",
    "numpy",
    "onnx",
    "onnx-ir",
    "onnxruntime",
    "onnxruntime-extensions",
    "protobuf",
    "python-flint",
    "sympy",
)
"""The packages that affect the analysis, the rewritten model and its runs."""

Document = Mapping[str, object]
"""A part of a report, in the form that `docs/report.md` documents."""


@functools.cache
def versions() -> Mapping[str, str]:
    """The current versions of Python and of the installed packages that affect results."""
    found = {package: version for package in PACKAGES if (version := version_of(package))}
    return MappingProxyType(found | {"Python": platform.python_version()})


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of a model.

    Attributes:
        sha256: The SHA-256 of that file.
        external: The SHA-256 of each file of external data, by its location.
    """

    name: str
    sha256: str
    external: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Analysis:
    """A model and its report."""

    files: ModelFiles
    report: Document

    @property
    def obligations(self) -> Sequence[Document]:
        """All obligations."""
        return _documents(self.report, "obligations")

    @property
    def findings(self) -> Sequence[Document]:
        """All findings."""
        return _documents(self.report, "findings")

    @property
    def coverage(self) -> Sequence[Document]:
        """The coverage of each operator."""
        return _documents(self.report, "coverage")

    @property
    def rules(self) -> Mapping[str, Document]:
        """Each rule that an obligation names, by its id."""
        return cast(Mapping[str, Document], self.report["rules"])


Place = tuple[str, str, tuple[str, ...]]
"""A rule, a node, and the path of its subgraph."""


@dataclass(frozen=True, slots=True)
class Mending:
    """A change of `conform` that was made before the model was rewritten.

    Attributes:
        title: What it did, as an order.
        rules: The ids of the rules that it fixed.
        operator: The operator of the node, such as "Slice".
        node: The node's name in messages.
        path: The nodes whose subgraphs contain it, outermost first.
        added: The nodes that were added for it, such as "Shape 'cut_shape'".
    """

    title: str
    rules: tuple[str, ...]
    operator: str
    node: str
    path: tuple[str, ...]
    added: tuple[str, ...]

    def __str__(self) -> str:
        """The change as a clause."""
        added = f", by {', '.join(self.added)}" if self.added else ""
        place = f"{self.operator} '{self.node}'{_inside_of(self.path)}"
        return printable(f"{', '.join(self.rules) or 'no rule'} at {place}: {self.title}{added}")

    def places(self) -> Iterator[Place]:
        """The rules at the node."""
        return ((rule, self.node, self.path) for rule in self.rules)


@dataclass(frozen=True, slots=True)
class Record:
    """The content of a record.

    Attributes:
        options: The choices, by the name of the option.
        versions: The versions by the name of the package.
        original: The original model.
        rewritten: The rewritten model; None if a model was only checked.
        changes: The nodes in which the two differ.
        mendings: The changes of `conform` among them, in the order in which they were made.
        audits: The audits of runs of the model, as `docs/audit.md` documents them.
        certificate: The certificate of both models, as `docs/certificates.md` documents it.
    """

    options: Mapping[str, str]
    versions: Mapping[str, str]
    original: Analysis
    rewritten: Analysis | None = None
    changes: tuple[Change, ...] = ()
    mendings: tuple[Mending, ...] = ()
    audits: tuple[Document, ...] = ()
    certificate: Document | None = None

    def checked_in_runs(self) -> frozenset[Place]:
        """The rules that each run of the rewritten model checks, by its own analysis."""
        if self.rewritten is None:
            return frozenset()
        in_runs = (o for o in self.rewritten.obligations if o["status"] == Status.RUNTIME)
        return frozenset(map(rule_and_place, in_runs))


def rule_and_place(obligation: Document) -> Place:
    """The rule and the node of an obligation of a report."""
    return str(obligation["rule"]), str(obligation["node"]), path_of(obligation)


def place_of(obligation: Document) -> str:
    """The node of an obligation as text, with the subgraphs that contain it."""
    if not obligation["operator"]:
        return "the graph"
    return f"{obligation['operator']} '{obligation['node']}'{_inside_of(path_of(obligation))}"


def path_of(obligation: Document) -> tuple[str, ...]:
    """The nodes whose subgraphs contain an obligation's node, outermost first."""
    return tuple(cast(Sequence[str], obligation["path"]))


def _documents(report: Document, name: str) -> Sequence[Document]:
    return cast(Sequence[Document], report[name])


def external_files(
    proto: onnx.ModelProto, folder: Path, known: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Digest the files of a model's external data in chunks.

    The references must have been checked; `known` has digests that are already known, by location.

    Returns:
        The SHA-256 of each by its location, in the order of the locations.

    Raises:
        SonnxError: A file cannot be read.
    """
    return {
        location: known.get(location) or digest(folder / location)
        for location in external_locations(proto)
    }


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits.

    Raises:
        SonnxError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise SonnxError(f"'{path}' cannot be read: {reason}") from error
