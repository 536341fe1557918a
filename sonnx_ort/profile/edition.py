"""The two editions of the profile's operator documents."""

import enum


class Edition(enum.StrEnum):
    """Which draft of the operator documents a model is held to."""

    TYPED = "typed"
    """One section per group of types; x/0 and 0/0 on floats are the IEEE 754 results."""

    PRELIMINARY = "preliminary"
    """One section for all types; a zero divisor gives +inf on floats."""
