# Every target sets up what it needs in .venv, once, and again only when pyproject.toml has changed.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
NODE := $(shell command -v node)
HOSTS := langchain pydantic-ai openai-agents openhands
HOSTS_PYTHON ?= python3.12
SECONDS ?= 60
WITH_openai-agents := anthropic
WITH_pydantic-ai-harness := pydantic-ai-harness
EXTRA_pydantic-ai-harness := pydantic-ai
PEERS := langchain pydantic-ai-harness openai-agents
# Peers that are handed a list of messages share one environment.
WITH_strands-agents := strands-agents ctx-slim cutctx
EXTRA_strands-agents := laws

help: ## these lines
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

demo: $(READY) ## replay a recorded session and show what would be cut, and when
	$(BIN)/refold replay examples/session.v4.jsonl.zstd --policy keep3

test: $(READY) node-word ## every test but those that install a harness, a framework or a browser
	$(BIN)/pytest -n auto -m "not harness and not hosts and not report$(if $(NODE),, and not oracle)"

harness: $(READY) ## the tests that run the DSH harness itself (installs 340 MB, once)
	$(BIN)/pytest -m harness tests/harness

report: $(READY) ## the report of refold compare, clicked through in a headless Chromium (needs node, installs 320 MB, once)
	$(BIN)/pytest -m report tests/report

hosts: $(HOSTS:%=.cache/hosts/%/.ready) ## agents of the frameworks refold plugs into (needs Python 3.12, installs 1 GB, once)
	set -e; for host in $(HOSTS); do \
		.cache/hosts/$$host/bin/pytest -m hosts tests/hosts/test_$$(echo $$host | tr - _).py; done
	.cache/hosts/openai-agents/bin/pytest -m hosts tests/hosts/test_plain_loops.py

peers: $(PEERS:%=.cache/hosts/%/.ready) ## the presets of other libraries beside those libraries themselves (needs Python 3.12, as hosts)
	set -e; for peer in $(PEERS); do \
		.cache/hosts/$$peer/bin/pytest benchmarks/peers/test_$$(echo $$peer | tr - _).py; done

peers-table: $(PEERS:%=.cache/hosts/%/.ready) .cache/hosts/strands-agents/.ready $(READY) ## what a step takes, beside those libraries (docs/economics.md, anew; half an hour)
	$(BIN)/python benchmarks/step_time.py

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

fuzz: $(READY) ## every transcript reader on damaged files, guided by coverage, for a minute: make fuzz SECONDS=600
	$(BIN)/python tests/fuzz/readers.py --seconds $(SECONDS)

bench: $(READY) node-word ## the speed figures, side by side in one run
	$(BIN)/python benchmarks/resume.py

node-word:
	$(if $(NODE),@:,@echo "node is not installed: what compares with the official npm packages is left out")

.cache/hosts/%/.ready: pyproject.toml
	@$(HOSTS_PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 12))' || { echo "OpenHands needs Python 3.12 or newer: make hosts HOSTS_PYTHON=/path/to/python3.12"; exit 2; }
	$(HOSTS_PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --editable ".[$(or $(EXTRA_$*),$*)]" pytest hypothesis $(WITH_$*)
	@touch $@

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "refold needs Python 3.11 or newer, and $(PYTHON) is older: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group dev
	@touch $@

.PHONY: help demo test harness report hosts hosts-table peers peers-table check conformance fuzz bench node-word
