// Small helpers: elements, drawings, and how each line looks.

const byId = (id) => document.getElementById(id);

const fill = (node, ...children) => {
  node.replaceChildren(...children.filter((c) => c !== null && c !== undefined));
  return node;
};

/** Set a text only where it is another one, so that it is read out once. */
const say = (id, words) => {
  if (byId(id).textContent !== words) byId(id).textContent = words;
};

const element = (name, attributes = {}, ...children) => {
  const node = document.createElement(name);
  Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
  return fill(node, ...children);
};

const svg = (name, attributes = {}, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
  return fill(node, ...children);
};

/** A picture that a screen reader tells by its words. */
const picture = (width, height, words, ...children) =>
  svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": words },
    ...children);

const percent = (value) => `${(100 * value).toFixed(1)}%`;

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

const NAMES = {
  sliding_window: "sliding window",
  linear_attention: "linear attention",
  gru: "GRU",
  hamming: "Hamming code",
  linear: "linear code",
  majority: "majority of blocks",
};

const INITS = { trained: "trained", constructed: "built by hand", random: "random weights" };

/** A marker of the shape that belongs to a name, round a place. */
const marker = (name, x, y, size, attributes = {}) => {
  const at = (points) => points.map(([a, b]) => `${x + a * size},${y + b * size}`).join(" ");
  const look = { class: `mark ${name}`, ...attributes };
  if (name === "sliding_window") return svg("circle", { cx: x, cy: y, r: size, ...look });
  if (name === "linear_attention") {
    return svg("rect", { x: x - 0.9 * size, y: y - 0.9 * size, width: 1.8 * size, height: 1.8 * size, ...look });
  }
  if (name === "gru") return svg("polygon", { points: at([[0, -1.15], [1.1, 0.85], [-1.1, 0.85]]), ...look });
  if (name === "hamming") return svg("polygon", { points: at([[0, -1.3], [1, 0], [0, 1.3], [-1, 0]]), ...look });
  const lines = name === "linear"
    ? [[-1, -1, 1, 1], [-1, 1, 1, -1]]
    : [[-1.3, 0, 1.3, 0], [0, -1.3, 0, 1.3]];
  const path = lines.map(([a, b, c, d]) => `M${x + a * size} ${y + b * size}L${x + c * size} ${y + d * size}`);
  return svg("path", { d: path.join(""), ...look });
};

/** Bits in boxes, the codes apart from one another; words stand in for the boxes. */
const boxes = (bits, group, label) => {
  const words = bits === null ? label : `${label}: ${bits.join(" ")}`;
  const node = element("span", { class: "boxes", role: "img", "aria-label": words });
  (bits ?? []).forEach((bit, i) => {
    if (i % group === 0) node.append(element("span", { class: "group" }));
    node.lastChild.append(element("span", { class: bit ? "bit one" : "bit" }, String(bit)));
  });
  return node;
};
