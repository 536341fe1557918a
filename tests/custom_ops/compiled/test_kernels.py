"""The compiled kernels: every build gives the same, conversions are exact, threads share them."""

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.custom_ops.compiled.catalog import (
    CHOOSING,
    COMPILED_OPERATORS,
    FUNCTIONS,
    STANDARD_KERNELS,
    CompiledOperator,
)
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.vectors.applied import special_values
from support.child import run_program, run_python
from support.compiled import (
    KERNELS,
    OPSET,
    RUNS,
    SOURCES,
    STANDARD_ATTRIBUTES,
    broadcasting,
    compile_cpp,
    compile_kernels,
    has_standard_kernel,
    operand_types,
    session_of,
    session_of_broadcast,
)
from support.graphs import model, parse, tensor
from support.ort_values import run
from support.sessions import quiet

LIBRARY = str(sonnx_ort.kernels_library())


def digest(library: str, **variables: str) -> str:
    """The digest of all that the kernels of a library give."""
    code = f"import sys, runpy\nsys.argv = ['', {library!r}]\n"
    code += "runpy.run_module('support.compiled', run_name='__main__')\n"
    child = run_python(code, timeout=600, **variables)
    assert child.exit_status == 0, child
    return child.stdout


@pytest.fixture(scope="module")
def installed() -> str:
    return digest(LIBRARY)


@pytest.mark.thorough
def test_results_are_the_same_without_avx2(installed):
    assert digest(LIBRARY, SONNX_ORT_WITHOUT_AVX2="1") == installed


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_sanitizers_find_nothing(installed, tmp_path):
    library = tmp_path / "sanitized.so"
    compile_kernels(library, "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    runtimes = (
        subprocess.run(
            [str(shutil.which("g++")), f"-print-file-name={name}"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    )
    # Python and ONNX Runtime leave memory to the system at their end.
    found = digest(str(library), LD_PRELOAD=" ".join(runtimes), ASAN_OPTIONS="detect_leaks=0")
    assert found == installed


COMPILERS = [
    pytest.param(name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"needs {name}"))
    for name in ("g++", "clang++")
]


@pytest.mark.thorough
@pytest.mark.parametrize("compiler", COMPILERS)
def test_compiler_has_no_warning_about_the_text(compiler, tmp_path):
    """That of ThreadSanitizer has those that g++ finds where it optimizes."""
    compile_cpp([compiler], KERNELS, tmp_path / "none", "-fsyntax-only")


@pytest.mark.thorough
@pytest.mark.weekly
@pytest.mark.parametrize("compiler", COMPILERS)
def test_fastest_build_of_a_compiler_has_no_warning_and_the_same_results(
    compiler, installed, tmp_path
):
    library = tmp_path / "fastest.so"
    compile_kernels(library, "-O3", compiler=compiler)
    assert digest(str(library)) == installed


def test_every_function_and_standard_kernel_has_an_operator():
    assert set(COMPILED_OPERATORS) == FUNCTIONS | CHOOSING | set(STANDARD_KERNELS) <= set(OPERATORS)


STANDARD = [
    (name, element_type)
    for name in STANDARD_KERNELS
    for element_type in COMPILED_OPERATORS[name].types
    if has_standard_kernel(COMPILED_OPERATORS[name], element_type)
]


@pytest.mark.parametrize(("name", "element_type"), STANDARD)
@pytest.mark.parametrize("broadcast", [False, True], ids=["alike", "broadcast"])
def test_standard_kernel_gives_what_a_node_gives(name, element_type, broadcast):
    """ONNX Runtime was seen to give other results for `InvokeOp`: Max gives the first operand."""
    compiled = COMPILED_OPERATORS[name]
    session = session_of(
        LIBRARY, compiled, element_type, {"node": "n", "edition": "typed", **broadcasting(compiled)}
    )
    feeds = feeds_of(compiled, element_type, broadcast=broadcast)
    (expected,) = standard_session(compiled, element_type).run(None, feeds)
    (result,) = session.run(None, feeds)
    assert result.shape == expected.shape == (90, 100)
    assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize("element_type", COMPILED_OPERATORS["Where"].types)
@pytest.mark.parametrize("broadcast", [False, True], ids=["alike", "broadcast"])
def test_choice_has_the_bits_of_the_operands(element_type, broadcast):
    compiled = COMPILED_OPERATORS["Where"]
    attributes = {"node": "n", "edition": "typed", **broadcasting(compiled)}
    feeds = feeds_of(compiled, element_type, broadcast=broadcast)
    (result,) = run(session_of(LIBRARY, compiled, element_type, attributes), feeds)
    assert result.tobytes() == np.where(*feeds.values()).tobytes()


@pytest.mark.parametrize("element_type", COMPILED_OPERATORS["Max"].types)
@pytest.mark.parametrize("broadcast", [False, True], ids=["alike", "broadcast"])
@pytest.mark.parametrize(("name", "sign"), [("Max", 1), ("Min", -1)])
def test_extreme_of_three_is_that_of_numbers_in_order(name, sign, element_type, broadcast):
    compiled = COMPILED_OPERATORS[name]
    attributes = {"node": "n", "edition": "typed", **broadcasting(compiled)}
    feeds = feeds_of(compiled, element_type, broadcast=broadcast)
    (result,) = run(session_of(LIBRARY, compiled, element_type, attributes), feeds)
    operands = np.stack(np.broadcast_arrays(*feeds.values())).astype(np.float64)
    # -0 comes before 0: of numbers that are equal, the sign decides.
    order = np.lexsort((-sign * np.signbit(operands), sign * operands), axis=0)
    largest = np.take_along_axis(operands, order[-1:], axis=0)[0]
    expected = np.where(np.isnan(operands).any(axis=0), np.nan, largest)
    found = result.astype(np.float64)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(expected[found == 0]))


