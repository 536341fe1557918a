"use strict";

// What all pages do: the graph is found, moved and zoomed, and leads to a list, which is filtered
// and leads back. The script of the list comes after this one. It defines `items`, which have a
// key, a status, an operator and a text, `noun`, what they are called, and `show`, which shows some
// of them; then it calls `start`, perhaps with what lays them out on paper.
//
// What a model says becomes text and never markup: all of it goes through textContent or append.

const byId = (id) => document.getElementById(id);
const data = (id) => JSON.parse(byId(id).textContent);

// What does not print, such as marks of direction, is shown as an escape.
const printable = (text) =>
  text.replace(/[\p{C}\p{Z}]/gu, (each) => {
    const code = each.codePointAt(0).toString(16);
    if (each === " ") return each;
    return code.length < 3 ? `\\x${code.padStart(2, "0")}` : code.length < 5 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
  });

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.map((child) => (typeof child === "string" ? printable(child) : child)));
  return element;
}

for (const each of document.querySelectorAll("[data-key]")) each.dataset.key = JSON.stringify(JSON.parse(each.dataset.key));

// The name of an option stays on one line.
const unbroken = (text) => text.split(/(--[a-z][a-z-]*)/).map((part, at) => (at % 2 ? make("span", { className: "option" }, part) : part));
const isolated = (text) => make("bdi", {}, ...unbroken(text));
const narrow = () => matchMedia("(max-width: 1149px)").matches;
const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

// The list.

const form = byId("filter");
const body = document.querySelector("#list tbody");
let selected = null; // the key of a node
let only = false; // whether the list shows that node alone
let kept = new Set(); // the items that the list shows

function markRows() {
  for (const each of body.querySelectorAll("[data-key]")) each.classList.toggle("selected", !only && selected !== null && each.dataset.key === selected);
}

function passes(item, wanted, words) {
  if (only) return vertices.get(item.key) === vertices.get(selected);
  return (
    wanted.getAll("status").includes(item.status) &&
    ["rule", "operator", "enforced"].every((name) => !wanted.get(name) || wanted.get(name) === item[name]) &&
    words.every((word) => item.text.includes(word))
  );
}

function refresh() {
  const wanted = new FormData(form);
  const words = wordsOf(wanted.get("text"));
  kept = new Set(items.filter((item) => passes(item, wanted, words)));
  byId("shown").textContent = `${kept.size} of ${items.length} ${noun}`;
  byId("chosen").hidden = !only;
  form.hidden = only;
  show(kept);
  markRows();
}

function fillChoices(name) {
  const counts = new Map();
  for (const item of items) counts.set(item[name], (counts.get(item[name]) ?? 0) + 1);
  counts.delete("");
  for (const value of [...counts.keys()].sort()) form.elements[name].append(make("option", { value }, `${value} (${counts.get(value)})`));
}

function showOnly(vertex) {
  byId("chosen").firstElementChild.replaceChildren("Only ", isolated(titleOf(vertex)));
  reveal(vertex.dataset.key);
  only = true;
  refresh();
  if (narrow()) byId("list").scrollIntoView();
}

function showAll() {
  only = false;
  refresh();
}

// The drawing: it scrolls as any part of a page does, and zooming changes its size.

const LEGIBLE = 0.45; // the smallest scale at which a label can be read
const SMALLEST = 0.15;
const canvas = byId("canvas");
const graph = byId("graph");
const map = byId("map");
const width = Number(graph.getAttribute("width"));
const height = Number(graph.getAttribute("height"));
const nodes = [...graph.querySelectorAll(".node")];
const vertices = new Map(); // nodes by key, also by those of their outputs and constants
const readers = new Map();
let scale = 1;

for (const node of nodes) {
  const [, ...path] = JSON.parse(node.dataset.key);
  for (const name of JSON.parse(node.dataset.also)) vertices.set(JSON.stringify([name, ...path]), node);
}
for (const node of nodes) vertices.set(node.dataset.key, node);
for (const vertex of graph.querySelectorAll(".vertex")) {
  for (const giver of giversOf(vertex)) {
    if (!readers.has(giver)) readers.set(giver, []);
    readers.get(giver).push(vertex);
  }
}

