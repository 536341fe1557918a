"""Changes one thing in a certified enforced model, or in its certificate.

A change of a model is one of a node that was added: its operator, a constant, an attribute, an
operand, where its result is read. The types still fit more often than not, so that what the checker
accepts also runs. A change of a certificate is one of an entry, of a premise, or of optimizers.
"""

import copy
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, NodeProto, helper, numpy_helper

from sonnx_ort.loading.file_traversal import all_graphs, all_nodes
from sonnx_ort.profile.catalog import OPERATORS

Certificate = dict[str, Any]
Changed = tuple[str, onnx.ModelProto, Certificate] | None
"""What was changed, the enforced model and the certificate; None if there is nothing to change."""

_LIKE = (
    ("And", "Or", "Equal"),
    ("Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"),
    ("ReduceMin", "ReduceMax", "ReduceSum"),
    ("Add", "Sub", "Mul", "Div", "Pow"),
    ("Not", "Identity"),
    ("Neg", "Identity", "Floor"),
    ("Shape", "Size"),
)
"""Operators that take the place of each other without an error of types, mostly."""

_NUMBERS = (0, 1, -1, 2, -2, -5, -24, -128, 255, 2**24, -(2**31), 2**31 - 1, -(2**63), 2**53 + 1)
_TYPES = (1, 2, 3, 5, 6, 7, 9, 10, 11, 12, 13)
_ADDED_ATTRIBUTES = (
    *(("Shape", "start", 1), ("Shape", "end", -1), ("ReduceMax", "noop_with_empty_axes", 1)),
    *(("Reshape", "allowzero", 1), ("ReduceMin", "keepdims", 1), ("Gather", "axis", 0)),
    *(("ReduceMax", "keepdims", 1), ("Cast", "saturate", 1), ("ReduceSum", "keepdims", 1)),
)


def _added(model: onnx.ModelProto, original: onnx.ModelProto) -> list[NodeProto]:
    own = {name for node in all_nodes(original) for name in node.output}
    return [node for node in all_nodes(model) if own.isdisjoint(node.output)]


def _places(model: onnx.ModelProto) -> dict[str, GraphProto]:
    return {name: g for g in all_graphs(model) for node in g.node for name in node.output}


def _operator(rng: random.Random, added: Sequence[NodeProto], _: onnx.ModelProto) -> str | None:
    groups = [(node, like) for node in added for like in _LIKE if node.op_type in like]
    if not groups:
        return None
    node, like = rng.choice(groups)
    node.op_type = rng.choice([name for name in like if name != node.op_type])
    return "operator"


def _constant(rng: random.Random, added: Sequence[NodeProto], _: onnx.ModelProto) -> str | None:
    constants = [node for node in added if node.op_type == "Constant"]
    if not constants:
        return None
    (attribute,) = rng.choice(constants).attribute
    array = numpy_helper.to_array(attribute.t).copy()
    if array.size and rng.random() < 0.8:
        place = rng.randrange(array.size)
        old = array.flat[place]
        floats = (np.nan, np.inf, -np.inf, -0.0, 1e-45, 0.5, -0.5, *_NUMBERS)
        with np.errstate(all="ignore"):
            other = rng.choice(floats if array.dtype.kind == "f" else _NUMBERS)
            near = old + rng.choice((1, -1)) if array.dtype.kind != "b" else not old
            value = np.asarray(near if rng.random() < 0.5 else other)
            array.flat[place] = value.astype(array.dtype)
    else:
        array = rng.choice((array.reshape(-1), array[..., None], array.reshape(-1)[:0]))
    attribute.t.CopyFrom(numpy_helper.from_array(array, attribute.t.name))
    return "constant"


def _type(rng: random.Random, added: Sequence[NodeProto], _: onnx.ModelProto) -> str | None:
    """Look at elements in another type, and have the constant that follows in it, or any number."""
    casts = [node for node in added if node.op_type == "Cast"]
    if not casts:
        return None
    node, to = rng.choice(casts), rng.choice(_TYPES)
    node.attribute[0].i = to
    if rng.random() < 0.7:
        _carry(rng, added, node, to)
    return "type of a Cast"


def _compared(rng: random.Random, added: Sequence[NodeProto], model: onnx.ModelProto) -> str | None:
    """The same by a further Cast."""
    readers = [n for n in added if n.op_type in ("Greater", "Less", "Equal", "And")]
    readers += [node for node in added if node.op_type in ("ReduceMin", "ReduceMax")]
    constants = {node.output[0] for node in added if node.op_type == "Constant"}
    pairs = [(n, k) for n in readers for k, name in enumerate(n.input) if name not in constants]
    if not pairs:
        return None
    node, place = rng.choice(pairs)
    to, graph = rng.choice(_TYPES), _places(model)[node.output[0]]
    made = helper.make_node("Cast", [node.input[place]], ["carried"], to=to)
    node.input[place] = "carried"
    index = next(i for i, each in enumerate(graph.node) if each.output == node.output)
    graph.node.insert(index, made)
    _carry(rng, [*added, made], made, to)
    return "type of a comparison"