@pytest.mark.parametrize(
    "element_type", [t for t in COMPILED_OPERATORS["Max"].types if t.family is Family.INTEGER]
)
@pytest.mark.parametrize(("name", "chosen"), [("Max", np.maximum), ("Min", np.minimum)])
def test_extreme_of_integers_is_right_at_the_ends_of_the_type(name, chosen, element_type):
    limits = np.iinfo("int32" if element_type is ElementType.INT64 else element_type.dtype)
    near = [limits.min, limits.min + 1, 0, 1, limits.max - 1, limits.max]
    pairs = np.reshape(np.meshgrid(*[np.array(near, element_type.dtype)] * 2), (2, -1))
    # Blocks and what is left of them are compared.
    first, second = np.tile(pairs, 300)
    session = session_of(
        LIBRARY, COMPILED_OPERATORS[name], element_type, {"node": "n", "edition": "typed"}
    )
    (result,) = session.run(None, {"data_0": first, "data_1": second, "data_2": first})
    np.testing.assert_array_equal(result, chosen(first, second))


@pytest.mark.parametrize(
    ("outside", "options", "said", "shape"),
    [
        (
            {"data_1": [2, 1 << 31], "data_2": [1 << 40, 0]},
            {},
            "data_1 is an int64 beyond int32: data_1[1] = 2147483648",
            "(2,)",
        ),
        (
            {"data_2": [1, -(1 << 31) - 1]},
            {},
            "data_2 is an int64 beyond int32: data_2[1] = -2147483649",
            "(2,)",
        ),
        (
            {"data_0": [[1], [2], [-(1 << 63)]]},
            broadcasting(COMPILED_OPERATORS["Max"]),
            "data_0 is an int64 beyond int32: data_0[2, 0] = -9223372036854775808",
            "(3, 2)",
        ),
    ],
    ids=["two operands", "the third operand", "a broadcast operand"],
)
def test_first_operand_is_said_that_has_an_element_beyond_int32(outside, options, said, shape):
    attributes = {"node": "n", "edition": "typed", **options}
    session = session_of(LIBRARY, COMPILED_OPERATORS["Max"], ElementType.INT64, attributes)
    given = {f"data_{i}": [1, 2] for i in range(3)} | outside
    feeds = {name: np.array(elements, np.int64) for name, elements in given.items()}
    with pytest.raises(Exception, match="running CheckedMax node") as caught:
        session.run(None, feeds)
    shapes = ", ".join(f"{name} {shape}" for name in feeds)
    assert str(caught.value).endswith(
        f"SONNX: Max 'n' breaks Max.int.C1: {said}; shapes {shapes}. The rule: No element of type "
        "int64 is beyond what int32 can hold."
    )


