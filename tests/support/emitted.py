"""Small models, and word for word what `rewrite` makes of them."""

import functools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from model_builders.graphs import parse
from onnx import printer

import sonnx_ort
from sonnx_ort.profile.contract import contract_of

FOLDER = Path(__file__).parent.parent / "enforcing" / "emitted"
"""Where the files are, one for each model."""

BACKENDS = ("python", "native")
"""The backends, in the order in which a file has what they make."""

_OF_PARSE = ("opset", "domains", "ir_version")
"""The arguments of `parse`; all others are those of `rewrite`."""


@dataclass(frozen=True, slots=True)
class Emitted:
    """A file with a model and what `rewrite` makes of it.

    It begins with what it shows, in words. Behind an empty line stand the arguments, in JSON, and
    the model; and behind a line `== BACKEND ==` for each backend the rewritten model, with the
    metadata of its nodes.

    Attributes:
        head: The part in front of the first backend.
        arguments: The arguments of `parse` and of `rewrite`.
        text: The model, as `parse` takes it.
        made: By backend what stands there.
    """

    head: str
    arguments: dict[str, Any]
    text: str
    made: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> "Emitted":
        """Read a file."""
        head, *parts = path.read_text("utf-8").split("\n== ")
        _, given = head.split("\n\n", 1)
        arguments, text = given.split("\n", 1)
        made = dict(part.split(" ==\n", 1) for part in parts)
        return cls(head, json.loads(arguments), text, made)

    @property
    def choices(self) -> dict[str, Any]:
        """The arguments of `rewrite`; a contract stands there as metadata have it."""
        given = {name: a for name, a in self.arguments.items() if name not in _OF_PARSE}
        if "contract" in given:
            given["contract"] = contract_of(given["contract"])
        return given

    def model(self) -> onnx.ModelProto:
        """The model before it is rewritten."""
        return parse(self.text, **{n: a for n, a in self.arguments.items() if n in _OF_PARSE})

    def rewritten(self, backend: str) -> onnx.ModelProto:
        """Rewrite the model."""
        return onnx.ModelProto.FromString(
            _rewritten(json.dumps(self.arguments), self.text, backend)
        )

    def told(self, backend: str) -> str:
        """Tell what `rewrite` makes of the model."""
        rewritten = self.rewritten(backend)
        told = "".join(f"{line}\n" for line in _metadata(rewritten.graph))
        return f"{printer.to_text(rewritten).rstrip()}\n{told}"

    def write(self, path: Path) -> None:
        """Write a file anew."""
        parts = (f"\n== {backend} ==\n{self.told(backend)}" for backend in BACKENDS)
        path.write_text(self.head.rstrip() + "\n" + "".join(parts), encoding="utf-8")


@functools.cache
def _rewritten(arguments: str, text: str, backend: str) -> bytes:
    """What several tests look at, each in a copy of its own."""
    emitted = Emitted("", json.loads(arguments), text, {})
    rewritten = sonnx_ort.rewrite(emitted.model(), backend=backend, **emitted.choices)
    return rewritten.SerializeToString()


def _metadata(graph: onnx.GraphProto) -> Iterator[str]:
    """The metadata of nodes, which the printer leaves out, but for a group without more."""
    for node in graph.node:
        entries = [f"{entry.key} = {entry.value}" for entry in node.metadata_props]
        if entries and not (len(entries) == 1 and entries[0].startswith("sonnx_ort.group")):
            yield f"{node.op_type} '{node.name}': {'; '.join(entries)}"
        for attribute in node.attribute:
            yield from _metadata(attribute.g)


def run(arguments: Sequence[str]) -> int:
    """Write all files anew."""
    if arguments:
        print("record_emitted.py takes no arguments")
        return 2
    for path in sorted(FOLDER.glob("*.txt")):
        Emitted.read(path).write(path)
    return 0