def _settled(rng: random.Random, added: Sequence[NodeProto], model: onnx.ModelProto) -> str | None:
    """Look at the smallest element in another type, or in that of the elements."""
    casts = {node.output[0]: node for node in added if node.op_type == "Cast"}
    smallest = [node for node in added if node.op_type == "ReduceMin"]
    if not smallest:
        return None
    node, to = rng.choice(smallest), rng.choice((1, 2, 3, 5, 6, 6, 7, 11, 13))
    cast = casts.get(node.input[0])
    if cast is not None and rng.random() < 0.8:
        cast.attribute[0].i = to
    else:
        graph = _places(model)[node.output[0]]
        cast = helper.make_node("Cast", [node.input[0]], ["carried"], to=to)
        index = next(i for i, each in enumerate(graph.node) if each.output == node.output)
        graph.node.insert(index, cast)
        node.input[0] = "carried"
    _carry(rng, [*added, cast], cast, to)
    return "type of the smallest element"


def _carry(rng: random.Random, added: Sequence[NodeProto], cast: NodeProto, to: int) -> None:
    """Have the constants in a type that are compared with what follows a Cast."""
    constants = {node.output[0]: node for node in added if node.op_type == "Constant"}
    behind = [n for n in added if cast.output[0] in n.input]
    behind += [n for n in added if any(set(n.input) & set(each.output) for each in behind)]
    dtype = helper.tensor_dtype_to_np_dtype(to)
    for node in behind:
        for name in node.input if node.op_type in ("Greater", "Less", "Equal") else ():
            if name in constants:
                (attribute,) = constants[name].attribute
                array = numpy_helper.to_array(attribute.t)
                if rng.random() < 0.5:
                    array = np.full(array.shape, rng.choice(_NUMBERS))
                with np.errstate(all="ignore"):
                    array = array.astype(dtype)
                attribute.t.CopyFrom(numpy_helper.from_array(array, attribute.t.name))


def _attribute(rng: random.Random, added: Sequence[NodeProto], _: onnx.ModelProto) -> str | None:
    plain = [n for n in added for a in n.attribute if a.type == AttributeProto.INT]
    if plain and rng.random() < 0.5:
        node = rng.choice(plain)
        each = next(a for a in node.attribute if a.type == AttributeProto.INT)
        if rng.random() < 0.3:
            node.attribute.remove(each)
        else:
            each.i = rng.choice((0, 1, 2, -1, each.i + 1))
        return "attribute"
    fitting = [(n, name, i) for n in added for op, name, i in _ADDED_ATTRIBUTES if op == n.op_type]
    if not fitting:
        return None
    node, name, number = rng.choice(fitting)
    if name not in {each.name for each in node.attribute}:
        node.attribute.append(helper.make_attribute(name, number))
    return "further attribute"


def _operand(rng: random.Random, added: Sequence[NodeProto], model: onnx.ModelProto) -> str | None:
    with_operands = [node for node in added if node.input]
    if not with_operands:
        return None
    node = rng.choice(with_operands)
    if len(node.input) > 1 and rng.random() < 0.4:
        one, other = rng.sample(range(len(node.input)), 2)
        node.input[one], node.input[other] = node.input[other], node.input[one]
        return "order of operands"
    like = [name for each in added if each.op_type == node.op_type for name in each.input]
    names = [name for each in added for name in each.output] if rng.random() < 0.5 else like
    names = [*names, *(value.name for value in model.graph.input)]
    node.input[rng.randrange(len(node.input))] = rng.choice(names)
    return "operand"


def _reader(rng: random.Random, added: Sequence[NodeProto], model: onnx.ModelProto) -> str | None:
    """Read in place of what a guard gives what it takes, or the like of another."""
    guards = [n for n in added if n.op_type in ("Reshape", "Loop", "Where", "Identity", "Cast")]
    if not guards:
        return None
    guard = rng.choice(guards)
    instead = rng.choice([name for name in guard.input if name] or [guard.output[0]])
    readers = [n for n in all_nodes(model) if guard.output[0] in n.input]
    for node in readers if rng.random() < 0.5 else rng.sample(readers, min(1, len(readers))):
        node.input[:] = [instead if name == guard.output[0] else name for name in node.input]
    for value in model.graph.output:
        if value.name == guard.output[0] and instead in _places(model):
            return None
    return "way around a guard"


def _branches(rng: random.Random, added: Sequence[NodeProto], _: onnx.ModelProto) -> str | None:
    chosen = [node for node in added if node.op_type == "If"]
    if not chosen:
        return None
    one, other = rng.choice(chosen).attribute
    if rng.random() < 0.5:
        one.name, other.name = other.name, one.name
        return "names of branches"
    kept = copy.deepcopy(one.g)
    if rng.random() < 0.5:
        other.g.CopyFrom(kept)
        for node in other.g.node:
            # No two values share a name.
            names = {name: f"{name}_again" for each in other.g.node for name in each.output}
            node.input[:] = [names.get(name, name) for name in node.input]
        for node in other.g.node:
            node.output[:] = [f"{name}_again" for name in node.output]
        other.g.output[0].name = f"{other.g.output[0].name}_again"
        return "a branch for another"
    return None


