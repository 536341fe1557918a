"""Changes certificates, models and enforced models at random.

What the checker still accepts has to enforce as much as before, and give the original's results.
"""

import copy
import hashlib
import json
import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

import sonnx_ort
from sonnx_ort.checker import Rejected, check
from sonnx_ort.guards.zeros import SIGNED
from sonnx_ort.loading.file_traversal import all_graphs, all_nodes
from sonnx_ort.profile.catalog import DEFAULT_OPERATORS, OPERATORS
from support.examined import enforced_with_certificate
from support.sessions import on_one_thread
from support.soundness.arrays import Array
from support.soundness.empty_batches import ends_at_an_lstm
from support.soundness.forgeries import with_changed_fields
from support.soundness.held import held_to_runs
from support.soundness.models import random_feeds, random_model

TAMPERED = 20
"""How often each model is changed."""

_RUNS = 4
_OTHER = {
    "And": "Or",
    "Or": "And",
    "Less": "Greater",
    "Greater": "Less",
    "Equal": "Less",
    "ReduceMin": "ReduceMax",
    "ReduceMax": "ReduceMin",
    "Shape": "Size",
}

Feeds = Mapping[str, Array]
Certificate = dict[str, Any]


def attempt_of_graph(number: int) -> dict[str, Any]:
    """Certify a random graph and what enforces it, and change both."""
    rng = random.Random(f"tampered {number}")  # noqa: S311 - no cryptography
    made = random_model(rng)
    feeds = [made.nominal, *(random_feeds(rng, made) for _ in range(_RUNS))]
    operators = rng.choice([DEFAULT_OPERATORS, frozenset(OPERATORS)])
    if "LSTM" not in operators:
        feeds = [each for each in feeds if not ends_at_an_lstm(made.proto, each)]
    return _tried(rng, made.proto, feeds, operators)


def attempt_of_nodes(number: int) -> dict[str, Any]:
    """Certify a few nodes that runs have to check, and change both."""
    rng = random.Random(f"guarded {number}")  # noqa: S311 - no cryptography
    model = _guarded_model(rng)
    feeds = [_feeds(rng, model) for _ in range(2 * _RUNS)]
    return _tried(rng, model, feeds, frozenset(OPERATORS))


def _tried(
    rng: random.Random, model: onnx.ModelProto, feeds: list[Feeds], operators: frozenset[str]
) -> dict[str, Any]:
    ort.set_default_logger_severity(4)
    content, edition = model.SerializeToString(), rng.choice(["typed", "preliminary"])
    try:
        enforced, certificate = enforced_with_certificate(
            content, edition=edition, operators=operators
        )
    except sonnx_ort.SonnxError as error:
        return {"refused": str(error)[:60]}
    text = json.loads(certificate.to_json())
    sentence = check(content, text, enforced)
    outcomes = _outcomes(enforced, feeds)
    counts = {"accepted": 1, "rejected": 0, "harmless": 0, "guarded": len(text["guarded"])}
    for _ in range(TAMPERED):
        changed = rng.choice(_CHANGES)(rng, content, text, enforced)
        if changed is None:
            continue
        try:
            check(*changed)
        except Rejected:
            counts["rejected"] += 1
            continue
        counts["harmless"] += 1
        pairs = zip(feeds, outcomes, strict=True)
        if changed[0] != content:
            # It is another model, which may take what the original does not.
            pairs = ((each, before) for each, before in pairs if _fits(model, each))
        _require_harmless(text, changed, list(pairs))
    return counts | {"unknown": len(text["unknown"]), "sentence": sentence}


def attempt_of_fields(number: int) -> dict[str, Any]:
    """Certify what the checker follows of models whose fields are changed, and hold it to runs."""
    rng = random.Random(f"fields {number}")  # noqa: S311 - no cryptography
    if rng.random() < 0.5:
        made = random_model(rng)
        content, feeds = made.proto.SerializeToString(), [made.nominal]
    else:
        model = _guarded_model(rng)
        content, feeds = model.SerializeToString(), [_feeds(rng, model) for _ in range(_RUNS)]
    ort.set_default_logger_severity(4)
    counts = Counter[str]()
    for _ in range(TAMPERED):
        counts[held_to_runs(with_changed_fields(rng, content), feeds)] += 1
    return dict(counts)


