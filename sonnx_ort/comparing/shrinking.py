"""Shrinks a model as long as it shows what is asked for: delta debugging over its nodes.

First parts of the graph are left out, halves before quarters (A. Zeller, R. Hildebrandt:
Simplifying and Isolating Failure-Inducing Input, 2002); values at the cuts become inputs. Then one
thing after the other, until nothing more can be taken away.
"""

from collections.abc import Callable, Sequence
from itertools import takewhile

from sonnx_ort.comparing.difference import exposed, trace
from sonnx_ort.comparing.isolated_run import Failed, IsolatedRuns, types_of_outputs
from sonnx_ort.comparing.smaller_models import AnyTrial, Known, Trial, smaller, with_nodes
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.source import read
from sonnx_ort.pipeline import require_serializable

MOST_TRIES = 3000
"""How many smaller models are tried at most."""


def shrink(
    trial: AnyTrial,
    shows: Callable[[AnyTrial], bool],
    known: Callable[[AnyTrial], Known],
    *,
    most_tries: int = MOST_TRIES,
) -> AnyTrial:
    """Take away from a model and its runs what is not needed.

    Args:
        trial: The model and its runs, which show what is asked for.
        shows: Whether a smaller one does so too; it need not be a valid model.
        known: What is known of the values of a model.
        most_tries: How many smaller ones are tried at most.

    Returns:
        The smallest that was found.
    """
    left = most_tries

    def found(candidate: AnyTrial | None) -> bool:
        """Whether a smaller trial shows it, and takes the place of the smallest."""
        nonlocal trial, left
        if candidate is None or left == 0:
            return False
        left -= 1
        if shown := shows(candidate):
            trial = candidate
        return shown

    before = None
    while trial is not before and left:
        before = trial
        if len(trial.model.graph.node) > 1:
            _leave_out_parts(trial, known(trial), found)
        while any(map(found, takewhile(lambda _: left > 0, smaller(trial)))):
            pass
    return trial


def _leave_out_parts(
    whole: AnyTrial, known: Known, found: Callable[[AnyTrial | None], bool]
) -> None:
    """Leave out as many nodes at a time as possible."""
    kept: Sequence[int] = range(len(whole.model.graph.node))
    size = len(kept) // 2
    while size:
        start = 0
        while start < len(kept):
            others = [*kept[:start], *kept[start + size :]]
            if found(with_nodes(whole, others, known)):
                kept = others
            else:
                start += size
        size = min(size, len(kept)) // 2


def known_values(trial: Trial, runs: IsolatedRuns) -> Known:
    """What unoptimized runs of a model compute, as far as they get, and the types of its values."""
    model = read(trial.model)
    try:
        values = [trace(model, feeds, runs).values for feeds in trial.runs]
    except SonnxError:  # ONNX Runtime takes no such inputs
        values = []
    content = require_serializable(exposed(trial.model, len(trial.model.graph.node)))
    types = runs.call(types_of_outputs, content)
    return Known(values, {} if isinstance(types, Failed) else types)
