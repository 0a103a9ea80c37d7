// Success against state bits: the wall, what lies above it, three models, codes, and the point.

const drawFigure = (s, machine, hidden, choose) => {
  const row = PUBLIC.machines[machine];
  const size = PUBLIC.sizes[sizeOf(s.problem, s.n)];
  const width = Math.max(280, Math.min(640, byId("figure").clientWidth || 400));
  const height = Math.round(Math.min(330, Math.max(250, width * 0.74)));
  const frame = { left: 50, right: width - 12, top: 12, bottom: height - 44 };
  const most = size.wall[size.wall.length - 1][0];
  const X = (bits) => frame.left + ((frame.right - frame.left) * bits) / most;
  const Y = (success) => frame.bottom - ((frame.bottom - frame.top) * (success - 0.46)) / 0.56;
  const line = (points) => points.map(([m, v]) => `${X(m)},${Y(v)}`).join(" ");
  const parts = [hatching()];

  const above = `${line(size.wall)} ${X(most)},${frame.top} ${X(0)},${frame.top}`;
  parts.push(svg("polygon", { points: above, class: "forbidden" }));
  parts.push(svg("polygon", { points: above, fill: "url(#hatch)" }));
  parts.push(svg("line", { x1: frame.left, x2: frame.right, y1: Y(size.chance), y2: Y(size.chance), class: "chance" }));
  const middle = X(size.effective_n);
  parts.push(svg("line", { x1: middle, x2: middle, y1: frame.top, y2: frame.bottom, class: "chance" }));
  parts.push(...axes(frame, X, Y, most));
  parts.push(text(frame.right, Y(size.chance) - 5, "coin flip", "end note"));
  parts.push(text(middle + 5, frame.bottom - 6, `x holds ${size.effective_n} answers`, "start note"));
  parts.push(svg("polyline", { points: line(size.wall), class: "wall" }));
  parts.push(text(X(0) + 10, Y(0.965) + 4, "impossible", "start bold"));

  const order = [...PUBLIC.models.filter((m) => m !== s.model), s.model];
  order.forEach((model) => {
    const chosen = model === s.model;
    if (chosen && hidden) return;
    const points = machinesOf(s.problem, s.n, model, s.bits);
    const path = line(points.map((m) => [m.state_bits, m.success]));
    parts.push(svg("polyline", { points: path, class: `curve ${model}${chosen ? " chosen" : ""}` }));
    points.forEach((m) => {
      const look = m.init === "trained" ? {} : { class: `mark ${model} hollow` };
      const node = marker(model, X(m.state_bits), Y(m.success), chosen ? 5.5 : 4, look);
      node.append(svg("title", {}, `${NAMES[model]}, ${m.state_bits} bits: ${percent(m.success)}`));
      node.addEventListener("click", () => choose({ model, numbers: m.state_numbers }));
      parts.push(node);
    });
  });
  size.codes.forEach((code) => {
    const node = marker(code.protocol, X(code.state_bits), Y(code.success), 4.5);
    node.append(svg("title", {}, `${NAMES[code.protocol]}, ${code.state_bits} bits: ${percent(code.success)}`));
    parts.push(node);
  });
  const here = X(row.state_bits);
  if (s.wager !== null) {
    parts.push(svg("line", { x1: here - 16, x2: here + 16, y1: Y(s.wager / 100), y2: Y(s.wager / 100), class: "wager" }));
    parts.push(text(here + 20, Y(s.wager / 100) + 5, "your guess", "start bold halo"));
  }
  parts.push(svg("line", { x1: here, x2: here, y1: hidden ? frame.top : Y(row.success), y2: frame.bottom, class: "drop" }));
  if (hidden) {
    parts.push(text(here, Y(0.7), "?", "middle huge halo"));
  } else {
    const y = Y(row.success);
    parts.push(svg("line", { x1: frame.left, x2: here, y1: y, y2: y, class: "drop" }));
    parts.push(svg("circle", { cx: here, cy: y, r: 11, class: "ring" }));
    const right = row.state_bits < 0.6 * most;
    parts.push(text(here + (right ? 16 : -16), y + 24, percent(row.success), `${right ? "start" : "end"} big halo`));
  }
  const limit = wallAt(size, row.state_bits);
  const words = `Success against state bits M for ${s.problem} with n = ${s.n}, under the wall that no machine can pass. `
    + `At M = ${row.state_bits} the wall is ${percent(limit)}`
    + (hidden ? ", and the success is for you to guess." : `, and the ${NAMES[s.model]} reaches ${percent(row.success)}.`);
  fill(byId("figure"), picture(width, height, words, ...parts));
};

const wallAt = (size, bits) => size.wall.find(([m]) => m === bits)[1];

const text = (x, y, words, kind) => svg("text", { x, y, class: kind }, words);

