"use strict";

// What a model says becomes text and never markup: all of it goes through textContent or append.

const byId = (id) => document.getElementById(id);
const data = (id) => JSON.parse(byId(id).textContent);

const report = data("report");
const { groups, hints } = data("view");
const NODES_SHOWN = 3;
const MENDABLE = "[*]";
const WORDS = { violated: "violated", runtime: "checked in each run", proved: "proved" };

// What does not print, such as marks of direction, is shown as an escape.
const printable = (text) =>
  text.replace(/[\p{C}\p{Z}]/gu, (each) => {
    const code = each.codePointAt(0).toString(16);
    if (each === " ") return each;
    return code.length < 3 ? `\\x${code.padStart(2, "0")}` : code.length < 5 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
  });

const keyOf = (obligation) => JSON.stringify([obligation.node, ...obligation.path]);
const narrow = () => matchMedia("(max-width: 1149px)").matches;

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.map((child) => (typeof child === "string" ? printable(child) : child)));
  return element;
}

const isolated = (text) => make("bdi", {}, text);
const sign = (state) => byId(`sign-${state}`).content.cloneNode(true);

// The table of obligations.

const form = byId("filter");
const body = document.querySelector("#obligations tbody");
let selected = null; // the key of a node
let only = false; // whether the table shows that node alone

const texts = report.obligations.map((o, index) =>
  [o.rule, o.operator, o.node, ...o.path, o.evidence, hints[index] ?? "", o.mendable ?? "", o.waiver?.who ?? "", o.waiver?.reason ?? "", ...o.operands.flatMap((p) => [p.value, p.origin])]
    .join("\n")
    .toLowerCase(),
);

function shapeOf(shape) {
  if (shape === null) return "(rank unknown)";
  const sizes = shape.map((size) => size ?? "?");
  return sizes.length === 1 ? `(${sizes[0]},)` : `(${sizes.join(", ")})`;
}

const symbols = [...document.querySelectorAll("#symbols dt")].map((term) => ({
  pattern: new RegExp(term.dataset.pattern),
  meaning: `${term.textContent}: ${term.nextElementSibling.textContent}`,
}));

function shapeElement(shape) {
  const text = shapeOf(shape);
  const meanings = shape === null ? [] : symbols.filter(({ pattern }) => pattern.test(text));
  if (!meanings.length) return text;
  return make("span", { className: "shape", title: meanings.map(({ meaning }) => meaning).join("\n") }, text);
}

function operandItem(operand) {
  const constant = operand.constant ? ", constant" : "";
  const value = make("bdi", { className: "value-name" }, `'${operand.value}'`);
  const type = ` ${operand.element_type ?? "unknown type"} `;
  return make("li", {}, `${operand.letter} `, value, type, shapeElement(operand.shape), " [", isolated(operand.origin), `${constant}]`);
}