_BINARY = ("Div", "Sub", "Mul", "Max", "Mod", "Pow", "Equal")
_UNARY = ("Abs", "Softmax", "Neg")
_SHAPES = ([], ["n"], ["n", "m"], [2, "m"], ["m", 3], [2, 3], ["n", 2, "m"], [None, None])


def _guarded_model(rng: random.Random) -> onnx.ModelProto:
    """Nodes whose operands have open shapes, sometimes in a branch."""
    kind = rng.choice([TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.INT8])
    shapes = [rng.choice(_SHAPES) for _ in range(3)]
    if rng.random() < 0.6:
        shapes = [shapes[0]] * 3
    if rng.random() < 0.2:
        shapes[0] = None
    names = ["x", "y", "z"]
    pairs = zip(names, shapes, strict=True)
    inputs = [helper.make_tensor_value_info(name, kind, shape) for name, shape in pairs]
    made = helper.make_tensor("c", kind, [1], [rng.choice([1, 2, -1])])
    nodes, values = [], [*names, *(["c"] if rng.random() < 0.3 else [])]
    for number in range(rng.randint(1, 3)):
        operator = rng.choice(_BINARY if rng.random() < 0.8 else _UNARY)
        count = 1 if operator in _UNARY else 3 if operator == "Max" else 2
        attributes = {"axis": 0} if operator == "Softmax" else {}
        given = [rng.choice(values) for _ in range(count)]
        nodes.append(helper.make_node(operator, given, [f"v{number}"], f"n{number}", **attributes))
        if operator != "Equal":
            values.append(f"v{number}")
    outputs = [helper.ValueInfoProto(name=node.output[0]) for node in nodes]
    graph = helper.make_graph(nodes, "guarded", inputs, outputs, [made])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


def _feeds(rng: random.Random, model: onnx.ModelProto) -> Feeds:
    """Operands that mostly fit together."""
    shape = [rng.randint(0, 3) for _ in range(rng.randint(0, 3))]
    feeds: dict[str, Array] = {}
    for given in model.graph.input:
        declared = given.type.tensor_type
        dims = [d.dim_value or rng.randint(0, 3) for d in declared.shape.dim]
        own = dims if declared.HasField("shape") and rng.random() < 0.5 else shape
        dtype = helper.tensor_dtype_to_np_dtype(declared.elem_type)
        numbers = [0, 1, -1, 2, 3, -128, np.iinfo(np.int32).min, np.iinfo(np.int64).min]
        array = np.array([rng.choice(numbers[:5] if rng.random() < 0.6 else numbers)
                          for _ in range(math.prod(own))], np.int64)  # fmt: skip
        feeds[given.name] = array.astype(dtype).reshape(own)
    return feeds


Changed = tuple[bytes, Certificate, bytes]
"""The files of a model and of what enforces it, and a certificate of both."""


def _require_harmless(
    text: Certificate, changed: Changed, runs: Sequence[tuple[Feeds, list[Any] | None]]
) -> None:
    """A certificate says nothing new; a model fails where it failed, or gives the right results.

    It may run where it failed for a rule that is left to guards of unknown form.
    """
    content, certificate, enforced = changed
    for name in ("obligations", "guarded"):
        said = [each for kind in ("obligations", "guarded") for each in text[kind]]
        assert all(each in said for each in certificate[name]), certificate[name]
    if text["unknown"]:
        return
    original = _session(content)
    now = _outcomes(enforced, [each for each, _ in runs])
    for (each, before), found in zip(runs, now, strict=True):
        assert before is not None or found is None, "a changed model runs where it failed"
        # The original has no guards, but it gets through where those of the other pass. A model
        # that ONNX Runtime refuses has no results.
        if found is not None and original is not None:
            right = _outcome(original, each)
            if right is None and _lacks_shapes(original, each):
                continue
            if right is None:
                right = _outcome(_of_undeclared_branches(content), each)
            if not _same(found, right):
                right = _outcome(_with_signs(content), each)
            assert _same(found, right), f"a changed model gives {found}, not {right}, of {each}"


