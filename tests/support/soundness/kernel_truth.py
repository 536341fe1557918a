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
from sonnx_ort.profile.judgement import Status
from sonnx_ort.rewriting.options import Backend
from sonnx_ort.runtime.registration import prepare
from support.sessions import LEVELS, on_one_thread
from support.soundness.arrays import Array
from support.soundness.shrinking import Feeds, Sample

_REFUSALS = (
    # It runs no Scan where inference leaves a shape of its body open.
    "Subgraph must have the shape set for all outputs",
    # It gives the memory of one tensor to another that it believes to be of the same shape.
    "Shape mismatch attempting to re-use buffer",
)
"""Errors of ONNX Runtime that rest on no rule, but on what it believes of shapes."""


def operands_at_each_level(sample: Sample) -> dict[str, list[Array]]:
    """What reaches the last node of the original, at the levels at which it can be run.

    Args:
        sample: A model whose last node is a Div or Sub and gives its only output, and one run.
    """
    (feeds,) = sample.runs
    operands = copy.deepcopy(sample.model)
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


def judge(sample: Sample) -> Counter[str]:
    """Assert that `check`, both backends and every session agree with the kernels.

    Args:
        sample: As for `operands_at_each_level`.

    Returns:
        What was looked at.
    """
    counts: Counter[str] = Counter()
    (feeds,) = sample.runs
    operands = operands_at_each_level(sample)
    if not operands:
        return Counter(["cannot be run"])
    last = sample.model.graph.node[-1]
    report = sonnx_ort.check(sample.model)
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
    random = _differ(operands, operands_at_each_level(sample))
    for backend in Backend:
        enforced = sonnx_ort.rewrite(sample.model, backend=backend)
        for name, (a, b) in operands.items():
            expected = _expected(last.op_type, a, b) if a.shape == b.shape else None
            for own in (False, True):
                place = f"{'own' if own else 'plain'} session, {backend}, level {name}"
                outcome = _outcome(enforced, feeds, backend, name, own=own)
                if any(refusal in str(outcome) for refusal in _REFUSALS):
                    counts["refused by ONNX Runtime for what it believes of shapes"] += 1
                    continue
                _assert_right(outcome, expected, own=own, place=place)
                if expected is not None and not random:
                    np.testing.assert_array_equal(outcome, expected, place)
                counts["runs"] += 1
    return counts


def _assert_right(
    outcome: Array | Exception, expected: Array | None, *, own: bool, place: str
) -> None:
    if isinstance(outcome, Exception):
        assert expected is None, f"false alarm in a {place}: {outcome}"
        violated = isinstance(outcome, sonnx_ort.ContractViolation)
        named = violated and outcome.rule.endswith(".R1") if own else "SONNX" in str(outcome)
        assert named, f"an error without a name in a {place}: {outcome}"
    else:
        assert expected is not None, f"silence in a {place}: {outcome.shape}"
        assert outcome.shape == expected.shape, f"{outcome.shape} in a {place}"


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
) -> Array | Exception:
    options = on_one_thread(level)
    try:
        if own:
            session = sonnx_ort.InferenceSession(
                enforced, options, backend=backend, verify_proofs=True
            )
        else:
            prepare(options, backend)
            session = _session(enforced, options)
        (result,) = session.run(None, feeds)
    except Exception as error:  # noqa: BLE001 - whatever was raised is judged
        return error
    return np.asarray(result)


def _session(model: onnx.ModelProto, options: ort.SessionOptions) -> ort.InferenceSession:
    return ort.InferenceSession(model.SerializeToString(), options)
