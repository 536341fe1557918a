"""Runs a model to learn whether its inputs suit it; in a process of its own, which it may end."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx import helper

from sonnx_ort.comparing.isolated_run import profile_of
from sonnx_ort.loading.traversal import all_nodes
from sonnx_ort.runtime.session_options import temporary_folder

_KERNEL = "kernel_shape"
_SUFFIX = "_kernel_time"
"""What ONNX Runtime's profile appends to the name of a node."""


def count_defects(model: bytes, folder: Path | None, feeds: Mapping[str, Any]) -> int:
    """Run a model, and count what too small inputs cause: empty results, and misfitting windows.

    Of a window that is larger than its padded operand, ONNX Runtime pools an element all the same.

    Args:
        model: The model.
        folder: That of its external data; None if it has none.
        feeds: Its inputs.

    Raises:
        Exception: It does not run.
    """
    proto = onnx.load_from_string(model)
    windows = _name_windows(proto)
    with temporary_folder() as place:
        profile = profile_of(proto.SerializeToString(), folder, feeds, place)
        events = json.loads(profile.read_text(encoding="utf-8", errors="replace"))
    empty = sum(0 in shape for event in events for shape in _shapes(event, "output"))
    return empty + sum(_misfits(event, windows) for event in events)


def _name_windows(model: onnx.ModelProto) -> dict[str, Mapping[str, Any]]:
    """Give the nodes that have windows names of their own, and find their attributes."""
    found: dict[str, Mapping[str, Any]] = {}
    for number, node in enumerate(all_nodes(model)):
        attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        if _KERNEL in attributes:
            node.name = f"window {number}"
            found[node.name] = attributes
    return found


def _misfits(event: Mapping[str, Any], windows: Mapping[str, Mapping[str, Any]]) -> bool:
    attributes = windows.get(str(event.get("name", "")).removesuffix(_SUFFIX))
    shape = next(_shapes(event, "input"), None)
    if attributes is None or shape is None or attributes.get("auto_pad", b"NOTSET") != b"NOTSET":
        return False
    kernel: Sequence[int] = attributes[_KERNEL]
    steps = attributes.get("dilations", [1] * len(kernel))
    pads = attributes.get("pads", [0] * 2 * len(kernel))
    return any(
        size + before + behind < (width - 1) * step + 1
        for size, before, behind, width, step in zip(
            shape[2:], pads, pads[len(kernel) :], kernel, steps, strict=False
        )
    )


def _shapes(event: Mapping[str, Any], of: str) -> Iterator[list[int]]:
    """The shapes of the tensors that a node reads or gives, as ONNX Runtime's profile has them."""
    for tensor in event.get("args", {}).get(f"{of}_type_shape", []):
        yield from tensor.values()
