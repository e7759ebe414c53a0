"""What a lease's state and who plays it tell each other: what to ask, what came of it, who waits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from headgate._errors import Error
from headgate._lease_grant import Grant
from headgate._lease_types import Admission, LeaseTerms
from headgate._types import PermitReport


@dataclass(frozen=True)
class LeaseOptions:
    """How a holder asks."""

    identity: str
    target: str
    piece: float | None  # None: the largest that was seen lately
    time: float
    safe_time: float  # for how long to go on at a safe rate; 0: not at all
    longest_wait: float  # after which a denial is looked at again, whatever it says


@dataclass
class Ask:
    """One Check for a lease, which is to be sent or under way."""

    least: float
    most: float
    max_wait: float  # of those who wait for it; 0: nobody does
    terms: LeaseTerms
    piece: float = 0.0  # that has to find room; least may be more
    sent: float = math.nan  # when; told by whoever sends it
    stood_in_line: bool = False  # in the server, for as long as it was to


@dataclass(frozen=True)
class Failure:
    """Why an ask had no answer, and what holds until the next one may be sent."""

    cause: Error
    pause: float
    is_outage: bool = False  # nobody answers: what on_unreachable says holds for each piece
    is_final: bool = False  # it was answered with an error, which is the caller's


@dataclass
class Step:
    """What is to be done now, in this order: reports are sent, then `ask`, or else it is waited."""

    reports: list[PermitReport] = field(default_factory=list)
    ask: Ask | None = None
    until: float = math.inf
    passes_time: bool = False  # somebody waits for that time to pass, and for nothing else
    is_idle: bool = False  # nothing is held and nobody waits: it may end until the next news


class Waiter:
    """A piece that waits, until `result` is there. `wake` is called then."""

    __slots__ = ("cost", "deadline", "grant", "not_before", "refusal", "result", "wake")

    def __init__(self, cost: float, deadline: float, wake: Callable[[], object]) -> None:
        self.cost = cost
        self.deadline = deadline
        self.wake = wake
        self.not_before = -math.inf  # refused until then
        self.refusal: Admission | None = None  # for that, which is counted already
        self.grant: Grant | None = None  # it was taken from
        self.result: Admission | BaseException | None = None

    def end(self, result: Admission | BaseException) -> None:
        self.result = result
        self.wake()
