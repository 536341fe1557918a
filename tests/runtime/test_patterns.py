"""What optimizers make of operators of the profile, they make beside the guards, or not at all.

A model of `PATTERNS` holds what one optimizer of ONNX Runtime looks for, and a node with a rule
that only a run decides. Where shapes are known the native backend adds no guard, and the optimizer
does its work still, unless it is one of those that are switched off; a guard among the nodes that
it looks for stops it. The custom operators of the python backend are nothing that an optimizer
looks for; a Where stays behind one of them.
"""

import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from support.backends import BACKENDS, with_guards
from support.patterns import PATTERNS, TAKEN
from support.sessions import LEVELS, on_one_thread

each_pattern = pytest.mark.parametrize("pattern", PATTERNS.values(), ids=list(PATTERNS))
each_level = pytest.mark.parametrize("level", LEVELS)


def enforced(pattern, backend, level, path=""):
    options = on_one_thread(level)
    options.optimized_model_filepath = str(path)
    return sonnx_ort.InferenceSession(
        pattern.model(),
        options,
        operators="elementwise",
        broadcast=pattern.broadcast,
        backend=backend,
    )


def plain(pattern, level, path=""):
    options = on_one_thread(level)
    options.optimized_model_filepath = str(path)
    return ort.InferenceSession(pattern.model().SerializeToString(), options)


def is_taken(pattern, optimized):
    """Whether a node of that name and operator is gone; a fused one may have the name."""
    (node,) = [n for n in pattern.model().graph.node if n.name == TAKEN]
    left = {(n.name, n.op_type) for n in onnx.load(optimized).graph.node}
    return left.isdisjoint({(TAKEN, node.op_type), (TAKEN, f"Checked{node.op_type}")})


def bits(session, pattern):
    return [output.tobytes() for output in session.run(None, pattern.feeds())]


@each_level
@each_pattern
def test_optimizer_finds_what_it_looks_for(pattern, level, tmp_path):
    """Once it does not, the pattern shows nothing, and another is to be found."""
    plain(pattern, level, tmp_path / "optimized.onnx")
    assert is_taken(pattern, tmp_path / "optimized.onnx") == (level in pattern.levels)


@with_guards
@each_level
@each_pattern
def test_optimizer_does_its_work_where_no_guard_is_in_the_way(pattern, level, backend, tmp_path):
    enforced(pattern, backend, level, tmp_path / "optimized.onnx")
    expected = level in pattern.levels and backend in pattern.survives
    assert is_taken(pattern, tmp_path / "optimized.onnx") == expected


@BACKENDS
@each_level
@each_pattern
def test_results_are_those_of_no_optimization_or_of_the_fusion(pattern, level, backend):
    results = bits(enforced(pattern, backend, level), pattern)
    assert results in (bits(plain(pattern, "none"), pattern), bits(plain(pattern, level), pattern))


@BACKENDS
@each_level
@each_pattern
def test_broken_rule_is_told(pattern, level, backend):
    session = enforced(pattern, backend, level)
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, pattern.feeds(breaking=True))
    assert caught.value.node in pattern.told