def test_shapes_of_any_number_of_operands_are_said():
    attributes = {"node": "n", "edition": "typed"}
    session = session_of(LIBRARY, COMPILED_OPERATORS["Max"], ElementType.FLOAT, attributes)
    feeds = {f"data_{i}": np.ones(size, np.float32) for i, size in enumerate((2, 2, 3))}
    with pytest.raises(Exception, match="running CheckedMax node") as caught:
        session.run(None, feeds)
    assert str(caught.value).endswith(
        "SONNX: Max 'n' breaks Max.float.R1: the shapes (2,) and (3,) differ; shapes data_0 (2,), "
        "data_1 (2,), data_2 (3,). The rule: Tensors data_0 to data_n and max have the same shape."
    )


def feeds_of(
    compiled: CompiledOperator, element_type: ElementType, *, broadcast: bool
) -> dict[str, np.ndarray]:
    """Operands that keep the rules."""
    random = np.random.default_rng(1)
    types = operand_types(compiled, element_type)
    shapes = [(90, 100), (1, 100), (90, 1)] if broadcast else [(90, 100)] * 3
    feeds = {
        operand: elements(ElementType(kind), shape, random)
        for (operand, kind), shape in zip(types.items(), shapes, strict=False)
    }
    if broadcast:
        feeds |= {name: np.full((1, 1), 2, element_type.dtype) for name in compiled.operator.single}
    return feeds


def elements(
    element_type: ElementType, shape: tuple[int, ...], random: np.random.Generator
) -> np.ndarray:
    """Numbers from 1 to 6; of floats also special ones, and of conditions both."""
    numbers = np.arange(1, 7).astype(element_type.dtype)
    if element_type.family is not Family.INTEGER:
        numbers = np.concatenate([numbers, special_values(element_type)])
    return random.choice(numbers, shape)


def standard_session(compiled: CompiledOperator, element_type: ElementType) -> ort.InferenceSession:
    """A session on the standard operator, as the compiled one has it computed."""
    operator = compiled.operator
    attributes = STANDARD_ATTRIBUTES.get(operator.name, {})
    node = onnx.helper.make_node(operator.name, operator.operands, ["result"], **attributes)
    inputs = [tensor(n, t, None) for n, t in operand_types(compiled, element_type).items()]
    made = model([node], inputs, [tensor("result", element_type.value, None)], opset=OPSET)
    return ort.InferenceSession(made.SerializeToString(), quiet())


def integers(**feeds: list[int]) -> dict[str, np.ndarray]:
    return {name: np.array(numbers, np.int32) for name, numbers in feeds.items()}


def division(**options: str) -> ort.InferenceSession:
    attributes = {"node": "ratio", "edition": "typed", **options}
    return session_of(LIBRARY, COMPILED_OPERATORS["Div"], ElementType.INT32, attributes)


def test_plain_session_says_the_whole_error():
    with pytest.raises(Exception, match="running CheckedDiv node") as caught:
        division().run(None, integers(A=[9, 8], B=[2, 0]))
    assert str(caught.value).endswith(
        "Status Message: SONNX: Div 'ratio' breaks Div.int.C1: a zero divisor: A[1] = 8, B[1] = 0; "
        "shapes A (2,), B (2,). The rule: No element of B is zero."
    )


def test_first_rule_is_said_although_a_later_one_breaks_at_an_earlier_element():
    a = np.full(200_000, 5, np.int32)
    b = np.full(200_000, 3, np.int32)
    a[10], b[10] = np.iinfo(np.int32).min, -1
    b[190_000] = 0
    with pytest.raises(Exception, match=r"Div\.int\.C1: a zero divisor: A\[190000\] = 5"):
        division().run(None, {"A": a, "B": b})


