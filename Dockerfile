# docker build -t causal-benchmark .
# docker run -v "$PWD/results:/benchmark/results" causal-benchmark run PRESET=quick
FROM python:3.11-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends make git && rm -rf /var/lib/apt/lists/*
WORKDIR /benchmark
COPY Makefile ./
COPY envs ./envs
RUN make env
COPY . .
ENTRYPOINT ["make"]
CMD ["quick"]
