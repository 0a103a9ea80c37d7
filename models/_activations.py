"""Elementary functions for kernels, the same bits on every lane.

float32: no call to a library inside a loop over lanes, so that the loops vectorise and
give the same bits on every machine; fused multiply-adds by Horner's rule throughout.

* tanh is an odd rational function of degrees 13 and 6 on [-7.9, 7.9] (the coefficients
  of Eigen's fast tanh); absolute error below 3e-7. The logistic function is
  1/2 + tanh(x/2)/2, so near 0 only its absolute error is small.
* exp x = 2^n exp r with n = round(x / ln 2) and |r| <= ln 2 / 2, where exp r is a
  polynomial of degree 7; 2^n is put together from its bits. Relative error below 1e-7.
  Below -87.33 it is 0; from 88.37 on it stays at 2.39e38, never infinite.
* expm1 takes the same polynomial without its 1; log1p splits 1 + t into 2^e m with m
  in [sqrt(1/2), sqrt 2) and gives back what the sum 1 + t rounded off. Both keep the
  relative error below 1.5e-7, also near 0. (The polynomials for exp and the logarithm have
  the coefficients of the Cephes library.)
* softplus x = max(x, 0) + log1p(exp(-|x|)) and silu x = x / (1 + exp(-x)): relative
  error below 2e-7 while exp neither vanishes nor saturates.

float64: the C library's functions in the same formulas, good to a few units in the last
place.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from statebound.jit import by_dtype, fma, kernel

_F = np.float32
_CLAMP = _F(7.9)
_HALF = _F(0.5)
_A1, _A3, _A5 = _F(4.89352455891786e-03), _F(6.37261928875436e-04), _F(1.48572235717979e-05)
_A7, _A9 = _F(5.12229709037114e-08), _F(-8.60467152213735e-11)
_A11, _A13 = _F(2.00018790482477e-13), _F(-2.76076847742355e-16)
_B0, _B2 = _F(4.89352518554385e-03), _F(2.26843463243900e-03)
_B4, _B6 = _F(1.18534705686654e-04), _F(1.19825839466702e-06)
_ZERO, _ONE = _F(0.0), _F(1.0)
_EXP_LOW, _EXP_HIGH = _F(-87.33), _F(88.37)
_LOG2E, _ROUND = _F(1.4426950408889634), _F(12582912.0)  # adding 1.5 * 2^23 rounds to integers
_LN2_HIGH, _LN2_LOW = _F(0.693359375), _F(-2.12194440e-4)
_E2, _E3, _E4 = _F(5.0000001201e-1), _F(1.6666665459e-1), _F(4.1665795894e-2)
_E5, _E6, _E7 = _F(8.3334519073e-3), _F(1.3981999507e-3), _F(1.9875691500e-4)
_L3, _L4, _L5 = _F(3.3333331174e-1), _F(-2.4999993993e-1), _F(2.0000714765e-1)
_L6, _L7, _L8 = _F(-1.6668057665e-1), _F(1.4249322787e-1), _F(-1.2420140846e-1)
_L9, _L10, _L11 = _F(1.1676998740e-1), _F(-1.1514610310e-1), _F(7.0376836292e-2)
_BIAS, _MANTISSA = np.int32(127), np.int32(23)  # of the bits of a float32
_ROOT_HALF = np.int32(0x3F3504F3)  # the bits of sqrt(1/2)


@kernel
def _tanh_single(x: Any) -> Any:
    x = min(max(x, -_CLAMP), _CLAMP)
    s = x * x
    p = fma(s, _A13, _A11)
    p = fma(s, p, _A9)
    p = fma(s, p, _A7)
    p = fma(s, p, _A5)
    p = fma(s, p, _A3)
    p = fma(s, p, _A1)
    q = fma(s, _B6, _B4)
    q = fma(s, q, _B2)
    q = fma(s, q, _B0)
    return x * p / q


@kernel
def _tanh_double(x: Any) -> Any:
    return math.tanh(x)


@kernel
def _sigmoid_single(x: Any) -> Any:
    return fma(_HALF, _tanh_single(_HALF * x), _HALF)


@kernel
def _sigmoid_double(x: Any) -> Any:
    return 0.5 + 0.5 * math.tanh(0.5 * x)


@kernel
def _reduced(x: Any) -> Any:
    """Return 2^n and exp(r) - 1 with x = n ln 2 + r, for x in [-87.33, 88.37]."""
    n = fma(x, _LOG2E, _ROUND) - _ROUND
    r = fma(n, -_LN2_LOW, fma(n, -_LN2_HIGH, x))
    p = fma(r, _E7, _E6)
    p = fma(r, p, _E5)
    p = fma(r, p, _E4)
    p = fma(r, p, _E3)
    p = fma(r, p, _E2)
    power = np.int32((np.int32(n) + _BIAS) << _MANTISSA).view(np.float32)
    return power, fma(r * r, p, r)


@kernel
def _exp_single(x: Any) -> Any:
    power, rest = _reduced(min(max(x, _EXP_LOW), _EXP_HIGH))
    return _ZERO if x < _EXP_LOW else power * (rest + _ONE)


@kernel
def _exp_double(x: Any) -> Any:
    return math.exp(min(x, 709.0))


@kernel
def _expm1_single(x: Any) -> Any:
    power, rest = _reduced(min(max(x, _EXP_LOW), _EXP_HIGH))
    return fma(power, rest, power - _ONE)


@kernel
def _expm1_double(x: Any) -> Any:
    return math.expm1(min(x, 709.0))


@kernel
def _log1p_single(t: Any) -> Any:
    u = np.float32(t + _ONE)
    lost = (t - (u - _ONE)) / u
    bits = u.view(np.int32)
    e = np.int32((bits - _ROOT_HALF) >> _MANTISSA)
    f = np.int32(bits - (e << _MANTISSA)).view(np.float32) - _ONE
    p = fma(f, _L11, _L10)
    p = fma(f, p, _L9)
    p = fma(f, p, _L8)
    p = fma(f, p, _L7)
    p = fma(f, p, _L6)
    p = fma(f, p, _L5)
    p = fma(f, p, _L4)
    p = fma(f, p, _L3)
    s = f * f
    exponent = np.float32(e)
    low = fma(exponent, _LN2_LOW, lost)
    low = fma(f * s, p, low)
    return fma(exponent, _LN2_HIGH, f + fma(-_HALF, s, low))


@kernel
def _log1p_double(t: Any) -> Any:
    return math.log1p(t)


@kernel
def _softplus_single(x: Any) -> Any:
    return max(x, _ZERO) + _log1p_single(_exp_single(-abs(x)))


@kernel
def _softplus_double(x: Any) -> Any:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@kernel
def _silu_single(x: Any) -> Any:
    return x / (_ONE + _exp_single(-x))


@kernel
def _silu_double(x: Any) -> Any:
    return x / (1.0 + _exp_double(-x))


def _tanh(x: Any) -> Any:
    """Return tanh x."""
    return np.tanh(x)


def _sigmoid(x: Any) -> Any:
    """Return 1 / (1 + exp(-x))."""
    return type(x)(0.5 + 0.5 * np.tanh(0.5 * x))


def _exp(x: Any) -> Any:
    """Return exp x."""
    return np.exp(x)


def _expm1(x: Any) -> Any:
    """Return exp x - 1."""
    return np.expm1(x)


def _log1p(t: Any) -> Any:
    """Return log(1 + t), for t >= 0."""
    return np.log1p(t)


def _softplus(x: Any) -> Any:
    """Return log(1 + exp x)."""
    return type(x)(np.logaddexp(x, 0))


def _silu(x: Any) -> Any:
    """Return x / (1 + exp(-x))."""
    return type(x)(x * (0.5 + 0.5 * np.tanh(0.5 * x)))


tanh = by_dtype(_tanh, _tanh_single, _tanh_double)
sigmoid = by_dtype(_sigmoid, _sigmoid_single, _sigmoid_double)
exp = by_dtype(_exp, _exp_single, _exp_double)
expm1 = by_dtype(_expm1, _expm1_single, _expm1_double)
log1p = by_dtype(_log1p, _log1p_single, _log1p_double)
softplus = by_dtype(_softplus, _softplus_single, _softplus_double)
silu = by_dtype(_silu, _silu_single, _silu_double)
