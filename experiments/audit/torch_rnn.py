"""torch.nn.RNN, LSTM and GRU as subjects: tokens are rows of a fixed random table."""

from __future__ import annotations

from typing import Any

import numpy as np

from statebound.experiments.audit.subject import Subject, Tokens

VOCABULARY = 32


class Recurrent:
    """A recurrent module that reads vectors, behind an alphabet of `VOCABULARY` vectors."""

    vocabulary = VOCABULARY

    def __init__(self, module: Any) -> None:
        import torch

        self._inner = module.eval()
        drawn = np.random.Generator(np.random.PCG64(0)).standard_normal(
            (VOCABULARY, module.input_size)
        )
        self.table = torch.nn.Parameter(torch.from_numpy(drawn).float(), requires_grad=False)

    def fresh(self) -> Any:
        """Return None: torch starts from zeros."""
        return

    def read(self, tokens: Tokens, state: Any = None) -> tuple[Any, Any]:
        """Read the tokens' vectors, a batch of one."""
        vectors = self.table[tokens.tolist()].to(next(self._inner.parameters()).dtype)
        axis = 0 if self._inner.batch_first else 1
        outputs, after = self._inner(vectors.unsqueeze(axis), state)
        return outputs.squeeze(axis), after


def subject(module: Any, name: str) -> Subject:
    """Return the subject of a recurrent module."""
    facts = {
        "class": type(module).__name__,
        "layers": module.num_layers,
        "hidden_size": module.hidden_size,
        "parameters": sum(p.numel() for p in module.parameters()),
    }
    return Subject(name, "torch", Recurrent(module), facts=facts)