def _omitted(rng: random.Random, added: Sequence[NodeProto], model: onnx.ModelProto) -> str | None:
    """Have what a node reads in place of its result."""
    passing = [node for node in added if node.input]
    if not passing:
        return None
    node = rng.choice(passing)
    instead = rng.choice(list(node.input))
    for each in all_nodes(model):
        each.input[:] = [instead if name == node.output[0] else name for name in each.input]
    for graph in all_graphs(model):
        for each in [each for each in graph.node if each.output == node.output]:
            graph.node.remove(each)
    return "node that is left out"


_OF_MODELS: tuple[
    Callable[[random.Random, Sequence[NodeProto], onnx.ModelProto], str | None], ...
] = (
    *(_operator, _constant, _constant, _type, _compared, _settled, _settled, _attribute),
    *(_operand, _operand, _reader, _reader, _branches, _omitted),
)


def change_model(
    rng: random.Random, original: onnx.ModelProto, model: onnx.ModelProto, content: Certificate
) -> Changed:
    """Change one thing of what was added to a model."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    added = _added(changed, original)
    what = rng.choice(_OF_MODELS)(rng, added, changed) if added else None
    return None if what is None else (what, changed, content)


def change_certificate(
    rng: random.Random, original: onnx.ModelProto, model: onnx.ModelProto, content: Certificate
) -> Changed:
    """Change one entry or one premise of a certificate, or its optimizers."""
    changed = copy.deepcopy(content)
    what = rng.choice(_OF_CERTIFICATES)(rng, original, changed)
    return None if what is None or changed == content else (what, model, changed)


def _proofs(_: random.Random, __: onnx.ModelProto, content: Certificate) -> str | None:
    """Say that all is proved which guards hold, or of which nothing is known."""
    for name in ("guarded", "unknown"):
        content["obligations"] += content[name]
        content[name] = []
    return "guards that are said to be proofs"


def _optimizers(rng: random.Random, _: onnx.ModelProto, content: Certificate) -> str | None:
    """Let an optimizer act that must be off, or one that no rule knows."""
    entry = content.get("optimizers")
    if entry is None:
        return None
    match rng.randrange(3):
        case 0:
            del content["optimizers"]
        case 1:
            entry["off"].remove(rng.choice(entry["off"]))
        case _:
            entry["may_act"].append(rng.choice((*entry["off"], "AnotherFusion")))
    return "optimizers"


def _entry(rng: random.Random, original: onnx.ModelProto, content: Certificate) -> str | None:
    lists = ("obligations", "guarded", "waived", "unknown")
    entries = [(name, each) for name in lists for each in content[name]]
    if not entries:
        return None
    name, entry = rng.choice(entries)
    match rng.randrange(5):
        case 0:
            content[name].remove(entry)
            content[rng.choice(lists)].append(entry)
            return "entry in another list"
        case 1:
            content[name].remove(entry)
            return "entry that is left out"
        case 2:
            rules = [r.id for o in OPERATORS.values() for r in o.all_rules()]
            rules += ["Contract.range", "Contract.sizes", "Contract.finite", "Graph.finite"]
            content[rng.choice(("obligations", "guarded"))].append([entry[0], rng.choice(rules)])
            return "further entry"
        case 3:
            nodes = [node.output[0] for node in all_nodes(original)]
            entry[0] = rng.choice(nodes)
            return "entry of another value"
    content[rng.choice(lists)].append(copy.deepcopy(entry))
    return "entry in two lists"


def _premise(rng: random.Random, _: onnx.ModelProto, content: Certificate) -> str | None:
    contract = content.get("contract")
    if not contract or rng.random() < 0.4:
        match rng.randrange(3):
            case 0:
                content["edition"] = {"typed": "preliminary"}.get(content["edition"], "typed")
                return "edition"
            case 1 if content["operators"]:
                content["operators"].remove(rng.choice(content["operators"]))
                return "operators"
        content["contract"] = [{"value": "x", "range": [1, 2]}]
        return "further contract"
    entry = rng.choice(contract)
    if "range" in entry and rng.random() < 0.7:
        ends = entry["range"]
        place = rng.randrange(len(ends))
        other = ends[place]
        ends[place] = other + rng.choice((1, -1, 0.5)) if not isinstance(other, list) else [0, 9]
        return "range of a contract"
    match rng.randrange(3):
        case 0 if "multiple_of" in entry:
            entry["multiple_of"] += 1
        case 1:
            contract.remove(entry)
        case _:
            contract.append({"input": "x", "shape": ["h", 2]})
    return "entry of a contract"


_OF_CERTIFICATES = (_entry, _entry, _entry, _proofs, _premise, _premise, _optimizers)
