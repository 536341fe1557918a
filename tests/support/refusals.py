"""What the functions that take a model say of one that each of them has to refuse."""

import onnx

import sonnx_ort


def refusals(model: onnx.ModelProto) -> list[str]:
    """What `check`, `rewrite` and a session say of a model, those that refuse it as invalid."""
    said = []
    for refuse in (sonnx_ort.check, sonnx_ort.rewrite, sonnx_ort.InferenceSession):
        try:
            refuse(model)
        except sonnx_ort.InvalidModel as error:
            said.append(str(error))
    return said
