"""From a loaded model to all that the profile demands of it."""

from sonnx_ort.analysis.identity import identify
from sonnx_ort.analysis.obligations import Examination, examine
from sonnx_ort.loading.canonical import LoadedModel
from sonnx_ort.profile.broadcasting import Broadcasting
from sonnx_ort.profile.edition import Edition


def examine_loaded(
    loaded: LoadedModel, edition: Edition, broadcasting: Broadcasting
) -> Examination:
    """Find all obligations of a loaded model.

    Args:
        loaded: The model.
        edition: The edition that it is held to.
        broadcasting: What becomes of operands of different shapes.
    """
    identity = identify(loaded.sha256, loaded.proto)
    return examine(loaded.graph_model, edition, broadcasting, identity)
