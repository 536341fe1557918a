
// The list of an audit: a row for each node, which is there already.

const noun = "nodes";
const items = [...body.rows].map((row) => ({
  row,
  key: row.dataset.key,
  status: row.dataset.status,
  operator: row.dataset.operator,
  text: row.textContent.toLowerCase(),
}));

function show(kept) {
  body.replaceChildren(...[...kept].map(({ row }) => row));
}

start();
