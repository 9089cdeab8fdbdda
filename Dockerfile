# An image in which `make qualify` and `make test` run: Python, make, an OpenSSH client, and git for the commit that a
# page names. Nothing in it needs root; switches and generators listen on loopback inside the container.
#
#   docker build -t sonic-mgmt-pfc .
#   docker run --rm -v "$PWD/results:/home/pfc/sonic-mgmt-pfc/results" sonic-mgmt-pfc make qualify
FROM python:3.11-slim-bookworm

RUN apt-get update \
    && apt-get install -y --no-install-recommends git make openssh-client sqlite3 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 pfc

USER pfc
WORKDIR /home/pfc/sonic-mgmt-pfc
COPY --chown=pfc:pfc . .
RUN make .venv/.installed

CMD ["make", "qualify"]
