"""A transformer layer of PyTorch, in a form of the profile: needs `torch` and `onnxscript`.

The profile has no LayerNormalization and no Gelu, and multiplies two matrices, not stacks of them.
"""

import numpy as np
import torch
from torch.nn import functional

import sonnx_ort


class OneSequence(torch.nn.Module):
    """A TransformerEncoderLayer, with the weights that it has, for a sequence of rows."""

    def __init__(self, layer: torch.nn.TransformerEncoderLayer) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Give one row for each row."""
        x = x + self.attend(normalize(x, self.layer.norm1))
        wide = functional.gelu(self.layer.linear1(normalize(x, self.layer.norm2)))
        return x + self.layer.linear2(wide)

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        """Let each head, one after the other, multiply its own matrices."""
        given = self.layer.self_attn
        projected = functional.linear(x, given.in_proj_weight, given.in_proj_bias)
        parts = (part.split(given.head_dim, -1) for part in projected.chunk(3, -1))
        heads = [
            torch.softmax(query @ key.T * given.head_dim**-0.5, -1) @ value
            for query, key, value in zip(*parts, strict=True)
        ]
        return given.out_proj(torch.cat(heads, -1))


def normalize(x: torch.Tensor, given: torch.nn.LayerNorm) -> torch.Tensor:
    """Compute what LayerNorm does, by operators that the profile has."""
    centered = x - x.mean(-1, keepdim=True)
    deviation = torch.sqrt((centered * centered).mean(-1, keepdim=True) + given.eps)
    return centered / deviation * given.weight + given.bias


def export(module: torch.nn.Module, rows: torch.Tensor) -> bytes:
    """Export a module for sequences of any length, with the newest opset without Gelu."""
    length = torch.export.Dim("length")
    program = torch.onnx.export(
        module.eval(),
        (rows,),
        input_names=["x"],
        output_names=["y"],
        dynamic_shapes=[{rows.dim() - 2: length}],
        opset_version=18,
        dynamo=True,
        verbose=False,
    )
    content: bytes = program.model_proto.SerializeToString()
    return content


def main() -> None:
    """Conform the layer as it is and in the other form, and run the latter."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(
        16, 2, 64, activation="gelu", norm_first=True, batch_first=True
    )
    rows = torch.randn(5, 16)

    conformed = sonnx_ort.conform(export(layer, rows[None]))
    print("the layer of PyTorch:", len(conformed.remaining), "violations left")
    for violation, _ in conformed.remaining:
        print(f"  {violation.rule.id} at {violation.operator}")

    model = export(OneSequence(layer), rows)
    print("for one sequence:", len(sonnx_ort.conform(model).remaining), "violations left")

    session = sonnx_ort.InferenceSession(
        model, operators="profile", broadcast="explicit", backend="native", conform=True
    )
    [enforced] = session.run(None, {"x": rows.numpy()})
    expected = layer(rows[None])[0].detach().numpy()
    print("the numbers of PyTorch:", np.allclose(enforced, expected, atol=1e-5))


if __name__ == "__main__":
    main()