function giversOf(vertex) {
  return vertex.dataset.reads.split(" ").filter(Boolean);
}

function titleOf(vertex) {
  return vertex.querySelector("title").textContent;
}

function boxOf(vertex) {
  return ["x", "y", "width", "height"].map((name) => Number(vertex.querySelector("rect").getAttribute(name)));
}

const wholeScale = () => Math.min(1, (canvas.clientWidth - 4) / width, (canvas.clientHeight - 4) / height);
const isLong = () => wholeScale() < LEGIBLE;

// The whole graph, or as much of it as can be read.
function fit() {
  zoomTo(isLong() ? Math.min(1, Math.max(LEGIBLE, (canvas.clientWidth - 4) / width)) : wholeScale());
}

function zoomTo(wanted, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const next = Math.min(3, Math.max(wanted, Math.min(SMALLEST, wholeScale())));
  const left = ((canvas.scrollLeft + x) / scale) * next - x;
  const top = ((canvas.scrollTop + y) / scale) * next - y;
  scale = next;
  graph.style.width = `${width * scale}px`;
  graph.style.height = `${height * scale}px`;
  canvas.scrollTo(left, top);
  byId("zoom").textContent = `${Math.round(scale * 100)}%`;
  markWindow();
}

function centre(vertex, room = canvas.clientHeight) {
  const [x, y, w, h] = boxOf(vertex);
  canvas.scrollTo((x + w / 2) * scale - canvas.clientWidth / 2, (y + Math.min(h, 60) / 2) * scale - room / 2);
}

// The map: a long graph beside the drawing, squeezed to bars, the worst ones in front, with a frame
// around what the drawing shows.

function drawMap() {
  map.toggleAttribute("hidden", !isLong());
  byId("zoom-fit").textContent = isLong() ? "Overview" : "Whole graph";
  // Room below, so that the last node can be in the middle as well.
  graph.style.marginBottom = isLong() ? `${canvas.clientHeight / 2}px` : "";
  if (!isLong()) return;
  map.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const least = (2 * height) / canvas.clientHeight;
  const marks = ["plain", "not-asked-for", "proved", "runtime", "violated"].flatMap((state) =>
    nodes.filter((node) => node.matches(`.${state}`)).map((node) => {
      const [, y, , h] = boxOf(node);
      return mark(state, y, h > 60 ? least : Math.max(h, least));
    }),
  );
  map.replaceChildren(...marks, mark("window", 0, 0));
  markWindow();
}

function mark(name, y, h) {
  const made = document.createElementNS(map.namespaceURI, "rect");
  for (const [attribute, value] of Object.entries({ class: name, y, width, height: h })) made.setAttribute(attribute, value);
  return made;
}

function markWindow() {
  const frame = map.querySelector(".window");
  frame?.setAttribute("y", canvas.scrollTop / scale);
  frame?.setAttribute("height", canvas.clientHeight / scale);
}

function followMap(event) {
  if (!event.buttons) return;
  const box = map.getBoundingClientRect();
  canvas.scrollTop = ((event.clientY - box.top) / box.height) * height * scale - canvas.clientHeight / 2;
}

// Nodes are selected, found and reached.

function markLines(vertex, near) {
  for (const id of [vertex.id, ...giversOf(vertex)]) byId(id.replace("v", "l"))?.classList.toggle("near", near);
}

function select(key) {
  for (const old of graph.querySelectorAll(".selected")) {
    old.classList.remove("selected");
    markLines(old, false);
  }
  selected = key;
  const vertex = vertices.get(key);
  if (!vertex) return;
  vertex.classList.add("selected");
  markLines(vertex, true);
  enter(vertex);
}

function enter(vertex) {
  for (const old of graph.querySelectorAll('[tabindex="0"]')) old.setAttribute("tabindex", "-1");
  vertex.setAttribute("tabindex", "0");
}

// Select a node, and zoom to it.
function reveal(key) {
  select(key);
  const vertex = vertices.get(key);
  if (!vertex) return;
  if (scale < 0.75) zoomTo(1);
  centre(vertex);
}

