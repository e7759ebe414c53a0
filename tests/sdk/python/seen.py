"""What has arrived at a fake since a test looked there last."""

from __future__ import annotations

from typing import Any

from headgate.testing import FakeHeadgate

from expectations import check_fields
from values import check_value, number


class Seen:
    def __init__(self, fake: FakeHeadgate) -> None:
        self._fake = fake
        self._checks = self._reports = 0
        self._waited = 0.0

    def check(self, expect: dict[str, Any]) -> None:
        checks = self._fake.checks[self._checks :]
        reports = self._fake.reports[self._reports :]
        waited = self._fake.clock.waited - self._waited
        self._checks += len(checks)
        self._reports += len(reports)
        self._waited += waited
        ids = [check.request_id for check in checks]
        for key, wanted in expect.items():
            if key == "checks":
                assert len(checks) == wanted, f"{len(checks)} Checks have arrived"
            elif key == "reports":
                assert len(reports) == wanted, f"{len(reports)} reports have arrived"
            elif key == "max_waits":
                assert [check.max_wait for check in checks] == [number(each) for each in wanted]
            elif key == "request_ids":
                assert all(ids), "a Check has no id"
                assert len(set(ids)) == (1 if wanted == "same" else len(ids)), ids
            elif key == "reported":
                assert len(reports) == len(wanted), f"{reports}"
                for report, fields in zip(reports, wanted, strict=True):
                    check_fields("report", report, fields)
            elif key == "outstanding":
                assert len(self._fake.outstanding) == wanted, f"{self._fake.outstanding}"
            elif key == "waited":
                check_value(key, waited, wanted)
            elif key == "identities":
                assert [check.identity for check in checks] == wanted
            elif key == "targets":
                assert [check.target for check in checks] == wanted
            else:
                raise AssertionError(f"there is no expectation {key} of what was seen")
