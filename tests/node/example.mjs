import { InferenceSession, Tensor } from "onnxruntime-node";

const unwantedOptimizers = [
  "ReshapeFusion",
  "QDQPropagationTransformer",
  "DivMulFusion",
  "NoopElimination",
  "GeluFusionL1",
  "GeluFusionL2",
  "LayerNormFusionL1",
  "LayerNormFusionL2",
  "SimplifiedLayerNormFusion",
  "MatMulScaleFusion",
  "FuseReluClip",
  "GemmTransposeFusion",
];
const session = await InferenceSession.create("enforced.onnx", {
  extra: { optimization: { disable_specified_optimizers: unwantedOptimizers.join(";") } },
});

const A = new Tensor("int32", Int32Array.of(8, 9), [2]);
const { C } = await session.run({ A, B: new Tensor("int32", Int32Array.of(2, 3), [2]) });
console.log(C.data); // Int32Array(2) [ 4, 3 ]

try {
  await session.run({ A, B: new Tensor("int32", Int32Array.of(2, 0), [2]) });
} catch (error) {
  console.log(error.message); // ... Div 'normalize/div' breaks the SONNX profile; ... got -24
}
