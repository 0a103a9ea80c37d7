"""Small subjects, honest and not, each with one thing the matter with it."""

from __future__ import annotations

import numpy as np

GLOBAL = {"h": None}
WIDTH, VOCABULARY = 6, 8


class Honest:
    """h' = tanh(A h + E[token]), output C h."""

    vocabulary = VOCABULARY

    def __init__(self):
        drawn = np.random.Generator(np.random.PCG64(5))
        self.A = drawn.standard_normal((WIDTH, WIDTH)) * 0.4
        self.E = drawn.standard_normal((VOCABULARY, WIDTH))
        self.C = drawn.standard_normal((4, WIDTH))

    def fresh(self):
        return {"h": np.zeros(WIDTH)}

    def step(self, h, token):
        return np.tanh(self.A @ h + self.E[token])

    def scan(self, tokens, h):
        rows = []
        for token in tokens:
            h = self.step(h, token)
            rows.append(self.C @ h)
        return np.array(rows), h

    def read(self, tokens, state):
        rows, h = self.scan(tokens, state["h"])
        return rows, {"h": h}


class StateInAGlobal(Honest):
    def fresh(self):
        GLOBAL["h"] = None

    def read(self, tokens, state=None):
        h = GLOBAL["h"]
        rows, GLOBAL["h"] = self.scan(tokens, np.zeros(WIDTH) if h is None else h)
        return rows, None


class StateInAGlobalNeverCleared(StateInAGlobal):
    def fresh(self):
        return None


LAST = [0]


class TokenInAGlobal(Honest):
    """What was read last is kept where a fresh state clears it."""

    vocabulary = 2

    def fresh(self):
        LAST[0] = 0
        return super().fresh()

    def step(self, h, token):
        h = np.tanh(self.A @ h + self.E[token] + 0.5 * self.E[LAST[0]])
        LAST[0] = int(token)
        return h


class FreshFails(Honest):
    def fresh(self):
        raise RuntimeError("no\nstate")


class ReadsWords(Honest):
    def read(self, tokens, state):
        return [["word"]] * len(tokens), state


class CountsInNumpy(Honest):
    vocabulary = np.int64(VOCABULARY)


def fails():
    raise ZeroDivisionError("in the factory")


def takes(something):
    return Honest()


class StateInAClassAttribute(Honest):
    seen = 0.0

    def read(self, tokens, state):
        rows, h = self.scan(tokens, state["h"])
        StateInAClassAttribute.seen += float(h[0])
        return rows + StateInAClassAttribute.seen, {"h": h}


class StateInADefault(Honest):
    def read(self, tokens, state, memory={"h": 0.0}):  # noqa: B006
        rows, h = self.scan(tokens, state["h"])
        memory["h"] += float(h[0])
        return rows + memory["h"], {"h": h}


class CounterOutsideTheCache(Honest):
    """Adds a position code, whose position is counted in the object."""

    def __init__(self):
        super().__init__()
        self.position = 0

    def read(self, tokens, state):
        rows, h = self.scan(tokens, state["h"])
        codes = np.sin(np.arange(self.position, self.position + len(tokens)))
        self.position += len(tokens)
        return rows + codes[:, None], {"h": h}


class StateInAnAttribute(Honest):
    """As RecurrentGemma: what is returned holds only half of it."""

    def __init__(self):
        super().__init__()
        self.memory = None

    def read(self, tokens, state):
        h = state["h"].copy()
        if self.memory is not None:
            h[3:] = self.memory
        rows, h = self.scan(tokens, h)
        self.memory = h[3:].copy()
        return rows, {"h": np.concatenate([h[:3], np.zeros(3)])}


class LogInTheObject(Honest):
    """Keeps every token in a list of its own and looks back three."""

    def __init__(self):
        super().__init__()
        self.log = []

    def read(self, tokens, state):
        rows, h = self.scan(tokens, state["h"])
        back = []
        for token in tokens:
            self.log.append(int(token))
            back.append(self.log[-3] if len(self.log) > 2 else 0)
        return rows + np.array(back)[:, None], {"h": h}


class GrowingCache(Honest):
    """Attention without end: keeps every vector and averages."""

    def fresh(self):
        return {"seen": np.zeros((0, WIDTH))}

    def read(self, tokens, state):
        seen, rows = state["seen"], []
        for token in tokens:
            seen = np.concatenate([seen, self.E[token][None]])
            weights = np.exp(seen @ self.E[token])
            rows.append(self.C @ (weights @ seen / weights.sum()))
        return np.array(rows), {"seen": seen}


