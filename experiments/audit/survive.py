"""What survives when the state of a subject is sent in few bits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from statebound.errors import StateboundError, UsageError
from statebound.experiments.audit.coder import Coder, Scheme
from statebound.experiments.audit.cut import Run
from statebound.experiments.audit.mixed import mixed
from statebound.experiments.audit.record import Audit
from statebound.experiments.audit.retrieval import retrieval
from statebound.experiments.audit.stage import PIECEMEAL, Stage, opened
from statebound.experiments.audit.stepwise import Automaton, samples
from statebound.experiments.audit.subject import Outputs, Subject, Tokens
from statebound.experiments.audit.survival import STEPPED, Level, Survival
from statebound.experiments.estimates import Interval, betting_interval
from statebound.reductions import quantiser as quantisers

BITS = (2, 3, 4, 6, 8, 16, 32)
FLOATS = ("fp4_e2m1", "fp8_e4m3", "bf16", "fp16", "fp32")
ROUNDINGS = ("nearest", "stochastic", "feedback")
PROMPTS, PUBLIC, AHEAD, FITTED = 40, 64, 2, 6
FEW = (2, 4, 8)
MOST_PARTS = 16
SMALL = 500_000
"""Parameters up to which it is measured by default."""


def survive(
    subject: Subject,
    found: Audit,
    *,
    seed: int = 0,
    bits: Sequence[int] = BITS,
    quantiser: str | None = None,
    quality: float = 0.99,
    prompts: int = PROMPTS,
    tasks: bool = True,
) -> Survival:
    """Measure what is left of a subject's outputs when its state is rounded.

    Parameters
    ----------
    subject, found
        The subject and its audit.
    seed
        Public: of the inputs, of those for calibration, and of coins.
    bits
        Bits a number to try, where the quantiser has them.
    quantiser
        One of `statebound quantisers`; by default absmax, uniform, and the floating-point
        formats.
    quality
        The agreement that the mixed precision has to keep.
    prompts
        Inputs measured.
    tasks
        Whether to try retrieval.

    Returns
    -------
    The record; its `reason` says why where a state cannot be cut or is empty.

    Raises
    ------
    UsageError
        When the quantiser has none of the bits, or brings its own parameters.
    """
    families = _families(quantiser, bits)
    if not found.ok:
        return Survival("the state cannot be split, so there is no message to round")
    generator = np.random.Generator(np.random.PCG64([seed, 1]))
    h, V = found.handoff, subject.vocabulary
    tokens: Tokens = generator.integers(0, V, (prompts, h + AHEAD))
    public: Tokens = generator.integers(0, V, (PUBLIC, h + AHEAD))
    cut = opened(subject, found, public[0])
    try:
        stage = Stage(cut, found, tokens[:, :h], public[:, : h + 1], seed)
    except StateboundError as error:
        return Survival(str(error))
    if not stage.pieces:
        return Survival("no part of the state is made of real numbers")
    after = tokens[:, h:]
    whole = _read(stage, stage.bobs(None), after)
    main, precisions = next(iter(families.items()))

    def level(scheme: Scheme, which: str = "all") -> Level:
        said = _read(stage, stage.bobs(scheme), after)
        return judged(which, scheme, "handoff", stage.state_bits(scheme), said, whole)

    levels = [level(stage.everywhere(name, p)) for name, held in families.items() for p in held]
    few = [p for p in precisions if p in FEW or tuple(bits) != BITS] or precisions
    levels += [level(Scheme(main, part), which) for which, part in _parts(stage, few)]
    no_steps, stepped = _stepped(stage, main, few, tokens, public, seed)
    return Survival(
        reason="",
        seed=seed,
        handoff=h,
        ahead=AHEAD,
        prompts=prompts,
        public=PUBLIC,
        exact_bits=stage.state_bits(Scheme("", {})),
        other_bits=stage.other_bits,
        floor=agreement(_read(stage, stage.idle(), after), whole),
        kinds={piece.name: piece.kind for piece in stage.pieces},
        caches=tuple(p.name for p in stage.pieces if p.axis is not None),
        levels=tuple(levels + stepped),
        no_steps=no_steps,
        mixed=mixed(stage, after, main, precisions, quality, seed),
        recall=retrieval(cut, found, main, precisions, seed) if tasks else (),
    )


def check(quantiser: str | None, bits: Sequence[int]) -> None:
    """Refuse what cannot be tried, before a subject is loaded.

    Raises
    ------
    UsageError
        As `survive`.
    """
    _families(quantiser, bits)


def _families(quantiser: str | None, bits: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Return the bits to try for each quantiser, the one used for parts first."""
    found = {}
    for name in ("absmax", "uniform", *FLOATS) if quantiser is None else (quantiser,):
        family = quantisers.load(name)
        if family.given:
            raise UsageError(
                "quantiser", name, "has parameters of its own", "choose absmax or uniform"
            )
        low, high = family.least_bits, family.most_bits
        held = tuple(sorted({p for p in bits if low <= p <= high}))
        if low == high:
            held = (low,)
        if held:
            found[name] = held
    if not found:
        raise UsageError(
            "bits", list(bits), f"{quantiser} works at none of them", "choose other bits a number"
        )
    return found


