"""What a record of evidence holds, and the files that it is about."""

import functools
import hashlib
import importlib.metadata
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import cast

import onnx
from onnx.external_data_helper import ExternalDataInfo

from sonnx_ort.errors import SonnxError
from sonnx_ort.evidence.changes import Change
from sonnx_ort.loading.external_data import external_tensors
from sonnx_ort.profile.rule import Status

FORMAT = "sonnx_ort.record/1"
"""The name and version of what is written; a change that breaks readers raises the version."""

PACKAGES = (
    "sonnx_ort",
    "ml_dtypes",
    "numpy",
    "onnx",
    "onnx-ir",
    "onnxruntime",
    "onnxruntime-extensions",
)
"""The packages that take part in what is found, in what is written and in what a run decides."""

Document = Mapping[str, object]
"""A part of a report, in the form that `docs/report.md` documents."""


@functools.cache
def versions() -> Mapping[str, str]:
    """The versions of everything that decides, here and now."""
    found = {package: importlib.metadata.version(package) for package in PACKAGES}
    return MappingProxyType(found | {"Python": platform.python_version()})


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of a model.

    Attributes:
        name: The name of the model's file.
        sha256: Of that file.
        external: The SHA-256 of each file of external data, by its location.
    """

    name: str
    sha256: str
    external: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Analysis:
    """A model, and the report of what was found of it.

    Attributes:
        files: The files of the model.
        report: What `Report.to_document` gives: every obligation, finding and operator.
    """

    files: ModelFiles
    report: Document

    @property
    def obligations(self) -> Sequence[Document]:
        """Every obligation."""
        return _documents(self.report, "obligations")

    @property
    def findings(self) -> Sequence[Document]:
        """Every finding."""
        return _documents(self.report, "findings")

    @property
    def coverage(self) -> Sequence[Document]:
        """How far the profile reaches to each operator."""
        return _documents(self.report, "coverage")

    @property
    def rules(self) -> Mapping[str, Document]:
        """Each rule that an obligation names, by its id."""
        return cast(Mapping[str, Document], self.report["rules"])


Place = tuple[str, str, tuple[str, ...]]
"""A rule, a node, and the subgraphs it lies in."""


@dataclass(frozen=True, slots=True)
class Record:
    """All that a record tells.

    Attributes:
        options: What was chosen, by the name of the option.
        versions: Of everything that decided, by the name of the package.
        original: The model as it was given.
        rewritten: The model that was written; None where a model was only checked.
        changes: The nodes in which the two differ.
    """

    options: Mapping[str, str]
    versions: Mapping[str, str]
    original: Analysis
    rewritten: Analysis | None = None
    changes: tuple[Change, ...] = ()

    def checked_in_runs(self) -> frozenset[Place]:
        """What the rewritten model decides in each run, by its own analysis."""
        if self.rewritten is None:
            return frozenset()
        in_runs = (o for o in self.rewritten.obligations if o["status"] == Status.RUNTIME)
        return frozenset(map(rule_and_place, in_runs))


def rule_and_place(obligation: Document) -> Place:
    """Give the rule and the node of an obligation.

    Args:
        obligation: The obligation, as in a report.
    """
    return str(obligation["rule"]), str(obligation["node"]), path_of(obligation)


def place_of(obligation: Document) -> str:
    """Name an obligation's node in words, with the subgraphs it lies in.

    Args:
        obligation: The obligation, as in a report.
    """
    if not obligation["operator"]:
        return "the graph"
    inside = "".join(f" in {step}" for step in reversed(path_of(obligation)))
    return f"{obligation['operator']} '{obligation['node']}'{inside}"


def path_of(obligation: Document) -> tuple[str, ...]:
    """Give the nodes whose subgraphs an obligation's node lies in, outermost first.

    Args:
        obligation: The obligation, as in a report.
    """
    return tuple(cast(Sequence[str], obligation["path"]))


def _documents(report: Document, name: str) -> Sequence[Document]:
    return cast(Sequence[Document], report[name])


def external_files(
    proto: onnx.ModelProto, folder: Path, known: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Digest the files of a model's external data, without loading any of them whole.

    Args:
        proto: The model; its references to external data were checked.
        folder: The folder of the model.
        known: What is known of them already, by location.

    Returns:
        The SHA-256 of each by its location, in the order of the locations.

    Raises:
        SonnxError: One cannot be read.
    """
    return {
        location: known.get(location) or digest(folder / location)
        for location in external_locations(proto)
    }


def external_locations(proto: onnx.ModelProto) -> list[str]:
    """Give the files that a model refers to, as it names them, in order.

    Args:
        proto: The model.
    """
    return sorted({ExternalDataInfo(tensor).location for tensor in external_tensors(proto)})


def digest(path: Path) -> str:
    """Digest a file.

    Args:
        path: The file.

    Returns:
        Its SHA-256, in hexadecimal digits.

    Raises:
        SonnxError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise SonnxError(f"'{path}' cannot be read: {error.strerror or error}") from error
