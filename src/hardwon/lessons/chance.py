"""How sure a share of successes is: the Beta distribution, as far as it is needed.
Pure numbers. What is more likely than chance, and where a true rate lies.
"""

from __future__ import annotations

import math
from typing import Final

# Of a p-value: chance hardly explains what has a smaller one.
UNLIKELY_BELOW: Final = 0.01

_INSIDE: Final = 0.9
_TINY: Final = 1e-300
_STEPS_MAX: Final = 400
_PRECISION: Final = 1e-12
_BISECTIONS: Final = 40
_EDGE: Final = 1e-6
_ODDS_MAX: Final = 30.0


def cumulative(a: float, b: float, x: float) -> float:
    """The probability that a Beta(a, b) variable is at most x (the regularised incomplete beta
    function).
    """
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1) / (a + b + 2):  # where the continued fraction converges fast
        return min(1.0, front * _fraction(a, b, x) / a)
    return max(0.0, 1 - front * _fraction(b, a, 1 - x) / b)


def _fraction(a: float, b: float, x: float) -> float:
    """Its continued fraction, evaluated by Lentz's method."""
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for step in range(1, _STEPS_MAX):
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d)
            c = _away_from_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def quantile(a: float, b: float, share: float) -> float:
    """The x below which a Beta(a, b) variable falls with this probability, to ten digits."""
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if cumulative(a, b, middle) > share:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def interval(a: float, b: float) -> tuple[float, float]:
    """The central interval that holds 90 % of the probability."""
    return quantile(a, b, (1 - _INSIDE) / 2), quantile(a, b, (1 + _INSIDE) / 2)


def at_least(successes: int, trials: int, chance: float) -> float:
    """Exact binomial test, one-sided: how likely so many successes or more are if each has this
    chance.
    """
    return 1.0 if successes <= 0 else cumulative(successes, trials - successes + 1, chance)


def log_odds(share: float) -> float:
    """The log-odds of a probability; of a certainty, those of one that is nearly so."""
    share = min(max(share, _EDGE), 1 - _EDGE)
    return math.log(share / (1 - share))


def to_share(odds: float) -> float:
    """The probability of log-odds."""
    return 1 / (1 + math.exp(-max(-_ODDS_MAX, min(_ODDS_MAX, odds))))
