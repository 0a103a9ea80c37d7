"""Functions of columns, such that what a column becomes depends on that column alone.

Arrays are (C, R), R columns. Sums over C run in its order; additions, products,
quotients and roots round by IEEE 754, and the functions below are our own or the C
library's scalar ones, so that no bit depends on how many columns there are.
"""

from __future__ import annotations

import math

import numpy as np

from statebound.jit import kernel
from statebound.models import _activations as one
from statebound.models._activations import sigmoid
from statebound.models._cell import Array

GELU = (2 / math.pi) ** 0.5, 0.044715


@kernel
def _sigmoid(x: Array, out: Array) -> None:
    """x, out (C, R)."""
    for c in range(x.shape[0]):
        for r in range(x.shape[1]):
            out[c, r] = sigmoid(x[c, r])


@kernel
def _tanh(x: Array, out: Array) -> None:
    """x, out (C, R)."""
    for c in range(x.shape[0]):
        for r in range(x.shape[1]):
            out[c, r] = one.tanh(x[c, r])


@kernel
def _exp(x: Array, out: Array) -> None:
    """x, out (C, R)."""
    for c in range(x.shape[0]):
        for r in range(x.shape[1]):
            out[c, r] = one.exp(x[c, r])


@kernel
def _softplus(x: Array, out: Array) -> None:
    """x, out (C, R)."""
    for c in range(x.shape[0]):
        for r in range(x.shape[1]):
            out[c, r] = one.softplus(x[c, r])


@kernel
def _forget(log_rate: Array, dt: Array, out: Array) -> None:
    """log_rate (C); dt, out (C, R): exp(-exp(log_rate) dt), the rate kept finite."""
    for c in range(dt.shape[0]):
        rate = math.exp(min(np.float64(log_rate[c]), 700.0))
        for r in range(dt.shape[1]):
            out[c, r] = math.exp(-rate * np.float64(dt[c, r]))


def logistic(x: Array) -> Array:
    """Return 1 / (1 + exp(-x))."""
    out = np.empty_like(x)
    _sigmoid(np.ascontiguousarray(x), out)
    return out


def tanh(x: Array) -> Array:
    """Return tanh(x)."""
    out = np.empty_like(x)
    _tanh(np.ascontiguousarray(x), out)
    return out


def silu(x: Array) -> Array:
    """Return x / (1 + exp(-x))."""
    return x * logistic(x)


def gelu(x: Array) -> Array:
    """Return x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2, close to x Phi(x)."""
    root, cubic = (x.dtype.type(c) for c in GELU)
    half = x.dtype.type(0.5)
    out: Array = half * x * (1 + tanh(root * (x + cubic * (x * x * x))))
    return out


def exponential(x: Array) -> Array:
    """Return exp(x)."""
    out = np.empty_like(x)
    _exp(np.ascontiguousarray(x), out)
    return out


def softplus(x: Array) -> Array:
    """Return log(1 + exp(x))."""
    out = np.empty_like(x)
    _softplus(np.ascontiguousarray(x), out)
    return out


def forget(log_rate: Array, dt: Array) -> Array:
    """Return exp(-exp(log_rate) dt) for log_rate (C) and dt (C, R)."""
    out = np.empty_like(dt)
    _forget(log_rate, np.ascontiguousarray(dt), out)
    return out


def sums(x: Array, groups: int) -> Array:
    """Return the sums (groups, R) of `groups` equal blocks of rows of x (C, R)."""
    blocks = x.reshape(groups, len(x) // groups, -1)
    total = np.zeros((groups, x.shape[1]), x.dtype)
    for row in range(blocks.shape[1]):
        total = total + blocks[:, row]
    return total


def squares(x: Array, groups: int) -> Array:
    """Return the sums of squares (groups, R) of `groups` equal blocks of rows of x (C, R)."""
    return sums(x * x, groups)


def unit(x: Array, heads: int) -> Array:
    """Return x (heads K, R) with every head's K rows over sqrt(their squares' sum + 1e-6)."""
    norm = np.sqrt(squares(x, heads) + x.dtype.type(1e-6))
    out: Array = (x.reshape(heads, len(x) // heads, -1) / norm[:, None]).reshape(x.shape)
    return out


def rms(x: Array, groups: int, epsilon: float = 1e-5) -> Array:
    """Return x (C, R) with every group's rows over sqrt(their mean square + epsilon)."""
    size = len(x) // groups
    norm = np.sqrt(squares(x, groups) / x.dtype.type(size) + x.dtype.type(epsilon))
    out: Array = (x.reshape(groups, size, -1) / norm[:, None]).reshape(x.shape)
    return out


def layer_norm(x: Array, groups: int, epsilon: float = 1e-5) -> Array:
    """Return x (C, R) less its mean over each group's rows, over the root of variance + epsilon."""
    blocks = x.reshape(groups, len(x) // groups, -1)
    mean = sums(x, groups) / x.dtype.type(blocks.shape[1])
    return rms((blocks - mean[:, None]).reshape(x.shape), groups, epsilon)
