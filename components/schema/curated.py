"""Builds the schema that a recipe's examples must meet.

The schema comes from the recipe, not from the data: a schema inferred from the training split would
accept whatever mistakes that split holds.
"""

from tensorflow_metadata.proto.v0 import schema_pb2

from components.ingest.features import config


def curated_schema(image: config.ImageFeature, label: config.LabelFeature) -> schema_pb2.Schema:
    """Returns the schema of examples that each hold one encoded image and one label.

    The image has an image domain, so that TensorFlow Data Validation looks at the length of the
    bytes and not at their contents. The label is categorical, so that its statistics count every
    class.

    Args:
        image: The input image.
        label: The class label; valid values are `0` to `len(label.class_names) - 1`.

    >>> schema = curated_schema(
    ...     config.ImageFeature(height_px=8, width_px=8, channels=1),
    ...     config.LabelFeature(class_names=("cat", "dog")))
    >>> [(feature.name, feature.int_domain.max) for feature in schema.feature]
    [('image', 0), ('label', 1)]
    """
    schema = schema_pb2.Schema()
    image_feature = _add_required_scalar(schema, config.IMAGE_FEATURE, schema_pb2.BYTES)
    image_feature.image_domain.SetInParent()
    label_feature = _add_required_scalar(schema, config.LABEL_FEATURE, schema_pb2.INT)
    label_feature.int_domain.min = 0
    label_feature.int_domain.max = len(label.class_names) - 1
    label_feature.int_domain.is_categorical = True
    return schema


def _add_required_scalar(
    schema: schema_pb2.Schema, name: str, kind: "schema_pb2.FeatureType"
) -> schema_pb2.Feature:
    feature = schema.feature.add(name=name, type=kind)
    feature.presence.min_fraction = 1.0
    feature.presence.min_count = 1
    feature.value_count.min = 1
    feature.value_count.max = 1
    return feature
