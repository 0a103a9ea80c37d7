// The page at work: one state, drawn whole after every change, kept in the address.

let now = fromAddress();
let built = "";
const score = { right: 0, asked: 0 };

const change = (wish) => {
  const moved = ["problem", "n", "model", "numbers", "bits"].some((name) => name in wish);
  const other = moved || "x" in wish || "k" in wish;
  const next = { ...now, ...wish };
  if ("problem" in wish || "n" in wish) { delete next.x; delete next.k; delete next.step; }
  if (other && !("guess" in wish)) {
    next.guess = null;
    if (next.step !== undefined && now.step === stepsOf(now).answered) next.step = stepsOf(now).asked;
  }
  if (moved) next.wager = null;
  now = settled(next);
  window.history.replaceState(null, "", toAddress(now));
  draw();
};

const guess = (value) => {
  if (now.step !== stepsOf(now).asked) return;
  const machine = machineOf(now);
  const said = BOBS[machine](ALICE.message(machine, now.x), now.k - 1);
  score.asked += 1;
  score.right += said === value ? 1 : 0;
  change({ guess: value, step: stepsOf(now).answered });
};

const go = (step) => {
  const forth = step > now.step;
  change({ step, ...(forth || step >= stepsOf(now).answered ? {} : { guess: null }) });
};

/** What happens at this step, in a sentence or two. */
const story = (s, machine) => {
  const row = PUBLIC.machines[machine];
  const steps = stepsOf(s);
  const at = `Step ${s.step} of ${steps.answered}. `;
  if (s.step === 0) return `${at}Alice has read nothing: her state is the public start, and she would send nothing.`;
  if (s.step <= s.x.length) {
    const codes = messageCodes(ALICE.message(machine, s.x.slice(0, s.step)), row.state_numbers, row.bits_per_number);
    return `${at}Alice reads bit ${s.step}, a ${s.x[s.step - 1]}, and her state moves. Handed over now, its codes would be ${codes.join(" ")}.`;
  }
  const message = ALICE.message(machine, s.x);
  if (s.step === steps.crossing) {
    return `${at}The handoff: each number is rounded to ${plural(row.bits_per_number, "bit")}. The codes, packed, are the message ${message} of ${plural(row.state_bits, "bit")}; nothing else crosses.`;
  }
  if (s.step === steps.asked) return `${at}Bob holds the message and k = ${s.k}; he never sees x. What will he answer?`;
  const size = sizeOf(s.problem, s.n);
  const said = BOBS[machine](message, s.k - 1);
  const truth = REFEREE.answer(size, s.x, s.k - 1);
  const senders = ALICE.senders(machine, s.x.length, message);
  const agree = senders.filter((i) => REFEREE.answerOf(size, i, s.k - 1) === said).length;
  const why = agree === senders.length
    ? `${senders.length === 1 ? "Only this input sends" : `All ${senders.length} inputs that send`} ${message}${senders.length === 1 ? ":" : " have this answer:"} he knows.`
    : 2 * agree === senders.length
      ? `Of the ${senders.length} inputs that send ${message}, half have this answer: a coin.`
      : `Of the ${senders.length} inputs that send ${message}, ${agree} have this answer: no Bob knows more.`;
  const bet = s.guess === null ? "" : ` You predicted ${s.guess}${s.guess === said ? ", as he said" : ", he did not"}${score.asked ? ` (${score.right} of ${score.asked} so far)` : ""}.`;
  return `${at}Bob says ${said}, the truth is ${truth}: ${said === truth ? "right ✓." : "wrong ✗."} ${why}${bet}`;
};

const options = (select, pairs, value) => {
  const wanted = pairs.map(([v, words]) => `${v}=${words}`).join();
  if (select.dataset.held !== wanted) {
    fill(select, ...pairs.map(([v, words]) => element("option", { value: v }, words)));
    select.dataset.held = wanted;
  }
  select.value = String(value);
};

const slider = (input, most, value, words) => {
  input.max = String(most);
  input.value = String(value);
  input.setAttribute("aria-valuetext", words);
};

const numbersOf = (s) =>
  [...new Set(machinesOf(s.problem, s.n, s.model, s.bits).map((m) => m.state_numbers))];

const drawSettings = (s, machine) => {
  const row = PUBLIC.machines[machine];
  options(byId("problem"), [["index", "Index: bit k of x?"], ["istree", "IsTree: a tree?"]], s.problem);
  options(byId("n"), PUBLIC.sizes.filter((z) => z.problem === s.problem).map((z) => [z.n, String(z.n)]), s.n);
  options(byId("model"), PUBLIC.models.map((m) => [m, NAMES[m]]), s.model);
  const widths = PUBLIC.bits.filter((b) => machinesOf(s.problem, s.n, s.model, b).some((m) => m.state_numbers === s.numbers));
  options(byId("bits"), widths.map((b) => [b, String(b)]), s.bits);
  const numbers = numbersOf(s);
  slider(byId("numbers"), numbers.length - 1, numbers.indexOf(s.numbers), `${plural(s.numbers, "number")}, ${plural(row.state_bits, "bit")} in all`);
  byId("numbers-shown").textContent = String(s.numbers);
  byId("sum").textContent = `M = ${s.numbers} × ${s.bits} = ${plural(row.state_bits, "bit")}, ${row.effective_n} answers`;
};