function showInGraph(key) {
  if (only) showAll();
  reveal(key);
  markRows();
  if (vertices.has(key) && narrow()) byId("drawing").scrollIntoView();
}

const search = byId("find");
const names = new Map(nodes.map((node) => [node, `${titleOf(node)} ${node.dataset.also}`.toLowerCase()]));
let found = []; // the nodes that match
let at = 0;

function find() {
  const words = wordsOf(search.value);
  found = words.length ? nodes.filter((node) => words.every((word) => names.get(node).includes(word))) : [];
  for (const node of nodes) node.classList.toggle("found", found.includes(node));
  at = 0;
  if (found.length) goTo(0);
  else byId("found").textContent = words.length ? "none" : "";
}

function goTo(step) {
  if (!found.length) return;
  at = (at + step + found.length) % found.length;
  byId("found").textContent = `${at + 1} of ${found.length}`;
  if (only) showAll();
  reveal(found[at].dataset.key);
  markRows();
}

function neighbour(vertex, arrow) {
  const index = nodes.indexOf(vertex);
  switch (arrow) {
    case "ArrowUp":
      return giversOf(vertex).map(byId).find((giver) => giver.matches(".node"));
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
  else if (event.key === "0") fit();
  else if (event.key === "/") search.focus();
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

function listClicked(event) {
  const chosen = event.target.closest("button, summary");
  const key = event.target.closest("[data-key]")?.dataset.key;
  // A click that opens what is folded, or ends a selection of text, asks for no node.
  if (!key || chosen?.matches("summary") || (!chosen && getSelection().toString())) return;
  showInGraph(key);
}

// Paper has what the list shows, folded nowhere, in fewer lines: `laidOut` makes it of the items.
function printWith(laidOut) {
  const folded = [...document.querySelectorAll(".findings details:not([open])")];
  const paper = byId("paper");
  addEventListener("beforeprint", () => {
    for (const each of folded) each.open = true;
    if (!laidOut) return;
    paper.replaceChildren(...laidOut(kept));
    document.body.classList.add("laid-out");
  });
  addEventListener("afterprint", () => {
    for (const each of folded) each.open = false;
    paper.replaceChildren();
    document.body.classList.remove("laid-out");
  });
}

// A graph that is too large opens at the worst node.
function start(laidOut) {
  printWith(laidOut);
  fillChoices("operator");
  form.addEventListener("input", refresh);
  form.addEventListener("submit", (event) => event.preventDefault());
  byId("chosen").querySelector("button").addEventListener("click", showAll);
  body.addEventListener("click", listClicked);
  document.querySelector(".verdict").addEventListener("click", listClicked);
  canvas.addEventListener("click", (event) => {
    const vertex = event.target.closest(".node");
    if (vertex && !dragged) showOnly(vertex);
  });
  search.addEventListener("input", find);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") goTo(event.shiftKey ? -1 : 1);
  });
  canvas.addEventListener("keydown", pressed);
  canvas.addEventListener("wheel", wheel, { passive: false });
  canvas.addEventListener("pointerdown", down);
  canvas.addEventListener("scroll", markWindow);
  for (const kind of ["pointerdown", "pointermove"]) map.addEventListener(kind, followMap);
  addEventListener("pointermove", move);
  addEventListener("pointerup", up);
  addEventListener("pointercancel", up);
  addEventListener("resize", drawMap);
  byId("zoom-in").addEventListener("click", () => zoomTo(scale * 1.25));
  byId("zoom-out").addEventListener("click", () => zoomTo(scale * 0.8));
  byId("zoom-fit").addEventListener("click", fit);
  byId("copy")?.addEventListener("click", copyCommand);
  refresh();
  drawMap();
  zoomTo(wholeScale() > 0.6 ? wholeScale() : 1);
  const worst = document.querySelector(".worst [data-key]")?.dataset.key;
  const first = vertices.get(worst) ?? graph.querySelector(".violated, .vertex.runtime") ?? nodes[0];
  if (!first) return;
  // The lower part of the drawing may be below the edge of the window.
  const visible = innerHeight - canvas.getBoundingClientRect().top;
  centre(first, visible > 160 ? Math.min(canvas.clientHeight, visible) : undefined);
  enter(first);
}