class GrowingInteger(Honest):
    """A state of one Python integer, the tokens as its digits."""

    def fresh(self):
        return 1

    def read(self, tokens, state):
        rows = []
        for token in tokens:
            state = state * VOCABULARY + int(token)
            rows.append([float(state % 1009), float(state // VOCABULARY % VOCABULARY)])
        return rows, state


class Window(Honest):
    """Keeps the last five vectors: fills, then stays."""

    landmarks = (5,)

    def fresh(self):
        return {"seen": np.zeros((0, WIDTH))}

    def read(self, tokens, state):
        seen, rows = state["seen"], []
        for token in tokens:
            seen = np.concatenate([seen, self.E[token][None]])[-5:]
            rows.append(np.tanh(self.C @ (np.arange(1.0, len(seen) + 1) @ seen)))
        return np.array(rows), {"seen": seen}


class ChunkDropsTheState(Honest):
    """As Mamba: a call of several tokens starts from zero again."""

    def read(self, tokens, state):
        h = state["h"] if len(tokens) == 1 else np.zeros(WIDTH)
        rows, h = self.scan(tokens, h)
        return rows, {"h": h}


class StateIgnored(Honest):
    def read(self, tokens, state):
        rows, h = self.scan(tokens, np.zeros(WIDTH))
        return rows, {"h": h}


class KeywordSwallowed(Honest):
    """Takes its state as `cache`; `state` goes into **kwargs."""

    def read(self, tokens, cache=None, **kwargs):
        rows, h = self.scan(tokens, np.zeros(WIDTH) if cache is None else cache["h"])
        return rows, {"h": h}


class DeadTensor(Honest):
    def fresh(self):
        return {"h": np.zeros(WIDTH), "unused": np.zeros(3)}

    def read(self, tokens, state):
        rows, h = self.scan(tokens, state["h"])
        return rows, {"h": h, "unused": state["unused"] + h[:3]}


class DeadColumn(Honest):
    """A convolution window with one column more than it reads."""

    def fresh(self):
        return {"conv": np.zeros((WIDTH, 4))}

    def read(self, tokens, state):
        conv, rows = state["conv"], []
        for token in tokens:
            conv = np.concatenate([conv[:, 1:], self.E[token][:, None]], axis=1)
            rows.append(np.tanh(self.C @ (conv @ [0.5, -1.0, 2.0, 1.0])))
        return np.array(rows), {"conv": conv}


class NeedsPositions(Honest):
    def read(self, tokens, state, start=0):
        rows, h = self.scan(tokens, state["h"])
        return rows + np.sin(np.arange(start, start + len(tokens)))[:, None], {"h": h}


class CounterInside(Honest):
    def fresh(self):
        return {"h": np.zeros(WIDTH), "position": 0}

    def read(self, tokens, state):
        rows, h = self.scan(tokens, state["h"])
        start = state["position"]
        at = np.sin(np.arange(start, start + len(tokens)))
        return rows + at[:, None], {"h": h, "position": start + len(tokens)}


class WritesInPlace(Honest):
    def read(self, tokens, state):
        rows, h = self.scan(tokens, state["h"])
        state["h"][:] = h
        return rows, state


class ReadsAhead(Honest):
    def read(self, tokens, state):
        rows, h = self.scan(tokens, state["h"])
        return rows + rows.mean(axis=0), {"h": h}


class Random(Honest):
    def read(self, tokens, state):
        rows, h = self.scan(tokens, state["h"])
        return rows + np.random.standard_normal(rows.shape), {"h": h}  # noqa: NPY002


class KeysDependOnTokens(Honest):
    """Counts tokens in a dictionary: which keys there are is information."""

    def fresh(self):
        return {}

    def read(self, tokens, state):
        held, rows = dict(state), []
        for token in tokens:
            held[int(token)] = held.get(int(token), 0) + 1
            rows.append([float(len(held)), float(held[int(token)])])
        return rows, held


class Hider:
    """Cannot be looked into: no attributes, no items."""

    __slots__ = ()

    held = {}  # noqa: RUF012


class StepsAndCallsDiffer(Honest):
    """As Zamba2: a clamp in the path of several tokens that the path of one lacks."""

    def read(self, tokens, state):
        h, rows = state["h"], []
        for token in tokens:
            h = self.step(h, token)
            if len(tokens) > 1:
                h = np.clip(h, -0.8, 0.8)
            rows.append(self.C @ h)
        return np.array(rows), {"h": h}


class StepsForget(Honest):
    """A call of one token uses half of the state."""

    def read(self, tokens, state):
        rows, h = self.scan(tokens, state["h"] * (0.5 if len(tokens) == 1 else 1.0))
        return rows, {"h": h}


class NoOutputsEach(Honest):
    def read(self, tokens, state):
        rows, h = self.scan(tokens, state["h"])
        return rows[-1], {"h": h}


class RefusesChunks(Honest):
    def read(self, tokens, state):
        if len(tokens) > 1 and state["h"].any():
            raise AssertionError("one token at a time")
        rows, h = self.scan(tokens, state["h"])
        return rows, {"h": h}


class NoNumbers(Honest):
    def read(self, tokens, state):
        rows, h = self.scan(tokens, state["h"])
        return rows * np.nan, {"h": h}
