
// The list of a check: obligations by their cause.

const report = data("report");
const { groups, hints, advised, words: WORDS } = data("view");

const wordOf = ({ status, rests_on_declaration }) => (rests_on_declaration ? "not proved" : WORDS[status]);
const NODES_SHOWN = 3;
const MARKS = { false: "[*]", true: "[~]" };
const conform = (obligation) => `${MARKS[obligation.rounding]} sonnx-ort conform${obligation.rounding ? " --rounding" : ""}`;

const keyOf = (obligation) => JSON.stringify([obligation.node, ...obligation.path]);
const sign = (state) => byId(`sign-${state}`).content.cloneNode(true);

// What stands between backticks is code.
const prose = (text) => text.split("`").map((part, at) => (at % 2 ? make("code", {}, part) : part));

const noun = "checks";
const items = report.obligations.map((o, index) => ({
  key: keyOf(o),
  status: o.status,
  rule: o.rule,
  operator: o.operator,
  enforced: o.enforced ? "yes" : "no",
  text: [o.rule, o.operator, o.node, ...o.path, o.evidence, o.written ? writtenText(o.written) : "", hints[index] ?? "", ...(advised[index] ?? []), o.mendable ?? "", o.waiver?.who ?? "", o.waiver?.reason ?? "", ...o.operands.flatMap((p) => [p.value, p.origin])].join("\n").toLowerCase(),
}));

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

// Six digits, unless they would leave out numbers beyond them: an interval is never smaller than it is.
function endText(number, isWithin) {
  if (typeof number === "string" || Number.isSafeInteger(number)) return `${number}`;
  const short = Number(number.toPrecision(6));
  return `${isWithin(short) ? short : number}`;
}

function intervalText({ least, most, nan }) {
  const [first, last] = [endText(least, (short) => short <= least), endText(most, (short) => short >= most)];
  const numbers = least === most ? `${least}` : `${first} to ${last}`;
  return nan ? `${numbers} or NaN` : numbers;
}

function knownText({ range, sizes }) {
  const known = Object.entries(sizes ?? {}).map(([size, interval]) => `${size} is ${intervalText(interval)}`);
  if (range) known.unshift(`elements ${intervalText(range)}`);
  return known.length ? `: ${known.join(", ")}` : "";
}

function operandItem(operand) {
  const constant = operand.constant ? ", constant" : "";
  const value = make("bdi", { className: "value-name" }, `'${operand.value}'`);
  const type = ` ${operand.element_type ?? "unknown type"} `;
  return make("li", {}, `${operand.letter} `, value, type, shapeElement(operand.shape), " [", isolated(operand.origin), `${constant}]${knownText(operand)}`);
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
  const told = [make("p", {}, "The rule: ", ...prose(rule.sentence)), make("p", {}, `Source: ${sourceOf(rule)}`)];
  if (rule.remark) told.push(make("p", {}, ...prose(rule.remark)));
  if (obligation.status === "proved") return [make("details", {}, make("summary", {}, "operands, rule and source"), operands, ...told)];
  return [operands, make("details", {}, make("summary", {}, "rule and source"), ...told)];
}

function writtenText({ file, line, function: name, scope }) {
  const place = file ? `written at ${file}:${line}${name ? ` in ${name}` : ""}` : "";
  return [place, scope ? `${file ? "" : "written in "}scope '${scope}'` : ""].filter(Boolean).join(", ");
}

const writtenAt = ({ written }) => (written ? [make("span", { className: "remark" }, isolated(writtenText(written)))] : []);

function place(obligation) {
  if (!obligation.operator) return make("div", {}, "the graph");
  const button = make("button", { type: "button", title: "Show in the graph" });
  button.append(printable(`${obligation.operator} `), isolated(`'${obligation.node}'`));
  const inside = obligation.path.toReversed().map((step) => make("span", { className: "remark" }, "in ", isolated(step)));
  const made = make("div", {}, button, ...inside, ...writtenAt(obligation));
  made.dataset.key = keyOf(obligation);
  return made;
}

function waived(waiver) {
  const standing = waiver.expired ? "The waiver has expired: " : "Waived: ";
  const inAll = waiver.count ? `, ${waiver.count} in all` : "";
  return make("p", { className: "hint" }, make("b", {}, standing), isolated(`by ${waiver.who} until ${waiver.until}${inAll}: ${waiver.reason}`));
}

function statusCell(obligation, ...more) {
  const status = make("td", {}, make("span", { className: `status ${obligation.status}` }, sign(obligation.status), wordOf(obligation)));
  status.append(make("code", {}, obligation.rule));
  if (obligation.mendable) status.append(" ", make("span", { className: "mendable", title: `${conform(obligation)} fixes it` }, MARKS[obligation.rounding]));
  if (!obligation.enforced) status.append(make("span", { className: "remark" }, "not enforced"));
  status.append(...more);
  return status;
}

const hint = (title, text) => make("p", { className: "hint" }, make("b", {}, title), isolated(text));

