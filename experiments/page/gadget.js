// Two exhibits: a pair of inputs that Bob cannot tell apart, and the graph of two stars.

const drawPair = (s, machine) => {
  const row = PUBLIC.machines[machine];
  const pair = row.collision;
  const inputs = 2 ** s.x.length;
  byId("pair-buttons").hidden = pair === null;
  byId("pigeonhole-title").textContent = pair ? "Two inputs, one message: Bob must err" : "No two inputs that Bob confuses";
  if (pair === null) {
    fill(byId("pair"));
    say("pair-note", `All ${inputs} inputs were tried: whenever two share a message, all their answers agree. `
      + `${plural(row.state_bits, "bit")} ${row.state_bits === 1 ? "is" : "are"} enough for this machine. Take fewer numbers and look again.`);
    return;
  }
  const said = BOBS[machine](pair.message, pair.query - 1);
  const lines = [pair.x1, pair.x2].map((x, i) => {
    const other = i ? pair.x1 : pair.x2;
    const cells = Array.from(x, (bit, j) => element("span", {
      class: `cell${bit !== other[j] ? " differs" : ""}${s.problem === "index" && j === pair.query - 1 ? " asked" : ""}`,
    }, bit));
    const right = pair.answers[i] === said;
    const verdict = `answer ${pair.answers[i]}, Bob says ${said}: ${right ? "right ✓" : "wrong ✗"}`;
    return element("div", { class: "twin" },
      element("span", { class: "row", role: "img", "aria-label": `input ${i + 1}: ${x}` }, ...cells),
      element("span", { class: "to", "aria-hidden": "true" }, "→"),
      boxes(messageBits(pair.message, row.state_bits), row.bits_per_number, "message"),
      element("span", { class: right ? "verdict" : "verdict wrong" }, verdict));
  });
  fill(byId("pair"), ...lines);
  say("pair-note", `${inputs} inputs go into ${plural(row.distinct_messages, "message")} that occur, of ${2 ** row.state_bits} possible. `
    + `These two send the same one, yet differ at k = ${pair.query}: whatever Bob says, he errs on one of them.`);
};

const drawGraph = (s) => {
  const size = sizeOf(s.problem, s.n);
  const steps = stepsOf(s);
  byId("gadget-title").textContent = s.problem === "istree" ? "The graph: two stars and Bob's edge" : "The same as a graph: two stars and Bob's edge";
  const { bits, tree, vertices, edge } = REFEREE.graph(size, s.x, s.k - 1);
  const shown = s.step >= s.x.length ? bits.length : s.step + (bits.length - s.x.length);
  const asked = s.step >= steps.asked;
  const judged = s.step >= steps.answered;
  const count = bits.length;
  const width = Math.max(280, Math.min(620, byId("graph").clientWidth || 400));
  const height = 190;
  const pitch = (width - 40) / count;
  const place = (v) => {
    if (v === vertices - 1) return [width / 2, 18];
    if (v === vertices) return [width / 2, height - 18];
    return [20 + pitch * (v - 0.5), height / 2];
  };
  const ends = new Set(asked ? edge : []);
  const parts = [];
  for (let a = 1; a <= shown; a += 1) {
    const [x1, y1] = place(a);
    const [x2, y2] = place(vertices - 1 + Number(bits[a - 1]));
    const kind = judged && !tree && ends.has(a) ? "star cycle" : "star";
    parts.push(svg("line", { x1, y1, x2, y2, class: kind }));
  }
  if (asked) {
    const [[x1, y1], [x2, y2]] = edge.map(place);
    const bow = pitch < 42 ? 34 : 0; // neighbours that nearly touch are joined by a bow
    parts.push(svg("path", { d: `M${x1} ${y1}Q${(x1 + x2) / 2} ${y1 - 2 * bow} ${x2} ${y2}`, class: "bob-edge" }));
  }
  for (let v = 1; v <= vertices; v += 1) {
    const [x, y] = place(v);
    const hub = v >= vertices - 1;
    parts.push(hub
      ? svg("rect", { x: x - 17, y: y - 13, width: 34, height: 26, class: "hub" })
      : svg("circle", { cx: x, cy: y, r: Math.min(13, pitch / 2 - 1.5), class: ends.has(v) ? "vertex end" : "vertex" }));
    parts.push(text(x, y + 5, String(v), hub ? "middle on-hub" : "middle vertex-name"));
  }
  const known = `Alice's edges so far: ${Array.from(bits.slice(0, shown), (b, i) => `${i + 1}-${vertices - 1 + Number(b)}`).join(", ") || "none"}.`;
  const added = asked ? ` Bob's edge: ${edge.join("-")}.` : "";
  const verdict = judged ? (tree ? " A tree." : " A cycle through a hub, so no tree.") : "";
  fill(byId("graph"), picture(width, height, known + added + verdict, ...parts));
  const why = s.problem === "index"
    ? "Each bit of x decides whether Alice's next vertex keeps its hub (0) or changes it (1)."
    : "Each bit of x says to which of the two hubs Alice joins a vertex.";
  const end = !asked
    ? "Bob will add one edge between neighbours."
    : judged
      ? (tree ? "Bob's edge joins the two stars: a tree, answer 1." : "Bob's edge has both ends in one star: a cycle, answer 0.")
      : `Bob adds the edge ${edge.join("-")} (dashed). Does it join the two stars, or close a cycle?`;
  say("graph-note", `${why} ${end}`);
};
