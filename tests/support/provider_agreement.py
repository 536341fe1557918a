"""The native backend on an execution provider against the python backend on the CPU.

`python -m support.provider_agreement PROVIDER OPERATOR SEED DECLARATIONS` compares random models on
random feeds, and prints what it found as one line of JSON. To be run in a process of its own.
"""

import json
import logging
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field

import sonnx_ort
from sonnx_ort.rewriting.options import Backend
from support.agreement import (
    FEEDS_PER_DECLARATION,
    Declaration,
    RandomCases,
    assert_agreement,
    run,
)
from support.broadcasting import quiet
from support.plain_runs.run import Failure, failure_in

ASSIGNMENTS = "session.record_ep_graph_assignment_info"
"""The entry of session options that makes ONNX Runtime remember which provider runs a node."""


@dataclass(slots=True)
class Tally:
    """What was compared; where anything differed there is none.

    Attributes:
        models: How many models ran.
        runs: How many runs were compared.
        refused: How many of them broke a rule.
        assigned: How many Div and Sub nodes of an element type ran on a provider, by
            "Div float on CPUExecutionProvider".
    """

    models: int = 0
    runs: int = 0
    refused: int = 0
    assigned: dict[str, int] = field(default_factory=dict)


def compare_on(provider: str, operator: str, seed: int, declarations: int) -> Tally:
    """Compare outputs bit by bit, verdicts, and what the messages of refused runs tell.

    Args:
        provider: The name of the execution provider for the native backend.
        operator: "Div", "Sub" or "Broadcast".
        seed: The seed of the models and the feeds.
        declarations: How many models.
    """
    cases = RandomCases(operator, seed)
    tally = Tally()
    assigned: Counter[str] = Counter()
    for _ in range(declarations):
        declaration = cases.declaration()
        reference = declaration.session(Backend.PYTHON)
        if isinstance(reference, sonnx_ort.ModelRejected):
            continue
        native = _native(declaration, provider)
        tally.models += 1
        assigned.update(_assigned(native, declaration))
        for _ in range(FEEDS_PER_DECLARATION):
            feeds = cases.feeds(declaration)
            try:
                found = run(native, feeds)
                assert_agreement(operator, run(reference, feeds), found)
                if isinstance(found, sonnx_ort.ContractViolation):
                    _assert_told(found)
                    tally.refused += 1
            except Exception as error:
                error.add_note(f"{declaration}\n{feeds}")
                raise
            tally.runs += 1
    tally.assigned = dict(assigned)
    return tally


def _native(declaration: Declaration, provider: str) -> sonnx_ort.InferenceSession:
    options = quiet()
    options.add_session_config_entry(ASSIGNMENTS, "1")
    session = sonnx_ort.InferenceSession(
        declaration.model(),
        options,
        edition=declaration.edition,
        broadcast=declaration.broadcast,
        backend=Backend.NATIVE,
        providers=[provider],
    )
    # ONNX Runtime goes over to the CPU where it cannot make the provider.
    assert provider in session.get_providers(), f"{provider} is not to be had"
    return session


def _assigned(session: sonnx_ort.InferenceSession, declaration: Declaration) -> list[str]:
    element_type = declaration.element_types[0]
    return [
        f"{node.op_type} {element_type} on {part.ep_name}"
        for part in session.get_provider_graph_assignment_info()
        for node in part.get_nodes()
        if node.op_type in {"Div", "Sub"}
    ]


def _assert_told(violation: sonnx_ort.ContractViolation) -> None:
    """Assert that the message of ONNX Runtime itself tells operator, node and rule."""
    told = failure_in(str(violation.__cause__))
    assert told == Failure(violation.operator, violation.node, violation.rule)


def main() -> None:
    """Compare as the command line says."""
    provider, operator, seed, declarations = sys.argv[1:]
    # The kernels log each of the thousands of violations.
    logging.getLogger("sonnx_ort").setLevel(logging.CRITICAL)
    tally = compare_on(provider, operator, int(seed), int(declarations))
    print(json.dumps(asdict(tally)))


if __name__ == "__main__":
    main()
