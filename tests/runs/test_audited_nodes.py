"""What is known of a node that is audited: its names, its attributes and its version."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from sonnx_ort.meaning import Enclosure, Result
from sonnx_ort.meaning.balls import ball_type
from sonnx_ort.meaning.results import Copies
from sonnx_ort.options import choose_demands
from sonnx_ort.profile.options import Edition, EditionChoice
from sonnx_ort.runs.audit import audited_node
from sonnx_ort.runs.audit.audited_node import Audited, attributes_of, meanings, versions
from sonnx_ort.runs.audit.judging import judge
from sonnx_ort.runs.audit.verdicts import Sampling, Verdict
from support.graphs import parse


@pytest.mark.parametrize(("operator", "domain", "label", "computed"), [
    ("Div", "", "Div 'n'", "Div"),
    ("Div", "ai.onnx", "Div 'n'", "Div"),
    ("CheckedDiv", "sonnx", "sonnx::CheckedDiv 'n'", "Div"),
    ("CheckedDiv", "sonnx.compiled", "sonnx.compiled::CheckedDiv 'n'", "Div"),
    ("AlignedShape", "sonnx", "sonnx::AlignedShape 'n'", ""),
    ("CheckedDiv", "own", "own::CheckedDiv 'n'", ""),
    ("Div", "own", "own::Div 'n'", ""),
])  # fmt: skip
def test_node_says_which_operator_it_is_and_which_it_computes(
    operator: str, domain: str, label: str, computed: str
) -> None:
    node = helper.make_node(operator, ["x"], ["y"], "n", domain=domain)
    audited = Audited(node, 21, [], [])
    assert (audited.label, audited.computed_operator) == (label, computed)
    assert audited.label == f"{audited.operator} 'n'"


def test_node_of_which_nothing_is_known_says_why_and_of_how_many_elements() -> None:
    node = helper.make_node("Split", ["x"], ["a", "", "b"])
    results = [None, np.zeros(2), np.zeros((3, 2))]
    found = Audited(node, 21, [], results, ("outer",)).not_known("because")
    assert (found.node, found.operator, found.path) == ("(output a)", "Split", ("outer",))
    assert (found.verdict, found.elements, found.reason) == (Verdict.NOT_KNOWN, 8, "because")


def test_attributes_are_numbers_texts_and_arrays_without_graphs() -> None:
    tensor = numpy_helper.from_array(np.array([1, 2]), "t")
    graph = onnx.GraphProto(name="g")
    node = helper.make_node(
        "Own", [], ["y"], i=1, s="text", one=tensor, many=[tensor, tensor], body=graph
    )
    node.attribute.add(name="bytes", type=onnx.AttributeProto.STRING, s=b"\xff")
    found = attributes_of(node)
    assert found.pop("one").tolist() == [1, 2]
    assert [each.tolist() for each in found.pop("many")] == [[1, 2], [1, 2]]
    assert found == {"i": 1, "s": "text", "bytes": "\ufffd"}


@pytest.mark.parametrize(("given", "attributes"), [
    ({}, {"num_outputs": 2}), ({"axis": 1}, {"num_outputs": 2, "axis": 1}),
    ({"num_outputs": 3}, {"num_outputs": 3}),
])  # fmt: skip
def test_split_says_how_many_results_it_has(
    given: Mapping[str, int], attributes: Mapping[str, int]
) -> None:
    assert attributes_of(helper.make_node("Split", ["x"], ["a", "b"], **given)) == attributes


@pytest.mark.parametrize("name", ["", "ai.onnx"])
def test_kernels_have_the_version_of_the_operator_that_they_compute(name: str) -> None:
    model = parse("(float[2] x) => (float[2] y) { y = Neg(x) }", opset=17, domains={"sonnx": 1})
    model.opset_import[0].domain = name
    model.opset_import.add(domain="own", version=3)
    found = versions(model)
    assert {domain: found[domain] for domain in ("", "ai.onnx", "sonnx", "sonnx.compiled")} == {
        **dict.fromkeys(("", "ai.onnx", "sonnx", "sonnx.compiled"), 17)
    }
    assert found["own"] == 3


def test_model_without_standard_operators_has_their_first_version() -> None:
    assert versions(onnx.ModelProto())[""] == 1


@pytest.mark.parametrize(("edition", "quotient", "verdict"), [
    ("typed", -np.inf, Verdict.EXACT), ("typed", np.inf, Verdict.OUTSIDE),
    ("preliminary", np.inf, Verdict.EXACT), ("preliminary", -np.inf, Verdict.OUTSIDE),
])  # fmt: skip
def test_node_is_judged_by_the_edition(
    edition: EditionChoice, quotient: float, verdict: Verdict
) -> None:
    node = helper.make_node("Div", ["x", "y"], ["z"])
    arrays = [np.array([number], np.float32) for number in (-1, 0, quotient)]
    audited = Audited(node, 21, arrays[:2], arrays[2:])
    found = judge(audited, choose_demands(edition, "reject", "profile"), Sampling(0, 100))
    assert found.verdict == verdict


Arrays = Sequence[np.ndarray[Any, Any] | None]


def floats(*numbers: float) -> Any:
    return np.array(numbers, np.float32)


def audited(
    operator: str,
    operands: Arrays,
    results: Arrays,
    recomputed: Mapping[str, Audited] | None = None,
    **attributes: Any,
) -> Audited:
    """Give a node that reads a, b, and so on, of which others make some, and that gives y and z."""
    names = ["" if array is None else name for name, array in zip("abcd", operands, strict=False)]
    node = helper.make_node(operator, names, [*"yz"[: len(results)]], "n", **attributes)
    makers = {name: giving(maker, name) for name, maker in (recomputed or {}).items()}
    return Audited(node, 21, operands, results, recomputed=makers)


def giving(maker: Audited, name: str) -> Audited:
    """The same with another name for its result."""
    node = onnx.NodeProto()
    node.CopyFrom(maker.node)
    node.output[0] = name
    return replace(maker, node=node)


P = np.ones((2, 4), np.float32)
PRODUCT = audited("MatMul", [np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)], [P * 3])
NEGATED = audited("Neg", [P], [-P])
WHOLE = np.arange(7)


@pytest.mark.parametrize(("node", "cost"), [
    (NEGATED, 16),
    (PRODUCT, 16 * 6),
    (audited("Neg", [P], [-P], {"a": PRODUCT}), 16 * 6),
    (audited("MatMul", [P.T, P], [P.T @ P], {"a": PRODUCT}), 16 * 6 * 4),
    (audited("Add", [P, P], [P + P], {"a": PRODUCT, "b": NEGATED}), 16 * 6),
    (audited("Transpose", [P], [P.T], {"a": PRODUCT}, perm=[1, 0]), 16 * 6),
    (audited("Transpose", [P], [P.T], perm=[1, 0]), 16),
    (audited("Identity", [WHOLE], [WHOLE]), 16 * 7),
    (audited("MatMul", [P.T, P], [P]), 16),
    (audited("MatMul", [P.T, P], [None]), 16),
    (audited("Neg", [P[:0]], [P[:0]]), 16),
], ids=["one operand", "row and column", "of a product", "product of a product", "dearest operand",
        "moved product", "moved", "read whole", "wrong shape", "no result",
        "no elements"])  # fmt: skip
def test_cost_of_an_element_is_that_of_all_that_is_computed_for_it(
    node: Audited, cost: int
) -> None:
    assert audited_node._cost(node) == cost


@pytest.mark.parametrize(("node", "asked"), [
    (NEGATED, [1]),
    (audited("Neg", [P], [-P], {"a": PRODUCT}), [96]),
    (audited("Transpose", [P], [P.T], {"a": PRODUCT}, perm=[1, 0]), [96]),
    (audited("Transpose", [P], [P.T], perm=[1, 0]), []),
], ids=["one operand", "of a product", "moved product", "moved"])  # fmt: skip
def test_fewer_elements_are_chosen_of_what_takes_longer(node: Audited, asked: list[int]) -> None:
    reads: list[int] = []

    def choose(result: np.ndarray[Any, Any], count: int) -> Any:
        del result
        reads.append(count)
        return np.array([1, 2])

    found = [excerpt.places for excerpt, _ in meanings(node, node.results, choose, Edition.TYPED)]
    assert reads == asked
    places = [[each.tolist() for each in some if each is not None] for some in found]
    assert places == ([[[1, 2]]] if asked else [[[*range(8)]]])


@pytest.mark.parametrize(("node", "moves"), [
    (audited("Transpose", [P], [P.T]), True),
    (audited("Transpose", [P.astype(np.int32)], [P.T.astype(np.int32)]), False),
    (audited("Shape", [P], [np.array([2, 4])]), False),
    (audited("Gather", [P, np.array([0])], [P[:1]]), True),
    (audited("Neg", [P], [-P]), False),
    (audited("ConstantOfShape", [np.array([2, 4])], [P]), False),
    (audited("Transpose", [P], [None]), False),
])  # fmt: skip
def test_node_moves_floats_if_its_operator_moves_and_they_are_floats(
    node: Audited, moves: bool
) -> None:
    assert audited_node._moves_floats(node) == moves


QUOTIENT = audited("Div", [floats(-1, 3), floats(0, 2)], [floats(-np.inf, 1.5)])


@pytest.mark.parametrize(("operator", "edition", "infinity"), [
    ("Neg", "typed", np.inf), ("Neg", "preliminary", -np.inf),
    ("Identity", "typed", -np.inf), ("Identity", "preliminary", np.inf),
])  # fmt: skip
@pytest.mark.parametrize("sign", [1, -1])
def test_value_that_the_run_has_not_is_judged_by_the_edition(
    operator: str, edition: EditionChoice, infinity: float, sign: int
) -> None:
    other = -1.5 if operator == "Neg" else 1.5
    given = floats(-np.inf, 1.5)
    node = audited(operator, [given], [floats(sign * infinity, other)], {"a": QUOTIENT})
    found = judge(node, choose_demands(edition, "reject", "profile"), Sampling(0, 100))
    assert found.verdict == (Verdict.EXACT if sign > 0 else Verdict.OUTSIDE)


@pytest.mark.parametrize(("most", "reason"), [
    (8, ""), (7, "it is joined with nodes of which more than 7 elements are needed"),
])  # fmt: skip
@pytest.mark.parametrize("reader", ["Neg", "Identity"])
def test_elements_of_values_that_the_run_has_not_are_limited(
    reader: str, most: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audited_node, "_MOST_READS", most)
    result = P if reader == "Identity" else -P
    node = audited(reader, [P], [result], {"a": audited("Abs", [P], [P])})
    found = judge(node, choose_demands("typed", "reject", "profile"), Sampling(0, 100))
    assert found.reason == reason
    assert found.verdict == (Verdict.NOT_KNOWN if reason else Verdict.EXACT)


def test_sizes_that_a_joined_node_made_decide_where_elements_move() -> None:
    scales = floats(1, 2)
    node = audited(
        "Resize",
        [P, None, scales],
        [np.repeat(P, 2, 1)],
        {"a": PRODUCT, "c": audited("Abs", [scales], [scales])},
        mode="nearest",
    )
    found = judge(node, choose_demands("typed", "reject", "profile"), Sampling(0, 100))
    reason = "the run has no value 'c', which decides where elements move"
    assert (found.verdict, found.reason) == (Verdict.NOT_KNOWN, reason)


SCALES = floats(1, 2)
INDICES = np.array([1, 0])
MOVED = {
    "sizes of the run": audited(
        "Resize", [P * 3, None, SCALES], [np.repeat(P * 3, 2, 1)], {"a": PRODUCT}, mode="nearest"
    ),
    "indices of the run": audited("Gather", [P * 3, INDICES], [P * 3], {"a": PRODUCT}),
    "indices of a joined node": audited(
        "Gather",
        [P * 3, INDICES],
        [P * 3],
        {"a": PRODUCT, "b": audited("Abs", [INDICES], [INDICES])},
    ),
}


@pytest.mark.parametrize("node", MOVED.values(), ids=MOVED)
def test_places_where_elements_move_are_known_if_one_is_admitted(node: Audited) -> None:
    found = judge(node, choose_demands("typed", "reject", "profile"), Sampling(0, 100))
    assert (found.verdict, found.reason) == (Verdict.EXACT, "")


def test_moved_elements_of_which_one_of_several_is_taken_are_not_known() -> None:
    x, indices = floats(0, 0, 0, 0), np.array([[1], [1]])
    node = audited(
        "ScatterND",
        [x, indices, floats(1, 2)],
        [floats(0, 2, 0, 0)],
        {"a": audited("Abs", [x], [x])},
    )
    found = judge(node, choose_demands("typed", "reject", "profile"), Sampling(0, 100))
    reason = "the document leaves open which elements it takes"
    assert (found.verdict, found.reason) == (Verdict.NOT_KNOWN, reason)


def test_value_of_which_elements_cannot_be_told_apart_is_not_known() -> None:
    indices = np.array([[0], [3]])
    node = audited(
        "ScatterND",
        [np.zeros(4, np.float32), indices, floats(1, 2)],
        [floats(1, 0, 0, 2)],
        {"b": audited("Abs", [indices], [indices])},
        reduction="add",
    )
    found = judge(node, choose_demands("typed", "reject", "profile"), Sampling(0, 100))
    reason = "the run has no value 'b', and several are admitted"
    assert (found.verdict, found.reason) == (Verdict.NOT_KNOWN, reason)


def test_shape_is_read_of_a_value_whose_elements_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(audited_node, "_MOST_READS", 0)
    node = audited("Shape", [P * 3], [np.array([2, 4])], {"a": PRODUCT})
    found = judge(node, choose_demands("typed", "reject", "profile"), Sampling(0, 100))
    assert found.verdict == Verdict.EXACT


def test_results_behind_one_that_the_run_has_not_are_judged_too() -> None:
    x = floats(0, 1, 2, 3, 4, 5)
    node = audited("Split", [x], [x[:2], None], {"a": audited("Abs", [x], [x])}, num_outputs=3)
    node.node.output.append("last")
    for last, verdict in ((x[4:], Verdict.EXACT), (x[2:4], Verdict.OUTSIDE)):
        every = replace(node, results=[*node.results, last])
        found = judge(every, choose_demands("typed", "reject", "profile"), Sampling(0, 100))
        assert (found.verdict, found.audited) == (verdict, 4)


@pytest.mark.parametrize(("elements", "dtype"), [
    ([], "float32"), ([np.float32(1), np.float32(2)], "float32"), ([np.int64(1)], "int64"),
    ([np.float16(1)], "float16"),
], ids=str)  # fmt: skip
def test_elements_have_their_own_type(elements: list[Any], dtype: str) -> None:
    found = audited_node._array(elements)
    assert (found.dtype.name, found.tolist()) == (dtype, [each.item() for each in elements])


def test_elements_are_balls_if_one_of_them_is() -> None:
    ball = ball_type()
    one, other = audited_node._array([np.float32(1), ball(2).union(ball(3))])
    assert (isinstance(one, ball), isinstance(other, ball)) == (True, True)
    assert one == 1
    assert (other.contains(2), other.contains(3)) == (True, True)


NO = np.zeros(2, np.bool_)
ZEROS = floats(-0.0, 0)


@pytest.mark.parametrize(("lowest", "highest", "made"), [
    (floats(1, 2), floats(1, 2), np.float32),
    (floats(1, 2), floats(1, 3), object),
    (ZEROS, ZEROS, np.float32),
    (ZEROS, -ZEROS, object),
], ids=["one", "several", "one zero", "either zero"])  # fmt: skip
def test_elements_are_balls_where_several_numbers_or_zeros_are_admitted(
    lowest: Any, highest: Any, made: type[Any]
) -> None:
    one = (1, 2)
    enclosure = Enclosure(lowest.reshape(one), highest.reshape(one), NO.reshape(one))
    found = audited_node._elements_or_balls(Result(lowest.reshape(one), enclosure, NO.reshape(one)))
    assert (found.shape, found.dtype) == (one, made)
    if made is object:
        last = found[0, 1]
        assert (last.contains(float(lowest[1])), last.contains(float(highest[1]))) == (True, True)


@pytest.mark.parametrize(("admitted", "reason"), [
    (Enclosure(ZEROS, ZEROS, ~NO), "every value is admitted"),
    (Copies(ZEROS, {0: floats(1)}), "the document leaves open which elements it takes"),
], ids=["every value", "one of several"])  # fmt: skip
def test_elements_that_are_left_open_are_not_known(admitted: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{reason}$"):
        audited_node._elements_or_balls(Result(ZEROS, admitted, NO))


def test_value_without_a_meaning_is_not_known_for_its_reason() -> None:
    x = np.array([[1, 2], [3, 4]], np.int32)
    product = audited("Gemm", [x, x], [x @ x], alpha=2.5)
    found = judge(
        audited("Abs", [x @ x], [x @ x], {"a": product}),
        choose_demands("typed", "reject", "profile"), Sampling(0, 100),
    )  # fmt: skip
    reason = "no document says what alpha and beta do to integers"
    assert (found.verdict, found.reason) == (Verdict.NOT_KNOWN, reason)


def test_elements_that_are_read_several_times_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audited_node, "_MOST_READS", 2)
    x = floats(1, 2)
    column = x.reshape(2, 1)
    node = audited(
        "Add", [column, np.zeros((2, 9), np.float32)], [np.repeat(column, 9, 1)],
        {"a": audited("Abs", [column], [column])},
    )  # fmt: skip
    found = judge(node, choose_demands("typed", "reject", "profile"), Sampling(0, 100))
    assert (found.verdict, found.reason) == (Verdict.EXACT, "")


def test_of_moved_values_only_the_elements_that_are_read_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(audited_node, "_MOST_READS", 2)
    moved = audited("Transpose", [P], [P.T], {"a": audited("Abs", [P], [P])}, perm=[1, 0])
    node = audited("Neg", [P.T], [-P.T], {"a": moved})
    found = judge(node, choose_demands("typed", "reject", "profile"), Sampling(0, 1))
    assert (found.verdict, found.audited) == (Verdict.EXACT, 1)


def test_later_result_that_was_not_computed_is_not_known() -> None:
    x = np.array([1, 2])
    parts = audited("Split", [x], [x[:1], None], num_outputs=2)
    parts.node.output[1] = "a"
    node = replace(audited("Abs", [x[1:]], [x[1:]]), recomputed={"a": parts})
    found = judge(node, choose_demands("typed", "reject", "profile"), Sampling(0, 100))
    assert (found.verdict, found.reason) == (Verdict.NOT_KNOWN, "the value 'a' is not known")
