// Alice, the channel, Bob. What Bob shows is made from the message and k alone.

const GAP = 2;
const cellOf = (length) => (length <= 8 ? 36 : 30);

/** Build the buttons of x and the choices of k anew, when their number changes. */
const buildParties = (size, turn, ask) => {
  byId("x").classList.toggle("roomy", cellOf(size.length) > 30);
  fill(byId("x"), ...Array.from({ length: size.length }, (_, i) => {
    const button = element("button", { type: "button", class: "symbol" });
    button.addEventListener("click", () => turn(i));
    return button;
  }));
  fill(byId("k-choices"), ...Array.from({ length: size.queries }, (_, i) => {
    const input = element("input", { type: "radio", name: "k", id: `k${i + 1}`, value: i + 1 });
    input.addEventListener("change", () => ask(i + 1));
    return element("span", { class: "choice" }, input, element("label", { for: `k${i + 1}` }, String(i + 1)));
  }));
};

const drawAlice = (s, machine) => {
  const row = PUBLIC.machines[machine];
  const read = Math.min(s.step, s.x.length);
  Array.from(byId("x").children).forEach((button, i) => {
    const bit = s.x[i];
    button.textContent = bit;
    button.setAttribute("aria-label", `bit ${i + 1} of x is ${bit}${i < read ? ", read" : ""}`);
    button.classList.toggle("one", bit === "1");
    button.classList.toggle("read", i < read);
    button.classList.toggle("now", i === read - 1 && s.step <= s.x.length);
  });
  fill(byId("strip"), strip(s, machine, row, read));
  byId("strip-note").textContent = read ? "darker: larger; digit: its code" : "";
};

/** The state after each bit, a column below the bit; codes stand in the newest column. */
const strip = (s, machine, row, read) => {
  const height = Math.max(15, Math.min(26, Math.floor(150 / row.state_numbers)));
  const cell = cellOf(s.x.length);
  const pitch = cell + GAP;
  const parts = [];
  let words = "No state yet: nothing is read.";
  for (let t = 1; t <= s.x.length; t += 1) {
    const shades = t <= read ? ALICE.shades(machine, s.x.slice(0, t)) : [];
    const newest = t === read;
    const codes = newest
      ? messageCodes(ALICE.message(machine, s.x.slice(0, t)), row.state_numbers, row.bits_per_number)
      : [];
    for (let c = 0; c < row.state_numbers; c += 1) {
      const place = { x: (t - 1) * pitch + 1, y: c * (height + 1) + 2, width: cell, height };
      if (t > read) {
        parts.push(svg("rect", { ...place, class: "unread" }));
      } else {
        const depth = shades[c] / PUBLIC.shades;
        const [r, g, b] = [[240, 8], [246, 58], [252, 120]].map(([a, z]) => Math.round(a + (z - a) * depth));
        parts.push(svg("rect", { ...place, fill: `rgb(${r} ${g} ${b})`, class: "state" }));
        if (newest) {
          parts.push(svg("text", {
            x: place.x + cell / 2, y: place.y + height / 2 + 4.5, class: depth > 0.66 ? "light" : "dark",
          }, String(codes[c])));
        }
      }
    }
    if (newest) {
      parts.push(svg("rect", {
        x: (t - 1) * pitch, y: 0.5, width: cell + 2, height: row.state_numbers * (height + 1) + 2, class: "newest",
      }));
      const told = shades.map((v, c) => ALICE.number(machine, v, c).toFixed(2)).join(", ");
      words = `The state after ${plural(t, "bit")}: ${told}; codes ${codes.join(" ")}.`;
    }
  }
  return picture(s.x.length * pitch, row.state_numbers * (height + 1) + 4, words, ...parts);
};

const drawChannel = (s, machine) => {
  const row = PUBLIC.machines[machine];
  const sent = s.step >= stepsOf(s).crossing;
  byId("channel").classList.toggle("sent", sent);
  const message = ALICE.message(machine, s.x);
  fill(byId("message"), sent
    ? boxes(messageBits(message, row.state_bits), row.bits_per_number, "The message")
    : element("span", { class: "quiet" }, "nothing yet"));
  byId("count").textContent = sent ? `${plural(row.state_bits, "bit")} crossed` : "0 bits crossed";
  byId("hex").textContent = sent ? `hex ${message} (${plural(row.message_bytes, "byte")})` : `x has ${s.x.length} bits`;
  return sent ? message : null;
};

/** Draw Bob from what he holds: a machine that is public, the message, and k. */
const drawBob = (held) => {
  const row = PUBLIC.machines[held.machine];
  const size = PUBLIC.sizes[sizeOf(row.problem, row.n)];
  const words = row.problem === "istree" ? ["0 cycle", "1 tree"] : ["0", "1"];
  fill(byId("held"), held.message === null
    ? element("span", { class: "quiet" }, "nothing yet")
    : boxes(messageBits(held.message, row.state_bits), row.bits_per_number, "the message"));
  byId("k-legend").textContent = row.problem === "istree"
    ? `and k = ${held.k}: edge ${held.k}-${held.k + 1}. A tree?`
    : `and k = ${held.k}: what is bit ${held.k} of x?`;
  byId(`k${held.k}`).checked = true;
  const open = held.message !== null && held.asked && !held.answered;
  [0, 1].forEach((value) => {
    const button = byId(`guess${value}`);
    button.textContent = words[value];
    button.setAttribute("aria-pressed", String(held.guess === value));
    button.setAttribute("aria-disabled", String(!open));
  });
  byId("show").setAttribute("aria-disabled", String(!open));
  const reply = BOBS[held.machine];
  const cells = Array.from({ length: size.queries }, (_, k) => {
    const text = held.answered ? String(reply(held.message, k)) : "?";
    return element("span", { class: k + 1 === held.k ? "cell asked" : "cell" }, text);
  });
  const told = held.answered
    ? `His table for this message, k from 1: ${cells.map((c) => c.textContent).join(" ")}`
    : "His table is not shown yet";
  fill(byId("answers"), element("span", { class: "row", role: "img", "aria-label": told }, ...cells));
  byId("row-name").textContent = held.message === null ? "His table:" : `His table, row ${held.message}:`;
  say("answer", held.answered ? `Bob says ${words[reply(held.message, held.k - 1)].replace(" ", ", a ")}` : "");
};
