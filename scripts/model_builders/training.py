"""Trains the classifier of `digits.py`; the only part that needs scikit-learn."""

import numpy as np

from model_builders.digits import TRAINED

HELD_OUT = 0.2
HIDDEN_UNITS = 32
RANDOM_STATE = 0


def train() -> str:
    """Train on scikit-learn's digits and write what `digits.py` builds from.

    Returns:
        One sentence on the result.

    Raises:
        ImportError: scikit-learn is not installed.
    """
    from sklearn.datasets import load_digits  # noqa: PLC0415 - an optional dependency
    from sklearn.model_selection import train_test_split  # noqa: PLC0415
    from sklearn.neural_network import MLPClassifier  # noqa: PLC0415

    pixels, labels = load_digits(return_X_y=True)
    learnt, held_out, learnt_labels, held_out_labels = train_test_split(
        pixels.astype(np.float32),
        labels,
        test_size=HELD_OUT,
        random_state=RANDOM_STATE,
        stratify=labels,
    )
    mean, std = learnt.mean(axis=0), learnt.std(axis=0)
    # A pixel that is the same in every image carries nothing; dividing it by 1 keeps it finite.
    std[std == 0] = 1
    classifier = MLPClassifier((HIDDEN_UNITS,), random_state=RANDOM_STATE, max_iter=400)
    classifier.fit((learnt - mean) / std, learnt_labels)
    predicted = classifier.predict((held_out - mean) / std)
    (weights_1, weights_2), (bias_1, bias_2) = classifier.coefs_, classifier.intercepts_
    TRAINED.parent.mkdir(exist_ok=True)
    np.savez(
        TRAINED,
        mean=mean,
        std=std,
        weights_1=weights_1.astype(np.float32),
        bias_1=bias_1.astype(np.float32),
        weights_2=weights_2.astype(np.float32),
        bias_2=bias_2.astype(np.float32),
        pixels=held_out.astype(np.uint8),
        labels=held_out_labels.astype(np.int64),
        predicted=predicted.astype(np.int64),
    )
    correct = int(np.sum(predicted == held_out_labels))
    return f"trained on {len(learnt)} images; {correct} of {len(held_out)} held-out ones are right"
