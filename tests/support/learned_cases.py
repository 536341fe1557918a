"""Cases of templates of ai.onnx.ml, but for trees."""

from support.decomposed import Case

WEIGHTS = "coefficients = [1.0, -2.0, 0.5, 3.0, 0.25, -1.0, 2.0, 1.5, -0.75]"
LABELS = f"classlabels_ints = [4, 7, 9], {WEIGHTS}, intercepts = [0.5, -1.0, 0.25]"


def learned(operator: str, attributes: str, shape: str, **fields: object) -> Case:
    node = f"A = ai.onnx.ml.{operator} <{attributes}>(X)"
    return Case(node, (shape,), **{"dtypes": ("float",), "result": "float[a,b]", **fields})


VECTORS = "support_vectors = [1.0, 0.5, -2.0, 0.25, 0.5, 3.0, -1.0, 1.0], rho = [{}]"
MACHINE = "n_supports = 4, coefficients = [1.0, -0.5, 0.25, -2.0], " + VECTORS.format("0.5")


def machine(labels: int, sizes: list[int], rho: str, kernel: str) -> Case:
    weights = [0.5, -1.0, 0.25, 2.0, -0.75, 1.5, -0.25, 1.0][: 4 * (labels - 1)]
    attributes = (
        f"classlabels_ints = {[4, 7, 9][:labels]}, vectors_per_class = {sizes}, {kernel}, "
        f"coefficients = {weights}, {VECTORS.format(rho)}"
    )
    node = f"A, B = ai.onnx.ml.SVMClassifier <{attributes}>(X)"
    shape = ("n,2",)
    return Case(node, shape, ("float",), "int64[n]", (11, 17), further="float[n,b]", near=1e-5)


LINEAR = 'kernel_type = "LINEAR", kernel_params = [0.25, 0.0, 3.0]'
RADIAL = 'kernel_type = "RBF", kernel_params = [0.25, 0.0, 3.0]'
MACHINES = [
    *(learned("SVMRegressor", f"{MACHINE}, {each}", "n,2", near=1e-5) for each in (LINEAR, RADIAL)),
    *(machine(2, [2, 2], "0.125", each) for each in (LINEAR, RADIAL)),
    *(machine(3, [1, 2, 1], "0.125, -0.5, 0.25", each) for each in (LINEAR, RADIAL)),
]

LEARNED = [
    learned("Scaler", "offset = [1.0, 2.0], scale = [0.5, 3.0]", "n,2"),
    learned("Scaler", "offset = [1.0], scale = [0.5]", "n,3"),
    learned("Scaler", "offset = [1.0], scale = [0.5]", "n,3", dtypes=("double", "int64"),
        near=1e-6),
    learned("Binarizer", "threshold = 0.5", "n,2", near=1e-30),
    learned("Imputer", "imputed_value_int64s = [5], replaced_value_int64 = 3", "n,2",
        dtypes=("int64",), result="int64[a,b]"),
    learned("Imputer", "imputed_value_floats = [5.0, 6.0], replaced_value_float = 1.0", "n,2",
        near=1e-30),
    *(learned("Normalizer", f'norm = "{norm}"', "n,3", near=1e-6) for norm in ("L1", "L2")),
    learned("LinearRegressor", f"targets = 3, {WEIGHTS}, intercepts = [0.5, -1.0, 0.25]", "n,3",
        near=1e-5),
    *(
        Case(f'A, B = ai.onnx.ml.LinearClassifier <post_transform = "{each}", {LABELS}>(X)',
            ("n,3",), ("float",), "int64[n]", further="float[n,3]", near=1e-5)
        for each in ("NONE", "LOGISTIC", "SOFTMAX")
    ),
    Case("A = ai.onnx.ml.ArrayFeatureExtractor(X, K)", ("n,5",), ("float", "int64"), "T[a,b]",
        constants={"K": [3, 0]}),
    Case("A = ai.onnx.ml.FeatureVectorizer <inputdimensions = [2, 3]>(X, Y)", ("n,2", "n,3"),
        ("float",), "float[a,b]"),
    learned("OneHotEncoder", "cats_int64s = [0, 2, 5], zeros = 1", "n,2", dtypes=("int64",),
        result="float[a,b,c]"),
]  # fmt: skip
LEARNED += MACHINES
"""The cases of operators of ai.onnx.ml without trees."""
