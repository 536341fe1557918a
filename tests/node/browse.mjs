// Drives one Chromium for tests/support/browser.py: a request in JSON on each line of standard
// input, its answer in JSON on a line of standard output.

import { createInterface } from "node:readline";

import { chromium } from "playwright-core";

const [executablePath] = process.argv.slice(2);
const SWITCHES = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const browser = await chromium.launch({ executablePath, args: SWITCHES });
let page = null;
let noticed = [];

const requests = {
  async open({ address, width, height, scheme, script }) {
    await page?.context().close();
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: scheme,
      javaScriptEnabled: script,
    });
    page = await context.newPage();
    noticed = [];
    page.on("console", (message) => noticed.push(message.text()));
    page.on("pageerror", (error) => noticed.push(error.message));
    page.on("dialog", (dialog) => noticed.push(dialog.message()) && dialog.dismiss());
    page.on("request", (request) => request.url() !== address && noticed.push(request.url()));
    await page.goto(address);
  },
  click: ({ selector }) => page.click(selector, { timeout: 5000 }),
  fill: ({ selector, text }) => page.fill(selector, text),
  choose: ({ selector, value }) => page.selectOption(selector, value),
  press: ({ key }) => page.keyboard.press(key),
  drag: async ({ from, to }) => {
    await page.mouse.move(...from);
    await page.mouse.down();
    await page.mouse.move(...to, { steps: 3 });
    await page.mouse.up();
  },
  evaluate: ({ expression }) => page.evaluate(expression),
  media: ({ kind }) => page.emulateMedia({ media: kind }),
  print: ({ path }) => page.pdf({ path, preferCSSPageSize: true }).then(() => null),
  noticed: () => noticed,
};

for await (const line of createInterface({ input: process.stdin })) {
  const { request, ...given } = JSON.parse(line);
  try {
    console.log(JSON.stringify({ answer: (await requests[request](given)) ?? null }));
  } catch (error) {
    console.log(JSON.stringify({ error: error.message }));
  }
}
await browser.close();
