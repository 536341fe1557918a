"""float16 and bfloat16: every bit pattern, and where results are rounded.

Both are computed in float and rounded back; these tests are what shows that the second rounding
changes nothing.

Each part runs in a child process: an integer division that no guard stops ends it, and the last
line of its output tells at which model.
"""

import functools
import re

import numpy as np
import pytest
from restrictions import outcome

import sonnx_ort
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from support.backends import BACKENDS
from support.child import run_python
from support.execution import EXECUTIONS
from support.graphs import parse
from support.sessions import LEVELS, on_one_thread
from support.values import assert_same_bits, from_bits

SIXTEEN_BIT = (ElementType.FLOAT16, ElementType.BFLOAT16)


def every_pattern(element_type):
    return from_bits(np.arange(1 << 16), element_type)


def second_operands(kind, element_type):
    """One operand for each of the patterns."""
    match kind:
        case "three":
            return np.full(1 << 16, 3, element_type.dtype)
        case "the smallest subnormal":
            return from_bits(np.ones(1 << 16), element_type)
        case _:
            # Odd, so that it is prime to 2^16 and every pattern comes up once.
            return from_bits(np.arange(1 << 16) * 40503 % (1 << 16), element_type)


@functools.cache
def expected_results(operator, element_type, kind):
    a, b = every_pattern(element_type), second_operands(kind, element_type)
    return outcome(operator, (a, b), element_type, Edition.TYPED)


@pytest.mark.satisfies("Div.typed.float.types Div.typed.float.quotient Sub.preliminary.difference")
@pytest.mark.parametrize("execution", EXECUTIONS, ids=lambda e: e.__name__)
@pytest.mark.parametrize(
    ("operator", "kind"),
    [
        pytest.param("Div", "three", marks=pytest.mark.thorough),
        ("Div", "the smallest subnormal"),
        pytest.param("Div", "every pattern", marks=pytest.mark.thorough),
        pytest.param("Sub", "three", marks=pytest.mark.thorough),
        pytest.param("Sub", "every pattern", marks=pytest.mark.thorough),
    ],
)
@pytest.mark.parametrize("element_type", SIXTEEN_BIT)
def test_results_are_the_oracles_on_every_pattern(execution, operator, element_type, kind):
    a, b = every_pattern(element_type), second_operands(kind, element_type)
    result = execution(operator, (a, b), element_type, Edition.TYPED)
    assert_same_bits(result, expected_results(operator, element_type, kind))


GENERATOR = np.random.default_rng(0)
X, Y = ((GENERATOR.random((10, 50)) * 9 + 1).astype(np.float16) for _ in range(2))

CHAINS = {
    "read by another enforced node": ("t = Div(x, y) z = Sub(t, y)", X / Y - Y),
    "read by a node that nothing enforces": ("t = Mul(x, y) z = Ceil(t)", np.ceil(X * Y)),
    "behind a node that moves elements": (
        (
            "t = Mul(x, y) u = Transpose <perm = [1, 0]> (t) v = Transpose <perm = [1, 0]> (u) "
            "z = Add(v, y)"
        ),
        X * Y + Y,
    ),
    "behind a node that nothing enforces": ("t = Mul(x, y) u = Relu(t) z = Add(u, y)", X * Y + Y),
    "behind a conversion": (
        "t = Mul(x, y) u = Cast <to = 1> (t) v = Ceil(u) z = Cast <to = 10> (v)",
        np.ceil(X * Y),
    ),
    "of one operand": ("t = Sqrt(x) z = Mul(t, y)", np.sqrt(X) * Y),
    "compared": (
        (
            "t = Mul(x, y) u = Less(t, y) v = Mul(y, x) w = Greater(v, y) k = Or(u, w) "
            "z = Where(k, t, y)"
        ),
        np.where(X * Y != Y, X * Y, Y),
    ),
}


@BACKENDS
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", CHAINS)
def test_chain_is_rounded_at_each_node(name, level, backend):
    nodes, expected = CHAINS[name]
    model = parse(f"(float16[a,b] x, float16[a,b] y) => (float16[] z) {{ {nodes} }}")
    session = sonnx_ort.InferenceSession(
        model, on_one_thread(level), operators="all,-Graph", backend=backend
    )
    (result,) = session.run(None, {"x": X, "y": Y})
    assert result.tobytes() == expected.tobytes()


OPERATORS = ("Div", "Sub", "Broadcast")


@pytest.mark.parametrize("backend", ["native", "compiled"])
@pytest.mark.parametrize(
    ("operators", "declarations"),
    [(OPERATORS, 5), *(pytest.param((o,), 40, marks=pytest.mark.thorough) for o in OPERATORS)],
)
def test_random_models_have_the_same_outcome_on_random_feeds(
    operators: tuple[str, ...], declarations: int, backend: str
) -> None:
    child = run_python(
        f"""
        from sonnx_ort.backends import Backend
        from support.agreement import compare
        for operator in {operators}:
            compared = compare(operator, Backend("{backend}"), 1, {declarations})
            print("runs compared:", compared)
        """
    )
    assert child.exit_status == 0, child
    compared = re.findall("^runs compared: (.*)$", child.stdout, re.MULTILINE)
    assert len(compared) == len(operators)
    assert min(map(int, compared)) > 20 * declarations
