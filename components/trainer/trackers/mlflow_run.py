"""A run in MLflow; MLFLOW_TRACKING_URI says where, else it is `mlflow.db` in the working folder."""

import pathlib
import time
from collections.abc import Mapping
from typing import Any

from components.trainer import checkpoints

# MLflow's own limits of one request and of one value.
_MAX_PARAMS = 100
_MAX_PARAM_CHARS = 6000


class MlflowRun:
    """A run of the experiment that is called as the recipe.

    Args:
        project: Name of the experiment; made if it is not there.
        settings: Recorded as parameters, with dotted names.
        directory: The run's folder, recorded as a tag.
        run_id: An earlier run to go on with; None begins one.

    Attributes:
        run_id: MLflow's identifier.
    """

    def __init__(
        self,
        *,
        project: str,
        settings: Mapping[str, Any],
        directory: pathlib.Path,
        run_id: str | None = None,
    ):
        # Imported here, since it takes seconds and is an extra.
        import mlflow

        self._entities = mlflow.entities
        self._client = mlflow.MlflowClient()
        self._last_steps: dict[str, int] = {}
        if run_id is None:
            self.run_id = self._begin(project, settings, directory)
        else:
            self.run_id = run_id
            self._client.update_run(run_id, status="RUNNING")
            self._last_steps = {
                key: self._client.get_metric_history(run_id, key)[-1].step
                for key in self._client.get_run(run_id).data.metrics
            }

    def log(self, values: Mapping[str, float], global_step: int) -> None:
        """Records values; a step that a resumed run repeats is not recorded twice."""
        now = int(time.time() * 1000)
        fresh = [
            self._entities.Metric(key, value, now, global_step)
            for key, value in values.items()
            if global_step > self._last_steps.get(key, -1)
        ]
        if fresh:
            self._client.log_batch(self.run_id, metrics=fresh)

    def close(self, *, has_finished: bool) -> None:
        """Ends the run as FINISHED or KILLED."""
        self._client.set_terminated(self.run_id, status="FINISHED" if has_finished else "KILLED")

    def _begin(self, project: str, settings: Mapping[str, Any], directory: pathlib.Path) -> str:
        experiment = self._client.get_experiment_by_name(project)
        if experiment is None:
            experiment_id = self._client.create_experiment(project)
        else:
            experiment_id = experiment.experiment_id
        tags = {"kerasline.directory": str(directory)}
        run_id = str(self._client.create_run(experiment_id, tags=tags).info.run_id)
        params = [
            self._entities.Param(key, str(value)[:_MAX_PARAM_CHARS])
            for key, value in checkpoints.leaves(settings).items()
        ]
        for start in range(0, len(params), _MAX_PARAMS):
            self._client.log_batch(run_id, params=params[start : start + _MAX_PARAMS])
        return run_id
