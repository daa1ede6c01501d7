"""Data sets that ship with scikit-learn, and the two losses of boosting on them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array

DATA = {"diabetes": "squared", "breast_cancer": "logistic", "digits": "logistic"}
SMOOTHNESS = {"squared": 1.0, "logistic": 0.25}
"""L of each loss in function space, where every example has a value of its own: 1/L is the step of the theory."""


class Sample(NamedTuple):
    """A data set.

    Attributes
    ----------
    X
        (n, features)
    y
        (n,), real for the loss "squared" and -1 or +1 for "logistic"
    loss
        "squared" or "logistic"
    """

    X: Array
    y: Array
    loss: str


def load_sample(data: str) -> Sample:
    """Real data that ship with scikit-learn.

    Parameters
    ----------
    data
        "diabetes", 442 patients, 10 features, progression of the disease in deviations from its mean;
        "breast_cancer", 569 tumours, 30 features, malignant (-1) or benign (+1);
        "digits", 1797 images of 64 pixels, odd (-1) or even (+1) digit

    Returns
    -------
    Sample
        the data set with its loss.

    Raises
    ------
    ValueError
        for other names.
    ImportError
        without scikit-learn.
    """
    name = arguments.choice("data", data, tuple(DATA))
    try:
        from sklearn import datasets
    except ImportError as error:
        raise ImportError("the data sets need scikit-learn, which carries them: pip install scikit-learn") from error
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    if name == "diabetes":
        y = (y - y.mean()) / y.std()
    else:
        y = np.where((y % 2 == 0) if name == "digits" else y == 1, 1.0, -1.0)
    return Sample(np.asarray(X, float), np.asarray(y, float), DATA[name])


def mean_loss(F: Array, y: Array, loss: str) -> Array:
    """(F - y)^2 / 2 or ln(1 + e^(-y F)), averaged over the last axis.

    Parameters
    ----------
    F, y
        (..., n), predictions and targets
    loss
        "squared" or "logistic"

    Returns
    -------
    ndarray
        (...).
    """
    each = (F - y) ** 2 / 2 if loss == "squared" else np.logaddexp(0.0, -y * F)
    return each.mean(axis=-1)


def pseudo_residual(F: Array, y: Array, loss: str) -> Array:
    """Minus the derivative of the loss in F, example by example.

    Parameters
    ----------
    F, y, loss
        as in ``mean_loss``

    Returns
    -------
    ndarray
        (..., n).
    """
    return y - F if loss == "squared" else y * np.exp(-np.logaddexp(0.0, y * F))


def checked_pair(name: str, X: ArrayLike, target: str, y: ArrayLike, loss: str) -> tuple[Array, Array]:
    """Inputs (n, features) and targets (n,) that fit each other and the loss."""
    inputs, targets = arguments.finite(name, X), arguments.finite(target, y)
    if inputs.ndim < 2 or targets.shape != inputs.shape[:-1] or inputs.size == 0:
        raise ValueError(
            f"{name} of shape {inputs.shape} and {target} of shape {targets.shape} are not allowed: they must be "
            "(n, features) and (n,)."
        )
    if loss == "logistic" and not (np.abs(targets) == 1).all():
        raise arguments.refuse(target, float(targets[np.abs(targets) != 1][0]), "-1 or +1 for the logistic loss")
    return inputs, targets
