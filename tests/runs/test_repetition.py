"""`repeat`: the ways in which a model runs, and the values at which they start to differ."""

from dataclasses import replace

import numpy as np
import onnx
import onnx.parser
import pytest

from sonnx_ort.errors import SonnxError
from sonnx_ort.runs.diff.against_plain import Repeated, Way, against_plain, ways
from sonnx_ort.runs.diff.against_plain import repeat as repeat_runs
from sonnx_ort.runs.isolated_run import CPU, Array, Failed, IsolatedRuns, Settings
from sonnx_ort.runs.limits import LimitExceeded, Limits
from support.graphs import parse

PLAIN = Settings(threads=1)
LOGARITHMS = parse(
    """(float[n] x) => (float[n] z) {
    [size] a = Abs(x) [log] y = Log(a) [double] z = Add(y, y) }"""
)
MANY = {"x": np.linspace(0.1, 9, 1_000_003, dtype=np.float32)}


def repeat(
    model: onnx.ModelProto, given: dict[str, Array], chosen: list[Way], runs: int = 2
) -> list[Repeated]:
    with against_plain(model, given, threads=1) as plain:
        return list(repeat_runs(plain, chosen, runs))


def test_ways_are_every_number_of_threads_and_every_level() -> None:
    names = [way.name for way in ways(PLAIN, 4, CPU)]
    assert names == [
        "again",
        "new process",
        "bound inputs and outputs",
        "nodes in parallel",
        "elements at other indices",
        "2 threads",
        "3 threads",
        "4 threads",
        "level basic",
        "level extended",
        "level all",
    ]


def test_other_providers_are_one_more_way() -> None:
    (more,) = {way.name for way in ways(PLAIN, 1, ("AProvider", *CPU))} - {
        way.name for way in ways(PLAIN, 1, CPU)
    }
    assert more == "AProvider, CPUExecutionProvider"


def test_model_of_exact_operators_has_the_same_bits_in_every_way() -> None:
    model = parse("(float[3] x, float[3] y) => (float[3] z) { a = Div(x, y) z = Sub(a, x) }")
    found = repeat(model, {}, list(ways(PLAIN, 2, CPU)))
    assert all((each.unequal, each.starts, each.stops) == (0, (), ()) for each in found)
    tensors_of_two_nodes = 3 * 2
    assert {each.way: each.runs for each in found if each.runs != 2} == {
        "elements at other indices": tensors_of_two_nodes
    }


ELSEWHERE = [Way("elements at other indices", PLAIN, other_places=True)]


@pytest.mark.upstream
def test_value_whose_elements_depend_on_their_places_is_named() -> None:
    model = parse("(float[3] x, float[3] y) => (float[3] z) { [one] a = Max(x, y) z = Neg(a) }")
    given = {"x": np.full(3, -0.0, np.float32), "y": np.zeros(3, np.float32)}
    (found,) = repeat(model, given, ELSEWHERE)
    assert (found.runs, found.starts, found.stops) == (6, ("'a' of Max 'one'",), ())
    assert 0 < found.unequal <= 3


def test_node_that_fails_on_other_tensors_differs_and_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = parse("(float[3] x) => (float[3] y) { y = Neg(x) }")
    with against_plain(model, {}, threads=1) as plain:
        values = plain.values(plain.plain)
        monkeypatch.setattr(type(plain), "values", lambda *_: values)
        plain_of_nothing = replace(plain, runs=Dying())
        (found,) = repeat_runs(plain_of_nothing, ELSEWHERE, 1)
    assert (found.runs, found.unequal, found.starts, found.stops) == (3, 3, (), ("it dies",))


