"""Each of eight threads is told of its own violation, and of none of another's."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

import sonnx_ort
from support.backends import on_each_backend
from support.graphs import parse
from support.sessions import quiet

pytestmark = on_each_backend

THREADS = 8
ROUNDS = 30
SMALLEST = -(2**31)

_NODES = range(THREADS)
GRAPH = (
    f"({', '.join(f'int32[n] a{i}, int32[m] b{i}' for i in _NODES)}) => "
    f"({', '.join(f'int32[k] c{i}' for i in _NODES)})"
    f" {{ {' '.join(f'[node{i}] c{i} = Div(a{i}, b{i})' for i in _NODES)} }}"
)

Told = tuple[object, ...]


def feeds(thread: int, turn: int) -> tuple[dict[str, np.ndarray], Told]:
    """Feeds of which one node breaks a rule, and what is to be told of it."""
    size = thread + 2
    given = {f"{x}{i}": np.full(size, i + 1, np.int32) for i in _NODES for x in "ab"}
    node, index = (thread + turn) % THREADS, thread
    a, b = given[f"a{node}"], given[f"b{node}"]
    a[index] = 1000 * thread + turn
    match turn % 3:
        case 0:
            b[index] = 0
            told = ("Div.int.C1", (index,), (1000 * thread + turn, 0), ((size,), (size,)))
        case 1:
            a[index], b[index] = SMALLEST, -1
            told = ("Div.int.C2", (index,), (SMALLEST, -1), ((size,), (size,)))
        case _:
            for other in _NODES:
                given[f"b{other}"] = given[f"a{other}"] if other != node else b[:-1]
            told = ("Div.int.R1", None, None, ((size,), (size - 1,)))
    return given, (f"node{node}", *told)


@pytest.mark.parametrize("sessions", [1, THREADS], ids=["one session", "a session each"])
def test_each_thread_is_told_of_its_own_violation(sessions: int) -> None:
    model = parse(GRAPH)
    started = [
        sonnx_ort.InferenceSession(model, quiet(), verify_proofs=False) for _ in range(sessions)
    ]
    together = Barrier(THREADS)

    def break_rules(thread: int) -> list[tuple[Told, Told]]:
        pairs = []
        for turn in range(ROUNDS):
            given, expected = feeds(thread, turn)
            together.wait(60)
            with pytest.raises(sonnx_ort.ContractViolation) as caught:
                started[thread % sessions].run(None, given)
            found = caught.value
            told = (found.node, found.rule, found.index, found.values, found.shapes)
            pairs.append((told, expected))
        return pairs

    with ThreadPoolExecutor(THREADS) as pool:
        for pairs in pool.map(break_rules, range(THREADS)):
            assert [told for told, _ in pairs] == [expected for _, expected in pairs]
