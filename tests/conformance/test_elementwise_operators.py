"""Every element-wise operator of the profile, in every type, with each backend.

The results are those of ONNX Runtime's own kernel, bit for bit, but for zeros whose sign is not
that of the document; and operands of different shapes are refused, or expanded where that is asked
for.
"""

import numpy as np
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.custom_ops.arithmetic import SELECTING
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.rule import Subject
from support import ort_values
from support.backends import BACKENDS
from support.elementwise import Single, singles
from support.ort_values import BFLOAT16
from support.sessions import enforced, on_one_thread

EACH = pytest.mark.parametrize("single", list(singles()), ids=str)
SEVERAL = pytest.mark.parametrize("single", [s for s in singles() if len(s.names) > 1], ids=str)


def standard_result(single: Single, feeds, ranks=None):
    """What ONNX Runtime's own kernel gives; of bfloat16, that of float, rounded once more."""
    if single.element_type is ElementType.BFLOAT16:
        wide = {n: a.astype(np.float32) if a.dtype.kind != "b" else a for n, a in feeds.items()}
        result = standard_result(Single(single.operator, ElementType.FLOAT), wide, ranks)
        with np.errstate(all="ignore"):
            return result.astype(BFLOAT16) if result.dtype == np.float32 else result
    model = single.model(ranks).SerializeToString()
    return ort.InferenceSession(model, on_one_thread("none")).run(None, feeds)[0]


def with_positive_zeros(array):
    return np.where(array == 0, np.zeros((), array.dtype), array)


def assert_same(got, expected) -> None:
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    if got.dtype.kind not in "biu":
        bits = np.dtype(f"u{got.dtype.itemsize}")
        nans = np.isnan(expected)
        np.testing.assert_array_equal(np.isnan(got), nans)
        got, expected = (np.where(nans, 0, a).astype(a.dtype).view(bits) for a in (got, expected))
    np.testing.assert_array_equal(got, expected)


def assert_same_as_standard(single: Single, got, expected) -> None:
    """`tests/enforcing/test_zeros.py` has the signs of zeros that are left out here."""
    if single.operator.name in SELECTING and got.dtype.kind not in "biu":
        got, expected = map(with_positive_zeros, (got, expected))
    assert_same(got, expected)


def defined(single: Single, feeds):
    """The operands without the elements that break a rule, which the others keep."""
    while True:
        arrays = [feeds[name] for name in single.names]
        rules = single.rules()
        found = None
        for rule in rules:
            if rule.requirement.subject is Subject.ELEMENTS:
                found = found or rule.requirement.violation(
                    rule.select_operands(single.names, arrays)
                )
        if found is None:
            return feeds
        feeds = {name: np.delete(array, found.index) for name, array in feeds.items()}


@EACH
@BACKENDS
def test_result_is_that_of_the_standard_kernel(single: Single, backend: str) -> None:
    session = enforced(single.model(), backend)
    for size, seed in ((1, 1), (0, 2), (5, 3), (400, 4)):
        feeds = defined(single, single.operands(size, seed))
        (got,) = ort_values.run(session, feeds)
        assert_same_as_standard(single, got, standard_result(single, feeds))


@pytest.mark.satisfies(
    "*.float.R1 *.int.R1 *.bool.R1 Add.draft.float.shape Add.draft.int.shape",
    "Less.draft.float.shape Less.draft.int.shape Max.draft.shape Mul.draft.float.shape",
    "Mul.draft.int.shape Pow.draft.float.shape Pow.draft.int.shape Where.draft.float.shape",
    "Where.draft.int.shape",
)
@SEVERAL
@BACKENDS
def test_different_shapes_are_refused(single: Single, backend: str) -> None:
    session = enforced(single.model(), backend)
    feeds = {name: a[:3] for name, a in defined(single, single.operands(60, 5)).items()}
    for name in single.names:
        with pytest.raises(sonnx_ort.ContractViolation) as caught:
            ort_values.run(session, feeds | {name: feeds[name][:1]})
        violation = caught.value
        assert violation.rule == f"{single.operator.name}.{single.element_type.family}.R1"
        assert (violation.operator, violation.node) == (single.operator.name, "the_node")


@SEVERAL
@BACKENDS
def test_different_shapes_are_expanded_where_that_is_asked_for(
    single: Single, backend: str
) -> None:
    ranks = [2, *([1] * (len(single.names) - 1))]
    session = enforced(single.model(ranks), backend, broadcast="explicit")
    feeds = defined(single, single.operands(300, 6))
    first, *others = single.names
    repeated = {name: np.full_like(feeds[name], feeds[name][0]) for name in others}
    feeds = defined(single, {first: feeds[first], **repeated})
    size = min(4, len(feeds[first]) // 3)
    assert size
    feeds = {name: array[: 3 * size] for name, array in feeds.items()}
    feeds = {first: feeds[first].reshape(3, size), **{n: feeds[n][:1] for n in others}}
    (got,) = ort_values.run(session, feeds)
    assert_same_as_standard(single, got, standard_result(single, feeds, ranks))
