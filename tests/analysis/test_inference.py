"""What follows about types and shapes, and what does not."""

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper

from sonnx_ort.analysis.facts import Facts
from sonnx_ort.loading.canonical import load
from support.graphs import model, tensor


def facts_of(made: onnx.ModelProto) -> tuple[ir.Model, Facts]:
    loaded = load(made).graph_model
    return loaded, Facts(loaded)


def shape_of(made: onnx.ModelProto, name: str) -> tuple[object, ...] | None:
    loaded, facts = facts_of(made)
    return facts.shape(ir.convenience.create_value_mapping(loaded.graph)[name])


def broadcast(inputs: list[str], outputs: list[str], domain: str = "sonnx") -> onnx.NodeProto:
    return helper.make_node("Broadcast", inputs, outputs, name="broadcast", domain=domain)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([3, 1], [4], (3, 4)),
        (["n", 3], [3], ("n", 3)),
        (["n", 3], ["n", 1], ("n", 3)),
        ([], ["n"], ("n",)),
        ([1], [1], (1,)),
    ],
)
def test_facts_flow_through_a_broadcast(a: list[int], b: list[int], expected: object) -> None:
    made = model(
        [broadcast(["a", "b"], ["x", "y"]), helper.make_node("Relu", ["y"], ["z"])],
        [tensor("a", "float", a), tensor("b", "float", b)],
        [tensor("z", "float", None), tensor("x", "float", None)],
        domains={"sonnx": 1},
    )
    assert shape_of(made, "z") == expected
    assert shape_of(made, "x") == expected


def test_outputs_of_a_broadcast_share_what_is_unknown() -> None:
    made = model(
        [broadcast(["a", "b"], ["x", "y"])],
        [tensor("a", "float", ["n"]), tensor("b", "float", ["m"])],
        [tensor("x", "float", None), tensor("y", "float", None)],
        domains={"sonnx": 1},
    )
    first = shape_of(made, "x")
    assert first == shape_of(made, "y")
    assert first not in (("n",), ("m",), (None,))


def test_facts_flow_through_operators_of_either_engine_behind_a_broadcast() -> None:
    made = model(
        [
            broadcast(["a", "b"], ["x", "y"]),
            helper.make_node("ReduceSum", ["x", "axes"], ["r"], keepdims=0),
            broadcast(["r", "a"], ["s", "t"]),
            helper.make_node("ReduceSum", ["s", "axes"], ["z"], keepdims=0),
        ],
        [tensor("a", "float", [3, 1]), tensor("b", "float", [4])],
        [tensor("z", "float", None)],
        initializers=[onnx.numpy_helper.from_array(np.array([1]), "axes")],
        domains={"sonnx": 1},
    )
    assert shape_of(made, "r") == (3,)
    assert shape_of(made, "z") == (3,)


def test_inputs_of_a_broadcast_keep_their_types() -> None:
    made = model(
        [broadcast(["a", "b"], ["x", "y"])],
        [tensor("a", "float", [3]), tensor("b", "int32", [1])],
        [tensor("x", "float", None), tensor("y", "int32", None)],
        domains={"sonnx": 1},
    )
    loaded, facts = facts_of(made)
    values = ir.convenience.create_value_mapping(loaded.graph)
    assert [facts.element_type(values[name]) for name in ("x", "y")] == ["float", "int32"]


def test_end_of_a_slice_is_not_the_size_of_an_open_dimension() -> None:
    bounds = {"start": [0], "end": [1_000_000_000], "axes": [0]}
    made = model(
        [helper.make_node("Slice", ["a", "start", "end", "axes"], ["z"])],
        [tensor("a", "float", ["n"])],
        [tensor("z", "float", None)],
        initializers=[onnx.numpy_helper.from_array(np.array(v), k) for k, v in bounds.items()],
    )
    (size,) = shape_of(made, "z") or ()
    assert not isinstance(size, int)


def test_shape_of_a_loops_state_does_not_follow_from_its_initial_value() -> None:
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go_on"], ["still"]),
            helper.make_node("Concat", ["state", "state"], ["grown"], axis=0),
        ],
        "body",
        [tensor("i", "int64", []), tensor("go_on", "bool", []), tensor("state", "float", None)],
        [tensor("still", "bool", []), tensor("grown", "float", None)],
    )
    made = model(
        [helper.make_node("Loop", ["trips", "", "s"], ["z"], body=body)],
        [tensor("s", "float", [1]), tensor("trips", "int64", [])],
        [tensor("z", "float", None)],
    )
    for name in ("state", "grown", "z"):
        assert not any(isinstance(size, int) for size in shape_of(made, name) or ())


@pytest.mark.parametrize("claimed", ["value_info", "output"])
def test_claims_are_no_premises(claimed: str) -> None:
    claim = [tensor("c", "float", [3])]
    made = model(
        [helper.make_node("Identity", ["a"], ["c"])],
        [tensor("a", "float", ["n"])],
        claim,
    )
    if claimed == "value_info":
        made.graph.node.append(helper.make_node("Identity", ["c"], ["d"]))
        made.graph.output[0].name = "d"
        made.graph.value_info.extend(claim)
    assert shape_of(made, "c") == ("n",)


@pytest.mark.parametrize("odd", ["?", "a b", "n-1", ""])
def test_dimension_names_that_no_symbol_can_have_say_nothing(odd: str) -> None:
    made = model(
        [helper.make_node("Relu", ["a"], ["z"])],
        [tensor("a", "float", [odd, 3])],
        [tensor("z", "float", None)],
    )
    first, second = shape_of(made, "z") or ()
    assert second == 3
    assert first != odd


def test_negative_sizes_say_nothing() -> None:
    made = model(
        [helper.make_node("Relu", ["a"], ["z"])],
        [tensor("a", "float", [-1, 3])],
        [tensor("z", "float", None)],
    )
    first, second = shape_of(made, "z") or ()
    assert (isinstance(first, int), second) == (False, 3)
