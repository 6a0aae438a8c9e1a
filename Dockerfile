# Kerasline with the locked environment, for machines that cannot make it themselves.
#   docker build -t kerasline .
#   mkdir -p runs && docker run --rm --user "$(id -u)" -v "$PWD/runs:/project/runs" kerasline run
FROM python:3.11-slim-trixie

# The same locks and tools as the launcher's, installed before the code so that a change of code
# does not install them again.
COPY requirements/setup.txt requirements/runtime.txt /tmp/requirements/
RUN pip install --no-cache-dir --no-deps --require-hashes --only-binary :all: \
        --requirement /tmp/requirements/setup.txt \
    && uv pip install --system --no-cache --no-deps --require-hashes --compile-bytecode \
        --build-constraints /tmp/requirements/runtime.txt \
        --requirements /tmp/requirements/runtime.txt \
    && rm -r /tmp/requirements

COPY . /opt/kerasline
RUN uv pip install --system --no-cache --no-deps --no-build-isolation --editable /opt/kerasline

# Any user may run it, so that what it writes into a mounted folder is owned by who started it.
RUN useradd --uid 1000 kerasline && install --directory --mode 1777 /project /project/runs
USER kerasline
ENV HOME=/project
WORKDIR /project
ENTRYPOINT ["kerasline"]
CMD ["run"]
