"""What the commands that measure a recipe share: its request, and their errors."""

import contextlib
import pathlib
import tempfile
from collections.abc import Iterator

from components.ingest import errors
from components.trainer import request as train_request
from pipeline import training
from pipeline.cli import group, options


@contextlib.contextmanager
def request(recipe_name: str, set_values: tuple[str, ...]) -> Iterator[train_request.TrainRequest]:
    """Gives a recipe's request with a folder that is removed; a wrong setting is bad input.

    Args:
        recipe_name: A shipped name or a path.
        set_values: What `--set` changed.

    Raises:
        BadInputError: If recipe, data or settings are wrong.
    """
    recipe = options.load_recipe(recipe_name, set_values)
    try:
        with tempfile.TemporaryDirectory() as directory:
            yield training.make_request(
                recipe, strategy="one_device", directory=pathlib.Path(directory)
            )
    except (errors.DataError, ValueError) as error:
        raise group.BadInputError(f"recipe {recipe_name}: {error}") from None
