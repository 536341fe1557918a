"use strict";

// What a model says becomes text and never markup: all of it goes through textContent or append.

const report = JSON.parse(document.getElementById("report").textContent);
const STEP = 200;
const ORDER = ["violated", "runtime", "proved"];
const WORDS = { violated: "violated", runtime: "decided in runs", proved: "proved" };

const byId = (id) => document.getElementById(id);
const keyOf = (obligation) => JSON.stringify([obligation.node, ...obligation.path]);
const narrow = () => matchMedia("(max-width: 1149px)").matches;

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

const isolated = (text) => make("bdi", {}, text);
const sign = (state) => byId(`sign-${state}`).content.cloneNode(true);

// The table of obligations.

const form = byId("filter");
const body = document.querySelector("#obligations tbody");
let selected = null; // the key of a node
let only = false; // whether the table shows that node alone
let matching = [];
let shown = 0;

const texts = report.obligations.map((o) =>
  [o.rule, o.operator, o.node, ...o.path, o.evidence, o.hint, o.mendable ?? "", o.waiver?.who ?? "", o.waiver?.reason ?? "", ...o.operands.flatMap((p) => [p.value, p.origin])]
    .join("\n")
    .toLowerCase(),
);

function shapeOf(shape) {
  if (shape === null) return "(rank unknown)";
  const sizes = shape.map((size) => size ?? "?");
  return sizes.length === 1 ? `(${sizes[0]},)` : `(${sizes.join(", ")})`;
}

function operandItem(operand) {
  const constant = operand.constant ? ", constant" : "";
  const told = ` ${operand.element_type ?? "unknown type"} ${shapeOf(operand.shape)} [`;
  const value = make("bdi", { className: "value-name" }, `'${operand.value}'`);
  return make("li", {}, `${operand.letter} `, value, told, isolated(operand.origin), `${constant}]`);
}

function sourceOf(rule) {
  const tag = rule.tag ? `, ${rule.tag}` : "";
  const later = rule.later_tag ? `; later ${rule.later_tag}` : "";
  const kernels = rule.needed_before
    ? `; no rule of the profile: for ONNX Runtime before ${rule.needed_before}`
    : "";
  return `${rule.document}, ${rule.section}${tag} (${rule.standing}, ${rule.words}${later}${kernels})`;
}

function explanation(obligation) {
  const rule = report.rules[obligation.rule];
  const operands = make("ul", {}, ...obligation.operands.map(operandItem));
  const told = [make("p", {}, `The rule: ${rule.sentence}`), make("p", {}, `Source: ${sourceOf(rule)}`)];
  if (rule.remark) told.push(make("p", {}, rule.remark));
  if (obligation.status === "proved") return [make("details", {}, make("summary", {}, "operands, rule and source"), operands, ...told)];
  return [operands, make("details", {}, make("summary", {}, "rule and source"), ...told)];
}

function nodeCell(obligation) {
  if (!obligation.operator) return make("td", {}, "the graph");
  const button = make("button", { type: "button", title: "Show in the graph" });
  button.append(`${obligation.operator} `, isolated(`'${obligation.node}'`));
  const inside = obligation.path.toReversed().map((step) => make("span", { className: "remark" }, "in ", isolated(step)));
  return make("td", {}, button, ...inside);
}

function waived(waiver) {
  const standing = waiver.expired ? "The waiver has expired: " : "Waived: ";
  const inAll = waiver.count ? `, ${waiver.count} in all` : "";
  return make("p", { className: "hint" }, make("b", {}, standing), isolated(`by ${waiver.who} until ${waiver.until}${inAll}: ${waiver.reason}`));
}

function row(obligation) {
  const status = make("td", {}, make("span", { className: `status ${obligation.status}` }, sign(obligation.status), WORDS[obligation.status]));
  status.append(make("code", {}, obligation.rule));
  if (obligation.mendable) status.append(" ", make("span", { className: "mendable", title: obligation.mendable }, "[*]"));
  if (!obligation.enforced) status.append(make("span", { className: "remark" }, "not asked for"));
  const evidence = make("td", {}, isolated(obligation.evidence));
  if (obligation.hint) evidence.append(make("p", { className: "hint" }, make("b", {}, "To mend it: "), isolated(obligation.hint)));
  if (obligation.mendable) evidence.append(make("p", { className: "hint" }, make("b", {}, "sonnx-ort conform can mend it: "), isolated(obligation.mendable)));
  if (obligation.waiver) evidence.append(waived(obligation.waiver));
  evidence.append(...explanation(obligation));
  const made = make("tr", {}, status, nodeCell(obligation), evidence);
  made.dataset.key = keyOf(obligation);
  return made;
}

