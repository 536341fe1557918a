"""The native backend on an execution provider against the python backend on the CPU.

`python -m support.provider_agreement PROVIDER OPERATOR SEED DECLARATIONS` compares random models on
random feeds, and prints what it found as one line of JSON. To be run in a process of its own.
"""

import json
import logging
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field
from functools import partial

import sonnx_ort
from sonnx_ort.backends import Backend
from support.agreement import Declaration, agreeing_runs
from support.plain_runs.run import Failure, failure_in
from support.sessions import quiet

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
    tally = Tally()
    assigned: Counter[str] = Counter()
    native = partial(_native, provider=provider)
    for declaration, session, outcomes in agreeing_runs(operator, seed, declarations, native):
        violations = [o for o in outcomes if isinstance(o, sonnx_ort.ContractViolation)]
        for violation in violations:
            _assert_told(violation)
        tally.models += 1
        tally.runs += len(outcomes)
        tally.refused += len(violations)
        assigned.update(_assigned(session, declaration))
    tally.assigned = dict(assigned)
    return tally


def _native(
    declaration: Declaration, provider: str
) -> sonnx_ort.InferenceSession | sonnx_ort.ModelRejected:
    options = quiet()
    options.add_session_config_entry(ASSIGNMENTS, "1")
    session = declaration.session(Backend.NATIVE, options, providers=[provider])
    if isinstance(session, sonnx_ort.InferenceSession):
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
