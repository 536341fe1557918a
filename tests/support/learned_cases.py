"""Cases of templates of ai.onnx.ml: ensembles of trees, and all others."""

from collections.abc import Sequence

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
    learned("Binarizer", "threshold = 0.5", "n,2"),
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


def trees(mode: str = "BRANCH_LEQ", **further: object) -> str:
    """The attributes of two trees, of depth 2 and 1, that read three features."""
    modes = [mode, "LEAF", mode, "LEAF", "LEAF", mode, "LEAF", "LEAF"]
    given = {
        "nodes_treeids": [0, 0, 0, 0, 0, 1, 1, 1],
        "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
        "nodes_featureids": [0, 0, 2, 0, 0, 1, 0, 0],
        "nodes_values": [0.5, 0.0, -0.25, 0.0, 0.0, 0.0, 0.0, 0.0],
        "nodes_modes": "[" + ", ".join(f'"{each}"' for each in modes) + "]",
        "nodes_truenodeids": [1, 0, 3, 0, 0, 1, 0, 0],
        "nodes_falsenodeids": [2, 0, 4, 0, 0, 2, 0, 0],
    }
    return ", ".join(f"{name} = {value}" for name, value in (given | further).items() if value)


def leaves(kind: str, ids: Sequence[int], weights: Sequence[float]) -> dict[str, object]:
    """The attributes of the weights of the five leaves, one for each of the results."""
    rows = list(zip([0, 0, 0, 1, 1], [1, 3, 4, 1, 2], weights, strict=True))
    return {
        f"{kind}_treeids": [tree for tree, _, _ in rows for _ in ids],
        f"{kind}_nodeids": [node for _, node, _ in rows for _ in ids],
        f"{kind}_ids": list(ids) * len(rows),
        f"{kind}_weights": [weight + index / 8 for _, _, weight in rows for index in ids],
    }


SHARES, SIGNED = [0.1, 0.4, 0.3, 0.2, 0.5], [0.7, -1.5, 0.25, -0.5, 2.0]
ONE_TARGET = leaves("target", [0], SIGNED) | {"n_targets": 1}
TWO_TARGETS = leaves("target", [0, 1], SIGNED) | {"n_targets": 2}


def classified(labels: Sequence[int], ids: Sequence[int], weights: Sequence[float], **further):
    given = {**leaves("class", ids, weights), "classlabels_int64s": list(labels), **further}
    node = f"A, B = ai.onnx.ml.TreeEnsembleClassifier <{trees(**given)}>(X)"
    shape = f"float[n,{len(labels)}]"
    return Case(node, ("n,3",), ("float",), "int64[n]", further=shape, near=1e-6)


def ensemble(dtype: str, results: int = 1, **further: object) -> Case:
    """A case of two trees whose leaves are numbered apart from the nodes."""
    given = {
        "tree_roots": [0, 2],
        "nodes_featureids": [0, 2, 1],
        "nodes_splits": f"{dtype}[3] {{0.5, -0.25, 0.0}}",
        "nodes_modes": "uint8[3] {0, 0, 0}",
        "nodes_truenodeids": [0, 1, 3],
        "nodes_trueleafs": [1, 1, 1],
        "nodes_falsenodeids": [1, 2, 4],
        "nodes_falseleafs": [0, 1, 1],
        "leaf_targetids": [0, results - 1, 0, results - 1, 0],
        "leaf_weights": f"{dtype}[5] {{0.7, -1.5, 0.25, -0.5, 2.0}}",
        "n_targets": results,
    }
    text = ", ".join(f"{name} = {value}" for name, value in (given | further).items())
    node = f"A = ai.onnx.ml.TreeEnsemble <{text}>(X)"
    return Case(node, ("n,3",), (dtype,), f"T[n,{results}]", near=1e-6)


FIVE = [
    *(
        ensemble(dtype, results, nodes_modes=f"uint8[3] {{{mode}, {mode}, {mode}}}")
        for dtype in ("float", "double")
        for results in (1, 2)
        for mode in range(5)
    ),
    ensemble("float", aggregate_function=0),
]

TREES = [
    *(
        learned("TreeEnsembleRegressor", trees(mode, **ONE_TARGET), "n,3", near=1e-6)
        for mode in ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE", "BRANCH_EQ")
    ),
    learned("TreeEnsembleRegressor",
        trees(**TWO_TARGETS, aggregate_function='"AVERAGE"', base_values=[1.0, -2.0]),
        "n,3", near=1e-6),
    *(
        classified([4, 7, 9], [0, 1, 2], SIGNED, post_transform=f'"{each}"')
        for each in ("NONE", "LOGISTIC", "SOFTMAX")
    ),
    classified([4, 7], [0], SHARES),
    classified([4, 7], [1], SHARES),
    classified([4, 7], [1], SIGNED),
    classified([4, 7], [0], SIGNED, post_transform='"LOGISTIC"'),
    classified([4, 7], [0], SIGNED, post_transform='"LOGISTIC"', base_values=[-0.75]),
    classified([4, 7], [0], SHARES, base_values=[-0.25]),
    *FIVE,
]  # fmt: skip
