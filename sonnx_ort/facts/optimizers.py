"""Which graph optimizers of ONNX Runtime may act where something is proved of numbers.

The rules of intervals speak of the nodes of a file, and ONNX Runtime runs others. A proof that
rests on an interval holds in a session in which only those optimizers act that leave each number as
it is, or form numbers as a rule says. The others are switched off there, by name:

    Conv(x, 1e18) * 1e25     x is at most 1e-10, so that no number is above 1e33
    Conv(x, 1e18 * 1e25)     what ConvMulFusion makes of it: the product of the weights is infinite

The names are those of ONNX Runtime 1.23 to 1.32. An optimizer that is not here is not known to be
harmless: what it makes of a graph is an error, but for nodes that are known to be harmless. What
each does, which no verdict reads, is told in `sonnx_ort/ort/effects.py`.
"""

KEEPS = (
    *("CastElimination", "CommonSubexpressionElimination", "ConstantFolding", "ConstantSharing"),
    *("EliminateDropout", "EliminateIdentity", "EliminateSlice", "EnsureUniqueDQForNodeUnit"),
    *("ExpandElimination", "FreeDimensionOverrideTransformer"),
    *("FuseFp16InitializerToFp32NodeTransformer", "FuseReluClip", "GatherSliceToSplitFusion"),
    *("GatherToSliceFusion", "GqaValueLayoutTransformer", "Level1_RuleBasedTransformer"),
    *("Level2_RuleBasedTransformer", "MemcpyTransformer", "NotWhereFusion"),
    *("PreShapeNodeElimination", "ReshapeFusion", "SliceConcatToSpaceToDepthFusion"),
    *("TransposeOptimizer", "TransposeOptimizer_CPUExecutionProvider", "UnsqueezeElimination"),
)
"""Optimizers that keep every number: each comes from the same kernel."""

FORMS = (
    *("CastFloat16Transformer", "ConvActivationFusion", "ConvAddActivationFusion"),
    *("GemmActivationFusion", "GemmSumFusion", "MatMulAddFusion"),
    *("MatmulTransposeFusion", "NchwcTransformer", "RemoveDuplicateCastTransformer"),
)
"""Optimizers that form other numbers, which lie in the interval of the rule as well."""

MUST_BE_OFF = (
    *("AttentionFusion", "Avx2WeightS8ToU8Transformer", "BiasGeluFusion"),
    *("BiasSkipLayerNormFusion", "ClipQuantRewrite", "ConvAddFusion", "ConvBNFusion"),
    *("ConvMulFusion", "DivMulFusion", "DoubleQDQPairsRemover", "DQMatMulNBitsFusion"),
    *("DynamicQuantizeMatMulFusion", "EmbedLayerNormFusion", "FastGeluFusion", "GeluFusionL1"),
    *("GeluFusionL2", "GemmTransposeFusion", "LayerNormFusionL1", "LayerNormFusionL2"),
    *("MatMul_BatchNormalization_Fusion", "MatMulIntegerToFloatFusion", "MatMulNBitsFusion"),
    *("MatMulNBitsMlpFusion", "MatMulNBitsQkvFusion", "MatMulNBitsQLoRAFusion"),
    *("MatMulScaleFusion", "NhwcTransformer", "NoopElimination", "Pad_Fusion"),
    *("QDQFinalCleanupTransformer", "QDQPropagationTransformer", "QDQS8ToU8Transformer"),
    *("QDQSelectorActionTransformer", "QuickGeluFusion", "ReluQuantRewrite"),
    *("SimplifiedLayerNormFusion", "SkipLayerNormFusion", "SwiGluFusion", "WeightBiasQuantization"),
    *("WhereDummyDq",),
)
"""Optimizers that form numbers that no rule knows, or sum in another type.

They must not act where a proof rests on an interval.
"""

MAY_ACT = tuple(sorted((*KEEPS, *FORMS)))
"""The optimizers that may act there."""
