"""Valid calls of ``lrtransfer.sweeps.task_registry``."""

from broken_calls import Call, call

from lrtransfer.residual import ResidualMLP

ONE = call()
CALLS: dict[str, Call] = {
    "from_dict": ONE(fields={"kind": "mlp", "width": 8}),
    "is_known": ONE(kind="mlp"),
    "kinds": ONE(),
    "files": ONE(),
    "settings_from": ONE(made=ResidualMLP, fields={"width": 8}),
}
