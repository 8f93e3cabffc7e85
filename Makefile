# make quick   create the environment and run the quick preset to its report
# make test    create the environment and run the tests
# make help    the rest
SHELL := /bin/bash
PYTHON ?= python3.11
CORES ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
PRESET ?= quick
RECORDS ?= 20
SEED ?= 0

VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check install --quiet
CONFIG := $(if $(filter paper,$(PRESET)),,--configfile presets/$(PRESET).yaml)
SNAKEMAKE := $(BIN)/snakemake --cores $(CORES) $(CONFIG)

# A name that is no preset is answered with those there are.
ifneq ($(CONFIG),)
ifeq ($(wildcard presets/$(PRESET).yaml),)
$(error There is no presets/$(PRESET).yaml. There are: $(sort paper $(patsubst presets/%.yaml,%,$(wildcard presets/*.yaml))))
endif
endif

.PHONY: help env env-dev env-r env-slurm env-sdcd quick small paper run tables figures published-data report plan pack verify measured retry unlock test test-slow lint format clean

help:
	@echo "make quick                   run the quick preset (minutes) to results/quick/report.html"
	@echo "make run PRESET=small        run another preset: quick, small, paper or your own presets/<name>.yaml"
	@echo "make published-data          bring in the paper's own data sets (553 MB) ahead of a run that uses them;"
	@echo "                             SOURCE=<git URL, git directory or folder> takes them from a copy"
	@echo "make tables | figures        only the paper's tables | figures, as in print: results/<preset>/paper/"
	@echo "make report PRESET=small     bring the report of a preset up to date"
	@echo "make plan PRESET=small       what is recorded, done and left of a preset, in core-hours; CORES=32 for other machines"
	@echo "make paper                   the paper's tables and figures as far as they are recorded; fits nothing"
	@echo "make pack PRESET=small       add the finished cells of a preset to records/ (REPLACE=1: also where they differ)"
	@echo "make retry PRESET=small      run the failed fits of a preset again, and only those"
	@echo "make measured                write docs/measured-reproduction.md from the records"
	@echo "make verify RECORDS=20       fit a random sample of recorded fits again and compare (SEED=1, ROWS=dcdi-g)"
	@echo "make unlock PRESET=small     after a crash or kill -9; then run again, and it goes on where it was"
	@echo "make test | test-slow        fast tests | the others"
	@echo "make lint | format           check | fix the style"
	@echo "make env-r                   add rpy2, for the engines that are R packages (needs R on the PATH)"
	@echo "make env-slurm               add Snakemake's plugin for SLURM, for profiles/slurm"
	@echo "make env-sdcd                an environment of its own, .venv-sdcd, for the external program SDCD"
	@echo "make clean                   remove the environment and caches (results stay)"

env: $(VENV)/.runtime
env-dev: $(VENV)/.dev
env-r: $(VENV)/.r
env-slurm: $(VENV)/.slurm
env-sdcd: .venv-sdcd/.done

$(VENV)/.runtime: envs/requirements.txt envs/requirements-nodeps.txt envs/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' \
	  || { echo "Python 3.11 is needed; name it: make quick PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --no-compile -r envs/requirements.txt -c envs/constraints.txt
	$(PIP) --no-compile --no-deps -r envs/requirements-nodeps.txt
	@# Nothing here builds C++ extensions or runs torch's own tests: 145 MB.
	rm -rf $(VENV)/lib/python3.11/site-packages/torch/test $(VENV)/lib/python3.11/site-packages/torch/include
	@# On all cores, which pip does not: jobs write no bytecode, and without it their imports take three times as long.
	$(BIN)/python -m compileall -q -j 0 -x 'py312|/tests?/' $(VENV)/lib/python3.11/site-packages
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime envs/requirements-dev.txt
	$(PIP) -r envs/requirements-dev.txt -c envs/constraints.txt
	@touch $@

$(VENV)/.r: $(VENV)/.runtime envs/requirements-r.txt
	@command -v R >/dev/null || { echo "R is not on the PATH: install it first (Debian's r-base-core)"; exit 1; }
	$(PIP) -r envs/requirements-r.txt -c envs/constraints.txt
	@touch $@

$(VENV)/.slurm: $(VENV)/.runtime envs/requirements-slurm.txt
	$(PIP) -r envs/requirements-slurm.txt -c envs/constraints.txt
	@touch $@

.venv-sdcd/.done: envs/requirements-sdcd.txt
	$(PYTHON) -m venv .venv-sdcd
	.venv-sdcd/bin/pip --disable-pip-version-check install --quiet -r envs/requirements-sdcd.txt
	@touch $@

quick: ; @$(MAKE) --no-print-directory run PRESET=quick
small: ; @$(MAKE) --no-print-directory run PRESET=small

paper: ; @$(MAKE) --no-print-directory run PRESET=recorded

run: env
	$(SNAKEMAKE)
	@echo "The report: results/$(PRESET)/report.html"

published-data: env
	@$(BIN)/python -m benchmark.paper.data $(SOURCE)

tables figures: env
	$(SNAKEMAKE) -- paper_$@
	@echo "As in the paper: results/$(PRESET)/paper/"

report: env
	$(SNAKEMAKE) -- report.html
	@echo "The report: results/$(PRESET)/report.html"

plan: env
	@$(BIN)/python -m benchmark.recorded.cost $(PRESET) --cores $(CORES)

pack: env
	@$(BIN)/python -m benchmark.recorded.pack $(PRESET) $(if $(REPLACE),--replace)

measured: paper
	$(BIN)/python -m benchmark.paper.measured results/recorded

retry: env
	$(BIN)/python -m benchmark.running.retry results/$(PRESET)
	@$(MAKE) --no-print-directory run PRESET=$(PRESET)

verify: env
	@$(BIN)/python -m benchmark.recorded.verify $(RECORDS) --seed $(SEED) $(if $(ROWS),--rows $(ROWS))

unlock: env
	$(SNAKEMAKE) --unlock

test: env-dev
	$(BIN)/python -m pytest -q -rs -n $(CORES)

test-slow: env-dev
	$(BIN)/python -m pytest -q -rs -m slow -n $(CORES)

lint: env-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint

format: env-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

clean:
	rm -rf $(VENV) .venv-sdcd .pytest_cache .mypy_cache .ruff_cache .hypothesis
