"""The matrices behind structured state space models: HiPPO-LegS and diagonals near it.

HiPPO-LegS remembers a signal by its Legendre coefficients over all of its past:

    A_nk = -sqrt(2n + 1) sqrt(2k + 1) for n > k,  -(n + 1) for n = k,  0 for n < k,
    B_n  = sqrt(2n + 1).

With p_n = sqrt(n + 1/2), A + p p^T = S - I/2 with S skew-symmetric: a normal matrix, whose
eigenvalues are -1/2 + i w. They come in conjugate pairs; one of each is kept.

Gu, Dao, Ermon, Rudra and Re (2020), "HiPPO"; Gu, Goel, Gupta and Re (2022), "On the
parameterization and initialization of diagonal state space models", for the diagonals.
"""

from __future__ import annotations

import numpy as np

from statebound.models._cell import Array

FORMS = ("lin", "inv", "legs")


def legs(N: int) -> tuple[Array, Array]:
    """Return HiPPO-LegS: A (N, N) and B (N,)."""
    n = np.arange(N)
    B = np.sqrt(2.0 * n + 1)
    A: Array = -np.tril(np.outer(B, B), -1) - np.diag(n + 1.0)
    return A, B


def bilinear(A: Array, B: Array, dt: float) -> tuple[Array, Array]:
    """Return the step x' = F x + G u of dx/dt = A x + B u by the trapezoidal rule.

    F = (I - dt/2 A)^-1 (I + dt/2 A) and G = (I - dt/2 A)^-1 dt B, for a lower triangular
    A by forward substitution, in a fixed order, so that two machines agree on every bit.
    """
    N = len(A)
    left = np.eye(N) - dt / 2 * A
    right = np.concatenate([np.eye(N) + dt / 2 * A, dt * B[:, None]], axis=1)
    for n in range(N):
        for k in range(n):
            right[n] -= left[n, k] * right[k]
        right[n] /= left[n, n]
    return right[:, :N], right[:, N]


def modes(form: str, half: int) -> Array:
    """Return `half` complex eigenvalues A_n, n = 0, 1, ..., for N = 2 `half` numbers.

    * lin: -1/2 + i pi n;
    * inv: -1/2 + i (N / pi)(N / (2n + 1) - 1);
    * legs: of the normal part of HiPPO-LegS of order N, by rising imaginary part.
    """
    n = np.arange(half)
    N = 2 * half
    if form == "lin":
        imaginary = np.pi * n
    elif form == "inv":
        imaginary = N / np.pi * (N / (2.0 * n + 1) - 1)
    else:
        A, B = legs(N)
        skew = A + np.outer(B, B) / 2 + np.eye(N) / 2
        imaginary = np.sort(np.linalg.eigvalsh(1j * skew))[half:]
    found: Array = -0.5 + 1j * imaginary
    return found
