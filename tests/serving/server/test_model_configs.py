import pytest
from google.protobuf import text_format
from tensorflow_serving.config import model_server_config_pb2

from serving.server import model_configs


def read(text):
    message = text_format.Parse(text, model_server_config_pb2.ModelServerConfig())
    return model_configs.from_message(message)


def read_one(fields):
    (config,) = read(f'model_config_list {{ config {{ name: "m" base_path: "/m" {fields} }} }}')
    return config


@pytest.mark.parametrize(
    "policy, chosen",
    [
        ("", {10}),
        ("latest {}", {10}),
        ("latest { num_versions: 2 }", {2, 10}),
        ("all {}", {1, 2, 10}),
        ("specific { versions: 1 versions: 7 }", {1}),
    ],
)
def test_policy_chooses_among_the_versions_on_disk(policy, chosen):
    fields = f"model_version_policy {{ {policy} }}" if policy else ""
    on_disk = dict.fromkeys([1, 2, 10])
    assert set(read_one(fields).policy.choose(on_disk)) == chosen


def test_labels_and_logging_are_read():
    config = read_one(
        'version_labels { key: "stable" value: 3 } logging_config {'
        ' log_collector_config { filename_prefix: "/l" } sampling_config { sampling_rate: 0.5 } }'
    )
    assert config.labels == {"stable": 3}
    assert config.logging == model_configs.LoggingConfig("/l", 0.5)


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "must have a model_config_list"),
        ("custom_model_config {}", "must have a model_config_list"),
        ('model_config_list { config { base_path: "/m" } }', "must have a name"),
        ('model_config_list { config { name: "m" base_path: "m" } }', "absolute path or URI"),
        (
            'model_config_list { config { name: "m" base_path: "/m" model_platform: "other" } }',
            "model_platform 'tensorflow'. Received: model_platform='other'",
        ),
        (
            'model_config_list { config { name: "m" base_path: "/m" }'
            ' config { name: "m" base_path: "/n" } }',
            r"used once. Received: \['m'\]",
        ),
        (
            'model_config_list { config { name: "m" base_path: "/m"'
            " model_version_policy { specific {} } } }",
            "must name versions",
        ),
        (
            'model_config_list { config { name: "m" base_path: "/m" logging_config {'
            " sampling_config { sampling_rate: 2 } } } }",
            "must have a filename_prefix and a sampling_rate",
        ),
    ],
)
def test_what_cannot_be_served_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        read(text)


def test_batching_file_is_read(tmp_path):
    path = tmp_path / "batching.config"
    path.write_text(
        "max_batch_size { value: 8 } batch_timeout_micros { value: 5 }"
        " max_enqueued_batches { value: 3 } num_batch_threads { value: 2 }"
        " allowed_batch_sizes: 2 allowed_batch_sizes: 8 pad_variable_length_inputs: true"
    )
    options = model_configs.read_batching_file(path)
    assert (options.max_batch_size, options.max_enqueued_batches) == (8, 3)
    assert (options.num_batch_threads, options.allowed_batch_sizes) == (2, (2, 8))
    assert options.pad_variable_length_inputs
