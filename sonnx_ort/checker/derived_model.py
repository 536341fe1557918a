"""A model of which all is established that follows, within a contract or without."""

from typing import TYPE_CHECKING

import onnx

from sonnx_ort.checker.model import Model
from sonnx_ort.facts.deriving import Watch, all_derived

if TYPE_CHECKING:
    from sonnx_ort.profile.contract import Contract


def established(
    proto: onnx.ModelProto, contract: "Contract | None" = None, watch: Watch = iter
) -> Model:
    """A model of which all is established that follows.

    Args:
        proto: The model.
        contract: What its values may be; None if nothing is said of them.
        watch: Is given the nodes of the main graph.

    Raises:
        Rejected: The file can be read in two ways, or the contract is of other values.
    """
    if not contract:
        return all_derived(lambda changing: Model(proto, changing), watch)
    # A certificate without a contract rests on nothing that reads contracts.
    from sonnx_ort.checker.contracts import Limited  # noqa: PLC0415

    return all_derived(lambda changing: Limited(proto, contract, changing), watch)
