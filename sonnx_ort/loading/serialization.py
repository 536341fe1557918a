"""Says what cannot be written of a model that could be read."""

from collections.abc import Iterator
from contextlib import contextmanager

import onnx_ir as ir

from sonnx_ort.errors import InvalidModel


@contextmanager
def serializable() -> Iterator[None]:
    """Tell of a part that the graph library reads and does not write, such as a broken text.

    Raises:
        InvalidModel: There is one.
    """
    try:
        yield
    except ir.serde.SerdeError as error:
        raise InvalidModel(f"the model cannot be written: {innermost(error)}") from error


def innermost(error: BaseException) -> str:
    """What an error says that others were raised from.

    Args:
        error: The last of them.
    """
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error)
