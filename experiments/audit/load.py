"""From what is written on the command line to a subject. Nothing is unpickled."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

from statebound import registry
from statebound.errors import StateboundError, UsageError
from statebound.experiments.audit.subject import Subject, adapt, told

EXTRA = "pip install 'statebound[audit]'"
EXTRAS = ("torch", "transformers")
PICKLED = (".bin", ".pt", ".pth", ".pkl", ".ckpt")


def load(spec: str, seed: int = 0) -> Subject:
    """Return the subject that `spec` names.

    Parameters
    ----------
    spec
        ``module:factory``; a folder with ``config.json`` and safetensors; or a file
        ``*.json``, a transformers configuration, for a model with random weights.
    seed
        Of random weights.

    Raises
    ------
    UsageError
        When it names nothing that can be audited.
    StateboundError
        When a library or a weight is missing, or a file is damaged.
    """
    path = Path(spec)
    if path.is_dir():
        return _folder(path)
    if path.is_file() and path.suffix == ".json":
        return _random(path, seed)
    if ":" in spec and not path.exists():
        return _made(spec)
    raise UsageError(
        "subject",
        spec,
        "is no folder, no .json file and no module:factory",
        "name a transformers model folder, its config.json, or module:factory",
    )


def _made(spec: str) -> Subject:
    """Return the subject that a factory makes."""
    try:
        factory = registry.factory(spec, "subject")
    except UsageError as error:
        missing = getattr(error.__cause__, "name", None)
        if isinstance(error.__cause__, ModuleNotFoundError) and missing in EXTRAS:
            need(missing)
        raise
    try:
        returned = factory()
    except Exception as error:
        raise UsageError(
            "subject",
            spec,
            f"fails with {told(error)}",
            "name a function without arguments that returns the model",
        ) from error
    made = adapt(returned, spec)
    made.remake = lambda: adapt(factory(), spec).model
    return made


def need(library: str) -> None:
    """Refuse to go on without a library of the extra.

    Raises
    ------
    StateboundError
        When it is not installed.
    """
    if importlib.util.find_spec(library) is None:
        raise StateboundError(f"this subject needs {library}, which is missing; {EXTRA}")


def _config(path: Path) -> Any:
    """Return the configuration object of a file, of a class that the library itself has."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"), object_hook=_number)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise UsageError(
            "subject", path, f"is not JSON ({error})", "pass the config.json of a model"
        ) from error
    if not isinstance(held, dict) or not isinstance(held.get("model_type"), str):
        raise UsageError(
            "subject", path, "has no model_type", "pass the config.json of a transformers model"
        )
    if "auto_map" in held:
        raise UsageError(
            "subject",
            path,
            "asks for code of its own (auto_map), which is not run",
            "write a factory that builds the model and pass module:factory",
        )
    need("torch")
    need("transformers")
    from transformers import CONFIG_MAPPING

    if held["model_type"] not in CONFIG_MAPPING:
        raise UsageError(
            "subject",
            held["model_type"],
            "is no model type of the installed transformers",
            "install a version that has it, or pass module:factory",
        )
    try:
        return CONFIG_MAPPING[held["model_type"]].from_dict(held)
    except Exception as error:
        said = " ".join(str(error).split())
        raise StateboundError(f"{path}: not a configuration of its class ({said})") from error


def _number(held: dict[str, Any]) -> Any:
    """Return the number that ``{"__float__": "Infinity"}`` stands for; others as they are.

    So save_pretrained of transformers 5 writes what JSON has no name for.
    """
    if list(held) == ["__float__"] and held["__float__"] in ("Infinity", "-Infinity", "NaN"):
        return float(held["__float__"])
    return held


def _class(config: Any) -> Any:
    """Return the class that a configuration names, else the causal language model of its type."""
    import transformers

    for name in getattr(config, "architectures", None) or ():
        found = getattr(transformers, name, None)
        if isinstance(found, type) and issubclass(found, transformers.PreTrainedModel):
            return found
    mapping = transformers.MODEL_FOR_CAUSAL_LM_MAPPING
    if type(config) not in mapping:
        raise UsageError(
            "subject",
            config.model_type,
            "has no causal language model in transformers",
            "pass module:factory with an object of the two-method protocol",
        )
    return mapping[type(config)]


def _random(path: Path, seed: int) -> Subject:
    config = _config(path)
    import torch

    from statebound.experiments.audit.transformers_model import louden, subject

    kind = _class(config)
    kept = torch.random.get_rng_state()
    torch.manual_seed(seed)
    try:
        model = kind(config)
    except Exception as error:
        raise StateboundError(
            f"{path}: {type(error).__name__} while the model was made: {error}"
        ) from error
    finally:
        torch.random.set_rng_state(kept)
    louden(model, seed)
    return subject(model, str(path))


def _folder(path: Path) -> Subject:
    if not (path / "config.json").is_file():
        raise UsageError("subject", path, "holds no config.json", "pass a saved model's folder")
    files = sorted(path.glob("*.safetensors"))
    if not files:
        pickled = sorted(p.name for p in path.iterdir() if p.suffix in PICKLED)
        why = f"only pickled ones ({', '.join(pickled)}), which are never read" if pickled else ""
        raise UsageError(
            "subject",
            path,
            f"holds no safetensors weights{', ' * bool(why)}{why}",
            "save the model again with save_pretrained(folder), which writes model.safetensors",
        )
    config = _config(path / "config.json")
    from safetensors import SafetensorError, safe_open

    for file in files:
        try:
            with safe_open(file, framework="pt") as held:
                held.keys()
        except SafetensorError as error:
            raise StateboundError(
                f"{file}: damaged or cut short ({error}); fetch the file again"
            ) from error
    from statebound.experiments.audit.transformers_model import subject

    made = _class(config)
    try:
        model, told = made.from_pretrained(
            str(path),
            config=config,
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except Exception as error:
        raise StateboundError(f"{path}: {type(error).__name__}: {error}") from error
    missing = sorted([*told["missing_keys"], *map(str, told.get("mismatched_keys", ()))])
    if missing:
        raise StateboundError(
            f"{path}: {len(missing)} weights are missing or of another shape and would be random: "
            f"{', '.join(missing[:5])}; the folder must hold all weights of {made.__name__}"
        )
    return subject(model, str(path))
