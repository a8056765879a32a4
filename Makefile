# Developers' commands. Each sets up .venv from the lock when that is needed; nothing else is.
PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
SEEDS ?= 200000
COMMIT = $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST = $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help test check static format fast features docs-tables bench bench-quick lock mutants mutants-rotate soak model model-quick

help:  ## list these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

$(READY): requirements/dev.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

test: $(READY)  ## run every test
	$(PYTEST) -n $(WORKERS)

check: static fast  ## what to run before a review: format, lint, types, floors, docs, fast tests

static: $(READY)  ## format, lint, types, import floors, generated docs: no tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/docs_tables.py --check

fast: $(READY)  ## the tests without the slow ones (killed processes, many seeds)
	$(PYTEST) -n $(WORKERS) -m "not slow"

format: $(READY)  ## format the code and mend what lint can mend
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

features: $(READY)  ## which test proves which feature
	@$(BIN)/python tools/features.py

docs-tables: $(READY)  ## make the generated reference pages again
	$(BIN)/python tools/docs_tables.py

mutants: $(READY)  ## every protocol mutant: do the tests notice each guard that is gone?
	$(BIN)/python tools/mutants.py

mutants-rotate: $(READY)  ## six mutants, others for each commit
	$(BIN)/python tools/mutants.py --rotate 6 $(COMMIT)

soak: $(READY)  ## many simulated worlds (SEEDS=200000), resumable; kept under benchmarks/results
	$(BIN)/python -m holdshort.sim --soak $(SEEDS) --out benchmarks/results/soak.json --commit $(COMMIT)

model:  ## check the model of the write protocol with spin, with every mutant of it
	tools/run_model.sh

model-quick:  ## the same in a minute: six receivers, five mutants
	tools/run_model.sh --quick

bench-quick: $(READY)  ## three minutes: is the governed step still cheap and flat?
	$(BIN)/python benchmarks/run.py --quick

bench: $(READY)  ## all figures, kept under benchmarks/results, and the page made from them
	$(BIN)/python benchmarks/run.py --keep

lock:  ## pin the newest releases that pyproject.toml allows
	PYTHON=$(PYTHON) tools/lock.sh
