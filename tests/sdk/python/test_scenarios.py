"""Each scenario of the table, with both clients, against a real headgated and against the fake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from drivers import AsyncDriver, Driver, SyncDriver
from places import OnFake, OnServer, OnTwoServers, Place, Scenario
from scenario import Player, in_folder

_TABLE = Path(__file__).parent.parent / "scenarios"


class _Loader(yaml.SafeLoader):
    """YAML 1.2, where `on` is a word."""


_Loader.yaml_implicit_resolvers = {
    first: [each for each in resolvers if first not in "onyONY" or each[0] != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _scenarios() -> list[Scenario]:
    found: list[Scenario] = []
    for file in sorted(_TABLE.glob("*.yaml")):
        found += yaml.load(file.read_text(), _Loader)
    return [each for each in found if "python" in each.get("languages", ["python"])]


def _cases() -> list[Any]:
    cases = []
    for scenario in _scenarios():
        forks = any("fork" in step for step in scenario["steps"])
        for place in scenario.get("on", ["fake", "server"]):
            # gRPC's asyncio does not come along into a fork.
            for client in ["Client"] if forks else ["Client", "AsyncClient"]:
                case = pytest.param(scenario, place, client, id=f"{scenario['name']}-{place}-{client}")
                cases.append(case)
    return cases


def test_the_table_has_no_name_twice() -> None:
    names = [scenario["name"] for scenario in _scenarios()]
    assert len(names) == len(set(names))
    assert len(names) >= 40


def _where(scenario: Scenario, place: str, folder: Path) -> Place:
    if place == "fake":
        return OnFake()
    return OnTwoServers(folder) if scenario.get("servers") else OnServer(scenario, folder)


@pytest.mark.parametrize(("scenario", "place", "client"), _cases())
def test_scenario(scenario: Scenario, place: str, client: str, tmp_path: Path) -> None:
    scenario = in_folder(scenario, tmp_path)
    driver: Driver = SyncDriver() if client == "Client" else AsyncDriver()
    where = _where(scenario, place, tmp_path)
    try:
        Player(scenario, driver, where).play()
    finally:
        driver.finish()
        where.finish()
