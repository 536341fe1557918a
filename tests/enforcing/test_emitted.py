"""What `rewrite` makes of small models, word for word.

A file in `emitted` has a model and what each backend makes of it. After a change that is wanted,
`python3 scripts/record_emitted.py` writes the files anew.
"""

from pathlib import Path

import onnx
import pytest

import sonnx_ort
from sonnx_ort.enforcing.record import GROUP, ORIGINAL
from sonnx_ort.loading.traversal import all_nodes
from sonnx_ort.pipeline import reference_of
from support.backends import with_guards
from support.emitted import FOLDER, Emitted

FILES = sorted(FOLDER.glob("*.txt"))

LOSING = (
    *("output_claims", "where_opaque", "functions_with_constants"),
    *("explicit_three_known_ranks", "convolutions"),
)
"""Here a claim about an output is lost on the way, or what a function calls a constant."""

ANY_VERSION = b", any version"
"""What a kernel's edition ends with that checks the rules of every version of onnxruntime."""

on_each_model = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def test_there_are_files():
    assert FILES


@with_guards
@on_each_model
def test_emitted_nodes_are_those_on_record(path: Path, backend: str) -> None:
    emitted = Emitted.read(path)
    assert emitted.told(backend) == emitted.made[backend]


def forget(model: onnx.ModelProto) -> None:
    """Remove what is recorded of the original, of which each backend keeps other declarations."""
    del model.metadata_props[:]
    for node in all_nodes(model):
        kept = [entry for entry in node.metadata_props if entry.key not in {GROUP, ORIGINAL}]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.stem not in LOSING], ids=lambda path: path.stem
)
def test_native_model_gives_the_python_backends_back(path: Path) -> None:
    emitted = Emitted.read(path)
    native = emitted.rewritten("native").SerializeToString()
    reference, python = reference_of(native), emitted.rewritten("python")
    if ANY_VERSION in reference.SerializeToString():
        # The reference checks what guards do, and guards are for every version of onnxruntime.
        for node in (*reference.graph.node, *python.graph.node):
            del node.metadata_props[:]
            for attribute in (a for a in node.attribute if a.name == "edition"):
                attribute.s = attribute.s.removesuffix(ANY_VERSION)
    for model in (reference, python):
        forget(model)
    assert reference == python


@on_each_model
def test_native_model_is_recognized(path: Path) -> None:
    emitted = Emitted.read(path)
    native = emitted.rewritten("native")
    assert sonnx_ort.rewrite(native, backend="native", **emitted.choices) == native
