"""What callers pass, looked at before it is used. Each raises InvalidArgumentError that names the field."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import NoReturn

from headgate._errors import invalid
from headgate._types import MAX_COST, CheckRequest

_MAX_PERMIT_ID = 2**64 - 1


def check_text(value: object, field: str) -> None:
    if not isinstance(value, str):
        raise invalid(f"{field}: has to be a str; it is {value!r}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise invalid(f"{field}: {value!a} cannot be written in UTF-8") from None


def check_address(address: str) -> None:
    check_text(address, "address")
    if not address:
        raise invalid("address: is empty")
    if address.startswith(("http://", "https://")):
        raise invalid(
            f"address: {address} is a URL; it has to be the host and the port of gRPC, as host:8081"
        )


def check_cost(cost: float, field: str) -> None:
    try:
        is_cost = 0 <= cost <= MAX_COST
    except TypeError:
        raise invalid(f"{field}: {cost!r} is not a number") from None
    if not is_cost:
        raise invalid(f"{field}: {cost} is not a cost; it has to be from 0 to {MAX_COST:g}")


def check_request(request: CheckRequest) -> None:
    for name in ("identity", "target", "pattern", "request_id"):
        check_text(getattr(request, name), name)
    if not isinstance(request.tags, Mapping):
        raise invalid(f"tags: has to map keys to values; it is {request.tags!r}")
    for key, value in request.tags.items():
        check_text(key, "tags")
        check_text(value, f"tags[{key!r}]")
    if request.estimated_cost is not None:
        check_cost(request.estimated_cost, "estimated_cost")
    if not 0 <= check_seconds(request.max_wait, "max_wait") < math.inf:
        raise invalid(f"max_wait: {request.max_wait} is not a time that the server could wait for")


def check_wait(max_wait: float) -> None:
    if math.isnan(check_seconds(max_wait, "max_wait")):
        raise invalid("max_wait: is not a number")


def check_report(actual_cost: float | None, busy_time: float | None) -> None:
    if actual_cost is not None:
        check_cost(actual_cost, "actual_cost")
    if busy_time is not None and not 0 <= check_seconds(busy_time, "busy_time") < math.inf:
        raise invalid(f"busy_time: {busy_time} is no busy time; it has to be finite and not below zero")


def check_permit_id(permit_id: int) -> None:
    if not 0 <= check_whole(permit_id, "permit_id") <= _MAX_PERMIT_ID:
        raise invalid(f"permit_id: {permit_id} is not the number of a permit")


def check_whole(value: int, field: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise invalid(f"{field}: has to be a whole number; it is {value!r}") from None


def refuse_to_copy(what: object) -> NoReturn:
    """For __reduce__: what pickle and copy would make of it could not work."""
    name = type(what).__name__
    raise TypeError(f"a {name} belongs to its process: it can be neither pickled nor copied")


def check_seconds(value: float, field: str) -> float:
    try:
        return value + 0.0
    except TypeError:
        raise invalid(f"{field}: {value!r} is not a number of seconds") from None