def _fits(model: onnx.ModelProto, feeds: Feeds) -> bool:
    """Whether operands have the declared ranks and sizes."""
    for given in model.graph.input:
        declared = given.type.tensor_type
        if given.name not in feeds or not declared.HasField("shape"):
            continue
        sizes, dims = feeds[given.name].shape, declared.shape.dim
        if len(sizes) != len(dims):
            return False
        if any(d.dim_value not in (0, size) for d, size in zip(dims, sizes, strict=True)):
            return False
    return True


def _lacks_shapes(session: ort.InferenceSession, feeds: Feeds) -> bool:
    """Whether ONNX Runtime does not run a Scan of a model, because shapes are not declared."""
    try:
        session.run(None, feeds)
    except Exception as error:  # noqa: BLE001 - ONNX Runtime has no class of its own for it
        return "Subgraph must have the shape set for all outputs" in str(error)
    return False


def _of_undeclared_branches(content: bytes) -> ort.InferenceSession | None:
    """A session of a model that declares no shapes of results of bodies, which may be false.

    ONNX Runtime ends a run at such a one, and the changed model may not have it.
    """
    model = onnx.load_from_string(content)
    for graph in list(all_graphs(model))[1:]:
        for output in graph.output:
            output.type.tensor_type.ClearField("shape")
    return _session(model.SerializeToString())


def _with_signs(content: bytes) -> ort.InferenceSession | None:
    """A session of a model whose zeros have the signs that documents give them, and no others."""
    try:
        signed = sonnx_ort.rewrite(content, backend="native", operators=",".join(sorted(SIGNED)))
    except sonnx_ort.SonnxError:
        return None
    return _session(signed.SerializeToString())


def _same(one: list[Any], other: list[Any] | None) -> bool:
    return other is not None and all(map(_is_same, one, other))


def _is_same(one: Any, other: Any) -> bool:
    if not isinstance(one, np.ndarray):
        return repr(one) == repr(other)
    kind = (other.shape, other.dtype) if isinstance(other, np.ndarray) else None
    same = (one.shape, one.dtype) == kind
    return same and (one.dtype.kind == "O" or one.tobytes() == other.tobytes())


def _session(model: bytes) -> ort.InferenceSession | None:
    """A session of a model; None if ONNX Runtime refuses it."""
    try:
        return ort.InferenceSession(model, on_one_thread("none"))
    except Exception:  # noqa: BLE001 - whatever it refuses
        return None


def _outcomes(model: bytes, feeds: list[Feeds]) -> list[list[Any] | None]:
    """What runs give; None for those that fail."""
    session = _session(model)
    return [_outcome(session, each) for each in feeds]


def _outcome(session: ort.InferenceSession | None, feeds: Feeds) -> list[Any] | None:
    if session is None:
        return None
    try:
        return list(session.run(None, dict(feeds)))
    except Exception:  # noqa: BLE001 - whatever ONNX Runtime fails with
        return None


def _other_certificate(
    rng: random.Random, content: bytes, text: Certificate, enforced: bytes
) -> Changed | None:
    changed = copy.deepcopy(text)
    lists = [name for name in ("obligations", "guarded") if changed[name]]
    entries = changed[rng.choice(lists)] if lists else []
    if not entries:
        return None
    place = rng.randrange(len(entries))
    kinds: list[Callable[[], object]] = [
        lambda: entries.pop(place),
        lambda: entries.__setitem__(place, _other_entry(rng, entries)),
        lambda: changed["obligations"].append([*entries[place][:1], rng.choice(_rules())]),
        lambda: changed["guarded"].append([*entries[place][:1], rng.choice(_rules())]),
        lambda: changed.__setitem__("edition", "another"),
    ]
    rng.choice(kinds)()
    return None if changed == text else (content, changed, enforced)


