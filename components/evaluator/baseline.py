"""Finds the model that a new one is compared with: the last one that passed everything."""

from collections.abc import Iterable

import ml_metadata
from tfx import types
from tfx.dsl.components.common import resolver
from tfx.types import standard_artifacts

_BLESSED, _MODEL_ID = "blessed", "current_model_id"
_MODEL, _MODEL_BLESSING, _INFRA_BLESSING = "model", "model_blessing", "infra_blessing"


class PassedModelStrategy(resolver.ResolverStrategy):
    """Resolves the latest model that both the evaluator and the model check blessed.

    TFX's LatestBlessedModelStrategy asks the evaluator alone, so that a model that the check
    refused, which was never published, would be the one to beat.
    """

    def resolve_artifacts(
        self, store: ml_metadata.MetadataStore, input_dict: dict[str, list[types.Artifact]]
    ) -> dict[str, list[types.Artifact]]:
        """Returns the model and its blessings, or nothing under each name if there is none.

        Args:
            store: Not asked.
            input_dict: All artifacts of the pipeline, under the names that `channels` gives.
        """
        good = _by_model(input_dict[_MODEL_BLESSING])
        checked = _by_model(input_dict[_INFRA_BLESSING])
        passed = [model for model in input_dict[_MODEL] if model.id in good and model.id in checked]
        if not passed:
            return {name: [] for name in input_dict}
        model = max(passed, key=lambda model: model.id)
        return {
            _MODEL: [model],
            _MODEL_BLESSING: [good[model.id]],
            _INFRA_BLESSING: [checked[model.id]],
        }


def _by_model(blessings: Iterable[types.Artifact]) -> dict[int, types.Artifact]:
    return {
        blessing.get_int_custom_property(_MODEL_ID): blessing
        for blessing in blessings
        if blessing.get_int_custom_property(_BLESSED) == 1
    }


def channels(strategy: type[resolver.ResolverStrategy]) -> dict[str, types.Channel]:
    """Returns the inputs of a Resolver; TFX's own strategies take no blessing of a model check."""
    found = {
        _MODEL: types.Channel(type=standard_artifacts.Model),
        _MODEL_BLESSING: types.Channel(type=standard_artifacts.ModelBlessing),
    }
    if strategy is PassedModelStrategy:
        found[_INFRA_BLESSING] = types.Channel(type=standard_artifacts.InfraBlessing)
    return found
