"""A conformed Slice names every axis and step, and stays within the axes."""

from itertools import product

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import numpy_helper

import sonnx_ort
from support.conformed import (
    CONVERT,
    conformed,
    reasons,
    require_fixed,
    require_same_bits,
    violated,
)
from support.graphs import parse
from support.sessions import quiet

RULES = {"Slice.R1", "Slice.R2", "Slice.R3", "Slice.R6", "Slice.R8", "Slice.C2"}
FAR = 2**63 - 1


def cutting(
    shape: str, starts: object, ends: object, axes: object = None, steps: object = None
) -> onnx.ModelProto:
    """A Slice by constants; what is None is left out."""
    given = {"s": starts, "e": ends, "a": axes, "t": steps}
    stored = ", ".join(
        f"int64[{len(v)}] {n} = {{{', '.join(map(str, v))}}}" for n, v in given.items() if v
    )
    names = [n if v else "" for n, v in given.items()]
    while names[-1] == "":
        names.pop()
    inputs = ", ".join(["x", *(n or '""' for n in names)]).replace('""', "")
    return parse(f"(float[{shape}] x) => (float[] y) <{stored}> {{ [cut] y = Slice({inputs}) }}")


CASES = {
    "no axes": ("4,5", [1], [3], None, None, (4, 5)),
    "one axis of three": ("4,5,6", [1], [3], [1], [1], (4, 5, 6)),
    "an axis from the end": ("4,5", [0], [2], [-1], [2], (4, 5)),
    "no steps": ("4,5", [1, 0], [3, 5], [0, 1], None, (4, 5)),
    "an open size that is not named": ("n,5", [1], [3], [1], [1], (7, 5)),
    "an end beyond the axis": ("4", [1], [FAR], [0], [1], (4,)),
    "an end beyond an open axis": ("n", [1], [FAR], [0], [1], (4,)),
    "an end beyond most sizes of an open axis": ("n", [1], [2**31 - 1], [0], [1], (4,)),
    "an end of a thousand million on an open axis": ("n", [1], [10**9], [0], [1], (4,)),
    "an end before the axis": ("4", [3], [-FAR], [0], [-1], (4,)),
    "an end before an open axis": ("n", [3], [-FAR], [0], [-1], (4,)),
    "the least end before an open axis": ("n,m", [0, 2], [FAR, -FAR - 1], [0, 1], [1, -1], (4, 3)),
    "a start beyond the axis": ("4", [9], [12], [0], [1], (4,)),
    "a start beyond the axis, downwards": ("4", [9], [0], [0], [-2], (4,)),
    "a start behind its end": ("4", [3], [1], [0], [1], (4,)),
    "a start before the axis": ("4", [-9], [2], [0], [1], (4,)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_no_rule_is_violated_and_the_same_is_selected(case: tuple) -> None:
    *given, shape = case
    before = cutting(*given)
    after = conformed(before)
    assert not violated(after) & RULES
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    require_same_bits(before, after, {"x": x})


@pytest.mark.parametrize("case", [case for case in CASES if "open axis" in case])
def test_what_lies_beyond_an_open_axis_keeps_the_rules_in_a_run(case: str) -> None:
    *given, shape = CASES[case]
    model = sonnx_ort.rewrite(conformed(cutting(*given)), operators="Slice")
    session = sonnx_ort.InferenceSession(model, quiet())
    assert session.run(None, {"x": np.ones(shape, np.float32)})[0].size > 0


ORDERED = {
    "by constants": ("4,5,6", "s = Constant<value_ints=[1]>() e = Constant<value_ints=[3]>()"),
    "to an end of the run": ("n,m,k", "s = Constant<value_ints=[1]>() e = Shape<start=0,end=1>(z)"),
}


@pytest.mark.parametrize("case", ORDERED.values(), ids=list(ORDERED))
def test_axes_are_named_in_their_order(case: tuple[str, str]) -> None:
    shape, indices = case
    before = parse(
        f"(float[{shape}] x, float[c] z) => (float[?,?,?] y) <int64[1] a = {{1}}>"
        f" {{ {indices} y = Slice(x, s, e, a) }}"
    )
    after = conformed(before)
    assert constant_read(after, 3) == [0, 1, 2]
    assert constant_read(after, 1) == [0, 1, 0]
    runs = (
        {"x": np.ones((4, 5, 6), np.float32), "z": np.ones(size, np.float32)} for size in (2, 4)
    )
    require_same_bits(before, after, *runs)


def test_several_ends_of_a_run_stay_together() -> None:
    before = parse(
        "(float[n,m,k] x, float[c,d] z) => (float[?,?,?] y)"
        " <int64[2] s = {0, 1}, int64[2] a = {2, 1}> { e = Shape(z) y = Slice(x, s, e, a) }"
    )
    after = conformed(before)
    assert constant_read(after, 3) == [2, 1, 0]
    feeds = {"x": np.ones((4, 5, 6), np.float32), "z": np.ones((3, 4), np.float32)}
    require_same_bits(before, after, feeds)


def constant_read(model: onnx.ModelProto, position: int) -> list[int]:
    """The elements of a constant that the Slice in front of the result reads."""
    cut = model.graph.node[-1]
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    elements: list[int] = stored[cut.input[position]].tolist()
    return elements


INDICES = (-FAR, -6, -5, -4, -1, 0, 1, 3, 4, 5, FAR - 1)


@pytest.mark.parametrize("step", [-3, -2, -1, 1, 2, 3])
def test_every_start_and_end_selects_what_it_did(step: int) -> None:
    pairs = list(enumerate(product(INDICES, INDICES)))
    stored = "".join(f", int64[1] s{n} = {{{s}}}, int64[1] e{n} = {{{e}}}" for n, (s, e) in pairs)
    nodes = "".join(f"y{n} = Slice(x, s{n}, e{n}, a, t) " for n, _ in pairs)
    before = parse(
        f"(float[4] x) => ({', '.join(f'float[] y{n}' for n, _ in pairs)}) "
        f"<int64[1] a = {{0}}, int64[1] t = {{{step}}}{stored}> {{ {nodes} }}"
    )
    after = sonnx_ort.conform(before).model
    assert not violated(after) & RULES
    require_same_bits(before, after, {"x": np.arange(4, dtype=np.float32)})


@pytest.mark.parametrize("opset", [11, 12, 13, 18])
def test_open_sizes_are_read_in_each_run(opset: int) -> None:
    before = cutting("n,m", [1], [3], [1], [1])
    before.opset_import[0].version = opset
    after = conformed(before)
    require_same_bits(before, after, *({"x": np.ones((n, 4), np.float32)} for n in (1, 2, 5)))


@pytest.mark.parametrize("backend", ["python", "native", "compiled"])
def test_end_of_all_is_kept_in_a_run_beside_an_open_axis_that_is_named(backend: str) -> None:
    model = cutting("n,4", [1], [FAR], [1], None)
    options = {"operators": "Slice", "backend": backend, "conform": True}
    (y,) = sonnx_ort.InferenceSession(model, **options).run(None, {"x": np.ones((2, 4), "f")})
    assert y.shape == (2, 3)


def test_starts_of_a_run_are_kept() -> None:
    before = parse("""(float[n,5] x, int64[1] s) => (float[] y)
        <int64[1] e = {5}, int64[1] a = {1}> { [cut] y = Slice(x, s, e, a) }""")
    x = np.ones((3, 5), np.float32)
    require_fixed(before, *({"x": x, "s": np.array([start])} for start in (0, 2, 4)))


REFUSED = {
    "the rank of 'x' is not known": """(float[] x) => (float[] y)
        <int64[1] s = {0}, int64[1] e = {1}, int64[1] a = {0}> { [cut] y = Slice(x, s, e, a) }""",
    "the elements of 'a' depend on the input; to fix it: assume={'a': VALUE}": """
        (float[4,5] x, int64[1] a) => (float[] y)
        <int64[1] s = {0}, int64[1] e = {1}> { [cut] y = Slice(x, s, e, a) }""",
    "its starts and ends are int32, and sizes are int64": """(float[4,5] x) => (float[] y)
        <int32[1] s = {0}, int32[1] e = {1}, int32[1] a = {0}, int32[1] t = {1}>
        { [cut] y = Slice(x, s, e, a, t) }""",
    "an axis has no elements, so no start can lie on it": """(float[0] x) => (float[] y)
        <int64[1] s = {0}, int64[1] e = {1}, int64[1] a = {0}, int64[1] t = {1}>
        { [cut] y = Slice(x, s, e, a, t) }""",
}


@pytest.mark.parametrize("end", [2**31 - 1, FAR])
def test_end_of_all_in_negative_steps_stays(end: int) -> None:
    """Once ONNX Runtime selects nothing, as ONNX says, the end can be written."""
    before = cutting("4", [3], [end], [0], [-1])
    (reason,) = {reason for _, reason in sonnx_ort.conform(before, operators="Slice").remaining}
    assert reason == (
        f"with negative steps, the end {end} is the beginning of the axis for ONNX Runtime, and "
        "the last element for ONNX; write the intended end"
    )


@pytest.mark.parametrize("reason", REFUSED)
def test_reason_is_given_where_nothing_can_be_changed(reason: str) -> None:
    remaining = sonnx_ort.conform(parse(REFUSED[reason]), operators="Slice").remaining
    assert {given for _, given in remaining} == {reason}


def test_slice_of_an_early_version_conforms_as_the_converter_of_onnx_gives_it() -> None:
    early = parse(
        "(float[4,5] x) => (float[2,5] y) { y = Slice<starts = [1], ends = [3]>(x) }", opset=9
    )
    lack = f"before version 10 of the standard operators Slice has no such inputs; {CONVERT}"
    assert reasons(early) == {"Slice.R1": lack, "Slice.R3": lack}
    assert reasons(onnx.version_converter.convert_version(early, 10)) == {}


def test_open_end_of_int32_becomes_one_of_int64() -> None:
    before = parse(
        "(float[n,5] x) => (float[m,k] y) { y = Slice(x, s, e, a, t) }",
        constants={
            name: np.array(numbers, np.int32)
            for name, numbers in {"s": [1, 0], "e": [10**9, 9], "a": [0, 1], "t": [1, 1]}.items()
        },
    )
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    require_fixed(before, {"x": x}, {"x": x[:1]}, rules={"Slice.C2"})


REMAINDERS = {"Mod(five, three)": 2, "Mod<fmod = 1>(five, three)": 2, "Mod(minus, three)": 1}


@pytest.mark.parametrize("remainder", REMAINDERS)
def test_ends_that_are_remainders_of_constants_are_known(remainder: str) -> None:
    before = parse(
        f"""(float[4,5] x) => (float[k,5] y) <int64[1] zero = {{0}}, int64[1] five = {{5}},
            int64[1] minus = {{-5}}, int64[1] three = {{3}}>
        {{ end = {remainder} [cut] y = Slice(x, zero, end) }}"""
    )
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    after = require_fixed(before, {"x": x})
    (found,) = ort.InferenceSession(after.SerializeToString(), quiet()).run(None, {"x": x})
    assert found.shape == (REMAINDERS[remainder], 5)


@pytest.mark.parametrize(("operands", "rule"), [
    ("Mod(five, zero)", "Mod.int.C1"),
    ("Mod(least, minus)", "Mod.int.C2"),
])  # fmt: skip
def test_remainder_that_breaks_a_rule_is_not_computed(operands: str, rule: str) -> None:
    before = parse(
        f"""(float[4,5] x) => (float[k,5] y) <int64[1] zero = {{0}}, int64[1] five = {{5}},
            int64[1] least = {{-9223372036854775808}}, int64[1] minus = {{-1}}>
        {{ end = {operands} [cut] y = Slice(x, zero, end) }}"""
    )
    made = sonnx_ort.conform(before)
    assert rule in {o.rule.id for o, _ in made.remaining}