def _rules() -> list[str]:
    return [rule.id for operator in OPERATORS.values() for rule in operator.all_rules()]


def _other_entry(rng: random.Random, entries: list[Any]) -> list[Any]:
    one, other = copy.deepcopy(rng.choice(entries)), rng.choice(entries)
    part = rng.randrange(len(one))
    one[part] = other[part]
    return list(one)


def _other_fields(
    rng: random.Random, content: bytes, text: Certificate, enforced: bytes
) -> Changed | None:
    """An enforced model of changed fields, and a certificate that claims to be its own."""
    changed = with_changed_fields(rng, enforced)
    return content, text | {"enforced": hashlib.sha256(changed).hexdigest()}, changed


def _other_original(
    rng: random.Random, content: bytes, text: Certificate, enforced: bytes
) -> Changed | None:
    """A model of changed fields, and a certificate that claims to be its own."""
    changed = with_changed_fields(rng, content)
    return changed, text | {"model": hashlib.sha256(changed).hexdigest()}, enforced


def _fields_of_both(
    rng: random.Random, content: bytes, text: Certificate, enforced: bytes
) -> Changed | None:
    """The same fields changed in both models; the enforced one begins with the original's parts."""
    seed = rng.random()
    files = [with_changed_fields(random.Random(seed), each) for each in (content, enforced)]  # noqa: S311
    digests = [hashlib.sha256(each).hexdigest() for each in files]
    return files[0], text | dict(zip(("model", "enforced"), digests, strict=True)), files[1]


def _other_model(
    rng: random.Random, content: bytes, text: Certificate, enforced: bytes
) -> Changed | None:
    """A changed enforced model, and a certificate that claims to be its own."""
    model = onnx.load_model_from_string(enforced)
    if not model.graph.node:
        return None
    _change(rng, model)
    changed = model.SerializeToString()
    if changed == enforced:
        return None
    return content, text | {"enforced": hashlib.sha256(changed).hexdigest()}, changed


_CHANGES = (_other_certificate, _other_model, _other_fields, _other_original, _fields_of_both)


def _change(rng: random.Random, model: onnx.ModelProto) -> None:
    nodes = all_nodes(model)
    added = [n for n in nodes if any(e.key == "sonnx_ort.group" for e in n.metadata_props)]
    node = rng.choice(added if added and rng.random() < 0.8 else nodes)
    names = [name for each in nodes for name in each.output if name]
    names += [value.name for graph in all_graphs(model) for value in graph.input]
    tensors = [each.t for each in node.attribute if each.type == onnx.AttributeProto.TENSOR]
    if tensors and rng.random() < 0.8:
        array = numpy_helper.to_array(tensors[0])
        with np.errstate(all="ignore"):
            other = np.asarray(rng.choice([-array, array + 1, array * 2]) if array.dtype.kind != "b"
                               else ~array)  # fmt: skip
        tensors[0].CopyFrom(numpy_helper.from_array(other.astype(array.dtype), tensors[0].name))
    elif node.input and rng.random() < 0.7:
        place = rng.randrange(len(node.input))
        others = [*node.input, rng.choice(names)]
        node.input[place] = rng.choice([name for name in others if name] or names)
    elif node.op_type in _OTHER:
        node.op_type = _OTHER[node.op_type]
    elif node.attribute and rng.random() < 0.5:
        del node.attribute[rng.randrange(len(node.attribute))]
    elif len(node.input) > 1:
        node.input[:] = [*node.input[1:], node.input[0]]
    elif model.graph.output:
        dim = model.graph.output[0].type.tensor_type.shape.dim.add()
        dim.dim_value = 3
