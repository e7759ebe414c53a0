"""What Airflow does with operators, for the parts that `Throttled` has to do with."""

from throttled import Throttled


class Operator:
    dag_id = "shop"

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id

    def execute(self, context: dict[str, str]) -> str:
        return f"{self.task_id} of {context['run_id']}"


class ThrottledOperator(Throttled, Operator):
    pass


for number in range(4):
    done = ThrottledOperator(f"copy_{number}").execute({"run_id": "nightly"})
    assert done == f"copy_{number} of nightly", done
