# The one list of commands: what a person types, and what .ci/run runs. It needs Python >= 3.11 with venv, make, git.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := test
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)

# Arguments for pytest, for example: make test ARGS="tests/unit -k settings"; demo takes its own.
ARGS ?=
PYTEST := $(BIN)/python -m pytest
WORKERS ?= 2
# STAY=1 leaves the demonstration running.
STAY ?=

.PHONY: setup demo test check fix lint types arch deps unit crash e2e bench docs lock clean

setup: $(VENV)/.ready-dev $(VENV)/.ready-schemas

demo: $(VENV)/.ready
	$(BIN)/geode demo $(if $(STAY),--stay) $(ARGS)

test: setup
	$(PYTEST) -n $(WORKERS) --dist worksteal $(ARGS)

check: lint types arch deps

fix: setup
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format --quiet .

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/basedpyright

arch: setup
	$(BIN)/lint-imports
	$(PYTEST) -q tests/architecture

deps: setup
	$(BIN)/deptry geode channels

unit: setup
	$(PYTEST) tests/unit tests/property $(ARGS)

crash: setup
	CRASH_ALL=1 $(PYTEST) -s tests/crash $(ARGS)

e2e: setup
	$(PYTEST) tests/e2e $(ARGS)

bench: setup
	$(BIN)/python -m bench $(ARGS)

docs: setup
	$(BIN)/python -m geode.cli.tool_table > docs/tools.md

# The only target that writes a lock. No index address goes in: a lock installs from any mirror.
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-annotate --no-header --no-emit-index-url --no-emit-find-links
lock: setup
	$(LOCK) --group dev pyproject.toml --output-file requirements-dev.lock $(ARGS)
	$(LOCK) --group build --constraint requirements-dev.lock pyproject.toml --output-file requirements.lock

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Everything that runs GEODE. The development set contains it, so one of the two is enough.
$(VENV)/.ready: requirements.lock pyproject.toml
	@if [ $(VENV)/.ready-dev -nt requirements-dev.lock ] && [ $(VENV)/.ready-dev -nt pyproject.toml ]; \
	then touch $@; else $(MAKE) install LOCKED=requirements.lock STAMP=$@; fi

$(VENV)/.ready-dev: requirements-dev.lock pyproject.toml
	@$(MAKE) install LOCKED=requirements-dev.lock STAMP=$@

# What the platforms publish about their APIs, as JSON Schema: every request of a test must fit it;
# beside it axe-core, by whose rules the page must be accessible, and the JSON-Schema-Test-Suite.
SCHEMAS := tests/schemas
$(VENV)/.ready-schemas: $(wildcard $(SCHEMAS)/*) requirements-dev.lock | $(VENV)/.ready-dev
	@echo "Writing the platforms' schemas, axe-core and the JSON-Schema-Test-Suite into $(VENV)"
	@$(BIN)/python $(SCHEMAS)/write_schemas.py $(VENV)/share/platform-schemas
	@touch $@

# uv when the machine has it, else pip, which also takes over when uv does not know the mirror.
PIP := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --no-input
.PHONY: install
install:
	@$(BIN)/python -c "" 2>/dev/null || $(PYTHON) -c \
		"import sys; sys.exit('GEODE needs Python 3.11 or newer') if sys.version_info < (3, 11) else 0"
	@$(BIN)/python -c "" 2>/dev/null || { echo "Creating $(VENV)"; $(PYTHON) -m venv --clear $(VENV); }
	@echo "Installing $(LOCKED) into $(VENV)"
	@$(if $(UV),$(UV) pip install --quiet --python $(BIN)/python --require-hashes \
		--compile-bytecode -r $(LOCKED) || )$(PIP) --require-hashes -r $(LOCKED)
	@$(PIP) --no-build-isolation --no-deps --editable .
	@$(BIN)/python -m compileall -q geode channels
	@touch $(STAMP)