function showMore(count) {
  const rows = matching.slice(shown, shown + count).map((index) => row(report.obligations[index]));
  body.append(...rows);
  shown += rows.length;
  const left = matching.length - shown;
  byId("more").hidden = left === 0;
  byId("more").textContent = `Show ${Math.min(left, STEP)} more of ${left}`;
  markRows();
}

function markRows() {
  for (const each of body.rows) each.classList.toggle("selected", !only && selected !== null && each.dataset.key === selected);
}

function passes(obligation, index, wanted, words) {
  if (only) return keyOf(obligation) === selected;
  return (
    wanted.getAll("status").includes(obligation.status) &&
    (!wanted.get("rule") || wanted.get("rule") === obligation.rule) &&
    (!wanted.get("operator") || wanted.get("operator") === obligation.operator) &&
    (!wanted.get("enforced") || (wanted.get("enforced") === "yes") === obligation.enforced) &&
    words.every((word) => texts[index].includes(word))
  );
}

function refresh() {
  const wanted = new FormData(form);
  const words = wanted.get("text").toLowerCase().split(/\s+/).filter(Boolean);
  matching = [];
  report.obligations.forEach((obligation, index) => {
    if (passes(obligation, index, wanted, words)) matching.push(index);
  });
  const place = (index) => ORDER.indexOf(report.obligations[index].status);
  matching.sort((one, other) => place(one) - place(other));
  byId("shown").textContent = `${matching.length} of ${report.obligations.length} obligations`;
  byId("chosen").hidden = !only;
  form.hidden = only;
  body.replaceChildren();
  shown = 0;
  showMore(STEP);
}

function fillChoices(name) {
  const counts = new Map();
  for (const obligation of report.obligations) counts.set(obligation[name], (counts.get(obligation[name]) ?? 0) + 1);
  counts.delete("");
  for (const value of [...counts.keys()].sort()) form.elements[name].append(make("option", { value }, `${value} (${counts.get(value)})`));
}

function showOnly(vertex) {
  const told = vertex.querySelector("title").textContent;
  byId("chosen").firstElementChild.replaceChildren("Only ", isolated(told));
  select(vertex.dataset.key, vertex);
  only = true;
  refresh();
  if (narrow()) byId("obligations").scrollIntoView();
}

function showAll() {
  only = false;
  refresh();
}

// The drawing: it scrolls as any part of a page does, and zooming changes its size.

const canvas = byId("canvas");
const graph = byId("graph");
const width = Number(graph.getAttribute("width"));
const height = Number(graph.getAttribute("height"));
const nodes = [...graph.querySelectorAll(".node")];
const vertices = new Map(nodes.map((node) => [node.dataset.key, node]));
const readers = new Map();
let scale = 1;

for (const vertex of graph.querySelectorAll(".vertex")) {
  for (const giver of vertex.dataset.reads.split(" ").filter(Boolean)) {
    if (!readers.has(giver)) readers.set(giver, []);
    readers.get(giver).push(vertex);
  }
}

const wholeScale = () => Math.min(1, (canvas.clientWidth - 4) / width, (canvas.clientHeight - 4) / height);

function zoomTo(wanted, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const next = Math.min(3, Math.max(wanted, Math.min(0.05, wholeScale())));
  const left = ((canvas.scrollLeft + x) / scale) * next - x;
  const top = ((canvas.scrollTop + y) / scale) * next - y;
  scale = next;
  graph.style.width = `${width * scale}px`;
  graph.style.height = `${height * scale}px`;
  canvas.scrollTo(left, top);
  byId("zoom").textContent = `${Math.round(scale * 100)}%`;
}

function centre(vertex) {
  const [x, y, w, h] = ["x", "y", "width", "height"].map((name) => Number(vertex.querySelector("rect").getAttribute(name)));
  canvas.scrollTo((x + w / 2) * scale - canvas.clientWidth / 2, (y + Math.min(h, 60) / 2) * scale - canvas.clientHeight / 2);
}

function markLines(vertex, near) {
  const givers = vertex.dataset.reads.split(" ").filter(Boolean);
  for (const id of [vertex.id, ...givers]) byId(id.replace("v", "l"))?.classList.toggle("near", near);
}

function select(key, vertex = vertices.get(key)) {
  for (const old of graph.querySelectorAll(".selected")) {
    old.classList.remove("selected");
    markLines(old, false);
  }
  selected = key;
  if (!vertex) return;
  vertex.classList.add("selected");
  markLines(vertex, true);
  enter(vertex);
}

