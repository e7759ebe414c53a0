"""Values of scenarios: durations, and what they have to equal."""

from __future__ import annotations

import math
import re
from typing import Any

_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(-?[0-9.]+)(us|ms|s|m|h)")


def seconds(value: str) -> float:
    """`250ms`, or `forever`."""
    if value == "forever":
        return math.inf
    match = _DURATION.fullmatch(value)
    assert match is not None, f"{value} is no duration"
    return float(match[1]) * _UNITS[match[2]]


def number(value: Any) -> float:
    """Of a number or a duration."""
    return seconds(value) if isinstance(value, str) else float(value)


def check_value(what: str, found: Any, wanted: Any, *, judges_upper: bool = True) -> None:
    """A value, `absent`, or a range."""
    if wanted == "absent":
        assert found is None, f"{what} is {found}, and should be absent"
        return
    assert found is not None, f"{what} is absent, and should be {wanted}"
    if isinstance(wanted, dict):
        assert wanted, f"{what}: an empty range"
        for bound, value in wanted.items():
            _check_bound(what, found, bound, number(value), judges_upper)
    elif isinstance(found, bool) or isinstance(wanted, bool):
        assert found is wanted, f"{what} is {found}, and should be {wanted}"
    elif isinstance(found, str):
        assert found == wanted, f"{what} is {found!r}, and should be {wanted!r}"
    else:
        exact = math.isclose(found, number(wanted), rel_tol=1e-6, abs_tol=1e-9)
        assert exact, f"{what} is {found}, and should be {wanted}"


def _check_bound(what: str, found: float, bound: str, value: float, judges_upper: bool) -> None:
    slack = 1e-6 * max(abs(value), 1e-3)  # of sums of floating-point times
    if bound == "at_least":
        assert found >= value - slack, f"{what} is {found}, below {value}"
    elif bound == "above":
        assert found > value, f"{what} is {found}, not above {value}"
    elif bound == "at_most":
        assert not judges_upper or found <= value + slack, f"{what} is {found}, above {value}"
    elif bound == "below":
        assert not judges_upper or found < value, f"{what} is {found}, not below {value}"
    else:
        raise AssertionError(f"{what}: a range has no {bound}")