function sourceOf(rule) {
  const tag = rule.tag ? `, ${rule.tag}` : "";
  const later = rule.later_tag ? `; later ${rule.later_tag}` : "";
  const kernels = rule.needed_before
    ? `; not a rule of the profile, but needed for ONNX Runtime before ${rule.needed_before}`
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

function place(obligation) {
  if (!obligation.operator) return make("div", {}, "the graph");
  const button = make("button", { type: "button", title: "Show in the graph" });
  button.append(printable(`${obligation.operator} `), isolated(`'${obligation.node}'`));
  const inside = obligation.path.toReversed().map((step) => make("span", { className: "remark" }, "in ", isolated(step)));
  const made = make("div", {}, button, ...inside);
  made.dataset.key = keyOf(obligation);
  return made;
}

function waived(waiver) {
  const standing = waiver.expired ? "The waiver has expired: " : "Waived: ";
  const inAll = waiver.count ? `, ${waiver.count} in all` : "";
  return make("p", { className: "hint" }, make("b", {}, standing), isolated(`by ${waiver.who} until ${waiver.until}${inAll}: ${waiver.reason}`));
}

function statusCell(obligation, ...more) {
  const status = make("td", {}, make("span", { className: `status ${obligation.status}` }, sign(obligation.status), WORDS[obligation.status]));
  status.append(make("code", {}, obligation.rule));
  if (obligation.mendable) status.append(" ", make("span", { className: "mendable", title: `${MENDABLE}: sonnx-ort conform can fix it` }, MENDABLE));
  if (!obligation.enforced) status.append(make("span", { className: "remark" }, "not enforced"));
  status.append(...more);
  return status;
}

const hint = (title, text) => make("p", { className: "hint" }, make("b", {}, title), isolated(text));

function remedies(index, whole = "it") {
  const obligation = report.obligations[index];
  const made = [];
  if (hints[index]) made.push(hint("To fix it: ", hints[index]));
  if (obligation.mendable) made.push(hint(`${MENDABLE} sonnx-ort conform can fix ${whole}: `, obligation.mendable));
  if (obligation.waiver) made.push(waived(obligation.waiver));
  return made;
}

function row(index) {
  const obligation = report.obligations[index];
  const evidence = make("td", {}, isolated(obligation.evidence), ...remedies(index), ...explanation(obligation));
  const made = make("tr", {}, statusCell(obligation), make("td", {}, place(obligation)), evidence);
  made.dataset.key = keyOf(obligation);
  return made;
}

// Obligations of one cause: an entry with the first nodes, which unfolds to a row for each.
function entry(indices) {
  const members = indices.map((index) => report.obligations[index]);
  const [first] = members;
  const count = make("span", { className: "remark" }, `${members.length} places`);
  const places = make("td", {}, ...members.slice(0, NODES_SHOWN).map(place));
  const unfold = make("button", { type: "button", className: "unfold" });
  places.append(unfold);
  const same = members.every(({ evidence }) => evidence === first.evidence);
  const shown = same ? [isolated(first.evidence)] : members.slice(0, NODES_SHOWN).map(({ node, evidence }) => make("div", {}, isolated(`'${node}'`), ": ", isolated(evidence)));
  const mendable = members.filter((member) => member.mendable).length;
  const whole = mendable === members.length ? "them" : `${mendable} of ${members.length}`;
  const example = make("p", { className: "remark" }, "At ", isolated(`'${first.node}'`), ":");
  const evidence = make("td", {}, ...shown, ...remedies(indices[0], whole), ...(first.operands.length && first.status !== "proved" ? [example] : []), ...explanation(first));
  const made = make("tr", { className: "entry" }, statusCell(first, count), places, evidence);
  let rows = [];
  const label = () => {
    unfold.textContent = rows.length ? "Fold" : `Show all ${members.length}`;
    unfold.setAttribute("aria-expanded", rows.length > 0);
  };
  unfold.addEventListener("click", () => {
    rows.forEach((each) => each.remove());
    rows = rows.length ? [] : indices.map(row);
    rows.forEach((each) => each.classList.add("member"));
    made.after(...rows);
    label();
    markRows();
  });
  label();
  return made;
}

function markRows() {
  for (const each of body.querySelectorAll("[data-key]")) each.classList.toggle("selected", !only && selected !== null && each.dataset.key === selected);
}

function unfoldAll() {
  for (const button of body.querySelectorAll('.unfold[aria-expanded="false"]')) button.click();
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
  const matching = groups
    .map((group) => group.filter((index) => passes(report.obligations[index], index, wanted, words)))
    .filter((group) => group.length);
  const count = matching.reduce((sum, group) => sum + group.length, 0);
  byId("shown").textContent = `${count} of ${report.obligations.length} obligations`;
  byId("chosen").hidden = !only;
  form.hidden = only;
  body.replaceChildren(...matching.map((group) => (group.length > 1 ? entry(group) : row(group[0]))));
  markRows();
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
for (const node of nodes) node.dataset.key = JSON.stringify(JSON.parse(node.dataset.key));
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

function centre(vertex, room = canvas.clientHeight) {
  const [x, y, w, h] = ["x", "y", "width", "height"].map((name) => Number(vertex.querySelector("rect").getAttribute(name)));
  canvas.scrollTo((x + w / 2) * scale - canvas.clientWidth / 2, (y + Math.min(h, 60) / 2) * scale - room / 2);
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

function copyCommand() {
  getSelection().selectAllChildren(byId("next"));
  // The newer interface is missing where a page comes over plain HTTP.
  byId("copy").textContent = document.execCommand("copy") ? "Copied" : "Selected";
}

fillChoices("rule");
fillChoices("operator");
form.addEventListener("input", refresh);
form.addEventListener("submit", (event) => event.preventDefault());
byId("chosen").querySelector("button").addEventListener("click", showAll);
body.addEventListener("click", (event) => {
  const chosen = event.target.closest("button, summary");
  const key = event.target.closest("[data-key]")?.dataset.key;
  // A click that opens what is folded, or ends a selection of text, asks for no node.
  if (!key || chosen?.matches("summary") || (!chosen && getSelection().toString())) return;
  showInGraph(key);
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
addEventListener("beforeprint", unfoldAll);
byId("copy").addEventListener("click", copyCommand);

if (!report.obligations.some((obligation) => obligation.enforced)) form.elements.enforced.value = "";
refresh();
zoomTo(wholeScale() > 0.6 ? wholeScale() : 1);
const first = graph.querySelector(".violated") ?? graph.querySelector(".runtime") ?? graph.querySelector(".vertex");
// The lower part of the drawing may be below the edge of the window.
const visible = innerHeight - canvas.getBoundingClientRect().top;
if (first) centre(first, visible > 160 ? Math.min(canvas.clientHeight, visible) : undefined);
if (nodes.length) enter(first.matches(".node") ? first : nodes[0]);
