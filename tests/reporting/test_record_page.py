"""The page of a record: its verdict is that of the worst check."""

from collections import Counter

import pytest

from sonnx_ort.evidence.cyclonedx import Fulfilment
from sonnx_ort.reporting.record_page import _verdict
from sonnx_ort.reporting.verdict import NodeState


@pytest.mark.parametrize(("ways", "state", "word"), [
    ([Fulfilment.PROVED], NodeState.PROVED, "Kept"),
    ([Fulfilment.PROVED, Fulfilment.FIXED], NodeState.PROVED, "Kept"),
    ([Fulfilment.PROVED, Fulfilment.IN_RUN, Fulfilment.AT_START], NodeState.RUNTIME,
     "Kept, with 2 checks in each run"),
    ([Fulfilment.IN_RUN, Fulfilment.LEFT, Fulfilment.NOT_ENFORCED], NodeState.NOT_ASKED_FOR,
     "Open: no run of a recorded model checks 2"),
    ([Fulfilment.LEFT, Fulfilment.WAIVED], NodeState.VIOLATED, "Violated, and waived"),
    ([Fulfilment.WAIVED, Fulfilment.MISSED], NodeState.VIOLATED, "Violated"),
])  # fmt: skip
def test_verdict_is_that_of_the_worst_check(
    ways: list[Fulfilment], state: NodeState, word: str
) -> None:
    assert _verdict(Counter(ways)) == (state, word)
