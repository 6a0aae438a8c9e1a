"""Models to serve: TF Serving's own where they are beside the checkout, else equal ones."""

import pathlib

import pytest

from tests.serving import harness, model_factory

TESTDATA = pathlib.Path(__file__).parents[3] / "shared" / "tfserving-testdata"


def write_config(path: pathlib.Path, *models: str) -> pathlib.Path:
    path.write_text("model_config_list {\n" + "\n".join(models) + "\n}\n")
    return path


@pytest.fixture(scope="session")
def half_plus_two(tmp_path_factory) -> pathlib.Path:
    """A model with the versions 123 and 124."""
    if TESTDATA.is_dir():
        return TESTDATA / "saved_model_half_plus_two_2_versions"
    base = tmp_path_factory.mktemp("half_plus_two")
    for name in ("00000123", "00000124"):
        model_factory.write_half_plus(base / name, offset=2)
    return base


@pytest.fixture(scope="session")
def half_plus_three(tmp_path_factory) -> pathlib.Path:
    """A model with the version 123."""
    if TESTDATA.is_dir():
        return TESTDATA / "saved_model_half_plus_three"
    base = tmp_path_factory.mktemp("half_plus_three")
    model_factory.write_half_plus(base / "00000123", offset=3)
    return base


@pytest.fixture(scope="session")
def zoo(tmp_path_factory) -> pathlib.Path:
    base = tmp_path_factory.mktemp("zoo")
    model_factory.write_zoo(base / "1")
    return base


@pytest.fixture(scope="session")
def classifier(tmp_path_factory) -> pathlib.Path:
    base = tmp_path_factory.mktemp("classifier")
    model_factory.export_classifier(base / "7")
    return base


@pytest.fixture(scope="session")
def settings(tmp_path_factory, half_plus_two, half_plus_three, zoo, classifier):
    """Flags that serve all models; version 123 of half_plus_two is labelled stable."""
    folder = tmp_path_factory.mktemp("server")
    config = write_config(
        folder / "models.config",
        f'config {{ name: "half_plus_two" base_path: "{half_plus_two}" model_platform: "tensorflow"'
        " model_version_policy { all {} }"
        ' version_labels { key: "stable" value: 123 }'
        ' version_labels { key: "ca/na:ry" value: 124 } }',
        f'config {{ name: "half_plus_three" base_path: "{half_plus_three}" }}',
        f'config {{ name: "zoo" base_path: "{zoo}" }}',
        f'config {{ name: "a name" base_path: "{classifier}" }}',
    )
    monitoring = folder / "monitoring.config"
    monitoring.write_text(
        'prometheus_config { enable: true path: "/monitoring/prometheus/metrics" }'
    )
    return {
        "model_config_file": str(config),
        "monitoring_config_file": str(monitoring),
        "rest_api_enable_cors_support": True,
        "enable_grpc_healthcheck_service": True,
    }


@pytest.fixture(scope="session")
def server(settings):
    with harness.serve(**settings) as running:
        yield running


@pytest.fixture(scope="session", params=["grpcio", "http2"])
def grpc_server(request, settings):
    """The same over each of the front ends of gRPC."""
    with harness.serve(**settings, grpc_frontend=request.param) as running:
        yield running
