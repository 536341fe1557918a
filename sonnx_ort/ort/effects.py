"""What each optimizer of ONNX Runtime does to numbers, for readers.

The names are those of `sonnx_ort.facts.optimizers`.
"""

import enum
from collections.abc import Mapping
from types import MappingProxyType


class Effect(enum.Enum):
    """What an optimizer does to numbers."""

    KEEPS = "keeps every number"
    """It removes, moves, shares or copies, and each number comes from the same kernel."""

    FORMS = "forms numbers as a rule says"
    """It forms other numbers, which lie in the interval of the rule as well."""

    OFF = "must be off"
    """It forms numbers that no rule knows, or sums in another type."""

    ABSENT = "cannot meet a proof"
    """It acts on operators without rules, with other providers, or with refused options."""


_KEEPS = {
    "CastElimination": "removes a Cast to the type that the operand has",
    "CommonSubexpressionElimination": "computes equal nodes once; attributes 0 and -0 are equal",
    "ConstantFolding": "runs kernels before the run",
    "ConstantSharing": "stores equal constants once",
    "EliminateDropout": "removes a Dropout of inference",
    "EliminateIdentity": "removes an Identity",
    "EliminateSlice": "removes a Slice that takes everything",
    "EnsureUniqueDQForNodeUnit": "repeats a DequantizeLinear for each of its readers",
    "ExpandElimination": "removes an Expand to the shape that the operand has",
    "FreeDimensionOverrideTransformer": "gives sizes to axes that options name",
    "FuseFp16InitializerToFp32NodeTransformer": "converts constants of float16 before the run",
    "FuseReluClip": "clips at 0 instead of a Relu and a Clip",
    "GatherSliceToSplitFusion": "splits instead of several Gathers or Slices",
    "GatherToSliceFusion": "slices instead of gathering a range",
    "GqaValueLayoutTransformer": "stores a cache in another order",
    "Level1_RuleBasedTransformer": "applies optimizers that have names of their own",
    "Level2_RuleBasedTransformer": "applies optimizers that have names of their own",
    "MemcpyTransformer": "copies between devices",
    "NotWhereFusion": "exchanges the operands of a Where of a Not",
    "PreShapeNodeElimination": "removes a Cast before a Shape",
    "ReshapeFusion": "joins Reshapes",
    "SliceConcatToSpaceToDepthFusion": "reorders blocks in one step",
    "TransposeOptimizer": (
        "moves a Transpose past other nodes; after a DequantizeLinear it quantizes and dequantizes "
        "by the same scale again, which gives the same number"
    ),
    "TransposeOptimizer_CPUExecutionProvider": "the same",
    "UnsqueezeElimination": "gives a constant the shape that an Unsqueeze would",
}

_FORMS = {
    "CastFloat16Transformer": "computes chains of 16-bit floats in float: `rounded`",
    "ConvActivationFusion": "applies the function to the result of a Conv at once: functions",
    "ConvAddActivationFusion": "sums onto a residual: `summed`",
    "GemmActivationFusion": "applies the function to the result of a Gemm at once: functions",
    "GemmSumFusion": "sums products onto the other operand of a Sum: `summed`",
    "MatMulAddFusion": "sums products onto the other operand of an Add: `summed`",
    "MatmulTransposeFusion": "reads a transposed operand: sums in any order",
    "NchwcTransformer": "sums in blocks, and normalizes by a factor and a shift: `summed`",
    "RemoveDuplicateCastTransformer": "computes chains of 16-bit floats in float: `rounded`",
}

