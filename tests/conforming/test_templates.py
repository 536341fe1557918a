"""Operators outside the set, written by operators of the set: with the same bits, or near them.

Each case runs with random operands, and with such that hold NaN, infinities, zeros of both signs
and the largest and least numbers. The original is run as it is, both without optimizations.
"""

from collections.abc import Sequence

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException

import sonnx_ort
from sonnx_ort.conforming.decomposing import TEMPLATES
from support.changes import INSTALLED, changed
from support.conformed import CONVERT, conformed, reasons, require_same_bits, violated
from support.decomposed import Case, bits, deviation, outputs
from support.graphs import operators, parse
from support.learned_cases import LEARNED, TREES
from support.quantized_cases import QUANTIZED
from support.sessions import on_one_thread

REFUSALS = (Fail, InvalidArgument, RuntimeException)
FLOATS = ("float", "double", "float16")
INTEGERS = ("int32", "int64", "int8", "uint8")
COMPARED = ("int32", "int8", "uint8")
"""Of int64 beyond int32 kernels before ONNX Runtime 1.32.0 compare wrongly."""
EVERY, SAME = ("n,m",), "T[n,m]"


def elementwise(operator: str, dtypes: Sequence[str], near: float = 0, **fields: object) -> Case:
    return Case(f"A = {operator}(X)", EVERY, dtypes, SAME, near=near, **fields)


def of_two(
    operator: str, dtypes: Sequence[str], result: str = "bool[n,m]", **fields: object
) -> Case:
    return Case(f"A = {operator}(X, Y)", EVERY * 2, dtypes, result, **fields)


def constant(**elements: object) -> dict[str, object]:
    return {"constants": elements}


LINES = {"opsets": (11, 13, 17)}
FRAMES = constant(S=8, W=np.hanning(16).astype(np.float32))

