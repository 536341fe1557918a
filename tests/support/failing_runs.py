"""Runs that break a rule, told fast enough that each element of a small type can have its own."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import Fail

import sonnx_ort
from sonnx_ort.runtime.violations import NOT_RENAMED, violation_behind
from support import ort_values
from support.sessions import on_one_thread


def plain_session(model: onnx.ModelProto, **choices: Any) -> ort.InferenceSession:
    """Start a session of ONNX Runtime's own, which does not ask why a run failed.

    Args:
        model: A model that is not rewritten.
        **choices: As for `sonnx_ort.rewrite`.
    """
    enforced = sonnx_ort.rewrite(model, operators="all", **choices).SerializeToString()
    return ort.InferenceSession(enforced, sonnx_ort.register(on_one_thread("none")))


def rule_broken_by(
    session: ort.InferenceSession, feeds: Mapping[str, np.ndarray[Any, Any]]
) -> str | None:
    """Run a model, which has to fail, and give the rule that it fails for.

    Args:
        session: A session of `plain_session`.
        feeds: The inputs.
    """
    with pytest.raises(Fail) as caught:
        ort_values.run(session, feeds)
    found = violation_behind(str(caught.value), NOT_RENAMED)
    assert isinstance(found, sonnx_ort.ContractViolation), caught.value
    return found.rule
