"""Random nodes with subgraphs, and calls of model-local functions."""

from typing import Any

import numpy as np
import onnx
from onnx import helper

from support.soundness.arrays import Array
from support.soundness.network_nodes import NETWORK_KINDS
from support.soundness.random_nodes import KINDS, Kind, numeric, wide
from support.soundness.scope import DOMAIN, Scope

_DEEPEST = 2


def fill(scope: Scope, tries: int) -> None:
    """Try so many nodes, and leave out those that the nominal run fails in."""
    kinds = (*KINDS, *NETWORK_KINDS, *(_WITH_SUBGRAPHS if scope.depth < _DEEPEST else ()))
    for kind in scope.rng.choices(kinds, [kind.weight for kind in kinds], k=tries):
        kind.try_in(scope)


def if_(scope: Scope) -> None:
    """Add an If whose branches give a value of one type."""
    condition = _condition(scope)
    name = scope.pick(numeric)
    if name is None:
        return
    dtype = scope.values[name].dtype
    branches = [_branch(scope, dtype, side) for side in ("then", "else")]
    scope.add("If", [condition], then_branch=branches[0], else_branch=branches[1])


def loop(scope: Scope, name: str) -> None:
    """Add a Loop with one state, and perhaps what it collects."""
    state, number, going = (scope.draft.fresh(stem) for stem in ("s", "i", "g"))
    initial = scope.values[name]
    body = scope.inner({number: np.array(0), going: np.array(True), state: initial})
    fill(body, scope.rng.randint(2, 5))
    still = _given_back(body, going)
    after = _given_back(body, _of_type(body, initial.dtype, state))
    collected = []
    if scope.chance(0.4):
        collected.append(_given_back(body, _of_type(body, initial.dtype, state)))
    graph = helper.make_graph(
        body.nodes,
        scope.draft.fresh("body"),
        [_scalar(number, "int64"), _scalar(going, "bool"), _declared(state, body)],
        [
            *(_declared(output, body) for output in (still, after)),
            *(_declared(output, body, ranked=scope.chance(0.5)) for output in collected),
        ],
    )
    trips = scope.constant(np.array(scope.rng.choice([0, 1, 1, 2, 2, 3])))
    if scope.chance(0.3):
        trips = scope.pick(_small_scalar) or trips
    scope.add("Loop", [trips, "", name], outputs=1 + len(collected), body=graph)


def scan(scope: Scope) -> None:
    """Add a Scan with one state over one sequence."""
    name = scope.pick(wide)
    sequence = scope.pick(lambda array: wide(array) and array.ndim > 0 and array.shape[0] > 0)
    if name is None or sequence is None:
        return
    state, element = scope.draft.fresh("s"), scope.draft.fresh("e")
    body = scope.inner({state: scope.values[name], element: scope.values[sequence][0]})
    fill(body, scope.rng.randint(2, 5))
    after = _given_back(body, _of_type(body, scope.values[name].dtype, state))
    scanned = _given_back(body, _of_type(body, scope.values[sequence].dtype, element))
    graph = helper.make_graph(
        body.nodes,
        scope.draft.fresh("body"),
        [_declared(state, body), _declared(element, body)],
        [_declared(output, body) for output in (after, scanned)],
    )
    scope.add("Scan", [name, sequence], outputs=2, body=graph, num_scan_inputs=1)


def call(scope: Scope) -> None:
    """Add a call of a model-local function, a new one or one that there is."""
    names = [scope.pick(numeric) for _ in range(scope.rng.randint(1, 2))]
    arguments = [name for name in names if name is not None]
    if not arguments:
        return
    dtypes = [scope.values[name].dtype for name in arguments]
    known = [name for name, taken in scope.draft.parameters.items() if taken == dtypes]
    if known and scope.chance(0.5):
        scope.add(scope.rng.choice(known), arguments, domain=DOMAIN)
        return
    parameters = {scope.draft.fresh("p"): scope.values[name] for name in arguments}
    body = scope.inner(parameters, isolated=True)
    fill(body, scope.rng.randint(2, 5))
    if not body.made:
        return
    result = scope.rng.choice(list(body.made))
    name = scope.draft.fresh("fun")
    scope.draft.functions.append(
        helper.make_function(
            DOMAIN, name, list(parameters), [result], body.nodes, scope.draft.imports()
        )
    )
    scope.draft.parameters[name] = dtypes
    scope.add(name, arguments, domain=DOMAIN)


def _branch(scope: Scope, dtype: np.dtype[Any], side: str) -> onnx.GraphProto:
    body = scope.inner({})
    fill(body, scope.rng.randint(1, 4))
    fallback = scope.rng.choice([n for n, a in scope.values.items() if a.dtype == dtype])
    result = _given_back(body, _of_type(body, dtype, fallback))
    return helper.make_graph(
        body.nodes, scope.draft.fresh(f"{side}_branch"), [], [_declared(result, body)]
    )


def _condition(scope: Scope) -> str:
    fits = scope.pick(lambda array: array.dtype == np.bool_ and array.ndim == 0)
    if fits is not None and scope.chance(0.8):
        return fits
    return scope.constant(np.array(scope.chance(0.5)))


def _small_scalar(array: Array) -> bool:
    return array.dtype == np.int64 and array.ndim == 0 and bool(array < 4)


def _of_type(body: Scope, dtype: np.dtype[Any], fallback: str) -> str:
    """A value of that type: one that the subgraph made, if there is any."""
    own = [name for name, made in body.made.items() if made == dtype]
    return body.rng.choice(own[-3:]) if own else fallback


def _given_back(body: Scope, name: str) -> str:
    """An output of the subgraph: a value that nothing else is."""
    copy = body.draft.fresh("o")
    node = helper.make_node("Identity", [name], [copy], name=body.draft.fresh("identity"))
    body.nodes.append(node)
    array = body.values.get(name)
    if array is not None:
        body.values[copy] = array
    body.made[copy] = body.made[name] if name in body.made else body.values[name].dtype
    return copy


def _declared(name: str, body: Scope, *, ranked: bool = False) -> onnx.ValueInfoProto:
    """Declare a value without its shape, or with open sizes as exporters do."""
    dtype = body.made[name] if name in body.made else body.values[name].dtype
    array = body.values.get(name)
    shape = (
        [f"{name}_{axis}" for axis in range(array.ndim)] if ranked and array is not None else None
    )
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)


def _scalar(name: str, dtype: str) -> onnx.ValueInfoProto:
    """ONNX Runtime demands the rank of what a Loop counts and asks."""
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), ())


_WITH_SUBGRAPHS = (Kind(3, if_), Kind(3, loop, wide), Kind(1, scan), Kind(3, call))
