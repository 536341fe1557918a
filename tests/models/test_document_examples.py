"""The numbers that the documents print, written down here a second time."""

import numpy as np
import pytest

from sonnx_ort import models

INF, NAN = np.inf, np.nan
DIGITS_PRINTED_BY_NUMPY = 8

PRINTED = [
    ("div_example_1", [6, 9, 35], [3, 3, 5], {"both": [2, 3, 7]}),
    (
        "div_example_2",
        [[3, 4], [16, 0], [25, 24]],
        [[3, 2], [4, 1], [5, 4]],
        {"both": [[1, 2], [4, 0], [5, 6]]},
    ),
    (
        "div_numpy_example",
        [[1, 3], [5, 7], [9, 12]],
        [[11, 22], [33, -44], [-55, 66]],
        {"both": [[0.09090909, 0.13636364], [0.15151515, -0.15909091], [-0.16363636, 0.18181818]]},
    ),
    ("div_numpy_zero_divisor", [[6, 9, 35]], [[3, 3, 0]], {"both": [[2, 3, INF]]}),
    (
        "div_zero_divisor",
        [[3, 4], [16, 1], [25, 24]],
        [[3, 2], [4, 0], [5, 4]],
        {"both": [[1, 2], [4, INF], [5, 6]]},
    ),
    (
        "div_zero_by_zero",
        [[3, 4], [16, 0], [25, 24]],
        [[3, 2], [4, 0], [5, 4]],
        {"typed": [[1, 2], [4, NAN], [5, 6]], "preliminary": [[1, 2], [4, INF], [5, 6]]},
    ),
    ("onnx_div_example", [3, 4], [1, 2], {"both": [3, 2]}),
    ("sub_example_1", [4, 7, 10], [1, 5, 3], {"both": [3, 2, 7]}),
    (
        "sub_example_2",
        [[9, 5], [3, 8], [6, 2]],
        [[3, 2], [4, 1], [5, 1]],
        {"both": [[6, 3], [-1, 7], [1, 1]]},
    ),
    (
        "sub_numpy_example",
        [[1, 2], [3, 4], [5, 6]],
        [[11, 22], [33, -44], [-55, 0]],
        {"both": [[-10, -20], [-30, 48], [60, 6]]},
    ),
]
EXAMPLES = [
    pytest.param(
        name, a, b, printed.get("both", printed.get(edition)), edition, id=f"{name}-{edition}"
    )
    for prefix, a, b, printed in PRINTED
    for name in models.names()
    if name in (prefix, f"{prefix}_float32", f"{prefix}_int32")
    for edition in ("typed", "preliminary")
]


@pytest.mark.satisfies(
    "Div.typed.real.examples",
    "Div.typed.float.examples",
    "Div.preliminary.examples",
    "Div.preliminary.numpy",
    "Sub.preliminary.examples",
    "Sub.preliminary.numpy",
    "Div.onnx.examples",
)
@pytest.mark.parametrize(("name", "a", "b", "c", "edition"), EXAMPLES)
def test_example_has_the_numbers_of_its_document(name, a, b, c, edition):
    [case] = [case for case in models.example(name).cases if case.name == edition]
    assert np.array_equal(case.inputs["A"], a)
    assert np.array_equal(case.inputs["B"], b)
    rounded = np.round(case.expected.values["C"], DIGITS_PRINTED_BY_NUMPY)
    assert np.array_equal(rounded, c, equal_nan=True)


def test_every_example_of_the_documents_is_bundled():
    assert len(EXAMPLES) == 2 * (len(PRINTED) + 4)


@pytest.mark.satisfies("Div.onnx.legacy.examples")
def test_legacy_models_have_every_shape_that_the_onnx_page_lists():
    listed = {(): None, (1, 1): None, (5,): None, (4, 5): None, (3, 4): 1, (2,): 0}
    for opset in (1, 6):
        graph = models.load(f"div_opset_{opset}_broadcast").graph
        shapes = {
            value.name: tuple(d.dim_value for d in value.type.tensor_type.shape.dim)
            for value in graph.input
        }
        assert shapes["A"] == (2, 3, 4, 5)
        found = {}
        for node in graph.node:
            attributes = {attribute.name: attribute.i for attribute in node.attribute}
            assert attributes.pop("broadcast") == 1
            found[shapes[node.input[1]]] = attributes.get("axis")
        assert found == listed
