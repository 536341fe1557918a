"""Exports a small convolutional network of PyTorch to `cnn.onnx`: needs `torch` and `onnxscript`.

The network sorts images of 8 x 8 pixels into ten classes. Its weights are random.
"""

import torch


class Classifier(torch.nn.Module):
    """Two convolutions and a fully connected layer, with the mean and deviation of its images."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(0.3))
        self.register_buffer("deviation", torch.tensor(0.4))
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(1, 4, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(4, 8, 3, padding=1),
            torch.nn.BatchNorm2d(8),
            torch.nn.Hardswish(),
            torch.nn.Flatten(),
            torch.nn.Linear(8 * 4 * 4, 10),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Give the number of the class of each image."""
        normalized = (images - self.mean) / self.deviation
        return self.layers(normalized).argmax(dim=1)


def main() -> None:
    """Export the network for any number of images."""
    torch.manual_seed(0)
    torch.onnx.export(
        Classifier().eval(),
        (torch.zeros(2, 1, 8, 8),),
        "cnn.onnx",
        input_names=["images"],
        output_names=["classes"],
        dynamic_shapes={"images": {0: torch.export.Dim("n")}},
        external_data=False,
        dynamo=True,
        verbose=False,
    )


if __name__ == "__main__":
    main()