def test_element_of_a_broadcast_operand_is_said_by_its_index_in_the_result():
    session = division(**broadcasting(COMPILED_OPERATORS["Div"]))
    with pytest.raises(Exception, match=r"A\[0, 2\] = 1, B\[0, 2\] = 0; shapes A \(2, 3\)"):
        session.run(None, {"A": np.array([[1], [6]], np.int32), "B": np.array([1, 1, 0], np.int32)})


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"edition": "typed"}, "needs the text attributes 'node' and 'edition'"),
        ({"node": "n"}, "needs the text attributes 'node' and 'edition'"),
        ({"node": "n", "edition": "next"}, "'n' has the edition 'next', which is unknown"),
    ],
    ids=["no node", "no edition", "unknown edition"],
)
def test_session_does_not_start_on_an_unusable_node(attributes, said):
    with pytest.raises(Exception, match=said):
        session_of(LIBRARY, COMPILED_OPERATORS["Add"], ElementType.FLOAT, attributes)


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"version": "16"}, "sonnx.compiled::CheckedBitShift needs the number attribute 'version'"),
        ({"version": 7}, r"BitShift 'n': Op with name .* kernel is not supported"),
        ({"direction": "UP"}, "BitShift 'n': .*Invalid direction value of 'UP'"),
    ],
    ids=["no version", "no such version", "no such direction"],
)
def test_session_does_not_start_on_what_onnx_runtime_cannot_compute(attributes, said):
    given = {"node": "n", "edition": "typed", **attributes}
    with pytest.raises(Exception, match=said):
        session_of(LIBRARY, COMPILED_OPERATORS["BitShift"], ElementType.UINT8, given)


@pytest.mark.parametrize(
    "attributes",
    [{"operand_0": "a", "operand_1": "b"}, {"node": "n", "operand_0": "a"}],
    ids=["no node", "no name of an operand"],
)
def test_session_does_not_start_on_an_unusable_broadcast(attributes):
    with pytest.raises(Exception, match="needs the text attributes 'node' and 'operand_0'"):
        session_of_broadcast(LIBRARY, ElementType.FLOAT, ("a", "b"), attributes)


def test_missing_operand_of_a_broadcast_is_an_error():
    child = run_python(
        "import numpy as np",
        "from sonnx_ort.profile.element_type import ElementType",
        "from support.compiled import session_of_broadcast",
        f"session = session_of_broadcast({LIBRARY!r}, ElementType.FLOAT, ('a', '', 'c'))",
        "session.run(None, {'a': np.ones(3, np.float32), 'c': np.ones(3, np.float32)})",
    )
    assert child.exit_status == 1, child
    assert "absent" in child.stderr or "is missing" in child.stderr, child


def test_tensor_of_too_many_axes_is_refused():
    model = parse("""(int32[n] a, int64[k] shape) => (int32[m] d) {
        c = Reshape(a, shape)
        d = Add(c, c)
    }""")
    session = sonnx_ort.InferenceSession(model, operators="Add", backend="compiled")
    feeds = {"a": np.ones(1, np.int32), "shape": np.ones(65, np.int64)}
    with pytest.raises(Exception, match="sonnx_ort computes tensors of at most 64 axes"):
        session.run(None, feeds)


def test_result_may_lie_where_the_first_operand_does():
    model = parse("(float[n] a, float[n] b) => (float[n] d) {\n c = Sub(a, b)\n d = Sub(c, b)\n }")
    a, b = np.arange(6, dtype=np.float32), np.full(6, 2, np.float32)
    session = sonnx_ort.InferenceSession(model, backend="compiled")
    np.testing.assert_array_equal(session.run(None, {"a": a, "b": b})[0], a - 4)


def test_library_registers_on_options_that_have_the_operators_in_python(tmp_path):
    options = sonnx_ort.register(sonnx_ort.register(), backend="compiled")
    for backend in ("python", "compiled"):
        path = tmp_path / f"{backend}.onnx"
        model = parse("(float[n] a, float[n] b) => (float[n] c) { c = Div(a, b) }")
        onnx.save(sonnx_ort.rewrite(model, backend=backend), path)
        feeds = {name: np.ones(2, np.float32) for name in ("a", "b")}
        assert ort.InferenceSession(path, options).run(None, feeds)[0].tolist() == [1, 1]


def test_library_is_loaded_without_python_operators():
    child = run_python(
        "import sys, sonnx_ort",
        "sonnx_ort.register(backend='compiled')",
        "print('onnxruntime_extensions' in sys.modules)",
        fresh=True,
    )
    assert child.stdout == "False\n", child


