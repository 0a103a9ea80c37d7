"""The parts of a training against their definitions in plain numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound.errors import StateboundError, UsageError
from statebound.experiments.training import torch_extra
from statebound.experiments.training.defaults import recommended
from statebound.experiments.training.recipe import Recipe
from statebound.experiments.training.train import plan
from statebound.experiments.training.twins import HOMES
from statebound.experiments.training.zoo import machines, name
from statebound.models import Field
from statebound.models._build import family
from statebound.protocols.problem import make


def test_a_recipe_is_its_json():
    recipe = Recipe("index", 8, {"alphabet": 3}, draws={"log_dt": [-2.0, 0.0]}, seeds=(3, 1))
    assert Recipe.of(recipe.plain()) == recipe
    assert Recipe.of(recipe.plain()).digest == recipe.digest
    other = Recipe.of(recipe.plain() | {"steps": 801})
    assert other.digest != recipe.digest


@pytest.mark.parametrize(
    "change",
    [
        {"loss": "squared"},
        {"bits": 0},
        {"bits": 9},
        {"steps": 0},
        {"examples": 1},
        {"rate": 0.0},
        {"soften": 1.5},
        {"seeds": ()},
        {"seeds": (1, 1)},
        {"seeds": (-1,)},
        {"seed": -1},
        {"model": "sliding_window"},
        {"model": "nothing"},
        {"regime": "never"},
        {"encoding": "nothing"},
        {"settings": {"width": 3}},
        {"numbers": 0},
        {"draws": {"log_dt": [0.0, 1.0]}},
        {"problem": "equality", "n": 20},
    ],
    ids="-".join,
)
def test_what_has_no_meaning_is_refused(change):
    with pytest.raises(UsageError):
        plan(Recipe(**{"problem": "index", "n": 4} | change))


def test_an_unknown_part_of_a_recipe_is_refused():
    with pytest.raises(UsageError, match="color"):
        Recipe.of({"problem": "index", "n": 4, "color": 1})


def test_a_recipe_without_its_problem_is_refused():
    with pytest.raises(UsageError, match="problem"):
        Recipe.of({"n": 4})


def test_without_torch_there_is_a_remedy(monkeypatch):
    monkeypatch.setattr(torch_extra, "find_spec", lambda name: None)
    with pytest.raises(StateboundError, match=r"pip install 'statebound\[torch\]'"):
        torch_extra.require()


def test_the_zoo_can_be_made():
    """Every recipe fits its model, no two are one file, and each is of the size it says."""
    recipes = list(machines())
    assert len({name(r) for r in recipes}) == len(recipes)
    for recipe in recipes:
        config = family(recipe.model).Config.of(recipe.numbers, recipe.settings)
        assert config.numbers == recipe.numbers
        assert recipe.model in HOMES
        assert recommended(recipe.model, recipe.n, recipe.regime).items() <= vars(recipe).items()


FIELDS = (Field("h", (3,)), Field("conv", (2, 2), cache=True))


@settings(max_examples=25)
@given(bits=st.integers(1, 4), seed=st.integers(0, 2**16))
def test_codes_are_those_of_the_codebook(bits, seed):
    torch = pytest.importorskip("torch")
    from statebound.experiments.training.quantise import Cut

    generator = torch.Generator().manual_seed(seed)
    state = tuple(torch.randn(2, 40, f.numbers, generator=generator) * 3 - 1 for f in FIELDS)
    cut = Cut(FIELDS, bits)
    scales = cut.statistics(state)
    y, codes = cut.rounded(state, scales)
    books = cut.codebooks(["h", "conv"], scales, 1)
    wide = [np.tile(books["conv"].thresholds, (2, 1)), np.tile(books["conv"].levels, (2, 1))]
    thresholds = np.concatenate([books["h"].thresholds, wide[0]])
    levels = np.concatenate([books["h"].levels, wide[1]])
    numbers = torch.cat(state, 2)[1].numpy()
    theirs = (numbers[..., None] >= thresholds).sum(-1)
    near = np.abs(numbers[..., None] - thresholds).min(-1) < 1e-5
    assert ((theirs == codes[1].numpy()) | near).all()
    back = torch.cat(cut.restored(y, scales), 2)[1].numpy()
    held = np.take_along_axis(np.broadcast_to(levels, (40, *levels.shape)), theirs[..., None], 2)
    assert (np.abs(back - held[..., 0]) < 1e-4)[~near].all()


def test_rounding_passes_the_gradient_of_y():
    torch = pytest.importorskip("torch")
    from statebound.experiments.training.quantise import Cut

    s = torch.linspace(-2, 2, 9).reshape(1, 9, 1).requires_grad_()
    one, zero = torch.ones(1, 1, 1), torch.zeros(1, 1, 1)
    y, _ = Cut(FIELDS[:1], 1).rounded((s,), [(zero, 2 * one)])
    y.sum().backward()
    expected = (1 - np.tanh(s.detach().numpy() / 2) ** 2) / 2
    assert np.allclose(s.grad.numpy(), expected, atol=1e-6)
    assert set(np.unique(y.detach().numpy().round(6))) == {-0.5, 0.5}


def test_losses_by_hand():
    torch = pytest.importorskip("torch")
    from statebound.experiments.training.decoder import losses, successes
    from statebound.experiments.training.examples import Batch

    truth = torch.tensor([[1, 0], [0, 0]])
    law = torch.tensor([0.75, 0.25])
    batch = Batch(torch.zeros(0), truth, law)
    said = torch.tensor([[[0.5, -3.0], [2.0, 0.25]]])  # margins .5, 3; -2, -.25
    hinge = losses(said, batch, hinge=True)
    assert hinge.tolist() == pytest.approx([(0.75 * 0.5 + 0.75 * 3 + 0.25 * 1.25) / 2])
    cross = [np.log1p(np.exp(-m)) for m in (0.5, 3.0, -2.0, -0.25)]
    expected = (0.75 * (cross[0] + cross[2]) + 0.25 * (cross[1] + cross[3])) / 2
    assert losses(said, batch, hinge=False).tolist() == pytest.approx([expected])
    assert successes(said, batch).tolist() == pytest.approx([(0.75 + 0.25) / 2])
    both = torch.stack([torch.zeros_like(said), said], 3).flatten(2)  # as one score an answer
    for way in (True, False):
        assert torch.allclose(losses(both, batch, hinge=way), losses(said, batch, hinge=way))
    assert torch.equal(successes(both, batch), successes(said, batch))


def test_adam_is_the_published_one():
    torch = pytest.importorskip("torch")
    from statebound.experiments.training.loop import Adam

    drawn = np.random.Generator(np.random.PCG64(5))
    start, mean, square = drawn.normal(size=(2, 7)), np.zeros((2, 7)), np.zeros((2, 7))
    matrix = torch.tensor(start, requires_grad=True)
    adam = Adam(matrix)
    for t in range(1, 6):
        gradient = drawn.normal(size=(2, 7)) * [[0.01], [3.0]]
        matrix.grad = torch.tensor(gradient)
        adam.step(0.02, 1.0)
        norm = np.linalg.norm(gradient, axis=1, keepdims=True)
        gradient = gradient * np.minimum(1, 1 / norm)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        start = start - 0.02 * (mean / (1 - 0.9**t)) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
    assert np.allclose(matrix.detach().numpy(), start, rtol=1e-6)


@pytest.mark.parametrize(
    ("problem", "n", "options", "encoding"),
    [
        ("index", 5, {"alphabet": 3}, "pairs"),
        ("index", 5, {"distractors": 2}, "bits"),
        ("istree", 6, {}, "keyed"),
        ("mqar", 3, {}, "bits"),
        ("augmented_index", 5, {}, "pairs"),
    ],
)
def test_picks_are_the_encoding(problem, n, options, encoding):
    torch = pytest.importorskip("torch")
    from statebound.experiments.training.examples import Examples
    from statebound.reductions.encoding import make as encode

    made = make(problem, n, options)
    spoken = encode(encoding, made)
    examples = Examples(made, spoken)
    generator = np.random.Generator(np.random.PCG64(2))
    x = made.sample(generator, 60)
    batch = examples.batch(x)
    tokens = (batch.picks * examples.choices[:, None]).sum(2).T.long()
    assert (tokens.numpy() == spoken.tokens(x)).all()
    assert (batch.truth.numpy() == made.answers(x)).all()
    law = np.broadcast_to(batch.law.numpy(), batch.truth.shape)
    assert np.allclose(law.sum(1), 1)
    times = made.multiplicities(x)
    if times is not None:
        assert np.allclose(law, times / times.sum(1, keepdims=True))
    few = next(examples.stream(50, generator, 3))
    assert len(torch.unique(few.picks.transpose(0, 1).flatten(1), dim=0)) <= 3