CASES = [
    *(of_two(each, ("bool",)) for each in ("And", "Or", "Xor")),
    *(of_two(each, FLOATS + INTEGERS) for each in ("Greater", "GreaterOrEqual", "LessOrEqual")),
    elementwise("Reciprocal", FLOATS),
    elementwise("HardSigmoid", ("float",), opsets=(11, 17)),
    elementwise("HardSigmoid <alpha = 0.3, beta = 0.4>", ("float16",), 2e-3),
    elementwise("Sign", ("float", "double", *INTEGERS)),
    *(elementwise(each, ("float", "double"), 1e-30) for each in ("Round", "Floor", "Ceil")),
    *(elementwise(each, ("float",), 1e-6) for each in ("Cos", "Tan", "Sinh", "Cosh")),
    *([elementwise("Cos", ("double",), 1e-14)] if changed("Cos of double has a kernel") else []),
    *(elementwise(each, ("float",), 3e-7) for each in ("Elu", "Selu", "Celu <alpha = 1.5>")),
    elementwise("ThresholdedRelu <alpha = -1.0>", ("float", "float16"), 1e-30),
    elementwise("Softsign", ("float",), 1e-6),
    elementwise("Gelu", ("float",), 1e-6, opsets=(20,)),
    elementwise('Gelu <approximate = "tanh">', ("float",), 1e-6, opsets=(20,)),
    of_two("PRelu", ("float", "float16"), SAME, near=1e-30),
    Case("A = Sum(X, Y, Z)", EVERY * 3, FLOATS, SAME),
    Case("A = Sum(X)", EVERY, FLOATS, SAME),
    Case("A = Mean(X, Y, Z)", EVERY * 3, ("float",), SAME, near=1e-6),
    *(Case(f"A = ReduceLogSum{each} <axes = [1]>(X)", EVERY, ("float", "double"), "T[n,1]",
        near=1e-5, **LINES) for each in ("", "Exp")),
    *(
        Case(f"A = {each} <axes = {axes}, keepdims = {keep}>(X)", ("n,3,40,m",),
            ("float", "double"), shape, sizes=(1, 2, 33), **LINES)
        for each in ("ReduceSumSquare", "ReduceL1", "ReduceL2")
        for axes, keep, shape in (([2], 1, "T[n,3,1,m]"), ([0, -1], 0, "T[3,40]"),
            ([1, 2, 3], 1, "T[n,1,1,1]"), ([0, 1, 2, 3], 0, "T[]"))
    ),
    *(
        Case(f"A = {each} <axes = [-1]>(X)", ("n,5",), ("int32",), "T[n,1]", **LINES)
        for each in ("ReduceMax", "ReduceMin")
    ),
    *(
        Case(f"A = {each} <keepdims = 0>(X)", ("3,4",), COMPARED, "T[]", opsets=(13, 17))
        for each in ("ReduceMax", "ReduceMin")
    ),
    *(
        Case(f"A = {each} <axes = [0, 2], keepdims = 0>(X)", ("2,3,5",), (*FLOATS, "int64"), "T[3]",
            near=1e-30)
        for each in ("ReduceMax", "ReduceMin")
    ),
    *(
        Case(f"A = {each}(X, K)", ("n,4",), COMPARED, "T[n,1]", opsets=(18,), **constant(K=[-1]))
        for each in ("ReduceMax", "ReduceMin")
    ),
    Case("A = ReduceSumSquare(X, K)", ("n,4",), ("float",), "T[n,1]", (18,), **constant(K=[1])),
    Case("A = ReduceSumSquare(X)", EVERY, ("int32", "float16"), "T[1,1]", (18,), near=0.02),
    Case("A = ReduceProd <axes = [1]>(X)", ("n,4",), ("float", "int64"), "T[n,1]", near=1e-5,
        **LINES),
    *(
        Case(f"A = ArgMin <axis = -1, keepdims = {keep}>(X)", EVERY, INTEGERS, shape,
            opsets=(11, 17))
        for keep, shape in ((0, "int64[n]"), (1, "int64[n,1]"))
    ),
    *(
        Case(f"A, B = TopK <axis = 0, largest = {largest}>(X, K)", ("5,m",), ("int32", "int64"),
            "T[1,m]", (11, 17), further="int64[1,m]", **constant(K=[1]))
        for largest in (0, 1)
    ),
    Case("A = GlobalMaxPool(X)", ("2,3,4,5",), ("float",), "T[2,3,1,1]", near=1e-30),
    Case("A = AveragePool <kernel_shape = [2, 3], strides = [1, 2]>(X)", ("2,3,5,6",), ("float",),
        "T[2,3,4,2]", (11, 17), near=1e-5),
    *(
        Case(
            "A = AveragePool <kernel_shape = [2, 3], pads = [1, 1, 1, 1], "
            f"count_include_pad = {included}>(X)",
            ("2,3,5,6",),
            ("float",),
            "T[2,3,6,6]",
            near=1e-5,
        )
        for included in (0, 1)
    ),
    Case("A = Size(X)", EVERY, (*FLOATS, *INTEGERS, "bool"), "int64[]", (11, 17)),
    Case("A = Tile(X, K)", EVERY, (*FLOATS, "int64", "bool"), "T[a,b]", (11, 17),
        **constant(K=[2, 3])),
    Case("A = OneHot <axis = 0>(X, D, V)", EVERY, ("int64",), "float[3,n,m]", (11, 17),
        **constant(D=3, V=np.array([0.5, 2.0], np.float32))),
    Case("A = OneHot(X, D, V)", EVERY, ("int64",), "int64[n,m,3]", **constant(D=[3], V=[0, 2])),
    *(
        Case(f"A = GatherElements <axis = {axis}>(X, K)", ("4,5",), (*FLOATS, "int64", "bool"),
            "T[2,3]", (11, 17), **constant(K=[[0, -1, 2], [1, 3, -2]]))
        for axis in (0, -1)
    ),
    *(
        Case(f"A = ScatterElements <axis = {axis}>(X, K, U)", ("4,5",), ("float",), "T[4,5]",
            (11, 17),
            **constant(K=[[0, -1, 2], [1, 0, -1]], U=np.float32([[1, 2, 3], [4, 5, -0.0]])))
        for axis in (0, -1)
    ),
    Case("A = DepthToSpace <blocksize = 2>(X)", ("1,8,2,3",), FLOATS, "T[1,2,4,6]", (11, 17)),
    Case('A = DepthToSpace <blocksize = 2, mode = "CRD">(X)', ("1,8,2,3",), FLOATS, "T[1,2,4,6]"),
    Case("A = SpaceToDepth <blocksize = 2>(X)", ("1,2,4,6",), FLOATS, "T[1,8,2,3]", (11, 17)),
    Case("A = ReverseSequence <time_axis = 0, batch_axis = 1>(X, K)", ("5,3,m",),
        (*FLOATS, "int64", "bool"), "T[5,3,m]", (11, 17), **constant(K=[5, 1, 3])),
    Case("A = ReverseSequence <time_axis = 1, batch_axis = 0>(X, K)", ("3,5",), FLOATS, "T[3,5]",
        **constant(K=[5, 1, 3])),
    Case("A = Trilu(X)", ("4,5",), ("int64",), "T[4,5]"),
    Case("A = Trilu <upper = 0>(X, K)", ("2,4,5",), ("float",), "T[2,4,5]", near=1e-30,
        **constant(K=1)),
    *(
        Case(f"A = CumSum <exclusive = {exclusive}, reverse = {reverse}>(X, K)", ("3,5",),
            ("float", "double", "int32", "int64"), "T[3,5]", (11, 17), **constant(K=1))
        for exclusive in (0, 1)
        for reverse in (0, 1)
    ),
    Case("A = STFT(X, S, W)", ("n,64",), ("float",), "T[n,a,9,2]", near=1e-5, **FRAMES),
    Case("A = STFT(X, S, W)", ("n,64,1",), ("float",), "T[n,a,9,2]", near=1e-5, **FRAMES),
    Case("A = STFT <onesided = 0>(X, S, , L)", ("n,64,1",), ("float",), "T[n,a,16,2]", near=1e-5,
        **constant(S=8, L=16)),
    *(
        Case(f"A = DFT <axis = 1, {form}>(X)", (shape,), ("float", "double"), "T[n,a,2]", near=5e-5)
        for form, shape in (
            ("onesided = 0", "n,16,1"), ("onesided = 1", "n,16,1"), ("inverse = 0", "n,16,2"),
            ("inverse = 1", "n,16,2"),
        )
    ),
    Case("A = DFT(X, , K)", ("n,16,1",), ("float",), "T[n,a,2]", (20,), near=5e-5,
        **constant(K=1)),
    Case("A = DFT <axis = 0>(X)", ("6,m,2",), ("float",), "T[a,b,2]", near=5e-5),
    # Of lengths that are no power of 2 the kernel of ONNX Runtime is less accurate.
    *(
        Case("A = DFT <axis = 1>(X, L)", ("n,16,1",), ("float",), "T[n,a,2]", near=3e-4,
            **constant(L=n))
        for n in (10, 20)
    ),
    *(
        Case(f'A = Einsum <equation = "{equation}">({names})', shapes, ("float",), result,
            near=1e-5)
        for equation, names, shapes, result in (
            ("bij,bjk->bik", "X, Y", ("2,3,4", "2,4,5"), "T[2,3,5]"),
            ("ij,kj->ki", "X, Y", ("3,4", "5,4"), "T[5,3]"),
            ("i,j->ij", "X, Y", ("n", "m"), "T[n,m]"),
            ("ij->ji", "X", EVERY, "T[m,n]"),
            ("ij->i", "X", EVERY, "T[n]"),
            ("ij,jk", "X, Y", ("3,4", "4,5"), "T[3,5]"),
            ("abc,cd->abd", "X, Y", ("2,3,4", "4,5"), "T[2,3,5]"),
            ("xaby,cxy->cab", "X, Y", ("2,3,4,5", "6,2,5"), "T[6,3,4]"),
            ("stij,stj->sti", "X, Y", ("2,3,4,5", "2,3,5"), "T[2,3,4]"),
            ("i,ij->j", "X, Y", ("4", "4,5"), "T[5]"),
            ("abij,abjk->abik", "X, Y", ("2,3,4,5", "2,3,5,6"), "T[2,3,4,6]"),
        )
    ),
    Case("A = LayerNormalization <axis = -1>(X, Y, Z)", ("n,m,6", "6", "6"), ("float", "double"),
        "T[n,m,6]", (17, 18), near=1e-4),
    Case("A = LayerNormalization(X, Y)", ("n,m,6", "6"), ("float",), "T[n,m,6]", near=1e-4),
    Case("A = InstanceNormalization(X, Y, Z)", ("n,3,4,5", "3", "3"), ("float",), "T[n,3,4,5]", (11,
        17), near=1e-4),
    *(
        Case(f"A = LpNormalization <p = {p}, axis = 1>(X)", EVERY, ("float",), SAME, (11, 17),
            near=1e-5)
        for p in (1, 2)
    ),
]  # fmt: skip

