# Every target sets up what it needs in .venv, once, and again only when pyproject.toml has changed.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
NODE := $(shell command -v node)
HOSTS := langchain pydantic-ai openai-agents openhands
HOSTS_PYTHON ?= python3.12
WITH_openai-agents := anthropic
WITH_pydantic-ai-harness := pydantic-ai-harness

help: ## these lines
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

demo: $(READY) ## replay a recorded session and show what would be cut, and when
	$(BIN)/refold replay examples/session.v4.jsonl.zstd --policy keep3

test: $(READY) node-word ## every test but those that install the DSH harness
	$(BIN)/pytest -n auto -m "not harness and not hosts$(if $(NODE),, and not oracle)"

harness: $(READY) ## the tests that run the DSH harness itself (installs 340 MB, once)
	$(BIN)/pytest -m harness tests/harness

hosts: $(HOSTS:%=.cache/hosts/%/.ready) ## agents of the frameworks refold plugs into (needs Python 3.12, installs 1 GB, once)
	set -e; for host in $(HOSTS); do \
		.cache/hosts/$$host/bin/pytest -m hosts tests/hosts/test_$$(echo $$host | tr - _).py; done
	.cache/hosts/openai-agents/bin/pytest -m hosts tests/hosts/test_plain_loops.py

hosts-table: $(HOSTS:%=.cache/hosts/%/.ready) .cache/hosts/pydantic-ai-harness/.ready $(READY) ## the table of docs/hosts.md, anew
	$(BIN)/python benchmarks/hosts.py

check: $(READY) ## style, types, and which part may import which
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

conformance: $(READY) ## the tests over transcripts, on all those in a folder: make conformance DATA=dir
	@test -d "$(DATA)" || { echo "conformance needs a folder of transcripts: make conformance DATA=dir"; exit 2; }
	REFOLD_DATA="$$(cd "$(DATA)" && pwd)" $(BIN)/pytest -n auto tests/conformance

bench: $(READY) node-word ## the speed figures, side by side in one run
	$(BIN)/python benchmarks/resume.py

node-word:
	$(if $(NODE),@:,@echo "node is not installed: what compares with the official npm packages is left out")

.cache/hosts/%/.ready: pyproject.toml
	@$(HOSTS_PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 12))' || { echo "OpenHands needs Python 3.12 or newer: make hosts HOSTS_PYTHON=/path/to/python3.12"; exit 2; }
	$(HOSTS_PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --editable ".[$(patsubst %-harness,%,$*)]" pytest hypothesis $(WITH_$*)
	@touch $@

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "refold needs Python 3.11 or newer, and $(PYTHON) is older: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group dev
	@touch $@

.PHONY: help demo test harness hosts hosts-table check conformance bench node-word
