// What is set, and its place in the address of the page. Whatever an address holds that does
// not exist is replaced by the nearest that does.

const START = { problem: "index", n: 7, model: "gru", numbers: 4, bits: 1 };

const nearest = (value, allowed) =>
  allowed.reduce((best, a) => (Math.abs(a - value) < Math.abs(best - value) ? a : best), allowed[0]);

const among = (value, allowed) => (allowed.includes(value) ? value : allowed[0]);

const lengthOf = (s) => PUBLIC.sizes[sizeOf(s.problem, s.n)].length;

/** The steps: nothing read, each bit read, the message crosses, Bob is asked, Bob answers. */
const stepsOf = (s) => ({
  crossing: lengthOf(s) + 1,
  asked: lengthOf(s) + 2,
  answered: lengthOf(s) + 3,
});

/** Return the nearest state that exists to any wishes. */
const settled = (wish) => {
  const s = {};
  s.problem = among(wish.problem ?? START.problem, [START.problem, "istree"]);
  const ns = PUBLIC.sizes.filter((z) => z.problem === s.problem).map((z) => z.n);
  s.n = nearest(wish.n ?? START.n, ns);
  s.model = among(wish.model ?? START.model, PUBLIC.models);
  const numbers = [...new Set(machinesOf(s.problem, s.n, s.model).map((m) => m.state_numbers))];
  s.numbers = nearest(wish.numbers ?? START.numbers, numbers);
  const widths = PUBLIC.machines
    .filter((m) => m.problem === s.problem && m.n === s.n && m.model === s.model
      && m.state_numbers === s.numbers)
    .map((m) => m.bits_per_number);
  s.bits = nearest(wish.bits ?? START.bits, widths);
  const size = PUBLIC.sizes[sizeOf(s.problem, s.n)];
  const collision = PUBLIC.machines[machineOf(s)].collision;
  const fits = new RegExp(`^[01]{${size.length}}$`).test(wish.x ?? "");
  s.x = fits ? wish.x : firstInput(s, size, collision);
  s.k = Math.min(Math.max(wish.k ?? (collision ? collision.query : 1), 1), size.queries);
  const steps = stepsOf(s);
  s.step = Math.min(Math.max(wish.step ?? steps.asked, 0), steps.answered);
  s.guess = wish.guess === 0 || wish.guess === 1 ? wish.guess : null;
  s.hide = wish.hide === 1 ? 1 : 0;
  s.wager = wish.wager >= 50 && wish.wager <= 100 ? Math.round(wish.wager) : null;
  s.theme = among(wish.theme, ["auto", "light", "dark"]);
  return s;
};

/** An input to begin with: of the two that Bob confuses, the one that he gets wrong. */
const firstInput = (s, size, collision) => {
  if (!collision) return "1011001010".slice(0, size.length);
  const said = BOBS[machineOf(s)](collision.message, collision.query - 1);
  return said === collision.answers[0] ? collision.x2 : collision.x1;
};

const WORDS = ["problem", "model", "x", "theme"];
const COUNTS = ["n", "numbers", "bits", "k", "step", "guess", "hide", "wager"];

const fromAddress = () => {
  const held = new URLSearchParams(window.location.hash.slice(1));
  const wish = {};
  WORDS.forEach((name) => { if (held.has(name)) wish[name] = held.get(name); });
  COUNTS.forEach((name) => {
    if (/^\d{1,4}$/.test(held.get(name) ?? "")) wish[name] = Number(held.get(name));
  });
  return settled(wish);
};

const toAddress = (s) => {
  const order = ["problem", "n", "model", "numbers", "bits", "x", "k", "step", "guess", "hide", "wager", "theme"];
  const kept = order.filter((name) => s[name] !== null && !(name === "hide" && !s.hide)
    && !(name === "theme" && s.theme === "auto"));
  return `#${kept.map((name) => `${name}=${s[name]}`).join("&")}`;
};
