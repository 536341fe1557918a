"""Holds `check` and enforcement against what ONNX Runtime's own kernels compute.

The other oracle, `support.soundness.evaluator`, is onnx.reference; it cannot know where a kernel
of ONNX Runtime differs from the document. Here the operands of one Div or Sub are read off the
original model, at every level of optimization.
"""

import copy
from collections import Counter
from collections.abc import Mapping

import numpy as np
import onnx
import onnxruntime as ort

import sonnx_ort
from sonnx_ort.backends import Backend
from sonnx_ort.profile.rule import Status
from sonnx_ort.runs.reduce.shrinking import Feeds, Trial
from support.backends import INSTALLED, RUNS_PYTHON
from support.sessions import LEVELS, on_one_thread, set_for
from support.soundness.arrays import Array

_REFUSALS = (
    # It runs no Scan where inference leaves a shape of its body open.
    "Subgraph must have the shape set for all outputs",
    # It gives the memory of one tensor to another that it believes to be of the same shape.
    "Shape mismatch attempting to re-use buffer",
)
"""Errors of ONNX Runtime that rest on no rule, but on what it believes of shapes."""


def operands_at_each_level(trial: Trial) -> dict[str, list[Array]]:
    """What reaches the last node of the original, at the levels at which it can be run.

    Args:
        trial: A model whose last node is a Div or Sub and gives its only output, and one run.
    """
    (feeds,) = trial.runs
    operands = copy.deepcopy(trial.model)
    last = operands.graph.node.pop()
    (output,) = operands.graph.output
    del operands.graph.output[:]
    for index, name in enumerate(last.input):
        operands.graph.node.add(op_type="Identity", input=[name], output=[f"operand{index}"])
        declared = operands.graph.output.add()
        declared.CopyFrom(output)
        declared.name = f"operand{index}"
    found = {}
    for name in LEVELS:
        try:
            found[name] = _session(operands, on_one_thread(name)).run(None, feeds)
        except Exception:  # noqa: BLE001, S112 - what does not run cannot contradict anything
            continue
    return found


def with_readers(model: onnx.ModelProto) -> onnx.ModelProto:
    """Read the shape of the only output of a model, by nodes that ONNX Runtime may compute early.

    Returns:
        One with three outputs: the first one's shape and zeros of that shape are behind it.
    """
    read = copy.deepcopy(model)
    (output,) = read.graph.output
    read.graph.node.add(op_type="Identity", input=[output.name], output=["read"])
    read.graph.node.add(op_type="Shape", input=["read"], output=["read_shape"])
    read.graph.node.add(op_type="ConstantOfShape", input=["read_shape"], output=["read_zeros"])
    kinds = {"read_shape": onnx.TensorProto.INT64, "read_zeros": onnx.TensorProto.FLOAT}
    for name, kind in kinds.items():
        read.graph.output.append(onnx.helper.make_tensor_value_info(name, kind, None))
    return read


def judge(trial: Trial) -> Counter[str]:
    """Assert that `check`, every backend and every session agree with the kernels.

    Returns:
        What was looked at.
    """
    counts: Counter[str] = Counter()
    (feeds,) = trial.runs
    operands = operands_at_each_level(trial)
    if not operands:
        return Counter(["cannot be run"])
    last = trial.model.graph.node[-1]
    report = sonnx_ort.check(trial.model, operators="default", forecast=False)
    (rule,) = [o for o in report.obligations if o.rule.id.endswith(".R1") and o.node == last.name]
    counts[str(rule.status)] += 1
    for name, (a, b) in operands.items():
        kept = a.shape == b.shape
        told = f"{rule.status} ({rule.evidence}) at level {name}: {a.shape} and {b.shape}"
        assert kept or rule.status is not Status.PROVED, told
        assert not kept or rule.status is not Status.VIOLATED, told
        counts["kept" if kept else "broken"] += 1
    if not report.ok:
        return counts
    random = _differ(operands, operands_at_each_level(trial))
    read = with_readers(trial.model)
    for backend in INSTALLED:
        enforced = sonnx_ort.rewrite(read, backend=backend)
        for name, (a, b) in operands.items():
            expected = _expected(last.op_type, a, b) if a.shape == b.shape else None
            for own in (False, True):
                place = f"{'own' if own else 'plain'} session, {backend}, level {name}"
                outcome = _outcome(enforced, feeds, backend, name, own=own)
                if any(refusal in str(outcome) for refusal in _REFUSALS):
                    counts["refused by ONNX Runtime for what it believes of shapes"] += 1
                    continue
                _assert_right(outcome, expected, own=own, place=place)
                if not isinstance(outcome, Exception) and expected is not None and not random:
                    np.testing.assert_array_equal(outcome[0], expected, place)
                counts["runs"] += 1
    return counts


def _assert_right(
    outcome: list[Array] | Exception, expected: Array | None, *, own: bool, place: str
) -> None:
    if isinstance(outcome, Exception):
        assert expected is None, f"false alarm in a {place}: {outcome}"
        violated = isinstance(outcome, sonnx_ort.ContractViolation)
        named = violated and outcome.rule.endswith(".R1") if own else "SONNX" in str(outcome)
        assert named, f"an error without a name in a {place}: {outcome}"
        return
    result, shape, zeros = outcome
    assert expected is not None, f"silence in a {place}: {result.shape}"
    assert result.shape == expected.shape, f"{result.shape} in a {place}"
    read = (tuple(shape.tolist()), zeros.shape)
    assert read == (expected.shape, expected.shape), f"read as {read} in a {place}"


def _differ(one: Mapping[str, list[Array]], other: Mapping[str, list[Array]]) -> bool:
    """Whether two runs gave different elements, at one level or at two."""
    first, *rest = [*one.values(), *other.values()]
    pairs = [pair for operands in rest for pair in zip(first, operands, strict=True)]
    return not all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)


def _expected(operator: str, a: Array, b: Array) -> Array:
    with np.errstate(all="ignore"):
        result: Array = {"Div": np.divide, "Sub": np.subtract}[operator](a, b)
    return result


def _outcome(
    enforced: onnx.ModelProto, feeds: Feeds, backend: Backend, level: str, *, own: bool
) -> list[Array] | Exception:
    try:
        if own:
            session = sonnx_ort.InferenceSession(
                enforced, on_one_thread(level), backend=backend, verify_proofs=RUNS_PYTHON
            )
        else:
            session = _session(enforced, set_for(backend, level))
        outputs: list[Array] = session.run(None, feeds)
    except Exception as error:  # noqa: BLE001 - whatever was raised is judged
        return error
    return outputs


def _session(model: onnx.ModelProto, options: ort.SessionOptions) -> ort.InferenceSession:
    return ort.InferenceSession(model.SerializeToString(), options)