CASES += [
    Case(f"A = MeanVarianceNormalization{form}(X)", (shape,), ("float",), f"T[{shape}]", (9, 13),
        near=1e-4)
    for form, shape in (("", "2,3,n,m"), (" <axes = [0, -1]>", "n,3,m"))
]  # fmt: skip

ANGLES = np.arange(20, dtype=np.float32).reshape(10, 2)
TURNED = constant(P=[[0, 3, 2], [5, 1, 1]], C=np.cos(ANGLES), S=np.sin(ANGLES))

CASES += LEARNED + TREES + QUANTIZED
CASES += [
    Case(f"A = LogSoftmax <axis = {axis}>(X)", ("2,3,5",), ("float", "double"), "T[2,3,5]",
        (11, 13, 18, 21), near=1e-6)
    for axis in (0, 1, 2)
]  # fmt: skip
CASES += [
    Case(f"A = RotaryEmbedding {form}(X, C, S, P)", (shape,), ("float",), f"T[{shape}]", (23,),
        near=1e-5, **TURNED)
    for form, shape in (
        ("", "2,4,3,4"), ("<interleaved = 1>", "2,4,3,4"), ("<num_heads = 4>", "2,3,16"),
        ("<rotary_embedding_dim = 4>", "2,4,3,6"),
        ("<interleaved = 1, rotary_embedding_dim = 4>", "2,4,3,6"),
    )
]  # fmt: skip
CASES += [
    Case("A = RotaryEmbedding(X, Y, Z)", ("n,4,m,4", "n,m,2", "n,m,2"), ("float",), "T[n,4,m,4]",
        (23,), near=1e-5),
]  # fmt: skip

