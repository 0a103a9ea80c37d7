"""The options of the command line, each declared once.

Commands that take a machine share the fields of `Request`: `with_request` gives a
function that receives a Request the options of its fields.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from statebound import registry
from statebound.errors import UsageError
from statebound.experiments.request import Request, parse_settings

_PROBLEM = typer.Argument(help="Problem, see `statebound problems`.")
_N = typer.Option("--n", help="Size of the problem.")
PROBLEM = Annotated[str, _PROBLEM]
JSON = Annotated[bool, typer.Option("--json", help="One line of JSON and no talk.")]
N = Annotated[int, _N]
ALPHABET = Annotated[
    int | None, typer.Option("--alphabet", help="Symbols to choose from, where there is a choice.")
]
LAW = Annotated[
    str, typer.Option("--query-law", help="uniform, zipf, or recency:RATE (recent asked more).")
]
OPTION = Annotated[
    list[str] | None,
    typer.Option("--option", help="Another option of the problem: NAME=VALUE."),
]
RAW = Annotated[bool, typer.Option("--raw", help="No header: the message's bytes alone.")]
BOB = Annotated[
    str | None,
    typer.Option(
        "--bob", help="optimal, learned, or model (by default the best the engine can judge)."
    ),
]


def _names(package: str) -> str:
    """Return the names of a package's variants, for a help text."""
    return ", ".join(registry.names(f"statebound.reductions.{package}"))


BITS = Annotated[
    int | None,
    typer.Option("--bits", help="Bits a number (the fewest that the quantiser has)."),
]
PRECISION = Annotated[
    list[str] | None,
    typer.Option("--precision", help="Bits a number of some fields: FIELD=P, or several by comma."),
]
QUANTISER = Annotated[
    str | None,
    typer.Option(
        "--quantiser",
        help=f"{_names('quantisers')} (quantile to 8 bits, uniform beyond).",
    ),
]
ROUNDING = Annotated[str, typer.Option("--rounding", help=f"{_names('roundings')}.")]

MACHINE: dict[str, Any] = {
    "problem": PROBLEM,
    "n": N,
    "alphabet": ALPHABET,
    "query_law": LAW,
    "options": OPTION,
    "through": Annotated[
        str | None,
        typer.Option("--through", help="Map the problem to this one, and solve that."),
    ],
    "model": Annotated[
        str | None,
        typer.Option("--model", help="Model, see `statebound models`; or module:factory."),
    ],
    "protocol": Annotated[
        str | None,
        typer.Option(
            "--protocol", help="See `statebound protocols`; or module:factory, table:FILE.npz."
        ),
    ],
    "state_bits": Annotated[
        int | None, typer.Option("--state-bits", help="Message bits M of a --protocol.")
    ],
    "weights": Annotated[
        str | None,
        typer.Option(
            "--weights", help="Parameters, or all of a trained machine: .safetensors or .json."
        ),
    ],
    "init": Annotated[
        str | None,
        typer.Option("--init", help="How parameters are made, as `models` lists, or trained."),
    ],
    "machine_seed": Annotated[
        int | None,
        typer.Option("--machine-seed", help="Public seed of drawn parameters and of coins (0)."),
    ],
    "numbers": Annotated[
        int | None, typer.Option("--numbers", help="Total of numbers in the state (8 or nearest).")
    ],
    "settings": Annotated[
        list[str] | None, typer.Option("--set", help="Override a config field: NAME=VALUE.")
    ],
    "bits": BITS,
    "precision": PRECISION,
    "regime": Annotated[
        str | None,
        typer.Option("--regime", help="Quantise once (handoff), or after every token (step)."),
    ],
    "dtype": Annotated[
        str | None, typer.Option("--dtype", help="float32 (unless trained otherwise) or float64.")
    ],
    "quantiser": QUANTISER,
    "rounding": ROUNDING,
    "encoding": Annotated[
        str | None, typer.Option("--encoding", help=f"{_names('encodings')} (the model's own).")
    ],
}
ENGINE = Annotated[str, typer.Option("--engine", help="enumerate, automaton, sample, or auto.")]
TRIALS = Annotated[int, typer.Option("--trials", help="Inputs that a sample draws.")]
SEED = Annotated[int, typer.Option("--seed", help="Seed of the sample.")]
_ENGINE: dict[str, Any] = {"engine": ENGINE, "bob": BOB, "trials": TRIALS, "seed": SEED}


def parse_precision(lists: list[str] | None) -> dict[str, int]:
    """Read the values of ``--precision``: pairs, also several in one by commas.

    Examples
    --------
    >>> parse_precision(["h=8,conv=4", "z=2"])
    {'h': 8, 'conv': 4, 'z': 2}
    """
    found = {}
    for pair in [p for text in lists or [] for p in text.split(",")]:
        name, _, value = pair.partition("=")
        if not (name and value.isascii() and value.isdigit()):
            raise UsageError(
                "precision", pair, "must be NAME=VALUE with a whole number", "write h=8"
            )
        found[name] = int(value)
    return found


def parse_options(pairs: list[str] | None) -> dict[str, str]:
    """Read NAME=VALUE pairs; what a value means is up to the problem."""
    options = {}
    for pair in pairs or []:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise UsageError("option", pair, "must be NAME=VALUE", "write alphabet=4")
        options[name.replace("-", "_")] = value
    return options


def with_request(
    *, engine: bool, required: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command ``f(request, **own)`` the options of a `Request`.

    Where the problem is not required, `request` is None when none was named.
    """
    options = MACHINE | (_ENGINE if engine else {})
    defaults = {name: f.default for name, f in Request.__dataclass_fields__.items()}
    defaults |= {"settings": None, "precision": None, "options": None}
    must = ("problem", "n") if required else ()
    if not required:
        options["problem"] = Annotated[str | None, _PROBLEM]
        options["n"] = Annotated[int | None, _N]
        defaults |= {"problem": None, "n": None}

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        own = [
            p
            for p in inspect.signature(function, eval_str=True).parameters.values()
            if p.name != "request"
        ]
        shared = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=kind,
                **({} if name in must else {"default": defaults[name]}),
            )
            for name, kind in options.items()
        ]

        def command(**arguments: Any) -> Any:
            given = {name: arguments.pop(name) for name in options}
            if not required and given["problem"] is None:
                return function(request=None, **arguments)
            if given["n"] is None:
                raise UsageError("n", None, "must be given", "pass --n N")
            given["settings"] = parse_settings(given["settings"])
            given["precision"] = parse_precision(given["precision"])
            given["options"] = parse_options(given["options"])
            return function(request=Request(**given), **arguments)

        keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
        parameters = [*shared, *keyword]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        return command

    return decorate
