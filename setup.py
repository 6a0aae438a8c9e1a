"""Metadata of the distribution; Apache Beam ships it to remote workers."""

import ast
from pathlib import Path

import setuptools

ROOT = Path(__file__).parent


def read_version() -> str:
    """The value that pipeline/version.py assigns, read without importing anything."""
    tree = ast.parse((ROOT / "pipeline/version.py").read_text(encoding="utf-8"))
    (value,) = (node.value for node in tree.body if isinstance(node, ast.Assign))
    return str(ast.literal_eval(value))


def read_requirements(name: str) -> list[str]:
    """The requirements of one input file, without its comments."""
    lines = (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


setuptools.setup(
    name="kerasline",
    version=read_version(),
    description="One command trains, gates, publishes and serves a Keras 3 model with TFX",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    python_requires=">=3.11,<3.14",
    # `tests` is left out. The root is named so that an editable install is one line in a .pth file,
    # which costs a start nothing.
    package_dir={"": "."},
    packages=setuptools.find_packages(
        include=[
            "models",
            "models.*",
            "serving",
            "serving.*",
            "components",
            "components.*",
            "pipeline",
            "pipeline.*",
        ]
    ),
    package_data={
        "components.report": ["*.html"],
        "pipeline.recipes": ["*.toml"],
        "serving.server": ["*.html", "*.js"],
    },
    install_requires=["click", "pydantic>=2", "rich"],
    extras_require={
        "client": ["grpcio", "httpx", "numpy", "protobuf"],
        # MLflow keeps its runs in a database, which mlflow-skinny leaves out.
        "mlflow": ["alembic", "mlflow-skinny", "sqlalchemy"],
        "pipeline": read_requirements("runtime.in"),
        "wandb": ["wandb"],
    },
    entry_points={"console_scripts": ["kerasline = pipeline.cli.main:main"]},
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Developers",
        "Operating System :: MacOS",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
)