NEW = (24,) if INSTALLED >= (1, 24) else ()

BY_FUNCTION = [
    elementwise("Shrink <bias = 0.5, lambd = 1.0>", ("float",), 1e-6, opsets=(11, 18)),
    Case("A = Attention(X, Y, Z)", ("1,2,3,4", "1,2,3,4", "1,2,3,4"), ("float",), "T[1,2,3,4]",
        (23,), near=1e-5),
    elementwise("Mish", ("float",), 1e-6, opsets=(18, 22)),
    *(elementwise("Swish", ("float",), 1e-6, opsets=(each,)) for each in NEW),
    Case("A = RMSNormalization(X, Y)", ("n,m,6", "6"), ("float",), "T[n,m,6]", (23, *NEW),
        near=1e-4),
    Case("A = GroupNormalization <num_groups = 2>(X, Y, Z)", ("2,4,3", "4", "4"), ("float",),
        "T[2,4,3]", (21, 23), near=1e-4),
]  # fmt: skip


def tried(cases: Sequence[Case]) -> list[object]:
    return [
        pytest.param(
            case, dtype, opset, id=f"{case.node.partition('= ')[2]}-{dtype}-{opset}-{index}"
        )
        for index, case in enumerate(cases)
        for dtype in case.dtypes
        for opset in case.opsets
    ]


def written(case: Case, dtype: str, opset: int, **choices: object) -> onnx.ModelProto:
    """The conformed model of a case, which violates nothing.

    That `check` finds nothing in it and `conform` changes it no more is tried with one type.
    """
    model = case.model(dtype, opset)
    if (dtype, opset) == (case.dtypes[0], case.opsets[-1]):
        made = conformed(model, **choices)
        assert violated(made) == set()
        return made
    found = sonnx_ort.conform(model, **choices)
    assert {o.rule.id for o, _ in found.remaining if not o.rule.id.startswith("Graph.")} == set()
    onnx.checker.check_model(found.model, full_check=True)
    return found.model


