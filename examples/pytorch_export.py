"""A PyTorch model, exported, made to keep to the profile, and run: needs `torch` and `onnxscript`.

Both inputs have `n` rows. PyTorch and ONNX Runtime alike would repeat a single row of `scale`.
"""

import numpy as np
import torch

import sonnx_ort


class Scaling(torch.nn.Module):
    """Centers rows of three numbers, and divides each by its own scale."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, rows: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        """Give one row for each row."""
        return (rows - self.mean) / scale


def main() -> None:
    """Export the model, enforce the profile natively, and break a rule in a run."""
    program = torch.onnx.export(
        Scaling().eval(),
        (torch.ones(2, 3), torch.ones(2, 3)),
        input_names=["rows", "scale"],
        output_names=["scaled"],
        dynamic_shapes={"rows": {0: torch.export.Dim("n")}, "scale": {0: torch.export.Dim("n")}},
        dynamo=True,
        verbose=False,
    )
    model = program.model_proto

    report = sonnx_ort.check(model)
    for obligation in report.violations:
        print(f"as exported: {obligation.rule.id} at {obligation.node}: {obligation.evidence}")

    # The row `mean` is repeated by the profile's own operator, and `n` is one number.
    session = sonnx_ort.InferenceSession(model, broadcast="explicit", backend="native")
    rows = np.array([[3, 4, 5], [5, 6, 7]], np.float32)
    scale = np.array([[2, 2, 2], [4, 4, 4]], np.float32)
    print("enforced:", session.run(None, {"rows": rows, "scale": scale})[0].tolist())
    try:
        session.run(None, {"rows": rows, "scale": scale[:1]})
    except sonnx_ort.ContractViolation as violation:
        print("refused:", violation)


if __name__ == "__main__":
    main()
