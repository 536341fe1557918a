"""Log a model with its record in MLflow; refuse what breaks the profile or differs from its record.

The native backend needs no custom operators, so that MLflow's own session runs the model.
"""

import tempfile
from pathlib import Path

import mlflow
import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort

import sonnx_ort

GRAPH = '<ir_version: 10, opset_import: ["": 20]> g '
RATIO = "(int32[n] total, int32[n] count) => (int32[n] mean) { [ratio] mean = Div(total, count) }"
SCALE = "(float[3] x, float[1] y) => (float[3] z) { [scale] z = Div(x, y) }"

OFF = "optimization.disable_specified_optimizers"
"""The session option that keeps optimizers from undoing what the rewritten model checks."""


def log(model: onnx.ModelProto, name: str) -> str:
    """Log the model that enforces the profile, with its record; give its address.

    Raises:
        sonnx_ort.ModelRejected: The model breaks the profile; nothing is logged.
    """
    options = sonnx_ort.register(ort.SessionOptions(), backend="native")
    with tempfile.TemporaryDirectory() as folder:
        source, enforced, record = (
            Path(folder, file) for file in ("source.onnx", "model.onnx", "record.json")
        )
        onnx.save(model, source)
        sonnx_ort.rewrite_file(source, enforced, backend="native", record=record)
        with mlflow.start_run():
            logged = mlflow.onnx.log_model(
                onnx.load(enforced),
                name=name,
                extra_files=[str(record)],
                onnx_execution_providers=["CPUExecutionProvider"],
                onnx_session_options={
                    "extra_session_config": {OFF: options.get_session_config_entry(OFF)}
                },
                pip_requirements=[f"onnxruntime=={ort.__version__}"],
                save_as_external_data=False,
            )
    return str(logged.model_uri)


def load(address: str) -> mlflow.pyfunc.PyFuncModel:
    """Load a logged model, if it is the one of its record.

    Raises:
        ValueError: It is not, or a new analysis gives another result.
    """
    folder = Path(mlflow.artifacts.download_artifacts(address))
    found = sonnx_ort.verify(folder / "model.onnx", folder / "extra_files" / "record.json")
    if not found.kept:
        raise ValueError(f"it differs from its record: {'; '.join(found.differences)}")
    return mlflow.pyfunc.load_model(str(folder))


def main() -> None:
    """Log a model and use it; try one that breaks the profile, and one that was changed."""
    address = log(onnx.parser.parse_model(GRAPH + RATIO), "mean")
    model = load(address)
    total, count = np.array([9, 8], np.int32), np.array([2, 4], np.int32)
    print("mean:", model.predict({"total": total, "count": count})["mean"])
    try:
        model.predict({"total": total, "count": count - 2})
    except Exception as refusal:  # noqa: BLE001 - that of ONNX Runtime has no public type
        print("refused in the run:", str(refusal).partition("Name:'")[2].partition(";")[0])
    try:
        log(onnx.parser.parse_model(GRAPH + SCALE), "scaled")
    except sonnx_ort.ModelRejected as rejected:
        print("refused to log:", str(rejected).splitlines()[1])
    file = Path(mlflow.artifacts.download_artifacts(address), "model.onnx")
    file.write_bytes(file.read_bytes().replace(b"ratio", b"Ratio"))
    try:
        load(str(file.parent))
    except ValueError as difference:
        print("refused to load:", str(difference).partition(":")[0])


if __name__ == "__main__":
    main()