def test_names_of_the_platform_are_those_of_the_file():
    assert Path(LIBRARY).suffix == {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")


STEP = 997
"""Of the floats behind the first 65,536 every 997th is tried."""

PROGRAM = f"""
#include "{SOURCES / "arithmetic.h"}"
#include <cmath>
#include <cstdio>

uint16_t nearest_bfloat16(uint32_t bits) {{
  const uint32_t below = bits >> 16, rest = bits & 0xffffu;
  return static_cast<uint16_t>(below + (rest > 0x8000u || (rest == 0x8000u && below % 2 == 1)));
}}

int main() {{
  unsigned long to_float16 = 0, to_bfloat16 = 0, from_float16 = 0;
  for (uint64_t each = 0; each >> 32 == 0; each += each < 0x10000u ? 1 : {STEP}) {{
    const auto bits = static_cast<uint32_t>(each);
    const float x = from_bits(bits);
    Float16 half;
    Bfloat16 brain;
    narrow(x, half);
    narrow(x, brain);
    const _Float16 expected = static_cast<_Float16>(x);
    _Float16 found;
    std::memcpy(&found, &half, sizeof found);
    const bool is_nan = std::isnan(x);
    to_float16 += is_nan ? !std::isnan(static_cast<float>(found))
                         : std::memcmp(&found, &expected, sizeof found) != 0;
    to_bfloat16 += is_nan ? !std::isnan(widened(brain)) : brain.bits != nearest_bfloat16(bits);
    if (bits < 0x10000u) {{
      half.bits = static_cast<uint16_t>(bits);
      std::memcpy(&found, &half, sizeof found);
      const float back = static_cast<float>(found), own = widened(half);
      from_float16 += std::isnan(back) ? !std::isnan(own) : to_bits(back) != to_bits(own);
    }}
  }}
  std::printf("%lu %lu %lu\\n", to_float16, to_bfloat16, from_float16);
}}
"""


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_floats_are_rounded_to_the_nearest_even(tmp_path):
    source, program = tmp_path / "all.cc", tmp_path / "all"
    source.write_text(PROGRAM, encoding="utf-8")
    command = [str(shutil.which("g++")), "-std=c++17", "-O3", "-Wno-unused-function"]
    subprocess.run([*command, str(source), "-o", str(program)], check=True)
    done = subprocess.run([str(program)], check=True, capture_output=True, text=True)
    assert done.stdout == "0 0 0\n"


THREADS = 8
ROUNDS = 6
COUNT = 100_003  # four parts, for which ONNX Runtime takes threads of its own

INT32 = 6
"""What ONNX calls the type."""


@pytest.mark.parametrize("sessions", [1, THREADS], ids=["one session", "a session each"])
def test_each_thread_is_given_its_own(sessions: int) -> None:
    together = Barrier(THREADS)
    shared: list[sonnx_ort.InferenceSession] = []

    def start() -> sonnx_ort.InferenceSession:
        model = parse("(int32[n] a, int32[n] b) => (int32[n] c) {\n [ratio] c = Div(a, b)\n }")
        return sonnx_ort.InferenceSession(model, quiet(), backend="compiled")

    def run(thread: int) -> None:
        together.wait(60)
        session = shared[0] if shared else start()
        random = np.random.default_rng(thread)
        for turn in range(ROUNDS):
            a = random.integers(-(2**31), 2**31, COUNT, np.int32)
            b = random.integers(1, 1000, COUNT, np.int32)
            c = session.run(None, {"a": a, "b": b})[0]
            np.testing.assert_array_equal(c, np.trunc(a / b).astype(np.int32))
            index = (thread * 12_345 + turn) % COUNT
            b[index] = 0
            with pytest.raises(sonnx_ort.ContractViolation) as caught:
                session.run(None, {"a": a, "b": b})
            found = caught.value
            assert (found.rule, found.index) == ("Div.int.C1", (index,))
            assert found.values == (a[index], 0)

    if sessions == 1:
        shared.append(start())
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in pool.map(run, range(THREADS)):
            pass


def sanitizer(compiler: str) -> bool:
    """Whether a compiler has ThreadSanitizer."""
    if shutil.which(compiler) is None:
        return False
    command = [compiler, "-print-file-name=libtsan.so"]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    return Path(found).is_absolute()


@pytest.mark.thorough
@pytest.mark.skipif(not sanitizer("g++"), reason="needs g++ and its ThreadSanitizer (libtsan)")
def test_thread_sanitizer_finds_no_race(tmp_path: Path) -> None:
    program = tmp_path / "runs"
    compile_cpp(["g++"], RUNS, program, "-O1", "-g1", "-fsanitize=thread")
    # Threads start sessions, share one, and have two threads each do the parts of a work.
    done = run_program([program, str(THREADS), str(INT32), "33000"], timeout=900)
    assert (done.exit_status, done.stderr) == (0, ""), done
    assert "CheckedDiv 6 typed" in done.stdout
