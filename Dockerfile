# The server from the lock, as an ordinary user. Which build of torch is installed depends on the
# index that the build is given; without one, on pip's default.
FROM python:3.12.14-slim-trixie@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea AS build
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ARG TORCH=torch==2.13.0
ARG LOCK=requirements.lock
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
RUN python -m venv /opt/memlift
ENV PATH=/opt/memlift/bin:$PATH
RUN pip install "$TORCH"
COPY requirements.lock requirements-llm.lock requirements-otel.lock ./
RUN pip install --require-hashes --no-deps -r "$LOCK"
COPY pyproject.toml README.md LICENSE ./
COPY memory memory
COPY server server
COPY migrations migrations
RUN pip install --no-deps --no-build-isolation .

FROM python:3.12.14-slim-trixie@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea
RUN useradd --system --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin memlift \
    && install -d -o memlift -g memlift -m 700 /var/lib/memlift
COPY --from=build /opt/memlift /opt/memlift
ENV PATH=/opt/memlift/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    MEMLIFT_HOME=/var/lib/memlift \
    MEMLIFT_HOST=0.0.0.0
USER memlift
WORKDIR /var/lib/memlift
VOLUME /var/lib/memlift
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 \
    CMD ["python", "-I", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/health/live', timeout=4)"]
ENTRYPOINT ["memlift"]
CMD ["serve"]