function remedies(index, whole = "it") {
  const obligation = report.obligations[index];
  const made = [];
  if (hints[index]) made.push(hint("To fix it: ", hints[index]));
  if (obligation.mendable) made.push(hint(`${conform(obligation)} fixes ${whole}: `, obligation.mendable));
  if (advised[index]) {
    const [why, line] = advised[index];
    if (why) made.push(make("p", { className: "hint" }, isolated(why)));
    made.push(make("p", { className: "hint" }, make("code", {}, line)));
  }
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
  const count = make("span", { className: "remark" }, `${members.length} checks`);
  const places = make("td", {}, ...members.slice(0, NODES_SHOWN).map(place));
  const unfold = make("button", { type: "button", className: "unfold" });
  places.append(unfold);
  const same = members.every(({ evidence }) => evidence === first.evidence);
  const shown = same ? [isolated(first.evidence)] : members.slice(0, NODES_SHOWN).map(({ node, evidence }) => make("div", {}, isolated(`'${node}'`), ": ", isolated(evidence)));
  const mendable = members.filter((member) => member.mendable && member.rounding === first.rounding).length;
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

// On paper a rule is told once for each status, and below it where: the places of one evidence together.
function remediesOnPaper(index) {
  const obligation = report.obligations[index];
  const made = [];
  if (hints[index]) made.push(`To fix it: ${hints[index]}`);
  if (obligation.mendable) made.push(`${conform(obligation)} fixes it: ${obligation.mendable}`);
  if (advised[index]) made.push(...advised[index].filter(Boolean));
  if (obligation.waiver) made.push(waived(obligation.waiver).textContent);
  return made;
}

function ruleOnPaper(indices) {
  const first = report.obligations[indices[0]];
  const rule = report.rules[first.rule];
  const count = indices.length === 1 ? "1 check" : `${indices.length} checks`;
  const remark = make("span", { className: "remark" }, `${count}${first.enforced ? "" : ", not enforced"}`);
  const head = make("h3", { className: `status ${first.status}` }, sign(first.status), `${wordOf(first)}: ${first.rule}`, remark);
  const parts = [head, make("p", { className: "remark" }, ...prose(rule.sentence), ` (${sourceOf(rule)})`)];
  // What is the same at all places is told once.
  const remedies = new Map(indices.map((index) => [index, remediesOnPaper(index)]));
  const common = remedies.get(indices[0]).filter((text) => indices.every((index) => remedies.get(index).includes(text)));
  parts.push(...common.map((text) => make("p", { className: "hint" }, isolated(text))));
  if (first.status !== "proved" && first.operands.length) {
    const operands = first.operands.flatMap((operand, at) => [...(at ? ["; "] : []), ...operandItem(operand).childNodes]);
    parts.push(make("p", { className: "remark" }, "At ", isolated(`'${first.node}'`), ": ", ...operands));
  }
  const alike = new Map();
  for (const index of indices) {
    const { evidence, operator } = report.obligations[index];
    const own = remedies.get(index).filter((text) => !common.includes(text));
    const key = JSON.stringify([evidence, operator, ...own]);
    if (!alike.has(key)) alike.set(key, { found: [], own });
    alike.get(key).found.push(index);
  }
  const items = [...alike.values()].map(({ found, own }) => placesOnPaper(found, own));
  return make("div", { className: "cause" }, ...parts, make("ul", {}, ...items));
}

function placesOnPaper(indices, remedies) {
  const { operator, evidence } = report.obligations[indices[0]];
  const named = indices.flatMap((index, at) => {
    const { node, path } = report.obligations[index];
    const name = operator ? `'${node}'${path.toReversed().map((step) => ` in ${step}`).join("")}` : "the graph";
    return [...(at ? [", "] : []), make("bdi", { className: "place" }, name)];
  });
  const where = [operator ? `${operator} ` : "", ...named];
  const told = indices.length === 1 ? [...where, ": ", isolated(evidence)] : [isolated(evidence), ": ", ...where];
  return make("li", {}, ...told, ...remedies.flatMap((text) => [". ", isolated(text)]));
}

function laidOut(kept) {
  const rules = new Map();
  for (const index of groups.flat().filter((each) => kept.has(items[each]))) {
    const { status, rule, enforced, waiver } = report.obligations[index];
    const key = JSON.stringify([status, rule, enforced, waiver !== null]);
    if (!rules.has(key)) rules.set(key, []);
    rules.get(key).push(index);
  }
  const symbols = byId("symbols")?.cloneNode(true);
  symbols?.removeAttribute("id");
  return [...(symbols ? [symbols] : []), ...[...rules.values()].map(ruleOnPaper)];
}

function show(kept) {
  const shown = groups.map((group) => group.filter((index) => kept.has(items[index])));
  body.replaceChildren(...shown.flatMap((group) => (group.length > NODES_SHOWN ? [entry(group)] : group.map(row))));
}

fillChoices("rule");
if (!report.obligations.some((obligation) => obligation.enforced)) form.elements.enforced.value = "";
start(laidOut);
