"""`kerasline deploy`: writes what a production server is started with."""

import os
import pathlib

import click

from pipeline import config_errors
from pipeline.cli import group

# Kept here, so that the help imports no renderer; a test compares it with the renderers.
TARGETS = ("docker", "kubernetes", "kserve")
_NEXT = {
    "docker": "docker compose --file {folder}/compose.yaml up",
    "kubernetes": "kubectl apply --filename {folder}",
    "kserve": "kubectl apply --filename {folder}",
}
_existing_file = click.Path(path_type=pathlib.Path, dir_okay=False, exists=True)
_new_path = click.Path(path_type=pathlib.Path)


@click.group("deploy", short_help="Write files for TF Serving in Docker, Kubernetes or KServe.")
def command() -> None:
    """Write files for TensorFlow Serving in Docker, Kubernetes or KServe.

    \b
    Example:
      kerasline deploy render digits --target kubernetes -o deploy
    """


@command.command("render")
@click.argument("recipe_name", metavar="[RECIPE]", required=False)
@click.option("--target", type=click.Choice(TARGETS), required=True, help="What runs the server.")
@click.option(
    "-o", "--output", required=True, type=_new_path, help="The folder to make; new or empty."
)
@click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=pathlib.Path),
    help="TOML file that says what is served and where; its keys all have defaults.",
)
@click.option(
    "--set",
    "set_values",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change one key of the config, such as cluster.max_replicas=4. Repeatable.",
)
def render(
    recipe_name: str | None,
    target: str,
    output: pathlib.Path,
    config_path: pathlib.Path | None,
    set_values: tuple[str, ...],
) -> None:
    """Write the server's config files and the manifests that start it.

    Without a config it serves the newest published version of RECIPE, and goes on to newer ones as
    they appear. Works off-line: no cluster and no registry is touched. The same config gives the
    same bytes.

    \b
    Example:
      kerasline deploy render digits --target docker -o deploy
      kerasline deploy render --target kserve --config deploy.toml \\
          --set kserve.canary_percent=10 -o canary
    """
    # Imported here, so that the help does not wait for them.
    from pipeline import deployment
    from serving.deploy import render as renderer

    try:
        config = deployment.load(config_path, set_values, recipe_name=recipe_name)
        files = deployment.render_files(config, target=target)
        renderer.write(files, output)
    except (config_errors.ConfigError, ValueError, FileExistsError) as error:
        raise group.BadInputError(str(error)) from None
    for name in files:
        click.echo(output / name)
    click.echo(f"Next: {_NEXT[target].format(folder=output)}")


@command.command("ssl-config")
@click.option("--key", required=True, type=_existing_file, help="The private key, PEM.")
@click.option(
    "--certificate", required=True, type=_existing_file, help="The certificate and its chain, PEM."
)
@click.option(
    "--client-authority",
    type=_existing_file,
    help="Refuse clients without a certificate of this authority, PEM.",
)
@click.option("-o", "--output", required=True, type=_new_path, help="The file to write; new.")
def ssl_config(
    key: pathlib.Path,
    certificate: pathlib.Path,
    client_authority: pathlib.Path | None,
    output: pathlib.Path,
) -> None:
    """Write the file that turns on TLS for gRPC. It holds the private key: keep it secret.

    \b
    Example:
      kerasline deploy ssl-config --key tls.key --certificate tls.crt -o ssl.config
      kubectl create secret generic kerasline-tls --from-file=ssl.config
    """
    from serving.deploy import server_files

    try:
        text = server_files.ssl_config(
            key=_read_pem(key),
            certificate=_read_pem(certificate),
            client_authority=_read_pem(client_authority) if client_authority else None,
        )
    except ValueError as error:
        raise group.BadInputError(str(error)) from None
    try:
        # Made readable to its owner only from its first byte on.
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise group.BadInputError(
            f"{output} is there already. Choose another file with -o."
        ) from None
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    click.echo(f"Wrote {output}.")


def _read_pem(path: pathlib.Path) -> str:
    # PEM is ASCII; what is not, such as DER, is then refused as such.
    return path.read_text(encoding="ascii", errors="replace")