def _read(stage: Stage, bobs: Iterable[Run], after: Tokens) -> Outputs:
    return np.stack([stage.read(bob, x) for bob, x in zip(bobs, after, strict=True)])


def _parts(stage: Stage, precisions: Sequence[int]) -> list[tuple[str, dict[str, int]]]:
    """Return what is rounded alone: each kind at each precision, each group at one."""
    found = []
    kinds = dict.fromkeys(piece.kind for piece in stage.pieces)
    if len(kinds) > 1:
        found = [
            (kind, {p.name: bits for p in stage.pieces if p.kind == kind})
            for kind in kinds
            for bits in precisions
        ]
    groups = dict.fromkeys(piece.group for piece in stage.pieces)
    probe = min(precisions, key=lambda p: abs(p - 4))
    if len(groups) > 1:
        found += [
            (group, {p.name: probe for p in stage.pieces if p.group == group})
            for group in list(groups)[:MOST_PARTS]
        ]
    return found


def _stepped(
    stage: Stage,
    quantiser: str,
    precisions: Sequence[int],
    tokens: Tokens,
    public: Tokens,
    seed: int,
) -> tuple[str, list[Level]]:
    """Round after every token, in every way; return why not, or the levels."""
    found, cut = stage.found, stage.cut
    if not found.step_ok and found.continue_with != PIECEMEAL:
        return "going on token by token is wrong for this subject", []
    few = tokens[:STEPPED]
    coder = Coder(stage.pieces, samples(cut, public[:FITTED]), seed)
    whole = Automaton(cut, coder, Scheme("", {})).outputs(few, AHEAD)
    levels = []
    for rounding in ROUNDINGS:
        for bits in precisions:
            scheme = stage.everywhere(quantiser, bits, rounding)
            said = Automaton(cut, coder, scheme).outputs(few, AHEAD)
            held = stage.state_bits(scheme)
            levels.append(judged("all", scheme, "step", held, said, whole))
    return "", levels


def judged(
    which: str, scheme: Scheme, regime: str, held: int, said: Outputs, whole: Outputs
) -> Level:
    """Return how outputs (S, ahead, K) compare with those of the state as it is."""
    return Level(
        which=which,
        quantiser=scheme.quantiser,
        bits=max(scheme.bits.values()),
        rounding=scheme.rounding,
        regime=regime,
        state_bits=held,
        error=relative_error(said, whole),
        agreement=agreement(said, whole),
    )


def relative_error(said: Outputs, whole: Outputs) -> float | None:
    """Return the root mean square of the difference over that of the outputs.

    Examples
    --------
    >>> relative_error(np.array([[[3.0, 5.0]]]), np.array([[[3.0, 4.0]]]))
    0.2
    """
    with np.errstate(invalid="ignore", over="ignore"):
        error = float(np.sqrt(np.sum((said - whole) ** 2)))
    size = float(np.sqrt(np.sum(whole**2)))
    if not np.isfinite(error) or not np.isfinite(size):
        return None
    return error / size if size else 0.0


def agreement(said: Outputs, whole: Outputs) -> Interval:
    """Return how often the largest output is at the same place, a block an input."""
    usable = np.isfinite(said).all(axis=-1)
    same = (said.argmax(axis=-1) == whole.argmax(axis=-1)) & usable
    return betting_interval(same.mean(axis=1))