function enter(vertex) {
  for (const old of graph.querySelectorAll('[tabindex="0"]')) old.setAttribute("tabindex", "-1");
  vertex.setAttribute("tabindex", "0");
}

function showInGraph(key) {
  const vertex = vertices.get(key);
  select(key);
  markRows();
  if (!vertex) return;
  if (scale < 0.5) zoomTo(1);
  if (narrow()) byId("drawing").scrollIntoView();
  centre(vertex);
}

function neighbour(vertex, arrow) {
  const index = nodes.indexOf(vertex);
  switch (arrow) {
    case "ArrowUp":
      return vertex.dataset.reads.split(" ").filter(Boolean).map(byId).find((giver) => giver.matches(".node"));
    case "ArrowDown":
      return readers.get(vertex.id)?.find((reader) => reader.matches(".node"));
    case "ArrowLeft":
      return nodes[index - 1];
    case "ArrowRight":
      return nodes[index + 1];
  }
}

function pressed(event) {
  const zoom = { "+": 1.25, "=": 1.25, "-": 0.8 }[event.key];
  const vertex = event.target.closest(".node");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (zoom) zoomTo(scale * zoom);
  else if (event.key === "0") zoomTo(wholeScale());
  else if (vertex && (event.key === "Enter" || event.key === " ")) showOnly(vertex);
  else if (vertex && event.key.startsWith("Arrow")) {
    const next = neighbour(vertex, event.key);
    if (next) {
      enter(next);
      next.focus({ preventScroll: true });
      centre(next);
    }
  } else return;
  event.preventDefault();
}

let held = null;
let dragged = false;
const touches = new Map();
const spread = () => {
  const [one, other] = [...touches.values()];
  return Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
};

function down(event) {
  dragged = false;
  if (event.pointerType === "touch") touches.set(event.pointerId, event);
  else if (event.button === 0) held = { x: event.clientX, y: event.clientY, left: canvas.scrollLeft, top: canvas.scrollTop };
}

function move(event) {
  if (touches.size === 2 && touches.has(event.pointerId)) {
    const before = spread();
    touches.set(event.pointerId, event);
    const box = canvas.getBoundingClientRect();
    zoomTo((scale * spread()) / before, event.clientX - box.left, event.clientY - box.top);
  } else if (held) {
    const [x, y] = [event.clientX - held.x, event.clientY - held.y];
    if (!dragged && Math.hypot(x, y) < 5) return;
    dragged = true;
    canvas.classList.add("held");
    canvas.scrollTo(held.left - x, held.top - y);
  }
}

function up(event) {
  touches.delete(event.pointerId);
  held = null;
  canvas.classList.remove("held");
}

function wheel(event) {
  if (!event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  const box = canvas.getBoundingClientRect();
  zoomTo(scale * Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
}

fillChoices("rule");
fillChoices("operator");
form.addEventListener("input", refresh);
form.addEventListener("submit", (event) => event.preventDefault());
byId("chosen").querySelector("button").addEventListener("click", showAll);
byId("more").addEventListener("click", () => showMore(STEP));
body.addEventListener("click", (event) => {
  const chosen = event.target.closest("button, summary");
  // A click that opens what is folded, or ends a selection of text, asks for no node.
  if (chosen?.matches("summary") || (!chosen && getSelection().toString())) return;
  showInGraph(event.target.closest("tr").dataset.key);
});
canvas.addEventListener("click", (event) => {
  const vertex = event.target.closest(".node");
  if (vertex && !dragged) showOnly(vertex);
});
canvas.addEventListener("keydown", pressed);
canvas.addEventListener("wheel", wheel, { passive: false });
canvas.addEventListener("pointerdown", down);
addEventListener("pointermove", move);
addEventListener("pointerup", up);
addEventListener("pointercancel", up);
byId("zoom-in").addEventListener("click", () => zoomTo(scale * 1.25));
byId("zoom-out").addEventListener("click", () => zoomTo(scale * 0.8));
byId("zoom-fit").addEventListener("click", () => zoomTo(wholeScale()));
addEventListener("beforeprint", () => showMore(Infinity));

if (!report.obligations.some((obligation) => obligation.enforced)) form.elements.enforced.value = "";
refresh();
zoomTo(wholeScale() > 0.6 ? wholeScale() : 1);
const first = graph.querySelector(".violated") ?? graph.querySelector(".runtime") ?? graph.querySelector(".vertex");
if (first) centre(first);
if (nodes.length) enter(first.matches(".node") ? first : nodes[0]);
