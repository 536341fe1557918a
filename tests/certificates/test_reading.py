"""What ONNX Runtime may read otherwise than the checker does is rejected, in both models."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from sonnx_ort.checker import Model, Rejected, check
from sonnx_ort.checker.enforced import Enforced
from sonnx_ort.checker.strict_reading import FIELDS
from support.derived import fact
from support.graphs import parse

DIVISION = """(int32[2] x, bool b) => (int32[2] z) <int32[2] w = {5, 7}> {
    c = Constant<value = int32[2] {3, 3}>()
    d = If(b) <then_branch = t () => (int32[2] p) { p = Div(x, c) },
               else_branch = e () => (int32[2] q) { q = Div(w, c) }>
    z = Concat<axis = 0>(d, c) }"""

Change = Callable[[onnx.ModelProto], object]


def node(model: onnx.ModelProto, output: str) -> onnx.NodeProto:
    return next(each for each in model.graph.node if output in each.output)


def tensor_of(model: onnx.ModelProto) -> TensorProto:
    """The elements of the Constant."""
    return node(model, "c").attribute[0].t


def attribute(output: str, name: str, value: Any) -> Change:
    return lambda m: node(m, output).attribute.append(helper.make_attribute(name, value))


def axis_of(model: onnx.ModelProto) -> AttributeProto:
    """The attribute of the Concat."""
    return node(model, "z").attribute[0]


def branch(model: onnx.ModelProto) -> onnx.GraphProto:
    return node(model, "d").attribute[0].g


def stored(name: str, *elements: int, dtype: Any = np.int32) -> TensorProto:
    return numpy_helper.from_array(np.array(elements, dtype), name)


def importing(domain: str, version: int) -> Change:
    return lambda m: m.opset_import.append(helper.make_opsetid(domain, version))


def function(domain: str, name: str, *calls: tuple[str, str]) -> onnx.FunctionProto:
    nodes = [helper.make_node(n, ["a"], [f"b{k}"], domain=d) for k, (d, n) in enumerate(calls)]
    imports = [helper.make_opsetid(each, 1 if each else 17) for each in {domain, ""}]
    return helper.make_function(domain, name, ["a"], ["b0"], nodes, imports)


def functions(*made: onnx.FunctionProto) -> Change:
    return lambda m: m.functions.extend(made)


def unknown_field(message: Callable[[onnx.ModelProto], Any]) -> Change:
    """A text in a field of number 900."""
    return lambda m: message(m).MergeFromString(bytes.fromhex("c2b802026162"))


def external(keys: Mapping[str, str]) -> Change:
    def change(model: onnx.ModelProto) -> None:
        tensor = tensor_of(model)
        tensor.ClearField("int32_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in keys.items():
            tensor.external_data.add(key=key, value=value)

    return change


def data(**fields: Any) -> Change:
    """The elements of the Constant in other fields."""

    def change(model: onnx.ModelProto) -> None:
        tensor = tensor_of(model)
        tensor.ClearField("int32_data")
        for name, value in fields.items():
            if isinstance(value, list):
                getattr(tensor, name)[:] = value
            else:
                setattr(tensor, name, value)

    return change


def of_an_input(*sizes: int | str, kind: int = TensorProto.INT32) -> Change:
    info = helper.make_tensor_value_info("w", kind, sizes)
    return lambda m: m.graph.input.append(info)


def of_an_input_of_any_rank(model: onnx.ModelProto) -> None:
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.INT32, None))


def of_an_input_of_a_body(model: onnx.ModelProto) -> None:
    info = helper.make_tensor_value_info("k", TensorProto.INT32, [2])
    branch(model).input.append(info)
    branch(model).initializer.append(stored("k", 1, 1))


def sparse(change: Callable[[onnx.SparseTensorProto], object]) -> onnx.SparseTensorProto:
    made = helper.make_sparse_tensor(stored("s", 1), stored("", 0, dtype=np.int64), [3])
    change(made)
    return made


def with_sparse(change: Callable[[onnx.SparseTensorProto], object]) -> Change:
    return lambda m: m.graph.sparse_initializer.append(sparse(change))


def of_negative_size(tensor: Any) -> None:
    tensor.dims[0] = -1


def changed_function(change: Callable[[onnx.FunctionProto], object]) -> Change:
    made = function("d", "F", ("", "Neg"))
    change(made)
    return functions(made)


def with_parameter(**value: Any) -> Change:
    """A function with a node whose attribute refers to a parameter."""

    def change(made: onnx.FunctionProto) -> None:
        made.attribute.append("p")
        made.node[0].op_type = "LeakyRelu"
        made.node[0].attribute.add(
            name="alpha", type=AttributeProto.FLOAT, ref_attr_name="p", **value
        )

    return changed_function(change)


def with_default(made: onnx.FunctionProto) -> None:
    made.attribute_proto.append(helper.make_attribute("p", 0.5))
    made.node[0].op_type = "LeakyRelu"
    made.node[0].attribute.add(name="alpha", type=AttributeProto.FLOAT, ref_attr_name="p")


def broadcast(inputs: list[str], outputs: list[str], overload: str = "") -> Change:
    def change(model: onnx.ModelProto) -> None:
        importing("sonnx", 1)(model)
        parts = ("Broadcast", inputs, outputs)
        add_node(*parts, domain="sonnx", overload=overload)(model)

    return change


def twice_external(model: onnx.ModelProto) -> None:
    external({"location": "c"})(model)
    tensor_of(model).external_data.add(key="location", value="d")


def add_node(*parts: Any, **attributes: Any) -> Change:
    return lambda m: m.graph.node.insert(0, helper.make_node(*parts, **attributes))


NAMED_TWICE = "an attribute of the {} of ['{}'] '{}' is there twice"
UNKNOWN_TENSOR = "the type of the tensor '' is not known"
READ_IN_TWO_WAYS: Mapping[str, tuple[Change, str]] = {
    "an attribute twice": (attribute("c", "value", stored("", -1, -1)),
        NAMED_TWICE.format("Constant", "c", "value")),
    "a branch twice": (lambda m: node(m, "d").attribute.append(node(m, "d").attribute[0]),
        NAMED_TWICE.format("If", "d", "then_branch")),
    "a Constant of two values": (attribute("c", "value_ints", [0, 0]),
        "the Constant of ['c'] has 2 values"),
    "an attribute of another node": (attribute("z", "to", 1),
        "the Concat of ['z'] has no attribute to"),
    "an attribute of another type": (
        lambda m: axis_of(m).CopyFrom(helper.make_attribute("axis", 0.0)),
        "the attribute axis of the Concat of ['z'] has another type"),
    "an attribute of no type": (lambda m: axis_of(m).ClearField("type"),
        "the attribute axis of the Concat of ['z'] has another type"),
    "an attribute of two values": (lambda m: setattr(axis_of(m), "f", 1.0),
        "the attribute axis of the Concat of ['z'] has a value of another type"),
    "an attribute without a value": (lambda m: axis_of(m).ClearField("i"),
        "the attribute axis of the Concat of ['z'] has no value of its type"),
    "an attribute that refers to a function": (
        lambda m: setattr(axis_of(m), "ref_attr_name", "axis"),
        "the attribute axis of the Concat of ['z'] refers to no parameter of a function"),
    "a missing branch": (lambda m: node(m, "d").attribute.pop(0),
        "the If of ['d'] lacks the attribute then_branch"),
    "a domain twice": (importing("", 13), "the domain '' is imported twice"),
    "a domain by both names": (importing("ai.onnx", 6), "the domain '' is imported twice"),
    "another version of our domain": (importing("sonnx", 2), "the version of 'sonnx' is not known"),
    "another version of the format": (lambda m: setattr(m, "ir_version", 99),
        "the version of the format is not known"),
    "a domain that is not imported": (add_node("Neg", ["x"], ["n"], domain="d"),
        "the domain 'd' is not imported"),
    "an operator that there is not": (add_node("Negate", ["x"], ["n"]),
        "the Negate of ['n'] is no operator of version 17"),
    "an overload": (lambda m: setattr(node(m, "z"), "overload", "another"),
        "the Concat of ['z'] is an overload"),
    "another number of operands": (add_node("Neg", ["x", "x"], ["n"]),
        "the Neg of ['n'] has another number of operands or results"),
    "a node without a result": (add_node("Neg", ["x"], [""]), "the Neg of [''] has no result"),
    "a Broadcast with an attribute": (
        lambda m: (importing("sonnx", 1)(m),
                   add_node("Broadcast", ["x"], ["n"], domain="sonnx", axis=1)(m)),
        "the Broadcast of ['n'] is not known"),
    "a function of our domain": (functions(function("sonnx", "Broadcast", ("", "Neg"))),
        "the function 'Broadcast' is in the domain 'sonnx'"),
    "a function of the compiled domain": (functions(function("sonnx.compiled", "Div", ("", "Neg"))),
        "the function 'Div' is in the domain 'sonnx.compiled'"),
    "a function of the domain of ONNX": (functions(function("ai.onnx", "Div", ("", "Neg"))),
        "the function 'Div' is in the domain ''"),
    "a function twice": (functions(*[function("d", "F", ("", "Neg"))] * 2),
        "the function 'F' is there twice"),
    "functions in a circle": (
        functions(function("d", "F", ("d", "G")), function("d", "G", ("d", "F"))),
        "functions call each other in a circle"),
    "an initializer twice": (lambda m: m.graph.initializer.append(stored("w", 0, 0)),
        "an initializer 'w' is there twice"),
    "an initializer without a name": (lambda m: m.graph.initializer.append(stored("", 0, 0)),
        "an initializer has no name"),
    "an initializer that a node computes": (add_node("Neg", ["x"], ["w"]),
        "a value 'w' is there twice"),
    "an input that a node computes": (add_node("Neg", ["w"], ["x"]), "a value 'x' is there twice"),
    "an initializer of an input of another shape": (of_an_input(1),
        "the initializer 'w' is not as the input is declared"),
    "an initializer of an input of another type": (of_an_input(2, kind=TensorProto.UINT32),
        "the initializer 'w' is not as the input is declared"),
    "an initializer of an input of a body": (of_an_input_of_a_body,
        "the initializer 'k' is not as the input is declared"),
    "sparse elements of an unknown type": (
        with_sparse(lambda s: setattr(s.values, "data_type", 99)),
        "the type of the tensor 's' is not known"),
    "places of sparse elements of a negative size": (
        with_sparse(lambda s: of_negative_size(s.indices)), "a size of the tensor '' is negative"),
    "a sparse initializer of a negative size": (with_sparse(of_negative_size),
        "a size of a sparse tensor is negative"),
    "a sparse attribute of a negative size": (
        add_node("Constant", [], ["n"], sparse_value=sparse(of_negative_size)),
        "a size of a sparse tensor is negative"),
    "an input of a function twice": (changed_function(lambda f: f.input.append("a")),
        "an input of the function 'F' 'a' is there twice"),
    "an output of a function twice": (changed_function(lambda f: f.output.append("b0")),
        "an output of the function 'F' 'b0' is there twice"),
    "a parameter of a function twice": (
        changed_function(lambda f: f.attribute.extend(["p", "p"])),
        "a parameter of the function 'F' 'p' is there twice"),
    "a parameter and a number": (with_parameter(f=0.5),
        "the attribute alpha of the LeakyRelu of ['b0'] has a value, too"),
    "a Broadcast with an overload": (broadcast(["x"], ["n"], "o"),
        "the Broadcast of ['n'] is not known"),
    "a Broadcast of an omitted operand": (broadcast(["x", ""], ["n"]),
        "the Broadcast of ['n'] is not known"),
    "a Broadcast of more results": (broadcast(["x"], ["n", "o"]),
        "the Broadcast of ['n', 'o'] is not known"),
    "fewer operands": (add_node("Div", ["x"], ["n"]),
        "the Div of ['n'] has another number of operands or results"),
    "fewer results": (add_node("TopK", ["x", "w"], ["n"]),
        "the TopK of ['n'] has another number of operands or results"),
    "a version of the format before the first": (lambda m: setattr(m, "ir_version", 2),
        "the version of the format is not known"),
    "a version of the format after the last": (lambda m: setattr(m, "ir_version", 15),
        "the version of the format is not known"),
    "an element that is the first beyond its type": (
        data(data_type=TensorProto.INT8, int32_data=[3, 128]),
        "an element of the tensor '' is beyond its type"),
    "an unsigned element beyond its type": (
        data(data_type=TensorProto.UINT32, uint64_data=[3, 1 << 32]),
        "an element of the tensor '' is beyond its type"),
    "a tensor in two other files": (twice_external,
        "where the tensor '' lies, 'location' is there twice"),
    "an initializer of an input of another rank": (of_an_input(1, 2),
        "the initializer 'w' is not as the input is declared"),
    "a node of a body that hides a value": (
        lambda m: branch(m).node.append(helper.make_node("Neg", ["x"], ["c"])),
        "a value 'c' is there twice, in a graph and in its body"),
    "an initializer of a body that hides a value": (
        lambda m: branch(m).initializer.append(stored("c", 0, 0)),
        "a value 'c' is there twice, in a graph and in its body"),
    "an operand that nothing computes": (add_node("Neg", ["p"], ["n"]),
        "nothing computes 'p', which the Neg of ['n'] reads"),
    "an output from outside of a body": (lambda m: setattr(branch(m).output[0], "name", "c"),
        "nothing in its graph computes the output 'c'"),
    "a tensor of no type": (lambda m: tensor_of(m).ClearField("data_type"), UNKNOWN_TENSOR),
    "a tensor of an unknown type": (lambda m: setattr(tensor_of(m), "data_type", 99),
        UNKNOWN_TENSOR),
    "a tensor of a negative size": (lambda m: tensor_of(m).dims.__setitem__(0, -2),
        "a size of the tensor '' is negative"),
    "elements in two fields": (data(int32_data=[3, 3], raw_data=bytes(8)),
        "the tensor '' has elements of another type"),
    "elements in a field of another type": (data(int64_data=[3, 3]),
        "the tensor '' has elements of another type"),
    "more elements than the shape has": (data(int32_data=[3, 3, 3]),
        "the tensor '' has 3 elements"),
    "fewer bytes than the shape has": (data(raw_data=bytes(4)), "the tensor '' has 4 bytes"),
    "bytes of texts": (data(data_type=TensorProto.STRING, raw_data=bytes(8)),
        "the tensor '' has 8 bytes"),
    "elements beyond their type": (data(data_type=TensorProto.INT8, int32_data=[3, 300]),
        "an element of the tensor '' is beyond its type"),
    "a tensor in segments": (lambda m: setattr(tensor_of(m).segment, "begin", 0),
        "a TensorProto has a segment"),
    "a tensor here and in another file": (
        lambda m: tensor_of(m).external_data.add(key="location", value="c"),
        "the tensor '' lies in this file and in another one"),
    "a tensor nowhere": (external({}), "it is not known where the tensor '' lies"),
    "a tensor in a place of unknown form": (external({"location": "c", "basepath": "/"}),
        "it is not known where the tensor '' lies"),
    "what a model was trained by": (lambda m: m.training_info.add(),
        "a ModelProto has a training_info"),
    "annotations of quantization": (lambda m: m.graph.quantization_annotation.add(tensor_name="c"),
        "a GraphProto has a quantization_annotation"),
    "an unknown field of a model": (unknown_field(lambda m: m),
        "a ModelProto has a field that is not known"),
    "an unknown field of a node in a body": (unknown_field(lambda m: branch(m).node[0]),
        "a NodeProto has a field that is not known"),
    "an unknown field of a tensor": (unknown_field(tensor_of),
        "a TensorProto has a field that is not known"),
    "a name that is no UTF-8": (lambda m: m.graph.MergeFromString(b"\x12\x01\xff"),
        r"the name b'\xff' of a GraphProto is no UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize("name", READ_IN_TWO_WAYS)
def test_what_can_be_read_in_two_ways_is_rejected(name: str) -> None:
    change, message = READ_IN_TWO_WAYS[name]
    changed = parse(DIVISION)
    change(changed)
    with pytest.raises(Rejected) as caught:
        Model(changed)
    assert str(caught.value) == message
    with pytest.raises(Rejected) as caught:
        Enforced(Model(parse(DIVISION)), changed)
    assert str(caught.value) == message


READ: Mapping[str, Change] = {
    "a model": lambda _: None,
    "a function of another domain": functions(function("d", "F", ("", "Neg"))),
    "functions that call others": functions(function("d", "F", ("d", "G"), ("d", "H")),
        function("d", "G", ("d", "H")), function("d", "H", ("", "Neg"))),
    "elements in another file": external({"location": "c", "offset": "0", "length": "8"}),
    "an initializer of an input": of_an_input(2),
    "an initializer of an input of an open size": of_an_input("n"),
    "an initializer of an input of any rank": of_an_input_of_any_rank,
    "a meaning of an axis": lambda m: setattr(
        m.graph.input[0].type.tensor_type.shape.dim[0], "denotation", "DATA_BATCH"),
    "the first version of the format": lambda m: setattr(m, "ir_version", 3),
    "the last version of the format": lambda m: setattr(m, "ir_version", 14),
    "a function that takes a parameter": with_parameter(),
    "a function whose parameter has a default": changed_function(with_default),
    "a function with the other name of the standard domain":
        functions(function("d", "F", ("ai.onnx", "Neg"))),
    "the largest and the smallest number of a type":
        data(data_type=TensorProto.INT8, int32_data=[-128, 127]),
    "four elements of two bits in a byte":
        data(data_type=26, int32_data=[200], dims=[4]),
    "bytes": data(raw_data=bytes(8)),
    "elements of two bits of a byte": data(data_type=TensorProto.INT4, int32_data=[200]),
    "complex numbers": data(data_type=TensorProto.COMPLEX64, float_data=[1.0] * 4),
    "texts": data(data_type=TensorProto.STRING, string_data=[b"a", b"\xff"]),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_what_can_be_read_in_one_way_is_read(name: str) -> None:
    changed = parse(DIVISION)
    READ[name](changed)
    assert fact(Model(changed), "x", "shape") == [2]


def test_elements_in_another_file_establish_nothing() -> None:
    changed = parse(DIVISION)
    external({"location": "c"})(changed)
    model = Model(changed)
    assert fact(model, "c", "shape") == [2]
    with pytest.raises(Rejected, match="its elements lie in another file, which no digest covers"):
        model.derive("c", "elements")


def test_standard_operators_by_both_names_are_the_same() -> None:
    model, other = parse(DIVISION), parse(DIVISION)
    for each in (*other.opset_import, *other.graph.node, *branch(other).node):
        each.domain = "ai.onnx"
    assert Enforced(Model(model), other).facts_of("z") == Enforced(Model(other), model).facts_of(
        "z"
    )
    assert node(other, "z").domain == "ai.onnx"


def test_branches_are_compared_by_name() -> None:
    model = parse(DIVISION.replace("Div(w, c)", "Div(c, x)").replace("q", "r"))
    exchanged = onnx.ModelProto()
    exchanged.CopyFrom(model)
    one, other = node(exchanged, "d").attribute
    one.name, other.name = other.name, one.name
    different = r"^the outputs \['p'\] became \['r'\]: they are different values$"
    with pytest.raises(Rejected, match=different):
        Enforced(Model(model), exchanged)
    one.g.output[0].name = one.g.node[0].output[0] = "r"
    other.g.output[0].name = other.g.node[0].output[0] = "p"
    with pytest.raises(Rejected, match=r"^the Div of \['p'\] reads 'c', not 'x'"):
        Enforced(Model(model), exchanged)


def test_branches_in_another_order_are_the_same() -> None:
    model, other = parse(DIVISION), parse(DIVISION)
    branches = [*node(other, "d").attribute][::-1]
    node(other, "d").ClearField("attribute")
    node(other, "d").attribute.extend(branches)
    Enforced(Model(model), other)


def certified(content: bytes) -> dict[str, Any]:
    """A certificate of a file that says nothing of it."""
    digest = hashlib.sha256(content).hexdigest()
    return {"format": "sonnx_ort.certificate/3", "model": digest, "obligations": []}


@pytest.mark.parametrize("name", ["model", "enforced model"])
def test_field_that_is_written_twice_is_rejected(name: str) -> None:
    model = parse(DIVISION).SerializeToString()
    doubled = model + onnx.ModelProto(ir_version=10).SerializeToString()
    content, enforced = (model, doubled) if name == "enforced model" else (doubled, None)
    certificate = certified(content)
    if enforced is not None:
        certificate |= {"enforced": hashlib.sha256(enforced).hexdigest(), "edition": "typed"}
        certificate |= {key: [] for key in ("operators", "guarded", "waived", "unknown")}
    with pytest.raises(Rejected) as caught:
        check(content, certificate, enforced)
    assert str(caught.value) == (
        f"the file of the {name} has a field twice; write it again with onnx.save"
    )


def test_file_that_is_no_model_is_rejected() -> None:
    with pytest.raises(Rejected, match=r"^the model cannot be read: "):
        check(b"\xff", certified(b"\xff"))


def test_only_what_is_known_is_in_the_table_of_fields() -> None:
    """Every entry is a field of ONNX; further fields of it are rejected until they are known."""
    kinds = {**onnx.onnx_ml_pb2.DESCRIPTOR.message_types_by_name}
    for message in [*kinds.values()]:
        kinds.update(message.nested_types_by_name)
    assert {
        (kind, field)
        for kind, fields in FIELDS.items()
        for field in fields
        if field not in kinds[kind].fields_by_name
    } == set()


def test_types_of_attributes_are_known_but_for_lists_of_messages() -> None:
    changed = parse(DIVISION)
    changed.opset_import.add(domain="d", version=1)
    other = helper.make_node("Other", ["x"], ["n"], domain="d")
    other.attribute.add(name="a", type=AttributeProto.GRAPHS)
    changed.graph.node.append(other)
    with pytest.raises(Rejected) as caught:
        Model(changed)
    assert str(caught.value) == "the type of the attribute a of the Other of ['n'] is not known"