LOOKED_AT = {
    "operands of several shapes": ("(float[2, 3] x, float[3] y) => (float[2, 3] z) {z = Add(x, y)}",
        3),
    "constants": ("(float[3] x) => (float[3] z) <float[3] y = {1, 2, 3}> { z = Mul(x, y) }", 3),
    "one operand twice": ("(float[3] x) => (float[3] z) { z = Mul(x, x) }", 3),
    "conditions": ("(bool[3] c, float[3] x, float[3] y) => (float[3] z) { z = Where(c, x, y) }", 3),
    "no elements": ("(float[0] x) => (float[0] z) { z = Exp(x) }", 0),
    "a sum": ("(float[2, 2] x) => (float[2, 2] z) { z = MatMul(x, x) }", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKED_AT)
def test_nodes_that_compute_element_by_element_are_run_on_three_tensors(name: str) -> None:
    text, runs = LOOKED_AT[name]
    (found,) = repeat(parse(text), {}, ELSEWHERE)
    assert (found.runs, found.unequal, found.stops) == (runs, 0, ())


@pytest.mark.upstream
def test_value_at_which_more_threads_differ_is_the_first_one() -> None:
    (found,) = repeat(LOGARITHMS, MANY, [Way("2 threads", Settings(threads=2))])
    assert found == Repeated("2 threads", 2, 2, ("'y' of Log 'log'",), 1)


@pytest.mark.upstream
def test_run_differs_in_a_value_that_no_output_shows() -> None:
    hidden = parse("(float[n] x) => (int64[k] z) { a = Abs(x) [log] y = Log(a) z = Shape(y) }")
    (found,) = repeat(hidden, MANY, [Way("2 threads", Settings(threads=2))], 1)
    assert found == Repeated("2 threads", 1, 1, ("'y' of Log 'log'",))


@pytest.mark.upstream
def test_optimizers_that_change_outputs_are_named() -> None:
    model = parse(
        """(float[2] x, float[2] y) => (float[2] z) <float one = {1}> {
        [invert] r = Div(one, x) [scale] z = Mul(r, y) }"""
    )
    given = {"x": np.array([3, 2], np.float32), "y": np.array([5, 2], np.float32)}
    found = repeat(model, given, [way for way in ways(PLAIN, 1, CPU) if "level" in way.name], 1)
    assert {(each.unequal, each.starts, each.optimizers) for each in found} == {
        (1, ("'z' of Mul 'scale'",), ("DivMulFusion",))
    }


def test_random_operators_draw_the_same_in_every_way() -> None:
    model = parse("(float[3] x) => (float[3] y) { [noise] r = RandomNormalLike(x) y = Add(x, r) }")
    with against_plain(model, {}, threads=1) as plain:
        found = list(repeat_runs(plain, list(ways(PLAIN, 1, CPU)), 1))
        assert plain.seeded == ("RandomNormalLike 'noise'",)
    assert not any(each.unequal for each in found)


class Dying(IsolatedRuns):
    """Runs each of which ends the process."""

    def run(self, *_: object, **__: object) -> Failed:
        return Failed("it dies", died=True)


def test_run_that_ends_early_differs_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    model = parse("(float[3] x) => (float[3] y) { y = Neg(x) }")
    with against_plain(model, {}, threads=1) as plain:
        own = "sonnx_ort.runs.diff.against_plain.IsolatedRuns"
        monkeypatch.setattr(own, Dying)
        way = Way("new process", PLAIN, new_process=True)
        (found,) = repeat_runs(plain, [way], 1)
    assert (found.unequal, found.starts) == (1, ())
    assert found.stops == ("it dies",)


def test_run_in_another_way_has_the_same_limits() -> None:
    model = parse("(float[3] x) => (float[3] y) { y = Neg(x) }")
    with against_plain(model, {}, threads=1) as plain:
        plain.runs.limits = Limits(1e-9)
        with pytest.raises(LimitExceeded):
            next(repeat_runs(plain, [Way("new process", PLAIN, new_process=True)], 1))


@pytest.mark.upstream
def test_model_whose_plain_run_ends_the_process_is_refused() -> None:
    model = parse("(int32[1] x, int32[1] y) => (int32[1] z) { z = Div(x, y) }")
    given = {"x": np.array([-(2**31)], np.int32), "y": np.array([-1], np.int32)}
    with pytest.raises(SonnxError) as caught:
        repeat(model, given, list(ways(PLAIN, 1, CPU)))
    assert str(caught.value) == (
        "the model does not run without optimizations: the process is killed by SIGFPE"
    )
