"""What optimizers may make of a graph where a proof rests on numbers."""

from sonnx_ort.ort.optimized_numbers import MADE, REMOVED


def test_no_product_sum_or_normalization_is_said_to_be_removed():
    """Whoever removes one has changed other numbers for it."""
    assert REMOVED.isdisjoint({"Add", "BatchNormalization", "Conv", "Div", "MatMul", "Mul", "Sub"})


def test_no_convolution_is_made_of_a_product_or_a_normalization():
    made = [operators for (_, name), operators in MADE.items() if name == "FusedConv"]
    assert made
    assert all({"Mul", "BatchNormalization"}.isdisjoint(operators) for operators in made)
