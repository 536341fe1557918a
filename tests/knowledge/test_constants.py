"""Which values are constants, and what their elements are."""

import numpy as np
import onnx_ir as ir
import pytest

from sonnx_ort.knowledge.declarations import constant_tensor


def produced(attributes, *, operator="Constant", domain=""):
    return ir.node(operator, [], attributes, domain=domain).outputs[0]


def initializer(tensor, *, overridable=False):
    value = ir.val("v", const_value=tensor)
    ir.Graph([value] if overridable else [], [], nodes=[], initializers=[value])
    return value


TENSOR = ir.tensor(np.array([3, 4], np.int64))
EXTERNAL = ir.ExternalTensor(
    "weights", offset=0, length=16, dtype=ir.DataType.INT64, shape=ir.Shape([2]), name="v"
)
PARAMETER = ir.RefAttr("value", "given", ir.AttributeType.TENSOR)


@pytest.mark.parametrize(
    ("value", "elements"),
    [
        pytest.param(produced({"value": TENSOR}), [3, 4], id="tensor"),
        pytest.param(produced({"value_int": 3}), 3, id="one number"),
        pytest.param(produced({"value_ints": [3, 4]}), [3, 4], id="numbers"),
        pytest.param(initializer(TENSOR), [3, 4], id="initializer"),
    ],
)
def test_elements_of_a_constant_are_known(value, elements):
    assert constant_tensor(value).numpy().tolist() == elements


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(ir.val("v"), id="input"),
        pytest.param(produced({}, operator="Relu"), id="computed"),
        pytest.param(produced({"value": TENSOR}, operator="Other"), id="another operator"),
        pytest.param(produced({"value": TENSOR}, domain="their.domain"), id="another domain"),
        pytest.param(produced({"value": TENSOR, "value_int": 3}), id="said twice"),
        pytest.param(produced({"value": PARAMETER}), id="parameter of a function"),
        pytest.param(initializer(TENSOR, overridable=True), id="that an input can override"),
        pytest.param(initializer(EXTERNAL), id="external"),
    ],
)
def test_elements_of_anything_else_are_unknown(value):
    assert constant_tensor(value) is None


def test_reading_a_constant_leaves_its_tensor_as_it_is():
    tensor = ir.tensor(np.array([3, 4], np.int64), name="given")
    constant_tensor(produced({"value": tensor}))
    assert tensor.name == "given"
