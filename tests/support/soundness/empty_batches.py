"""Runs that end the process at an empty batch, where nothing enforces that there is none."""

import contextlib
from collections.abc import Mapping
from typing import Any

import onnx
import onnxruntime as ort

from sonnx_ort.loading.file_traversal import all_nodes
from support.soundness.isolated import how_it_ends


def ends_at_an_lstm(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> bool:
    """Whether a run of a model with an LSTM ends the process; of other models nothing is tried."""
    if not any(node.op_type == "LSTM" for node in all_nodes(model)):
        return False
    content = model.SerializeToString()

    def run(given: Mapping[str, Any]) -> None:
        with contextlib.suppress(Exception):
            ort.InferenceSession(content).run(None, dict(given))

    return bool(how_it_ends(run, feeds))
