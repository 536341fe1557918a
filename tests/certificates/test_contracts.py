"""Certificates of models whose values have a contract, or have to be finite."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail

import sonnx_ort
from sonnx_ort import Contract, ShapeContract, SizeContract, StateContract, ValueContract
from sonnx_ort.analysis import certificates
from sonnx_ort.checker import Malformed, Model, Rejected, check, enforcement, established
from sonnx_ort.checker.contracts import Limited
from sonnx_ort.checker.enforced import Enforced
from sonnx_ort.checker.expressions import NOTHING, Facts
from sonnx_ort.checker.guards import require_value_guarded
from sonnx_ort.checker.obligations import conclude
from sonnx_ort.facts.optimizers import MAY_ACT, MUST_BE_OFF
from sonnx_ort.guards.guard import OLDEST_FORMAT
from sonnx_ort.profile.contract import TypeContract
from support.command import command
from support.derived import derived, fact, facts
from support.graphs import PARTS_OF_AN_AXIS, parse
from support.sessions import on_one_thread

GRAPH = """(float[n, 3] x, float[n, 3] w) => (float[n, 3] y) {
    s = Add(x, x) q = Mul(s, s) r = Sqrt(q) d = Div(w, r) y = Sub(d, s)
}"""
CONTRACT = Contract(
    (ValueContract("x", (0.5, 2.0)), ValueContract("d", (-100, 100))),
    sizes=(SizeContract("n", 1, 8),),
)
OF_INDICES = Contract(
    (
        ValueContract("x", ((0.5, 2.0), (1.0, 3.0), (2.5, 9.0)), axis=1, whole=True),
        ValueContract("d", (-100, 100)),
    )
)
OPERATORS = "Add,Mul,Sqrt,Div,Sub,Graph.finite"

Content = dict[str, Any]
Place = tuple[Path, Path, Content]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A model, what enforces it, and the certificate of both."""
    return certified(tmp_path, CONTRACT)


def certified(folder: Path, contract: Contract) -> Place:
    """The same under a contract."""
    model, enforced, certificate = (folder / name for name in ("m.onnx", "e.onnx", "c.json"))
    onnx.save(parse(GRAPH), model)
    sonnx_ort.rewrite_file(
        model,
        enforced,
        backend="native",
        operators=OPERATORS,
        contract=contract,
        certificate=certificate,
    )
    return model, enforced, json.loads(certificate.read_text())


def checked(place: Place) -> str:
    """What the checker says."""
    model, enforced, content = place
    try:
        return check(model.read_bytes(), content, enforced.read_bytes())
    except Rejected as reason:
        return str(reason)


