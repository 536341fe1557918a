"""The compiled kernels: every build gives the same, and errors say all."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.custom_ops.compiled.catalog import COMPILED_OPERATORS, FUNCTIONS
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from support.child import run_python
from support.compiled import BROADCASTING, compile_kernels, session_of, session_of_broadcast
from support.graphs import parse

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


def test_results_are_the_same_without_avx2(installed):
    assert digest(LIBRARY, SONNX_ORT_WITHOUT_AVX2="1") == installed


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_sanitizers_find_nothing(installed, tmp_path):
    library = tmp_path / "sanitized.so"
    compile_kernels(library, "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
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


@pytest.mark.thorough
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_compiler_has_no_warning(compiler, installed, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    library = tmp_path / "warned.so"
    compile_kernels(library, "-O3", compiler=compiler)
    assert digest(str(library)) == installed


def test_every_function_has_an_operator():
    assert set(COMPILED_OPERATORS) == FUNCTIONS <= set(OPERATORS)


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
    session = division(**BROADCASTING)
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
    model = parse("""(float[n] a, int64[k] shape) => (float[m] d) {
        c = Reshape(a, shape)
        d = Add(c, c)
    }""")
    session = sonnx_ort.InferenceSession(model, operators="Add", backend="compiled")
    feeds = {"a": np.ones(1, np.float32), "shape": np.ones(65, np.int64)}
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
    )
    assert child.stdout == "False\n", child


def test_names_of_the_platform_are_those_of_the_file():
    assert Path(LIBRARY).suffix == {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
