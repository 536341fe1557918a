"""What a model is tried with: sizes for its open axes, and a kind of data."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass


class Data(enum.StrEnum):
    """What the inputs hold."""

    RANDOM = "random"
    """Floats between -1 and 1, integers that fit into a byte."""

    ZEROS = "zeros"
    """Silence, or a black image: quotients of zeros come up."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run.

    Attributes:
        batch: The size of the axes that count examples.
        extents: The sizes of the other open axes, in the order in which they are declared.
        data: What the inputs hold.
    """

    batch: int
    extents: tuple[int, ...]
    data: Data = Data.RANDOM

    def __str__(self) -> str:
        """Name it for people."""
        sizes = " x ".join(map(str, self.extents))
        return f"batch of {self.batch}, {sizes}, {self.data}"


SEQUENCES: Sequence[Trial] = (
    Trial(1, (16000,)),  # a second of speech
    Trial(2, (24000,)),
    Trial(2, (8000,), Data.ZEROS),
    Trial(1, (576,)),  # a frame of a voice detector with its context
    Trial(2, (512,)),
    Trial(2, (576,), Data.ZEROS),
    Trial(3, (64,)),
)
"""For sound, text and everything else with axes in a row; realistic sizes come first."""

IMAGES: Sequence[Trial] = (
    Trial(1, (48, 320)),  # a line of text
    Trial(1, (320, 480)),  # a page; much larger ones need more memory than a small machine has
    Trial(2, (48, 192)),
    Trial(2, (64, 96)),
    Trial(1, (32, 64), Data.ZEROS),
    Trial(1, (48, 192), Data.ZEROS),
)
"""For inputs of four axes; realistic sizes come first."""
