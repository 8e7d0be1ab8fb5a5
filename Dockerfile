# One image for every part; the command says which: `postroom up`, `postroom worker`, …
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY requirements/run.txt requirements/
COPY src src
RUN python -m venv /opt/postroom \
    && /opt/postroom/bin/pip install --no-cache-dir -r requirements/run.txt \
    && /opt/postroom/bin/pip install --no-cache-dir --no-deps .

FROM python:3.13-slim
RUN useradd --system --uid 10001 --home-dir /data postroom \
    && install -d -o postroom -g postroom -m 700 /data
COPY --from=build /opt/postroom /opt/postroom
ENV PATH=/opt/postroom/bin:$PATH \
    POSTROOM_HOME=/data \
    PYTHONUNBUFFERED=1
USER postroom
VOLUME /data
EXPOSE 40200
# Stopping lets sessions of models finish for 30 seconds and then what is being sent, which takes ten at most:
# `docker stop --time 60`, or Docker kills it after ten.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:40200/health', timeout=2)"]
ENTRYPOINT ["postroom"]
CMD ["up"]
