// Runs models in ONNX Runtime for Node.js, where there is no Python.
//
// `node run_models.mjs FOLDER` reads the runs in FOLDER/runs.json and prints how each ends;
// tests/end_to_end/test_plain_runtimes.py describes both.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { InferenceSession, Tensor } from "onnxruntime-node";

// JavaScript has no array of bfloat16, and of float16 only where it is new.
const ARRAYS = {
  bool: Uint8Array,
  float16: globalThis.Float16Array ?? Uint16Array,
  float32: Float32Array,
  float64: Float64Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
};

function fromBits({ type, shape, bits }) {
  // A copy: the decoder's own memory does not begin where an array of wider elements can.
  const bytes = Uint8Array.from(Buffer.from(bits, "base64"));
  return new Tensor(type, new ARRAYS[type](bytes.buffer), shape);
}

function toBits({ type, dims, data }) {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return { type, shape: dims, bits: bytes.toString("base64") };
}

function mapValues(object, change) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));
}

async function outcomeOf(folder, run) {
  const unknown = run.types.find((type) => !(type in ARRAYS));
  if (unknown !== undefined) {
    return { cannot_hold: unknown };
  }
  try {
    const session = await InferenceSession.create(join(folder, run.model), {
      logSeverityLevel: 4,
      intraOpNumThreads: 1,
      graphOptimizationLevel: run.optimized ? "all" : "disabled",
      extra: { optimization: { disable_specified_optimizers: run.disabled_optimizers } },
    });
    try {
      const outputs = await session.run(mapValues(run.inputs, fromBits));
      return { outputs: mapValues(outputs, toBits) };
    } finally {
      await session.release();
    }
  } catch (error) {
    return { error: error.message };
  }
}

const folder = process.argv[2];
const { runs } = JSON.parse(readFileSync(join(folder, "runs.json"), "utf8"));
for (const run of runs) {
  const outcome = await outcomeOf(folder, run);
  console.log(JSON.stringify({ name: run.name, ...outcome }));
}
