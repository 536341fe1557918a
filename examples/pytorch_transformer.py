"""A transformer layer of PyTorch, conformed and run: needs `torch` and `onnxscript`.

The profile has no LayerNormalization and no Gelu, and multiplies two matrices, not stacks of them.
"""

from collections import Counter

import numpy as np
import torch

import sonnx_ort


def export(module: torch.nn.Module, x: torch.Tensor) -> bytes:
    """Export a module for operands of one shape."""
    program = torch.onnx.export(
        module.eval(),
        (x,),
        input_names=["x"],
        output_names=["y"],
        opset_version=20,
        dynamo=True,
        verbose=False,
    )
    content: bytes = program.model_proto.SerializeToString()
    return content


def main() -> None:
    """Conform the layer, and run what is enforced."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(
        16, 2, 64, activation="gelu", norm_first=True, batch_first=True
    )
    x = torch.randn(1, 5, 16)

    conformed = sonnx_ort.conform(export(layer, x), rounding=True)
    titles = Counter(change.title for change in conformed.changes if change.safety == "rounding")
    for title, count in sorted(titles.items()):
        print(f"{count} x {title}")
    print("violations left:", len(conformed.remaining))

    session = sonnx_ort.InferenceSession(
        conformed.model, operators="profile", broadcast="explicit", backend="native"
    )
    [enforced] = session.run(None, {"x": x.numpy()})
    print("the numbers of PyTorch:", np.allclose(enforced, layer(x).detach().numpy(), atol=1e-5))


if __name__ == "__main__":
    main()
