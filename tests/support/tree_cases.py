"""Cases of templates of ensembles of trees."""

from collections.abc import Sequence

from support.decomposed import Case
from support.learned_cases import learned


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
