"""All patterns of `support.patterns` in one graph: no optimizer's work hides a guard of another's.

Each pattern is there twice, and both copies read the same inputs, so that what computes the same
can be merged across them.
"""

from collections import Counter
from collections.abc import Mapping

import onnx
import onnxruntime as ort
import pytest
from onnx import compose

import sonnx_ort
from support.backends import BACKENDS
from support.patterns import PATTERNS, Pattern
from support.sessions import LEVELS, on_one_thread

pytestmark = pytest.mark.thorough

COPIES = ("one_", "other_")
COUNTS = Counter((pattern.broadcast, pattern.opset) for pattern in PATTERNS.values())
KINDS = sorted(kind for kind, count in COUNTS.items() if count > 1)
"""What the patterns that stand in one model have in common."""

each_kind = pytest.mark.parametrize("kind", KINDS, ids=str)
each_level = pytest.mark.parametrize("level", LEVELS)


def patterns_of(kind) -> Mapping[str, Pattern]:
    """The patterns that one model can hold, by what stands in front of their names in it."""
    chosen = [p for p in PATTERNS.values() if (p.broadcast, p.opset) == kind]
    return {f"p{number}_": pattern for number, pattern in enumerate(chosen)}


def together(kind) -> onnx.ModelProto:
    """One model that computes all patterns of a kind, each twice."""
    model = onnx.ModelProto()
    for prefix, pattern in patterns_of(kind).items():
        graph = compose.add_prefix_graph(pattern.model().graph, prefix)
        for declared in graph.input:
            for dimension in declared.type.tensor_type.shape.dim:
                if dimension.dim_param:
                    dimension.dim_param = prefix + dimension.dim_param
        model.graph.input.extend(graph.input)
        for copy in COPIES:
            copied = compose.add_prefix_graph(graph, copy, rename_inputs=False)
            model.graph.node.extend(copied.node)
            model.graph.output.extend(copied.output)
            model.graph.initializer.extend(copied.initializer)
        if not model.opset_import:
            model.opset_import.extend(pattern.model().opset_import)
            model.ir_version = pattern.model().ir_version
    model.graph.name = "together"
    return model


def feeds_of(kind, breaking: str = ""):
    """Inputs of all patterns; those of one of them break its rule."""
    return {
        prefix + name: array
        for prefix, pattern in patterns_of(kind).items()
        for name, array in pattern.feeds(breaking=prefix == breaking).items()
    }


def enforced(kind, backend, level):
    return sonnx_ort.InferenceSession(
        together(kind),
        on_one_thread(level),
        operators="elementwise",
        broadcast=kind[0],
        backend=backend,
    )


def results(session, kind):
    """The bits of each pattern's outputs, in the order of the model."""
    return [output.tobytes() for output in session.run(None, feeds_of(kind))]


@each_kind
@each_level
@BACKENDS
def test_results_are_those_of_no_optimization_or_of_the_fusions(kind, level, backend):
    model = together(kind).SerializeToString()
    found = results(enforced(kind, backend, level), kind)
    admitted = [results(ort.InferenceSession(model, on_one_thread(n)), kind) for n in LEVELS]
    for place, output in enumerate(found):
        assert output in {each[place] for each in admitted}


@each_kind
@each_level
@BACKENDS
def test_rule_that_one_pattern_breaks_is_told(kind, level, backend):
    session = enforced(kind, backend, level)
    for prefix, pattern in patterns_of(kind).items():
        with pytest.raises(sonnx_ort.ContractViolation) as caught:
            session.run(None, feeds_of(kind, prefix))
        told = {copy + prefix + name for copy in COPIES for name in pattern.told}
        assert caught.value.node in told