const hatching = () => svg("defs", {}, svg("pattern", {
  id: "hatch", width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)",
}, svg("line", { x1: 0, x2: 0, y1: 0, y2: 8, class: "hatch" })));

const axes = (frame, X, Y, most) => {
  const parts = [svg("path", {
    d: `M${frame.left} ${frame.top}V${frame.bottom}H${frame.right}`, class: "axis",
  })];
  const every = most > 12 ? 4 : 2;
  for (let m = 0; m <= most; m += every) {
    parts.push(svg("line", { x1: X(m), x2: X(m), y1: frame.bottom, y2: frame.bottom + 5, class: "axis" }));
    parts.push(text(X(m), frame.bottom + 19, String(m), "middle"));
  }
  [0.5, 0.6, 0.7, 0.8, 0.9, 1].forEach((v) => {
    parts.push(svg("line", { x1: frame.left - 5, x2: frame.left, y1: Y(v), y2: Y(v), class: "axis" }));
    parts.push(text(frame.left - 8, Y(v) + 5, `${Math.round(100 * v)}%`, "end"));
  });
  parts.push(text((frame.left + frame.right) / 2, frame.bottom + 37, "state bits M that Alice sends", "middle"));
  return parts;
};

const drawPoint = (s, machine, hidden) => {
  const row = PUBLIC.machines[machine];
  const limit = wallAt(PUBLIC.sizes[sizeOf(s.problem, s.n)], row.state_bits);
  const who = `${NAMES[s.model]} (${INITS[row.init]})`;
  const guess = s.wager === null ? "" : ` You guessed ${s.wager}%.`;
  say("point", hidden
    ? `How often is the best Bob right with ${plural(row.state_bits, "bit")} of this ${who}? The wall is ${percent(limit)}.`
    : `${who}: ${percent(row.success)} = ${row.success_fraction} of all inputs and queries. `
      + (limit < 1
        ? `No machine of ${plural(row.state_bits, "bit")} is above ${percent(limit)}.${guess}`
        : `${plural(row.state_bits, "bit")} could hold every answer.${guess}`));
};

/** The list of curves: how each is drawn, where it is now, and the command that measures it. */
const drawCurves = (s, machine, hidden) => {
  const row = PUBLIC.machines[machine];
  const size = PUBLIC.sizes[sizeOf(s.problem, s.n)];
  const items = [[s.model, row.command, machinesOf(s.problem, s.n, s.model, s.bits)]];
  PUBLIC.models.filter((m) => m !== s.model).forEach((model) => {
    const points = machinesOf(s.problem, s.n, model, s.bits);
    const near = points.find((m) => m.state_bits === row.state_bits) ?? points[0];
    items.push([model, near.command, points]);
  });
  PUBLIC.codes.forEach((code) => {
    const points = size.codes.filter((p) => p.protocol === code);
    if (!points.length) return;
    const near = points.find((p) => p.state_bits === row.state_bits) ?? points[points.length - 1];
    items.push([code, near.command, points]);
  });
  const told = (points, command) => {
    const at = points.find((p) => p.command === command);
    return hidden && at === row ? "?" : `${at.state_bits} bits: ${percent(at.success)}`;
  };
  const entries = items.map(([name, command, points]) => entry(
    swatch(name), `${NAMES[name]}, ${told(points, command)}`, command, points.map((p) => p.command)));
  const limit = `${size.command} ${row.state_bits}`;
  const walls = size.wall.map(([m]) => `${size.command} ${m}`);
  entries.push(entry(swatch("wall"), `the wall, ${row.state_bits} bits: ${percent(wallAt(size, row.state_bits))}`, limit, walls));
  fill(byId("curves"), ...entries);
};

const swatch = (name) => {
  const parts = [];
  if (name === "wall") parts.push(svg("line", { x1: 1, x2: 31, y1: 8, y2: 8, class: "wall" }));
  if (PUBLIC.models.includes(name)) {
    parts.push(svg("line", { x1: 1, x2: 31, y1: 8, y2: 8, class: `curve chosen ${name}` }));
  }
  if (name !== "wall") parts.push(marker(name, 16, 8, 5));
  return svg("svg", { viewBox: "0 0 32 16", width: 32, height: 16, "aria-hidden": "true" }, ...parts);
};

const entry = (mark, words, command, all) => element("li", {},
  mark, element("span", { class: "name" }, words),
  element("code", {}, command),
  element("span", { class: "copies" },
    element("button", { type: "button", class: "copy", "data-text": command, "aria-label": `Copy: ${command}` }, "Copy"),
    element("button", {
      type: "button", class: "copy", "data-text": all.join("\n"),
      "aria-label": `All ${all.length}: copy the commands of every point, ${words}`,
    }, `All ${all.length}`)));
