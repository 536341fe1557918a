"""What `rewrite` makes of small models, what they record, and what is reported of them.

A file in `emitted` has a model and what each backend makes of it. After a change that is wanted,
`python3 scripts/record_emitted.py` writes the files anew.
"""

import datetime as dt
from pathlib import Path

import onnx
import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort.analysis.declared_shapes import undeclared
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.analysis.waivers import Waiver, waivers_to_json
from sonnx_ort.analysis.waiving import WAIVERS, record_waivers, recorded_waivers
from sonnx_ort.enforcing.metadata import GROUP, ORIGINAL
from sonnx_ort.loading.canonical import load_canonical
from sonnx_ort.loading.file_traversal import all_nodes
from sonnx_ort.pipeline import reference_of
from sonnx_ort.terms.operand import Shape
from support.backends import BACKENDS, with_guards
from support.emitted import FOLDER, Emitted
from support.graphs import parse

FILES = sorted(FOLDER.glob("*.txt"))

LOSING = (
    *("output_claims", "where_opaque", "functions_with_constants"),
    *("explicit_three_known_ranks", "convolutions"),
)
"""Here a claim about an output is lost on the way, or what a function calls a constant."""

OTHER_OBLIGATIONS = {"make_explicit", "make_explicit_partly", "min_max_int64", "mod_and_shift"}
"""Here what is written down makes further rules hold, or kernels of other versions need others."""

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


@BACKENDS
@on_each_model
def test_rewriting_twice_changes_nothing(path: Path, backend: str) -> None:
    emitted = Emitted.read(path)
    once = emitted.rewritten(backend)
    assert sonnx_ort.rewrite(once, backend=backend, **emitted.choices) == once


@BACKENDS
@pytest.mark.parametrize(
    "path",
    [p for p in FILES if p.stem not in OTHER_OBLIGATIONS],
    ids=lambda path: path.stem,
)
def test_rewritten_model_has_the_obligations_of_its_original(path: Path, backend: str) -> None:
    emitted = Emitted.read(path)
    choices = {"operators": "default", **emitted.choices}
    original, rewritten = (
        {
            # What rested on a shape that the original declares is proved of the rewritten model.
            (o.place, o.rule.id, undeclared(o).status)
            for o in sonnx_ort.check(model, **choices).obligations
        }
        for model in (emitted.model(), emitted.rewritten(backend))
    )
    assert rewritten == original


MADE_EXPLICIT = {"make_explicit", "make_explicit_partly"}
"""Here what the original leaves out is written down before it is enforced."""


@with_guards
@pytest.mark.parametrize(
    "path", [p for p in FILES if p.stem not in MADE_EXPLICIT], ids=lambda path: path.stem
)
def test_rewritten_model_keeps_of_the_whole_profile_what_its_original_keeps(
    path: Path, backend: str
) -> None:
    emitted = Emitted.read(path)
    choices = {**emitted.choices, "operators": "profile", "forecast": False}
    original, rewritten = (
        {
            (o.place, o.rule.id, o.status, o.evidence)
            for o in sonnx_ort.check(m, **choices).obligations
        }
        for m in (emitted.model(), emitted.rewritten(backend))
    )
    assert rewritten == original


def known_shapes(model: onnx.ModelProto) -> dict[str, Shape | None]:
    """What the analysis knows of the outputs of a graph, as it is."""
    graph_model = load_canonical(model, frozenset()).graph_model
    facts = Facts(graph_model)
    return {str(output.name): facts.shape(output) for output in graph_model.graph.outputs}


@BACKENDS
@on_each_model
def test_outputs_of_a_rewritten_model_have_the_shapes_of_the_originals(
    path: Path, backend: str
) -> None:
    emitted = Emitted.read(path)
    original, rewritten = map(known_shapes, (emitted.model(), emitted.rewritten(backend)))
    assert rewritten.keys() == original.keys()
    for name, shape in original.items():
        seen = rewritten[name]
        if shape is not None and seen is not None:
            assert len(seen) == len(shape)
            pairs = zip(shape, seen, strict=True)
            assert all(a == b for a, b in pairs if isinstance(a, int) and isinstance(b, int))