const drawWager = (s, hidden) => {
  byId("hide").checked = s.hide === 1;
  byId("wager-parts").hidden = !hidden;
  byId("wager-shown").textContent = `${byId("wager-value").value}%`;
};

const draw = () => {
  const machine = machineOf(now);
  const size = PUBLIC.sizes[sizeOf(now.problem, now.n)];
  const steps = stepsOf(now);
  document.documentElement.dataset.theme = now.theme;
  byId("theme").value = now.theme;
  if (built !== `${now.problem} ${now.n}`) {
    buildParties(size, turn, (k) => change({ k }));
    const first = now.problem === "istree" ? "gadget" : "pigeonhole";
    byId("exhibits").prepend(byId(first));
    built = `${now.problem} ${now.n}`;
  }
  const hidden = now.hide === 1 && now.wager === null;
  drawSettings(now, machine);
  drawAlice(now, machine);
  const message = drawChannel(now, machine);
  drawBob({
    machine, message: now.step > steps.crossing ? message : null, k: now.k, guess: now.guess,
    asked: now.step >= steps.asked, answered: now.step >= steps.answered,
  });
  const told = story(now, machine);
  say("story", told);
  byId("story").classList.toggle("wrong", told.includes("✗"));
  byId("story").classList.toggle("right", told.includes("✓"));
  slider(byId("step"), steps.answered, now.step, `step ${now.step} of ${steps.answered}`);
  byId("back").setAttribute("aria-disabled", String(now.step === 0));
  byId("next").setAttribute("aria-disabled", String(now.step === steps.answered));
  drawPair(now, machine);
  drawGraph(now);
  drawFigure(now, machine, hidden, change);
  drawPoint(now, machine, hidden);
  drawCurves(now, machine, hidden);
  drawWager(now, hidden);
};

const turn = (i) => {
  change({ x: now.x.slice(0, i) + (now.x[i] === "1" ? "0" : "1") + now.x.slice(i + 1) });
};

const copy = async (button) => {
  const words = button.dataset.text ?? byId(button.dataset.of).textContent;
  try {
    await navigator.clipboard.writeText(words);
  } catch {
    const area = element("textarea", { class: "hidden" });
    area.value = words;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  byId("copied").textContent = "";
  byId("copied").textContent = "Copied.";
  button.classList.add("done");
  window.setTimeout(() => button.classList.remove("done"), 1200);
};

const more = (by) => {
  const numbers = numbersOf(now);
  const at = Math.min(Math.max(numbers.indexOf(now.numbers) + by, 0), numbers.length - 1);
  change({ numbers: numbers[at] });
};

const KEYS = {
  ArrowRight: () => go(now.step + 1),
  ".": () => go(now.step + 1),
  ArrowLeft: () => go(now.step - 1),
  ",": () => go(now.step - 1),
  Home: () => go(0),
  End: () => go(stepsOf(now).answered),
  0: () => guess(0),
  1: () => guess(1),
  "]": () => more(1),
  "[": () => more(-1),
  k: () => change({ k: (now.k % PUBLIC.sizes[sizeOf(now.problem, now.n)].queries) + 1 }),
};

const start = () => {
  const on = (id, event, act) => byId(id).addEventListener(event, act);
  on("settings", "submit", (event) => event.preventDefault());
  ["problem", "model", "theme"].forEach((id) => on(id, "change", (e) => change({ [id]: e.target.value })));
  ["n", "bits"].forEach((id) => on(id, "change", (e) => change({ [id]: Number(e.target.value) })));
  on("numbers", "input", (e) => change({ numbers: numbersOf(now)[Number(e.target.value)] }));
  on("step", "input", (e) => go(Number(e.target.value)));
  on("first", "click", () => go(0));
  on("back", "click", () => go(now.step - 1));
  on("next", "click", () => go(now.step + 1));
  on("last", "click", () => go(stepsOf(now).answered));
  on("show", "click", () => { if (now.step === stepsOf(now).asked) go(now.step + 1); });
  on("guess0", "click", () => guess(0));
  on("guess1", "click", () => guess(1));
  on("shuffle", "click", () => change({ x: Array.from(now.x, () => (Math.random() < 0.5 ? "0" : "1")).join("") }));
  ["x1", "x2"].forEach((name, i) => on(`take${i + 1}`, "click", () => {
    const pair = PUBLIC.machines[machineOf(now)].collision;
    change({ x: pair[name], k: pair.query, step: stepsOf(now).asked, guess: null });
  }));
  on("hide", "change", (e) => change({ hide: e.target.checked ? 1 : 0, wager: null }));
  on("wager-value", "input", () => drawWager(now, true));
  on("wager-done", "click", () => { change({ wager: Number(byId("wager-value").value) }); byId("hide").focus(); });
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button.copy");
    if (button) copy(button);
  });
  document.addEventListener("keydown", (event) => {
    const field = event.target.closest?.("select, textarea, input:not([type=checkbox])");
    const held = event.ctrlKey || event.altKey || event.metaKey;
    if (field || held || !byId("keys").checked || !(event.key in KEYS)) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  window.addEventListener("hashchange", () => { now = fromAddress(); draw(); });
  let width = 0;
  new ResizeObserver(() => {
    if (document.body.clientWidth !== width) { width = document.body.clientWidth; draw(); }
  }).observe(document.body);
  draw();
};

start();
