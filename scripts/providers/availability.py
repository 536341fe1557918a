"""Whether an execution provider really runs anything here."""

from collections.abc import Collection, Sequence

import onnxruntime
from benchmarks.workload import Setting, make_feeds, make_model

ASSIGNMENTS = "session.record_ep_graph_assignment_info"
"""The entry of session options that makes ONNX Runtime remember which provider runs a node."""

_FATAL_ONLY = 4


def why_not(
    provider: str, available: Collection[str] | None = None, version: str = onnxruntime.__version__
) -> str | None:
    """Say why nothing can be run on a provider; None if it can.

    A provider that is built in is not enough: without a device ONNX Runtime falls back to the CPU.

    Args:
        provider: Its name.
        available: The names of those that ONNX Runtime has.
        version: The version of ONNX Runtime.
    """
    offered: Sequence[str] = sorted(
        onnxruntime.get_available_providers() if available is None else available
    )
    if provider not in offered:
        return f"onnxruntime {version} has no {provider} here, only {', '.join(offered)}"
    setting = Setting("float32", 1)
    session = onnxruntime.InferenceSession(
        make_model(setting).SerializeToString(), options_with_assignments(), providers=[provider]
    )
    session.run(None, make_feeds(setting))
    if provider not in providers_of(session, "Div"):
        return (
            f"onnxruntime {version} has {provider}, but runs a Div elsewhere, as without a device"
        )
    return None


def options_with_assignments() -> onnxruntime.SessionOptions:
    """Session options under which a session knows which provider runs a node."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _FATAL_ONLY
    options.add_session_config_entry(ASSIGNMENTS, "1")
    return options


def providers_of(session: onnxruntime.InferenceSession, operator: str) -> set[str]:
    """The providers that run the nodes of an operator.

    Args:
        session: A session made with `options_with_assignments`.
        operator: The operator.
    """
    return {
        str(part.ep_name)
        for part in session.get_provider_graph_assignment_info()
        if any(node.op_type == operator for node in part.get_nodes())
    }


def operators_on(session: onnxruntime.InferenceSession, provider: str) -> list[str]:
    """The operators that a provider runs, each once.

    Args:
        session: A session made with `options_with_assignments`.
        provider: The provider.
    """
    parts = (p for p in session.get_provider_graph_assignment_info() if p.ep_name == provider)
    return sorted({str(node.op_type) for part in parts for node in part.get_nodes()})