@pytest.mark.parametrize(("case", "dtype", "opset"), tried([c for c in CASES if not c.near]))
def test_exact_template_keeps_every_bit(case: Case, dtype: str, opset: int) -> None:
    model = case.model(dtype, opset)
    made = written(case, dtype, opset)
    runs = list(case.runs(dtype))
    if "Binarizer" in case.node:  # it refuses NaN
        runs = [{"X": np.nan_to_num(run["X"], posinf=np.inf, neginf=-np.inf)} for run in runs]
    assert bits(outputs(made, runs)) == bits(outputs(model, runs))


def test_nan_ends_the_run_of_a_binarizer_as_before() -> None:
    model = next(case for case in CASES if "Binarizer" in case.node).model("float", 17)
    for each in (model, conformed(model)):
        with pytest.raises(REFUSALS, match=r"NaN|out of data bounds"):
            outputs(each, [{"X": np.float32([[1, np.nan]])}])


@pytest.mark.parametrize(
    ("case", "dtype", "opset"), tried([c for c in CASES if c.near] + BY_FUNCTION)
)
def test_other_template_is_near_and_made_on_request_alone(
    case: Case, dtype: str, opset: int
) -> None:
    model = case.model(dtype, opset)
    operator = model.graph.node[0].op_type
    assert reasons(model)["Graph.operator_set"] == (
        f"rounding=True may fix it: write {operator} by operators of the profile"
    )
    made = written(case, dtype, opset, rounding=True, measure=False)
    runs = list(case.runs(dtype, special=False))
    found = deviation(outputs(made, runs), outputs(model, runs))
    assert found <= case.near


def test_every_template_has_a_case() -> None:
    written = {case.node.partition("= ")[2].partition("(")[0].partition(" ")[0] for case in CASES}
    written = {each.replace("ai.onnx.ml.", "ai.onnx.ml::") for each in written}
    assert written == set(TEMPLATES)


@pytest.mark.parametrize(("node", "dtype", "reason"), [
    ("A = NonZero(X)", "float", "how many elements it gives depends on those that it reads"),
    ("A = Trilu(X)", "bool", "no replacement is known for bool"),
    ("A = Round(X)", "float16", "no replacement is known for float16"),
    ("A, B = TopK(X, K)", "float", "it gives the 2 largest elements, and ArgMax gives one"),
    ('A = ScatterElements <reduction = "add">(X, K, X)', "float",
     "it combines the elements of equal indices"),
    ("A = CumSum(X, K)", "float", "axis 2 of 'X' has 100 elements"),
    ('A = AveragePool <kernel_shape = [2], auto_pad = "SAME_UPPER">(X)', "float",
     "its padding follows from its sizes"),
])  # fmt: skip
def test_what_is_not_written_gives_the_reason(node: str, dtype: str, reason: str) -> None:
    case = Case(node, ("2,3,100",), (dtype,), "T[a,b]", constants={"K": np.array([2])})
    model = case.model(dtype, 18)
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    assert reasons(model, rounding=True, measure=False)["Graph.operator_set"] == reason


@pytest.mark.parametrize(("node", "operands", "opset", "reason"), [
    ("y = GlobalMaxPool(x)", "float[" + ",".join("1" * 100) + "] x", 22,
     "it takes more than 10,000 nodes"),
    ("y = ScatterElements(one, k, one)", "float[2] x", 18,
     "its attribute axis is 0, for which the change was not verified"),
    ("y = OneHot(i, pair, pair)", "int64[2] i", 18, "'pair' has 2 elements, not one"),
    ("y = Trilu(x, pair)", "float[2,2] x", 18, "'pair' has 2 elements, not one"),
    ("y = Shrink <bias = 1e30>(i)", "int64[2] i", 18, "no replacement is known for int64"),
    ("y = QuantizeLinear <output_dtype = 99>(x, one)", "float[2] x", 21,
     "it is of other types, or for blocks of elements"),
    ("y = ConvInteger <auto_pad = \"SAME_UPPER\">(b, b)", "uint8[2,2] b", 17,
     "its operand has no axis to move along"),
])  # fmt: skip
def test_what_no_operator_can_be_given_ends_in_a_reason(
    node: str, operands: str, opset: int, reason: str
) -> None:
    constants = {"k": np.array(0), "pair": np.array([1, 1]), "one": np.float32(1)}
    model = parse(f"({operands}) => (float[] y) {{ {node} }}", constants=constants, opset=opset)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    found = sonnx_ort.conform(model, rounding=True, measure=False)
    assert reason in {why for _, why in found.remaining}


