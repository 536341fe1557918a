"""`check`: every obligation of a model, proved, left to the run, or violated."""

from sonnx_ort.analysis.identity import identify
from sonnx_ort.analysis.obligations import Examination, examine
from sonnx_ort.analysis.report import Report
from sonnx_ort.loading.canonical import LoadedModel, load
from sonnx_ort.loading.choice import choose
from sonnx_ort.loading.collector import collector_paused
from sonnx_ort.loading.source import ModelSource
from sonnx_ort.profile.broadcasting import Broadcasting
from sonnx_ort.profile.edition import Edition


def check(model: ModelSource, *, edition: str = "typed", broadcast: str = "reject") -> Report:
    """Find, for every rule at every node, whether it holds in every run, and why.

    Runs nothing, and loads no weights. `rewrite` rejects a model exactly if this report has
    violations.

    Args:
        model: A path, the bytes of a file, an `onnx.ModelProto` or an `onnx_ir.Model`; it is not
            modified.
        edition: "typed" or "preliminary".
        broadcast: "reject" or "explicit".

    Raises:
        InvalidModel: It is no readable, valid ONNX model.
        SonnxError: An option is unknown.
    """
    chosen = choose(Edition, "edition", edition)
    broadcasting = choose(Broadcasting, "broadcast", broadcast)
    with collector_paused():
        return examine_loaded(load(model), chosen, broadcasting).report


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
