"""Shrinks a model as long as it shows what is asked for: delta debugging over its nodes.

First parts of the graph are left out, halves before quarters (A. Zeller, R. Hildebrandt:
Simplifying and Isolating Failure-Inducing Input, 2002); values at the cuts become inputs. Then one
thing after the other, until nothing more can be taken away.
"""

from collections.abc import Callable, Sequence
from typing import Generic

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
    search = _Search(trial, shows, most_tries)
    before = None
    while search.trial is not before:
        before = search.trial
        if len(before.model.graph.node) > 1:
            search.leave_out_parts(known(before))
        search.leave_out_one_by_one()
    return search.trial


class _Search(Generic[AnyTrial]):
    """The smallest trial so far, and how many may still be tried."""

    def __init__(self, trial: AnyTrial, shows: Callable[[AnyTrial], bool], most_tries: int) -> None:
        self.trial, self._shows, self._left = trial, shows, most_tries

    def _found(self, candidate: AnyTrial | None) -> bool:
        """Whether a smaller trial shows it, and takes the place of the smallest."""
        if candidate is None or self._left == 0:
            return False
        self._left -= 1
        if not self._shows(candidate):
            return False
        self.trial = candidate
        return True

    def leave_out_parts(self, known: Known) -> None:
        """Leave out as many nodes at a time as possible."""
        whole = self.trial
        kept: Sequence[int] = range(len(whole.model.graph.node))
        size = len(kept) // 2
        while size:
            start = 0
            while start < len(kept):
                others = [*kept[:start], *kept[start + size :]]
                if self._found(with_nodes(whole, others, known)):
                    kept = others
                else:
                    start += size
            size = min(size, len(kept)) // 2

    def leave_out_one_by_one(self) -> None:
        """Leave out one thing at a time."""
        candidates = smaller(self.trial)
        while self._left and (candidate := next(candidates, None)) is not None:
            if self._found(candidate):
                candidates = smaller(self.trial)


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
