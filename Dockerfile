# Headgate's server and command line on nothing but what they need: no shell, no package manager.
# docs/kubernetes.md says how it is run; `./dev image` builds it without a daemon, and tries it.

# Debian 12, for building and as the source of libraries: these very bytes, whatever the tag comes to mean. What Debian has
# mended since is installed while building.
ARG BASE=docker.io/library/debian:12.11-slim@sha256:b1a741487078b369e78119849663d7f1a5341ef2768798f7b7406c4240f86aef

FROM ${BASE} AS build
WORKDIR /src
COPY tools/packages.sh tools/build.sh tools/linked.sh tools/image_steps.sh tools/
RUN tools/image_steps.sh packages
COPY . .
RUN tools/image_steps.sh compile /out
ARG REVISION=unknown
RUN tools/image_steps.sh collect /out /runtime

FROM scratch
# The project's version, and the commit that is built: `./dev image` gives both.
ARG VERSION=0.1.0
ARG REVISION=unknown
# When that commit was made.
ARG CREATED=
LABEL org.opencontainers.image.title="Headgate" \
      org.opencontainers.image.description="A throttler for PostgreSQL: server and command line, with libraries of Debian 12" \
      org.opencontainers.image.vendor="Headgate" \
      org.opencontainers.image.url="https://github.com/headgate/headgate" \
      org.opencontainers.image.source="https://github.com/headgate/headgate" \
      org.opencontainers.image.documentation="https://github.com/headgate/headgate/blob/main/docs/kubernetes.md" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /runtime/ /
# The one place that can be written.
COPY --from=build --chown=65532:65532 /state/ /var/lib/headgate/
# Callers come from outside the container, and where nobody asks who they are (no `access`, no `tls`) the server refuses to
# start: whoever reaches it could pause all work. HEADGATE_IF_EXPOSED=warn lets it. Flags go before these, and so does the
# environment that a container is given.
ENV HEADGATE_CONFIG=/etc/headgate/headgate.yaml \
    HEADGATE_GRPC_ADDRESS=0.0.0.0:8081 \
    HEADGATE_HTTP_ADDRESS=0.0.0.0:8080 \
    HEADGATE_IF_EXPOSED=refuse \
    HEADGATE_STATE_DIR=/var/lib/headgate \
    HEADGATE_LOG_FORMAT=json \
    SQLITE_TMPDIR=/var/lib/headgate
WORKDIR /var/lib/headgate
EXPOSE 8081 8080
USER 65532:65532
ENTRYPOINT ["/usr/bin/headgated"]
