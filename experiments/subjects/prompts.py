"""What a language model is asked, in its own tokens: who has what, and passages that come again.

Names and things are each one token, so that all prompts of a kind have the same length and a
name's place is the same in all of them. Which name is where is public (it is drawn with the
seed, apart from x); which thing a name has is x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statebound.errors import UsageError
from statebound.experiments.subjects.smollm import Llama, Tokens
from statebound.protocols.problems.phonebook import Phonebook

HEAD, HAS, END = "A list of names and things:\n", ":", "\n"
NAMES = (
    "Mary John Alice Bob Peter Paul Anna Emma Jack James Henry Oliver Lucy Sarah David Daniel "
    "Maria Laura Simon Thomas George Edward William Robert Richard Charles Joseph Michael Andrew "
    "Martin Frank Arthur Albert Victor Walter Tom Ben Max Leo Rose Grace Helen Julia Kate"
)
THINGS = (
    "apple bread chair clock cloud dress eagle flute glass grape horse house juice knife lemon "
    "mouse"
)


@dataclass(frozen=True)
class Book:
    """Prompts that say who has what, with questions.

    Attributes
    ----------
    tokens
        (B, n) Alice's.
    asks
        (B, Q, T) Bob's: a name of each of Q equal stretches of the prompt, drawn evenly, and
        what stands between a name and a thing. So their mean is that over all names alike.
    truth
        (B, Q) the number of the thing.
    things
        The tokens that can be answers, in order.
    names, head
        How many names a prompt has; how many tokens are before the first of them.
    """

    tokens: Tokens
    asks: Tokens
    truth: Tokens
    things: Tokens
    names: int
    head: int


def problem(names: int) -> Phonebook:
    """Return what is asked, as a problem that has walls: one symbol for each of the names."""
    return Phonebook(names, digits=1, base=len(THINGS.split()))


def book(model: Llama, names: int, stretches: int, count: int, seed: int) -> Book:
    """Draw prompts.

    Raises
    ------
    UsageError
        When the model has not so many names, or not all things, as single tokens.
    """
    known, things = (model.one([f" {w}" for w in text.split()]) for text in (NAMES, THINGS))
    if names % stretches or not 0 < names <= len(known):
        raise UsageError(
            "names", names, f"must be a multiple of {stretches} up to {len(known)}", "pass 12"
        )
    if len(things) != len(THINGS.split()):
        raise UsageError(
            "weights", "the tokeniser", "has no single token for some things", "use SmolLM2"
        )
    generator = np.random.Generator(np.random.PCG64([seed, 5]))
    asked = problem(names)
    x = asked.sample(generator, count).astype(np.int64)
    who = generator.permuted(np.tile(known, (count, 1)), axis=1)[:, :names]
    has, end = (np.tile(model.tokens(text), (count, names, 1)) for text in (HAS, END))
    lines = [who[..., None], has, np.array(things)[x][..., None], end]
    head = np.tile([model.first, *model.tokens(HEAD)], (count, 1))
    tokens = np.concatenate([head, np.concatenate(lines, axis=2).reshape(count, -1)], axis=1)
    each = names // stretches
    which = np.arange(stretches) * each + generator.integers(0, each, (count, stretches))
    row = np.arange(count)[:, None]
    asks = np.concatenate([who[row, which][..., None], has[:, :stretches]], axis=2)
    return Book(tokens, asks, x[row, which], np.array(things), names, head.shape[1])


def passages(model: Llama, text: str, count: int, length: int, after: int) -> Tokens:
    """Return pieces (B, length + after) of a text at even distances, that may overlap.

    Raises
    ------
    UsageError
        When the text is too short.
    """
    tokens = np.array(model.tokens(text), np.int64)
    size = length + after
    if len(tokens) < size + count:
        raise UsageError(
            "text",
            f"{len(tokens)} tokens",
            f"must have at least {size + count}",
            "pass a longer one",
        )
    starts = np.linspace(0, len(tokens) - size, count).astype(np.int64)
    found: Tokens = tokens[starts[:, None] + np.arange(size)]
    return found