_OFF = {
    "AttentionFusion": "computes attention by one kernel",
    "Avx2WeightS8ToU8Transformer": "quantizes weights anew",
    "BiasGeluFusion": "joins an Add with a Gelu",
    "BiasSkipLayerNormFusion": "joins two Adds with a LayerNormalization",
    "ClipQuantRewrite": "removes a Clip before a QuantizeLinear",
    "ConvAddFusion": "adds a constant to the bias of a Conv",
    "ConvBNFusion": "multiplies the weights of a Conv by the factor of a BatchNormalization",
    "ConvMulFusion": "multiplies the weights of a Conv by a constant",
    "DivMulFusion": "divides by x instead of multiplying by 1 / x",
    "DoubleQDQPairsRemover": "joins two quantizations in a row",
    "DQMatMulNBitsFusion": "multiplies by weights of a few bits",
    "DynamicQuantizeMatMulFusion": "joins a MatMulInteger with its quantization",
    "EmbedLayerNormFusion": "joins embeddings with a LayerNormalization",
    "FastGeluFusion": "joins Mul, Tanh and Add to a Gelu",
    "GeluFusionL1": "joins Div, Erf, Add and Mul to a Gelu",
    "GeluFusionL2": "joins Div, Erf, Add and Mul to a Gelu",
    "GemmTransposeFusion": "reads an operand as transposed, whatever the Transpose does",
    "LayerNormFusionL1": "joins Sub, Div and others to a LayerNormalization",
    "LayerNormFusionL2": "joins Sub, Div and others to a LayerNormalization",
    "MatMul_BatchNormalization_Fusion": (
        "multiplies the weights of a MatMul by the factor of a BatchNormalization"
    ),
    "MatMulIntegerToFloatFusion": "scales the sums of a MatMulInteger in one step",
    "MatMulNBitsFusion": "adds a bias to a product by weights of a few bits",
    "MatMulNBitsMlpFusion": "joins products by weights of a few bits",
    "MatMulNBitsQkvFusion": "joins products by weights of a few bits",
    "MatMulNBitsQLoRAFusion": "joins products by weights of a few bits",
    "MatMulScaleFusion": "multiplies a product of matrices by a factor of an operand",
    "NhwcTransformer": "lets kernels for channels at the end compute, some of them in float16",
    "NoopElimination": "removes x + 0, which is 0 where x is -0",
    "Pad_Fusion": "lets a pooling or a Conv pad",
    "QDQFinalCleanupTransformer": "removes a DequantizeLinear with a QuantizeLinear after it",
    "QDQPropagationTransformer": "quantizes at other nodes",
    "QDQS8ToU8Transformer": "quantizes in uint8 instead of int8",
    "QDQSelectorActionTransformer": "computes in integers between quantizations",
    "QuickGeluFusion": "joins Sigmoid and Mul",
    "ReluQuantRewrite": "removes a Relu before a QuantizeLinear",
    "SimplifiedLayerNormFusion": "joins Div and others to a SimplifiedLayerNormalization",
    "SkipLayerNormFusion": "joins an Add with a LayerNormalization",
    "SwiGluFusion": "joins a Sigmoid and two Mul",
    "WeightBiasQuantization": "quantizes weights",
    "WhereDummyDq": "quantizes a constant of a Where",
}

_ABSENT = {
    "BiasDropoutFusion": "acts on CUDA",
    "BiasSoftmaxFusion": "acts on CUDA",
    "CastChainElimination": "needs an option that sessions refuse",
    "GeluApproximation": "needs an option that sessions refuse",
    "GroupQueryAttentionFusion": "reads operators that have no rules",
    "GroupQueryAttentionPreNormFusion": "reads operators that have no rules",
    "LabelEncoderFusion": "reads operators that have no rules",
    "MatMulActivationFusion": "acts on DirectML",
    "RocmBlasAltImpl": "acts on ROCm",
}

GROUPS: Mapping[Effect, Mapping[str, str]] = MappingProxyType(
    {
        Effect.KEEPS: MappingProxyType(_KEEPS),
        Effect.FORMS: MappingProxyType(_FORMS),
        Effect.OFF: MappingProxyType(_OFF),
        Effect.ABSENT: MappingProxyType(_ABSENT),
    }
)
"""What each optimizer does, by its name; `Effect.FORMS` with the rule that knows the numbers."""