def test_axes_of_a_reduction_may_be_one_number() -> None:
    model = parse(
        "(float[2,3] x) => (float[2,1] y) { y = ReduceSumSquare(x, axis) }",
        constants={"axis": np.array(-1)},
        opset=18,
    )
    assert sonnx_ort.conform(model, name_outputs=True).remaining == ()


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize(("node", "indices"), [
    *(("GatherElements <axis = 1>(X, K)", [[index]]) for index in (3, -4, 4)),
    *(("GatherElements <axis = 0>(X, K)", [[index]]) for index in (2, -3)),
    *(("ScatterElements <axis = 1>(X, K, U)", [[index]]) for index in (3, -4)),
    ("ReverseSequence <time_axis = 1, batch_axis = 0>(X, K)", [4, 1]),
])  # fmt: skip
def test_index_outside_ends_the_run_as_before(node: str, indices: list[object], opset: int) -> None:
    model = parse(
        f"(float[2,3] X, int64[{'1,1' if 'Elements' in node else '2'}] K) => (float[a,b] A)"
        f" {{ A = {node} }}",
        constants={"U": np.float32([[1]])},
        opset=opset,
    )
    feeds = {"X": np.zeros((2, 3), np.float32), "K": np.array(indices)}
    for each in (model, conformed(model)):
        session = ort.InferenceSession(each.SerializeToString(), on_one_thread("none"))
        with pytest.raises(REFUSALS, match=r"(?i)indi|index|seq"):
            session.run(None, feeds)


def test_number_that_follows_from_sizes_counts_as_known() -> None:
    """As PyTorch sorts the lengths of packed sequences, of which there is one."""
    model = parse(
        "(int64[1] lengths) => (int64[k] y, int64[k] places) {"
        " sizes = Shape(lengths) k = Gather(sizes, last) y, places = TopK(lengths, k) }",
        constants={"last": np.array([-1])},
        opset=16,
    )
    made = sonnx_ort.conform(model)
    assert made.remaining == ()
    for length in (5, -(2**40)):
        require_same_bits(model, made.model, {"lengths": np.array([length])})


@pytest.mark.parametrize("index", [-3, -1, 0, 2])
def test_one_index_along_an_axis_names_a_place_of_its_own(index: int) -> None:
    model = parse(
        "(float[2,3] X, int64[2,1] K, float[2,1] U) => (float[2,3] Y)"
        " { Y = ScatterElements <axis = 1>(X, K, U) }",
        opset=16,
    )
    after = conformed(model)
    assert operators(after)[-1] == "ScatterND"
    feeds = {"X": np.ones((2, 3), np.float32), "U": np.float32([[7], [8]])}
    require_same_bits(model, after, {**feeds, "K": np.array([[index], [0]])})


def test_way_that_is_given_up_leaves_nothing_in_the_graph() -> None:
    model = Case("A = CumSum <reverse = 1>(X, K)", ("n,m",), ("float",), SAME, **constant(K=1))
    made = sonnx_ort.conform(model.model("float", 17)).model
    assert [tensor.name for tensor in made.graph.initializer] == ["K"]


def test_versions_that_lack_a_type_give_the_reason() -> None:
    case = Case("A = ReduceMin <axes = [1]>(X)", ("n,5",), ("float16",), "T[n,1]", near=1e-30)
    model = case.model("float16", 9)
    reason = reasons(model, rounding=True, measure=False)["Graph.operator_set"]
    assert reason == f"version 9 of the standard operators has no Range; {CONVERT}"
