"""What a user asks for, and the protocol it makes.

A `Request` holds the arguments of the command line by the same names; `subject` turns
it into a problem and a protocol, with every argument checked.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

from statebound import registry
from statebound.errors import UsageError

if TYPE_CHECKING:  # the command line reads this module for --help: numpy and numba wait
    from numpy.typing import NDArray

    from statebound.protocols.problem import Option, Problem
    from statebound.protocols.protocol import Protocol
    from statebound.reductions.checkpoint import Checkpoint

ROOMS = ("statebound.protocols.codes", "statebound.protocols.controls")
GROUP = "statebound.protocols"

Settings = dict[str, int | str]
Options = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """One point to measure; see ``statebound measure --help`` for each argument."""

    problem: str
    n: int
    alphabet: int | None = None
    query_law: str = "uniform"
    options: Options = field(default_factory=dict)
    through: str | None = None
    model: str | None = None
    protocol: str | None = None
    state_bits: int | None = None
    weights: str | None = None
    init: str | None = None
    machine_seed: int | None = None
    numbers: int | None = None
    settings: Settings = field(default_factory=dict)
    bits: int | None = None
    precision: dict[str, int] = field(default_factory=dict)
    regime: str | None = None
    dtype: str | None = None
    quantiser: str | None = None
    rounding: str = "nearest"
    encoding: str | None = None
    engine: str = "auto"
    bob: str | None = None
    trials: int = 4096
    seed: int = 0

    @classmethod
    def from_plain(cls, data: dict[str, Any]) -> Request:
        """Return the request in JSON-able data, every value of its declared type.

        Raises
        ------
        TypeError
            When a name or a type is wrong.
        """
        for name, value in data.items():
            declared = str(cls.__annotations__[name]) if name in cls.__annotations__ else ""
            kinds = {
                "str": str,
                "int": int,
                "None": type(None),
                "Settings": dict,
                "Options": dict,
                "dict[str, int]": dict,
            }
            allowed = [kinds[part] for part in declared.split(" | ")] if declared else []
            if type(value) not in allowed:
                raise TypeError(f"{name} must be {declared or 'absent'}, not {value!r}")
        if any(type(v) not in (int, str) for v in data.get("settings", {}).values()):
            raise TypeError("settings must be whole numbers or texts")
        if any(type(v) is not int for v in data.get("precision", {}).values()):
            raise TypeError("precision must be whole numbers")
        if any(type(v) not in (int, str, bool) for v in data.get("options", {}).values()):
            raise TypeError("options must be numbers, text or true and false")
        return cls(**data)

    def make_problem(self) -> Problem:
        """Return the problem, checked."""
        from statebound.protocols.problem import make

        options: dict[str, Option] = {}
        if self.alphabet is not None:
            options["alphabet"] = self.alphabet
        if self.query_law != "uniform":
            options["query_law"] = self.query_law
        return make(self.problem, self.n, options | self.options)


def parse_settings(pairs: list[str] | None) -> Settings:
    """Read NAME=VALUE pairs; a value is a whole number if it can be, else text."""
    settings: Settings = {}
    for pair in pairs or []:
        name, _, value = pair.partition("=")
        if not (name and value):
            raise UsageError("set", pair, "must be NAME=VALUE", "write d_state=4")
        try:
            settings[name] = int(value)
        except ValueError:
            settings[name] = value
    return settings


def subject(request: Request) -> Protocol:
    """Return the protocol that a request names.

    Raises
    ------
    UsageError
        When an argument does not exist, does not fit, or two contradict each other.
    """
    problem = request.make_problem()
    if request.through is None:
        return _subject(request, problem)
    from statebound.reductions.map import Mapped
    from statebound.reductions.map import make as make_map

    through = make_map(problem, request.through)
    return Mapped(through, _subject(request, through.target))


def _subject(request: Request, problem: Problem) -> Protocol:
    held = None
    if request.protocol is None and request.weights is not None:
        if request.init is not None:
            raise UsageError(
                "init",
                request.init,
                f"contradicts the parameters in {request.weights}",
                "drop --init or --weights",
            )
        held = read_weights(Path(request.weights))
    named = request.model is not None or (held is not None and not isinstance(held, dict))
    if named == (request.protocol is not None):
        raise UsageError(
            "model",
            request.model,
            "exactly one of --model and --protocol must be given",
            "name a model (statebound models) or a protocol",
        )
    if named:
        return _machine(request, problem, held)
    _refuse_machine_arguments(request)
    assert request.protocol is not None
    return _protocol(problem, request.protocol, request.state_bits, request.settings)


def _machine(
    request: Request, problem: Problem, held: dict[str, NDArray[Any]] | Checkpoint | None
) -> Protocol:
    if request.state_bits is not None:
        raise UsageError(
            "state_bits",
            request.state_bits,
            "a model's state bits follow from its numbers and bits",
            "pass --numbers and --bits",
        )
    if request.machine_seed is not None and request.machine_seed < 0:
        raise UsageError("machine_seed", request.machine_seed, "must not be negative", "pass 0")
    from statebound.reductions.machine import cut

    return cut(
        problem,
        request.model,
        numbers=request.numbers,
        bits=request.bits,
        precision=request.precision,
        regime=request.regime,
        quantiser=request.quantiser,
        rounding=request.rounding,
        encoding=request.encoding,
        init=request.init,
        weights=held if isinstance(held, dict) else None,
        checkpoint=None if held is None or isinstance(held, dict) else held,
        machine_seed=request.machine_seed,
        settings=request.settings,
        dtype=request.dtype,
    )


def _refuse_machine_arguments(request: Request) -> None:
    plain = Request(request.problem, request.n)
    for name in (
        "weights",
        "init",
        "machine_seed",
        "numbers",
        "bits",
        "precision",
        "regime",
        "dtype",
        "quantiser",
        "rounding",
        "encoding",
    ):
        value = getattr(request, name)
        if value != getattr(plain, name):
            raise UsageError(name, value, "belongs to --model, not to --protocol", f"drop --{name}")


def protocol_names() -> dict[str, str]:
    """Return every registered protocol with the package that holds it."""
    return {name: room for room in ROOMS for name in registry.names(room)}


def _protocol(problem: Problem, name: str, state_bits: int | None, settings: Settings) -> Protocol:
    if name.startswith("table:"):
        return read_table(problem, Path(name.removeprefix("table:")), state_bits)
    made: Callable[..., Any]
    if ":" in name or name in registry.external(GROUP):
        made = registry.factory(name, "protocol", GROUP)
    else:
        rooms = protocol_names()
        if name not in rooms:
            raise UsageError(
                "protocol",
                name,
                "is not a known protocol",
                f"choose from {', '.join(sorted(rooms))}, table:FILE.npz or module:factory",
            )
        made = registry.load(rooms[name], name, "protocol").PROTOCOL
        for option, value in settings.items():
            if isinstance(value, str):
                raise UsageError(
                    "set", f"{option}={value}", "must be a whole number", f"write {option}=4"
                )
    arguments: dict[str, Any] = dict(settings)
    if state_bits is not None:
        if state_bits < 0:
            raise UsageError("state_bits", state_bits, "must not be negative", "pass 0 or more")
        arguments["state_bits"] = state_bits
    try:
        protocol = made(problem, **arguments)
    except TypeError as error:
        if "state_bits" in str(error) and state_bits is None:
            raise UsageError(
                "state_bits", None, f"{name} needs the size of its message", "pass --state-bits M"
            ) from error
        raise UsageError(
            "set" if arguments else "protocol",
            ", ".join(arguments) or name,
            f"does not fit {name} ({error})",
            "pass the options that it takes, and a factory that takes the problem",
        ) from error
    from statebound.protocols.protocol import Protocol

    if not isinstance(protocol, Protocol):
        raise UsageError(
            "protocol",
            name,
            "does not make a statebound.protocols.protocol.Protocol",
            "return an instance of a subclass",
        )
    return protocol


def read_table(problem: Problem, path: Path, state_bits: int | None) -> Protocol:
    """Read a .npz of x and message; nothing in it is executed."""
    import numpy as np

    from statebound.protocols.table import Table

    try:
        with path.open("rb") as file:
            held = np.load(file, allow_pickle=False)
            if isinstance(held, np.ndarray):
                raise ValueError("one bare array")
            with held:
                arrays = {name: held[name] for name in held.files}
    except (OSError, ValueError, EOFError, KeyError, BadZipFile, zlib.error) as error:
        raise UsageError(
            "protocol",
            f"table:{path}",
            f"cannot be read as .npz ({error})",
            "save x and message with numpy.savez",
        ) from error
    for name in ("x", "message"):
        if name not in arrays:
            raise UsageError(
                "protocol",
                f"table:{path}",
                f"holds no array {name}",
                "save x and message with numpy.savez",
            )
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    x, message = arrays["x"], arrays["message"]
    return Table(problem, x, message, state_bits, f"table:{path.name}", digest)


def read_weights(path: Path) -> dict[str, NDArray[Any]] | Checkpoint:
    """Read parameters from .safetensors, or from .json ({"weights": {name: lists}}).

    A .safetensors file that `statebound train` wrote gives the whole checkpoint.

    Raises
    ------
    UsageError
        When the file is missing, torn, or not of that form.
    """
    import numpy as np

    remedy = "pass a .safetensors file, or .json with an object named weights"
    try:
        if path.suffix == ".json":
            import json

            held = json.loads(path.read_text())
            raw = held["weights"]
            return {str(name): np.array(value, np.float64) for name, value in raw.items()}
        if path.suffix == ".safetensors":
            from safetensors import SafetensorError
            from safetensors.numpy import load

            from statebound.reductions import checkpoint

            data = path.read_bytes()
            if checkpoint.is_checkpoint(data):
                return checkpoint.read(data, str(path))
            try:
                loaded: dict[str, NDArray[Any]] = load(data)
            except SafetensorError as error:
                raise ValueError(str(error)) from error
            return loaded
    except FileNotFoundError as error:
        raise UsageError("weights", path, "does not exist", remedy) from error
    except UsageError:
        raise
    except (
        OSError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
    ) as error:
        raise UsageError("weights", path, f"cannot be read ({error})", remedy) from error
    raise UsageError("weights", path, "has an unknown ending", remedy)
