# Headgate's server and command line on nothing but what they need: no shell, no package manager.
# docs/kubernetes.md says how it is run; `./dev image` builds it without a daemon, and tries it.

# A pinned release of Debian 12, for building and as the source of libraries.
ARG BASE=docker.io/library/debian:12.11-slim

FROM ${BASE} AS build
WORKDIR /src
COPY tools/packages.sh tools/build.sh tools/image_steps.sh tools/
RUN tools/image_steps.sh packages
COPY . .
RUN tools/image_steps.sh compile /out
RUN tools/image_steps.sh collect /out /runtime

FROM scratch
LABEL org.opencontainers.image.title="Headgate" \
      org.opencontainers.image.description="A throttler for PostgreSQL" \
      org.opencontainers.image.base.name="scratch, with libraries of Debian 12"
COPY --from=build /runtime/ /
# The one place that can be written.
COPY --from=build --chown=65532:65532 /state/ /var/lib/headgate/
# Callers come from outside the container. Flags go before these, and so does the environment that a
# container is given.
ENV HEADGATE_CONFIG=/etc/headgate/headgate.yaml \
    HEADGATE_GRPC_ADDRESS=0.0.0.0:8081 \
    HEADGATE_HTTP_ADDRESS=0.0.0.0:8080 \
    HEADGATE_STATE_DIR=/var/lib/headgate \
    HEADGATE_LOG_FORMAT=json \
    SQLITE_TMPDIR=/var/lib/headgate
WORKDIR /var/lib/headgate
EXPOSE 8081 8080
USER 65532:65532
ENTRYPOINT ["/usr/bin/headgated"]
