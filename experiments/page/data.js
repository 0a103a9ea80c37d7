// The four blocks of data, each behind its own door. Bob's door takes a message and k alone.

const block = (name) => JSON.parse(document.getElementById(`data-${name}`).textContent);

const PUBLIC = block("public");

const sizeOf = (problem, n) =>
  PUBLIC.sizes.findIndex((size) => size.problem === problem && size.n === n);

const machinesOf = (problem, n, model, bits) =>
  PUBLIC.machines.filter((m) => m.problem === problem && m.n === n && m.model === model
    && (bits === undefined || m.bits_per_number === bits));

const machineOf = (s) =>
  PUBLIC.machines.findIndex((m) => m.problem === s.problem && m.n === s.n
    && m.model === s.model && m.state_numbers === s.numbers && m.bits_per_number === s.bits);

const ALICE = (() => {
  const { machines, pool } = block("alice");
  const decoded = new Map();
  const bytes = (place) => {
    if (!decoded.has(place)) {
      decoded.set(place, Uint8Array.from(atob(pool[place]), (c) => c.charCodeAt(0)));
    }
    return decoded.get(place);
  };
  // Beginnings of one symbol come first, then those of two; x_1 counts 1, x_2 counts 2, ...
  const row = (read) => {
    let number = 0;
    for (let i = 0; i < read.length; i += 1) number += Number(read[i]) << i;
    return (1 << read.length) - 2 + number;
  };
  const cut = (array, width, at) => array.subarray(at * width, (at + 1) * width);
  const hex = (part) => Array.from(part, (b) => b.toString(16).padStart(2, "0")).join("");
  return {
    /** The numbers of the state after reading `read`, as shades. */
    shades: (machine, read) =>
      Array.from(cut(bytes(machines[machine].values), PUBLIC.machines[machine].state_numbers, row(read))),
    /** What a shade of the number in place c stands for. */
    number: (machine, shade, c) => {
      const [low, high] = machines[machine].range[c];
      return low + ((high - low) * shade) / PUBLIC.shades;
    },
    /** The message, in hex, if the handoff came after `read`. */
    message: (machine, read) =>
      hex(cut(bytes(machines[machine].messages), PUBLIC.machines[machine].message_bytes, row(read))),
    /** How many whole inputs send a message, and which of them they are. */
    senders: (machine, length, message) => {
      const held = bytes(machines[machine].messages);
      const width = PUBLIC.machines[machine].message_bytes;
      const found = [];
      for (let i = 0; i < 1 << length; i += 1) {
        if (hex(cut(held, width, (1 << length) - 2 + i)) === message) found.push(i);
      }
      return found;
    },
  };
})();

/** Bob: made from his table; an answer follows from a message and k, from 0. */
const BOBS = block("bob").map((table) => (message, k) => Number(table[message][k]));

const REFEREE = (() => {
  const sizes = block("referee");
  const number = (x) => Array.from(x).reduce((sum, bit, i) => sum + (Number(bit) << i), 0);
  return {
    answer: (size, x, k) => Number(sizes[size].answers[number(x)][k]),
    answerOf: (size, input, k) => Number(sizes[size].answers[input][k]),
    graph: (size, x, k) => ({
      bits: sizes[size].graph[number(x)],
      tree: sizes[size].trees[number(x)][k] === "1",
      vertices: sizes[size].vertices,
      edge: sizes[size].edges[k],
    }),
  };
})();

/** The bits of a message in the order in which they are packed: the least of a byte first. */
const messageBits = (hex, count) => {
  const bits = [];
  for (let i = 0; i < count; i += 1) {
    bits.push((parseInt(hex.slice(2 * (i >> 3), 2 * (i >> 3) + 2), 16) >> (i & 7)) & 1);
  }
  return bits;
};

/** The codes in a message: each of `width` bits, the least first. */
const messageCodes = (hex, numbers, width) => {
  const bits = messageBits(hex, numbers * width);
  return Array.from({ length: numbers }, (_, i) =>
    bits.slice(i * width, (i + 1) * width).reduce((sum, bit, j) => sum + bit * 2 ** j, 0));
};