@BACKENDS
@on_each_model
def test_rewritten_model_is_valid(path: Path, backend: str) -> None:
    emitted = Emitted.read(path)
    original, rewritten = emitted.model(), emitted.rewritten(backend)
    for model in (original, rewritten):
        for value in (*model.graph.input, *model.graph.output):
            # The checker demands that a shape is declared; here many ranks are open.
            if value.type.HasField("tensor_type"):
                value.type.tensor_type.shape.SetInParent()
    onnx.checker.check_model(original)
    onnx.checker.check_model(rewritten)


MODELS = {
    "elements": "(float[n] x, float[n] w) => (float[n] y) { a = Div(x, w) y = Sub(a, w) }",
    "broadcast": "(float[n,m] x, float[m] w) => (float[n,m] y) { y = Div(x, w) }",
    "many operands": "(float[n] x, float[m] w, float[k] u) => (float[n] y) { y = Max(x, w, u) }",
    "standard node": "(bool[n] c, float[n] x, float[m] w) => (float[n] y) { y = Where(c, x, w) }",
    "shapes": "(float[n,k] x, float[k,m] w) => (float[n,m] y) { y = MatMul(x, w) }",
    "scalars": "(float[n] x, float l, float h) => (float[n] y) { y = Clip(x, l, h) }",
    "Broadcast": "(float[n] x) => (float[n] y) { a, b = sonnx.Broadcast(x, x) y = Div(a, b) }",
    "branch": (
        "(float[n] x, float[n] w, bool c) => (float[n] y) { y = If(c) <then_branch = t () => "
        "(float[n] p) { p = Div(x, w) }, else_branch = e () => (float[n] q) { q = Sub(x, w) }> }"
    ),
}


def counted(report: sonnx_ort.Report) -> dict[str, tuple[int, str]]:
    return {each.operator: (each.nodes, str(each.extent)) for each in report.coverage}


@BACKENDS
@pytest.mark.parametrize("name", MODELS)
def test_nodes_are_those_of_the_original(name: str, backend: str) -> None:
    choices = {"operators": "profile,-Graph", "broadcast": "explicit"}
    original = parse(MODELS[name], domains={"sonnx": 1})
    rewritten = sonnx_ort.rewrite(original, backend=backend, **choices)
    assert counted(sonnx_ort.check(rewritten, **{"operators": "default", **choices})) == counted(
        sonnx_ort.check(original, **{"operators": "default", **choices})
    )


@BACKENDS
@pytest.mark.parametrize("name", MODELS)
def test_nothing_is_found_that_rewrite_made(name: str, backend: str) -> None:
    original = parse(MODELS[name], domains={"sonnx": 1})
    rewritten = sonnx_ort.rewrite(original, backend=backend, broadcast="explicit")
    before, after = (
        sonnx_ort.check(model, operators="default", broadcast="explicit").findings
        for model in (original, rewritten)
    )
    assert after == before


@BACKENDS
@pytest.mark.parametrize("name", ["elements", "broadcast", "many operands", "shapes", "scalars"])
def test_whole_profile_is_kept_by_what_rewrite_made(name: str, backend: str) -> None:
    choices = {"operators": "profile", "broadcast": "explicit"}
    original = parse(MODELS[name], domains={"sonnx": 1})
    rewritten = sonnx_ort.rewrite(original, backend=backend, make_explicit=True, **choices)
    assert sonnx_ort.check(rewritten, **{"operators": "default", **choices}).violations == ()
    assert sonnx_ort.rewrite(rewritten, backend=backend, **choices) == rewritten


WAIVER = Waiver("Div.float.R1", "divide", "B is für eins", "the board", dt.date(2030, 12, 31))


def test_model_has_the_waivers_that_were_recorded() -> None:
    model = ir.Model(ir.Graph([], [], nodes=[]), ir_version=9)
    assert recorded_waivers(model.metadata_props) == ()
    assert not record_waivers(model, [])
    assert record_waivers(model, [WAIVER])
    assert recorded_waivers(model.metadata_props) == (WAIVER,)
    assert not record_waivers(model, [WAIVER])
    assert record_waivers(model, [])
    assert WAIVERS not in model.metadata_props


def test_options_of_a_record_have_waivers_under_a_key_of_their_own() -> None:
    options = {"edition": "typed", "waivers": waivers_to_json([WAIVER])}
    assert recorded_waivers(options, "waivers") == (WAIVER,)
    assert recorded_waivers(options) == ()