def test_certificate_of_a_model_names_the_contract_and_the_optimizers(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(parse(GRAPH), path)
    made = sonnx_ort.certify(path, operators=OPERATORS, contract=CONTRACT)
    assert made.content["contract"] == [
        {"value": "x", "range": [0.5, 2.0]},
        {"value": "d", "range": [-100, 100]},
        {"size": "n", "range": [1, 8]},
    ]
    assert ["y", "Graph.finite"] in made.content["obligations"]
    assert not made.uncertified
    assert check(path.read_bytes(), made.content) == (
        "15 checks hold in every run whose values keep the contract; the optimizers that it "
        "names must be off"
    )


def test_sizes_of_parts_of_an_axis_are_certified(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(parse(PARTS_OF_AN_AXIS), path)
    contract = Contract(sizes=(SizeContract("n", 4, 99),))
    made = sonnx_ort.certify(path, operators="Slice,Reshape", contract=contract)
    assert not made.uncertified
    shapes = facts(established(parse(PARTS_OF_AN_AXIS), contract))
    assert (shapes["w", "shape"], shapes["r", "shape"]) == (["4*trunc(n/4)"], ["trunc(n/4)"])
    assert check(path.read_bytes(), made.content).endswith(
        "every run whose values keep the contract"
    )


@pytest.mark.parametrize(("axes", "expected"), [
    ((None,), ["?"]), (("n",), ["n"]), ((3,), [3]), (("m",), ["m"])
])  # fmt: skip
def test_name_of_the_contract_is_the_size_of_the_axes_that_it_names(
    axes: tuple[int | str | None, ...], expected: list[int | str]
) -> None:
    """The declaration of y has the same name; the contract says that this axis may be any size."""
    proto = parse("(float[n] y, float[n] x) => (float[k] z) { z = Sub(x, y) }")
    shapes = (ShapeContract("y", axes), ShapeContract("x", ("n",)))
    model = Limited(proto, Contract(shapes=shapes, sizes=(SizeContract("n"),)))
    found = fact(model, "y", "shape")
    assert ["?" if str(size).startswith("?") else size for size in found] == expected
    assert fact(model, "x", "shape") == ["n"]


@pytest.mark.parametrize("axis", [None, "n"])
def test_declared_size_stays_where_a_contract_leaves_it_open(axis: str | None) -> None:
    proto = parse("(float[3] x) => (float[3] y) { y = Sub(x, x) }")
    model = Limited(proto, Contract(shapes=(ShapeContract("x", (axis,)),)))
    assert fact(model, "x", "shape") == [3]


@pytest.mark.parametrize(("types", "message"), [
    ([("x", "int32")], "'x' is not declared as int32"),
    ([("z", "float")], "'z' is not declared as float"),
    ([("x", "float"), ("x", "float")], "the contract names something twice"),
])  # fmt: skip
def test_type_that_no_input_is_declared_with_is_rejected(
    types: list[tuple[str, str]], message: str
) -> None:
    """ONNX Runtime holds the declared type, and no other."""
    proto = parse("(float[n] x) => (float[n] z) { z = Neg(x) }")
    with pytest.raises(Rejected) as caught:
        Limited(proto, Contract(types=tuple(TypeContract(*each) for each in types)))
    assert str(caught.value) == message


CAMERA = """(float[n, 3, h, w] image, float[n, 3, h, w] gain) => (float[n, 3, k, l] y) {
    s = Div(image, gain) y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(s) }"""


def test_contract_of_multiples_is_certified_and_holds_in_runs(tmp_path: Path) -> None:
    model, enforced, certificate = (tmp_path / name for name in ("m.onnx", "e.onnx", "c.json"))
    onnx.save(parse(CAMERA), model)
    sizes = [SizeContract(name, 32, 640, multiple_of=32) for name in "hw"]
    sonnx_ort.rewrite_file(
        model,
        enforced,
        backend="native",
        contract=Contract(sizes=(SizeContract("n", 1, 8), *sizes)),
        certificate=certificate,
    )
    content = json.loads(certificate.read_text())
    said = check(model.read_bytes(), content, enforced.read_bytes())
    assert said == "5 checks hold in every run: 3 by proof, 2 by guards"
    assert content["guarded"] == [["image", "Contract.sizes"], ["gain", "Contract.sizes"]]
    session = ort.InferenceSession(enforced.read_bytes(), on_one_thread("all"))
    for height in (32, 64):
        (found,) = session.run(None, images_of(height))
        assert found.shape == (2, 3, height // 2, 16)
    for height in (0, 16, 33, 48, 672):
        with pytest.raises(Fail, match=r"Contract\.sizes"):
            session.run(None, images_of(height))


def images_of(height: int) -> dict[str, np.ndarray]:
    return {name: np.ones((2, 3, height, 32), np.float32) for name in ("image", "gain")}


def test_enforced_contract_is_an_obligation(place: Place) -> None:
    assert place[2]["guarded"] == [
        ["x", "Contract.sizes"],
        ["w", "Contract.sizes"],
        ["x", "Contract.range"],
        ["d", "Contract.range"],
    ]
    assert checked(place) == (
        "19 checks hold in every run: 15 by proof, 4 by guards; the optimizers that it names "
        "must be off"
    )


def without_entry(name: str, entry: list[str]) -> Callable[[Content], object]:
    return lambda content: content[name].remove(entry)


def moved(entry: list[str], to: str) -> Callable[[Content], object]:
    def change(content: Content) -> None:
        content["guarded"].remove(entry)
        content[to].append(entry)

    return change


def of_value(index: int, **fields: object) -> Callable[[Content], object]:
    return lambda content: content["contract"][index].update(fields)


FALSE = {
    "a contract that nothing holds": (without_entry("guarded", ["x", "Contract.range"]),
        "nothing holds Contract.range of 'x'"),
    "sizes that nothing holds": (without_entry("guarded", ["x", "Contract.sizes"]),
        "nothing holds Contract.sizes of 'x'"),
    "a contract that is left to guards of unknown form": (moved(["x", "Contract.range"], "unknown"),
        "nothing holds Contract.range of 'x'"),
    "a contract that is said to be proved": (moved(["d", "Contract.range"], "obligations"),
        "Contract.range of 'd' does not follow: it is not proved: the elements of d depend on"),
    "a size that is said to be proved": (moved(["x", "Contract.sizes"], "obligations"),
        "Contract.sizes of 'x' does not follow: it is not proved: whether axis 0 of x (n, 3)"),
    "another contract than that of the guard": (of_value(1, range=[-50, 50]),
        "Contract.range of 'd' is not guarded where"),
    "another size than that of the guard": (of_value(2, range=[2, 8]),
        "Contract.sizes of 'x' is not guarded where"),
    "a finite result of which nothing is said":
        (without_entry("obligations", ["y", "Graph.finite"]),
        "nothing is said of Graph.finite of 'y'"),
    "a finite result of which more is said":
        (lambda content: content["guarded"].append(["y", "Graph.finite"]),
        "Graph.finite of 'y' is not guarded where 'y' is read"),
    "a rule of another contract":
        (lambda content: content["guarded"].append(["w", "Contract.range"]),
        "the rule does not bind the value"),
    "a rule of a value that is named twice":
        (lambda content: content["waived"].append(["x", "Contract.range"]),
        "Contract.range of 'x' is named twice"),
    "computed floats without a word of optimizers": (lambda content: content.pop("optimizers"),
        "it rests on floats that are computed, and does not say which optimizers must be off"),
    "an optimizer that is not off":
        (lambda content: content["optimizers"]["off"].remove("ConvMulFusion"),
        "it does not say that ConvMulFusion must be off"),
    "an optimizer that may not act":
        (lambda content: content["optimizers"]["may_act"].append("OfTomorrowFusion"),
        "it says that OfTomorrowFusion may act"),
}  # fmt: skip


@pytest.mark.parametrize("name", FALSE)
def test_certificate_that_says_more_than_follows_is_rejected(name: str, place: Place) -> None:
    change, reason = FALSE[name]
    change(place[2])
    assert checked(place).startswith(reason)


def test_narrower_contract_is_not_what_the_guard_holds(place: Place) -> None:
    narrower = Contract((ValueContract("x", (0.6, 1.9)), *CONTRACT.values[1:]), (), CONTRACT.sizes)
    made = sonnx_ort.certify(place[0], operators=OPERATORS, contract=narrower)
    content = place[2] | {name: made.content[name] for name in ("contract", "obligations")}
    assert checked((place[0], place[1], content)) == (
        "Contract.range of 'x' is not guarded where 'x_within_checked' is read"
    )


MALFORMED = {
    "no list": {"value": "x"},
    "nothing": [],
    "an entry of no value": [{"range": [0, 1]}],
    "an entry of another key": [{"value": "x", "range": [0, 1], "step": 1}],
    "an empty range": [{"value": "x", "range": [1, 0]}],
    "a range of text": [{"value": "x", "range": ["0", "1"]}],
    "an axis without ranges": [{"value": "x", "axis": 1}],
    "an axis that is no number": [{"value": "x", "range": [[0, 1]], "axis": True}],
    "one range for an axis": [{"value": "x", "range": [0, 1], "axis": 1}],
    "what is not whole": [{"value": "x", "whole": False}],
    "a state of another name": [{"state": "x", "output": 3}],
}


@pytest.mark.parametrize("entry", [[], {"off": []}, {"off": [], "may_act": [1]},
    {"off": [], "may_act": [], "more": []}], ids=str)  # fmt: skip
def test_optimizers_of_another_form_are_malformed(entry: object, place: Place) -> None:
    place[2]["optimizers"] = entry
    with pytest.raises(Malformed, match=r"^the entry 'optimizers' has another form$"):
        check(place[0].read_bytes(), place[2], place[1].read_bytes())


def test_certificate_names_the_optimizers_of_the_kernel(place: Place) -> None:
    assert place[2]["optimizers"] == {"off": [*MUST_BE_OFF], "may_act": [*MAY_ACT]}


def test_certificate_without_intervals_of_results_names_no_optimizers(tmp_path: Path) -> None:
    """What a contract says of an input, its guard ensures."""
    path = tmp_path / "m.onnx"
    onnx.save(parse("(float[3] x, float[3] y) => (float[3] z) { z = Div(x, y) }"), path)
    contract = Contract((ValueContract("y", (1.0, 2.0)),))
    made = sonnx_ort.certify(path, contract=contract)
    assert made.obligations
    assert "optimizers" not in made.content


def test_optimizers_are_named_for_what_holds_without_the_contract(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards that hold the contract may rest on floats on which no obligation rests."""
    original = onnx.load(place[0])

    def resting(*_: object) -> list[Model]:
        model = established(original)
        model.rests_on_numbers = True
        return [model]

    monkeypatch.setattr(enforcement, "require_enforced", resting)
    content = {key: part for key, part in place[2].items() if key != "optimizers"}
    content["obligations"] = []
    assert checked((place[0], place[1], content)) == (
        "it rests on floats that are computed, and does not say which optimizers must be off"
    )


@pytest.mark.parametrize("name", MALFORMED)
def test_contract_of_another_form_is_malformed(name: str, place: Place) -> None:
    place[2]["contract"] = MALFORMED[name]
    with pytest.raises(Malformed, match=r"^the entry 'contract' has another form$"):
        check(place[0].read_bytes(), place[2], place[1].read_bytes())


FOREIGN = {
    "the contract names something twice":
        Contract((ValueContract("x"), ValueContract("x", (0, 1)))),
    "the contract names 'v', which the graph does not have": Contract((ValueContract("v"),)),
    "the contract gives a shape to 's', which is no input":
        Contract(shapes=(ShapeContract("s", (1, 3)),)),
    "the contract gives 'x' another rank": Contract(shapes=(ShapeContract("x", (1,)),)),
    "-1 is no size": Contract(shapes=(ShapeContract("x", (-1, 3)),)),
    "'?1' is no name of a size": Contract(shapes=(ShapeContract("x", ("?1", 3)),)),
    "'x' is no state that 'y' carries on":
        Contract((ValueContract("x", (0, 1)), ValueContract("y", (0, 2))),
            states=(StateContract("x", "y"),)),
    "'w' is no state that 'y' carries on": Contract(states=(StateContract("w", "y"),)),
    "'x' is no state that 'd' carries on":
        Contract((ValueContract("x"),), states=(StateContract("x", "d"),)),
    "'n' has no size": Contract(sizes=(SizeContract("n", 5, 4),)),
}  # fmt: skip


@pytest.mark.parametrize("reason", FOREIGN)
def test_contract_that_no_file_can_have_is_rejected(reason: str) -> None:
    with pytest.raises(Rejected) as caught:
        Limited(parse(GRAPH), FOREIGN[reason])
    assert str(caught.value) == reason


INSIDE = "(float[n] x) => (float[m] y) { v = Sqrt(x) t = Identity(v) y = Exp(t) }"


def test_value_that_is_proved_within_its_contract_needs_no_guard(tmp_path: Path) -> None:
    model, enforced = tmp_path / "m.onnx", tmp_path / "e.onnx"
    onnx.save(parse(INSIDE), model)
    contract = Contract((ValueContract("x", (0.0, 4.0)), ValueContract("v", (-1.0, 3.0))))
    made = sonnx_ort.rewrite_file(
        model,
        enforced,
        backend="native",
        operators="Graph.finite_values",
        contract=contract,
        certificate=tmp_path / "c.json",
    )
    assert made is not None
    assert ["v", "Contract.range"] in made.content["obligations"]
    assert made.content["guarded"] == [["x", "Contract.range"]]


def test_values_that_have_to_be_finite_are_guarded_in_bodies_too(tmp_path: Path) -> None:
    model, enforced = tmp_path / "m.onnx", tmp_path / "e.onnx"
    onnx.save(
        parse(
            "(bool c, float[2] x) => (float[n] z) { z = If(c) "
            "<then_branch = t () => (float[2] a) { u = Exp(x) a = Neg(u) }, "
            "else_branch = e () => (float[2] b) { b = Abs(x) }> }"
        ),
        model,
    )
    made = sonnx_ort.rewrite_file(
        model,
        enforced,
        backend="native",
        operators="Graph.finite_values",
        certificate=tmp_path / "c.json",
    )
    assert made is not None
    entries = [[name, "Graph.finite"] for name in "abuz"]
    assert sorted(made.content["guarded"]) == entries
    for entry in entries:
        fewer = {**made.content, "guarded": [each for each in entries if each != entry]}
        with pytest.raises(Rejected) as caught:
            check(model.read_bytes(), fewer, enforced.read_bytes())
        assert str(caught.value) == f"nothing is said of Graph.finite of '{entry[0]}'"


def test_interval_of_an_if_is_that_of_both_branches() -> None:
    model = derived(
        "(bool c, float[2] x) => (float[n] z) { z = If(c) "
        "<then_branch = t () => (float[2] a) { a = Sigmoid(x) }, "
        "else_branch = e () => (float[2] b) { b = Tanh(x) }> }"
    )
    whole = model.known("interval", "z").whole
    assert (round(whole.lower, 3), round(whole.upper, 3)) == (-1.0, 1.0)


def test_command_certifies_under_a_contract(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(parse(GRAPH), "model.onnx")
    Path("envelope.toml").write_text("[inputs.x]\nrange = [0.5, 2.0]\n")
    written = command(
        *("certify", "model.onnx", "-o", "c.json", "--contract", "envelope.toml"),
        *("--operators", "Sqrt"),
    )
    assert (written.returncode, written.stdout) == (
        0,
        (
            "c.json: written; 2 of 2 proved checks of nodes and values\n"
            "next: sonnx-ort certify model.onnx --check c.json --operators Sqrt "
            "--contract envelope.toml\n"
        ),
    )
    accepted = command("certify", "model.onnx", "--check", "c.json")
    assert accepted.stdout == (
        "c.json: accepted: 2 checks hold in every run whose values keep the contract\n"
        "next: sonnx-ort rewrite model.onnx -o model.enforced.onnx --backend native "
        "--certificate model.enforced.json\n"
    )


_PAIRS = [("Less", "Greater"), ("Or", "And"), ("ReduceMin", "ReduceMax")]
_SWAPPED = {
    "Floor": "Neg",
    **{one: other for pair in _PAIRS for one, other in (pair, pair[::-1])},
    "Reshape": "Identity",
    "Equal": "Less",
}


def changed_guards(
    enforced: onnx.ModelProto, original: onnx.ModelProto
) -> Iterator[onnx.ModelProto]:
    """Models of which one node of a guard is another, has another constant or other operands."""
    own = {name for node in original.graph.node for name in node.output}
    # A Loop without iterations asks for no condition.
    unasked = {node.input[1] for node in enforced.graph.node if node.op_type == "Loop"}
    for index, node in enumerate(enforced.graph.node):
        if own.issuperset(node.output) and node.op_type != "Reshape":
            continue
        if unasked.issuperset(node.output):
            continue
        for change in (_of_operator, _of_constant, _of_operands):
            made = onnx.ModelProto()
            made.CopyFrom(enforced)
            if change(made.graph.node[index]):
                yield made


def _of_operator(node: onnx.NodeProto) -> bool:
    other = _SWAPPED.get(node.op_type)
    if other is not None:
        node.op_type = other
        del node.input[2 if other != "Identity" else 1 :]
    return other is not None


def _of_constant(node: onnx.NodeProto) -> bool:
    if node.op_type != "Constant":
        return False
    array = numpy_helper.to_array(node.attribute[0].t)
    if (array < -1).all():
        # A run fails with another code as well.
        return False
    other = ~array if array.dtype == bool else array + (1 if array.dtype.kind == "i" else 0.25)
    other = other.astype(array.dtype)
    node.attribute[0].t.CopyFrom(numpy_helper.from_array(other))
    # The largest number stays the same.
    return not (other == array).all()


def _of_operands(node: onnx.NodeProto) -> bool:
    reverse = list(reversed(node.input))
    symmetric = node.op_type in {"Or", "And", "Equal", "Concat"}
    if symmetric or reverse == list(node.input):
        return False
    node.input[:] = reverse
    return True


def test_certificate_holds_ranges_of_indices_and_whole_numbers_by_guards(tmp_path: Path) -> None:
    model, enforced, content = certified(tmp_path, OF_INDICES)
    rules = [["x", "Contract.range"], ["x", "Contract.whole"], ["d", "Contract.range"]]
    assert [each for each in rules if each in content["guarded"]] == rules
    content["guarded"].remove(rules[1])
    assert checked((model, enforced, content)) == "nothing holds Contract.whole of 'x'"


@pytest.mark.parametrize(("contract", "least"), [(CONTRACT, 40), (OF_INDICES, 30)])
def test_no_other_guard_holds_the_contract(contract: Contract, least: int, tmp_path: Path) -> None:
    model, enforced, content = certified(tmp_path, contract)
    tried = 0
    for other in changed_guards(onnx.load(enforced), onnx.load(model)):
        written = other.SerializeToString()
        said = content | {"enforced": hashlib.sha256(written).hexdigest()}
        tried += 1
        with pytest.raises(Rejected):
            check(model.read_bytes(), said, written)
    assert tried > least


def test_guard_of_a_contract_rests_on_nothing_that_the_contract_says(tmp_path: Path) -> None:
    """Within the contract x and y have one shape; the guards that hold it may not build on that."""
    model, enforced, certificate = (tmp_path / name for name in ("m.onnx", "e.onnx", "c.json"))
    onnx.save(parse("(float[n] x, float[n] y) => (float[n] z) { z = Sub(x, y) }"), model)
    contract = Contract((ValueContract("x", (0.0, 1.0)),), sizes=(SizeContract("n", 5, 5),))
    sonnx_ort.rewrite_file(
        model, enforced, backend="native", contract=contract, certificate=certificate
    )
    other = onnx.load(enforced)
    nodes = {name: node for node in other.graph.node for name in node.output}
    decision = nodes[nodes["x_within_checked"].input[1]]
    nodes[decision.input[2]].input[0] = "y"
    written = other.SerializeToString()
    content = json.loads(certificate.read_text())
    content["enforced"] = hashlib.sha256(written).hexdigest()
    with pytest.raises(Rejected) as caught:
        check(model.read_bytes(), content, written)
    assert str(caught.value) == (
        "the Sub of ['z'] reads 'x_within_checked', not 'x': its shape may differ from that of "
        "the decision"
    )


def test_guard_of_a_contract_that_fails_where_it_is_kept_holds_nothing(place: Place) -> None:
    """It passes an operand on where its flag is true, which says that a rule is broken."""
    model, enforced, content = place
    tried = 0
    for index, node in enumerate(onnx.load(enforced).graph.node):
        if node.op_type != "Where":
            continue
        other = onnx.load(enforced)
        chosen = other.graph.node[index]
        chosen.input[1], chosen.input[2] = chosen.input[2], chosen.input[1]
        written = other.SerializeToString()
        said = content | {"enforced": hashlib.sha256(written).hexdigest()}
        with pytest.raises(Rejected, match=r"^Contract\.\w+ of '\w' is not guarded where '"):
            check(model.read_bytes(), said, written)
        tried += 1
    assert tried == 4


@pytest.mark.parametrize("kind", ["float", "int32"])
def test_contract_of_a_value_does_not_follow_from_itself(kind: str) -> None:
    """Of an input nothing else is known; the result is within by what is said of the input."""
    proto = parse(f"({kind}[n] x) => ({kind}[n] z) {{ z = Neg(x) }}")
    contract = Contract((ValueContract("x", (0, 5)), ValueContract("z", (-5, 0))))
    model = established(proto, contract)
    conclude(model, "z", "Contract.range")
    with pytest.raises(Rejected) as caught:
        conclude(model, "x", "Contract.range")
    assert str(caught.value) == (
        "Contract.range of 'x' does not follow: it is not proved: the elements of x depend on the "
        "inputs"
    )


def test_guard_of_a_value_holds_in_each_case(place: Place) -> None:
    """A decision may pass by several branches, and a guard of one of them is none."""
    original = parse(GRAPH)
    beside = established(original)
    enforced = Enforced(beside, onnx.load(place[1]))
    (read,) = enforced.reads_of("d")
    (facts,) = enforced.facts_after(read)
    model = established(original, CONTRACT)
    require_value_guarded(model, enforced, "d", "Contract.range")

    class TwoCases(Enforced):
        def facts_after(self, name: str) -> list[Facts]:
            del name
            return [facts, NOTHING]

    with pytest.raises(Rejected) as caught:
        require_value_guarded(model, TwoCases(beside, onnx.load(place[1])), "d", "Contract.range")
    assert str(caught.value) == f"Contract.range of 'd' is not guarded where '{read}' is read"


BEHIND = (
    "s = Shape(y_unchecked) m = ReduceMax<keepdims = 0>(y_unchecked)"
    " l = Constant<value = float {1.0}>() f = Greater(m, l)"
    " c = Constant<value = int64[1] {-1317}>() t = Where(f, c, s) y = Reshape(y_unchecked, t)"
)
RENAMED = {
    "a guard behind the node": (f"y_unchecked = Div(x, w) {BEHIND}", ""),
    "a node with other operands": (f"y_unchecked = Div(w, x) {BEHIND}",
        "the Div of ['y'] reads 'w', not 'x': they are different values"),
    "another node": (f"y_unchecked = Mul(x, w) {BEHIND}", "the Div of ['y'] is another"),
    "a copy of another node": ("y_unchecked = Reshape(x, d) y = Reshape(y_unchecked, d)",
        "the outputs ['y'] became ['y']: it is no decision"),
}  # fmt: skip


@pytest.mark.parametrize("name", RENAMED)
def test_name_that_a_guard_has_taken_is_that_of_the_same_node(name: str) -> None:
    text, reason = RENAMED[name]
    head = "(float[2] x, float[2] w) => (float[2] y)"
    original = derived(f"{head} {{ d = Shape(x) y = Div(x, w) }}")
    other = parse(f"{head} {{ d = Shape(x) {text} }}", ir_version=OLDEST_FORMAT)
    found = ""
    try:
        Enforced(original, other)
    except Rejected as error:
        found = str(error)
    assert found == reason


def test_nothing_is_written_where_no_known_guard_holds_the_contract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule of a node is left to a guard of unknown form; a contract is what proofs rest on."""

    def unknown(_: object, __: object, value: str, rule: str) -> None:
        raise Rejected(f"{rule} of '{value}' has no guard")

    monkeypatch.setattr(certificates, "require_guarded", unknown)
    onnx.save(parse(GRAPH), tmp_path / "m.onnx")
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite_file(
            tmp_path / "m.onnx",
            tmp_path / "e.onnx",
            backend="native",
            contract=CONTRACT,
            certificate=tmp_path / "c.json",
        )
    assert str(caught.value) == (
        "the enforced model cannot be certified (Contract.sizes of 'x' has no guard); rewrite "
        "without a certificate"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]
