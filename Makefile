# Everything a developer does here is one of these commands. Needed: make, and python3 with venv.

PYTHON := python3
VENV := .venv
PEERS := .venv-peers
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check --no-input
WORKERS ?= 4
ARGS ?=

# Without compiled files beside the source, each of the hundreds of processes that tests start would compile it all again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help up test quick check law bench bench-peers chaos screenshots moving-picture lock clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: $(VENV)/.run-installed ## start a household here; options in ARGS="--home DIR --only messenger"
	@exec $(BIN)/postroom up $(ARGS)

# Types are checked on one core; meanwhile the other one compiles the tests, which otherwise each worker would do.
test: $(VENV)/.dev-installed $(VENV)/.examples-installed $(VENV)/.clients-installed ## install what the tests need, then check and run them all; options in ARGS="-k breaker"
	@sh scripts/debian-packages.sh
	@$(BIN)/python -m pytest --collect-only -q >/dev/null & $(MAKE) --no-print-directory check && wait
	@export TMPDIR=$$(sh scripts/quick-folder.sh) && \
		$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

# The pure rules of all slices, and one message all the way through one household on SQLite.
QUICK := tests/*/rules tests/*/test_rules.py tests/*/*/test_rules.py tests/*/test_*_rules.py tests/*/test_model.py \
	"tests/household/test_household.py::test_a_message_travels_the_whole_way[sqlite-auto]"

quick: $(VENV)/.dev-installed ## what to run at every save: pure rules with few examples, and one household; ARGS="-x"
	@export TMPDIR=$$(sh scripts/quick-folder.sh) && exec $(BIN)/python -m pytest -q -r fE -n 2 --dist worksteal --no-services \
		--hypothesis-profile quick $(QUICK) $(ARGS)

chaos: $(VENV)/.dev-installed ## break everything on purpose and write what was lost into the docs; ARGS="--short --only kill"
	@sh scripts/debian-packages.sh
	@exec $(BIN)/python -m chaos --write $(ARGS)

check: $(VENV)/.dev-installed ## style, types and imports, without running anything
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

law: $(VENV)/.dev-installed ## which tests may go: ARGS="collect", "candidates", "mutants", "baseline", "check"
	@export TMPDIR=$$(sh scripts/quick-folder.sh) && exec $(BIN)/python -m scripts.law $(ARGS)

bench: $(VENV)/.dev-installed ## measure speed; one part with ARGS=delivery, ask, attention, door, growth, scaling, console, pruning, inbox, cli …
	@exec $(BIN)/python -m benchmarks $(ARGS)

bench-peers: $(VENV)/.dev-installed $(PEERS)/.installed ## race the queues people would otherwise use; ARGS="--rounds 3"
	@sh scripts/debian-packages.sh
	@exec $(BIN)/python -m benchmarks.peers --peers $(PEERS)/bin/python $(ARGS)

screenshots: $(VENV)/.dev-installed ## a picture of every page of the console, in build/screenshots; ARGS="--docs"
	@$(BIN)/uv pip install --quiet --target build/picture-tools pillow pyte
	@exec $(BIN)/python scripts/screenshots.py $(ARGS)

moving-picture: $(VENV)/.clients-installed ## make README's moving picture again, from a real run of Claude Code
	@$(BIN)/uv pip install --quiet --target build/picture-tools pillow pyte
	@exec $(BIN)/python scripts/moving-picture.py $(ARGS)

lock: ## choose the newest allowed versions again and pin them in requirements/
	@sh scripts/lock.sh $(PYTHON)

clean: ## remove the environment and every cache
	rm -rf $(VENV) $(PEERS) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
	find src tests scripts examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@sh scripts/create-venv.sh $(PYTHON) $(VENV)

$(VENV)/.run-installed: $(BIN)/python requirements/run.txt pyproject.toml
	@echo "Installing Postroom into $(VENV) ..."
	@$(PIP) install -r requirements/run.txt
	@$(PIP) install --no-deps -e .
	@touch $@

$(VENV)/.dev-installed: $(BIN)/python requirements/dev.txt pyproject.toml
	@echo "Installing Postroom and its development tools into $(VENV) ..."
	@$(PIP) install -r requirements/dev.txt
	@$(PIP) install --no-deps -e .
	@touch $@

$(VENV)/.examples-installed: requirements/examples.txt $(VENV)/.dev-installed
	@echo "Installing what the examples need into $(VENV)/examples ..."
	@if $(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/examples && \
		$(BIN)/uv pip install --quiet --compile-bytecode --python $(VENV)/examples/bin/python -r requirements/examples.txt; \
	then touch $@; else rm -rf $(VENV)/examples; echo "It could not be installed; the examples will be skipped."; fi

# The coding agents' own programs, from npm: about 800 MB, and a minute. Without them their tests are skipped.
$(VENV)/.clients-installed: tests/clients/package.json tests/clients/package-lock.json $(VENV)/.dev-installed
	@echo "Installing the clients' own programs into $(VENV)/clients ..."
	@rm -rf $(VENV)/clients && mkdir -p $(VENV)/clients && cp tests/clients/package.json tests/clients/package-lock.json $(VENV)/clients/
	@if command -v npm >/dev/null && npm ci --prefix $(VENV)/clients --no-audit --no-fund --fetch-retries 1 --loglevel error >/dev/null; \
	then touch $@; else rm -rf $(VENV)/clients; echo "They could not be installed; their tests will be skipped."; fi

$(PEERS)/.installed: requirements/peers.txt
	@echo "Installing the peers into $(PEERS) ..."
	@sh scripts/create-venv.sh $(PYTHON) $(PEERS)
	@$(PEERS)/bin/python -m pip -qq --disable-pip-version-check --no-input install -r requirements/peers.txt
	@touch $@
