# `make help` lists what there is. Everything runs in .venv, made here on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Compiled when it is imported: of eleven thousand files that the tests need, most are never loaded.
INSTALL := $(BIN)/python -m pip --disable-pip-version-check --quiet install --no-compile

.DEFAULT_GOAL := help
.PHONY: help demo test pytest chromium lint audit release docs site images extras bench torture lock clean

help:  ## List the commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

demo: $(VENV)/.installed  ## Install into .venv and tell in a minute what a memory is good for
	@$(BIN)/hardwon demo

# What only looks at the code runs beside the tests, which often wait; a failure of either is a failure.
test: $(VENV)/.installed-dev chromium  ## Install what the tests need, then ruff, mypy, the audits and pytest
	@$(MAKE) --no-print-directory --jobs 2 pytest lint audit

# Compiled first: hundreds of tests start a program, and where Python writes no bytecode each of them
# would compile everything anew. pytest writes its own, so that its workers share them. Four at a time: they wait
# for the disk, for servers and for one another.
pytest: $(VENV)/.installed-dev
	$(BIN)/python -m compileall -q src drop_in
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -q --numprocesses 4 --dist worksteal

# The dashboard is tested in a real browser: installed where that needs nobody's leave, asked for elsewhere.
chromium:
	@for name in "$$HARDWON_CHROMIUM" chromium chromium-browser google-chrome google-chrome-stable; do \
	    if [ -n "$$name" ] && command -v "$$name" >/dev/null; then exit 0; fi; \
	done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "Installing Chromium for the tests of the dashboard …"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null && exit 0; \
	fi; \
	echo "The tests of the dashboard need Chromium: apt-get install chromium, or HARDWON_CHROMIUM=/path/to/chrome" >&2; exit 1

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# What could not be asked about, because there is no network, is said loudly and is no error; AUDIT=--strict makes it one.
audit: $(VENV)/.installed-dev  ## Look for unsafe code and known vulnerabilities; build twice and compare
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive src drop_in
	$(BIN)/python release/audit.py $(AUDIT) requirements.lock requirements-dev.lock
	$(BIN)/python release/build.py --out build/audited

release: $(VENV)/.installed-dev  ## Build what is committed into dist/, with checksums and an SBOM
	$(BIN)/python release/build.py --release

docs: $(VENV)/.installed-dev  ## Write the reference anew from the code, and build the manual into site/
	$(BIN)/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

site: $(VENV)/.installed-dev  ## Serve the manual on this machine while it is written
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve --strict

images: $(VENV)/.installed-dev chromium  ## Take the pictures of the demo and of the dashboard in docs/images anew
	$(BIN)/python docs/make_demo_picture.py
	$(BIN)/python docs/make_screenshots.py

# Not a part of the tests: it downloads every extra's packages.
extras: $(VENV)/.made  ## Install each extra into an empty environment and try what it is for
	$(BIN)/python tools/extras.py

# BENCH_DATA is a folder with the episodes and fixes of the replays; without it they are left out.
BENCH_DATA ?=
bench: $(VENV)/.installed-dev  ## Measure everything, beside others too, and write docs/benchmarks.md (about an hour)
	$(BIN)/python benchmarks/page.py $(if $(BENCH_DATA),--data $(BENCH_DATA))

# SEED=… replays what a run printed; without it every run draws one.
torture: SEED := $(or $(SEED),$(shell date +%s))
torture: $(VENV)/.installed-dev  ## The long crash and contention runs, and a million steps of a crowd (hours; SEED=… does one again)
	@echo "the seed of everything simulated: make torture SEED=$(SEED)"
	$(BIN)/python torture/crowd.py --steps 1000000 --seed $(SEED)
	$(BIN)/python torture/power_loss.py --states 50000 --seed $(SEED)
	$(BIN)/python torture/fuzz.py --runs 5000 --seed $(SEED)
	$(BIN)/python torture/poison.py --campaigns 10000 --seed $(SEED)
	HARDWON_TORTURE=1 $(BIN)/python -m pytest -q -s tests/store/test_crash.py \
	    tests/tree/test_tree.py tests/training/test_training_memory_file.py tests/memory/test_tidying.py tests/fixes/test_fix_adoption.py \
	    tests/store/test_postgres_crash.py tests/store/test_backup.py tests/surfaces/test_openapi.py \
	    tests/search/test_engines_recall.py tests/tree/test_datasets.py tests/tree/test_btb.py \
	    tests/trust/test_fence.py tests/tree/test_routing.py tests/surfaces/test_surfaces_together.py
	HARDWON_TORTURE=1 $(BIN)/python -m pytest -q -m hypothesis

# What is pinned stays pinned; UPGRADE=--upgrade takes the newest of everything.
UPGRADE ?=
COMPILE = $(BIN)/python -m uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
    --no-emit-index-url --no-emit-find-links --no-annotate $(UPGRADE)
EXTRAS := serve mcp postgres langgraph openai-agents otel
lock: $(VENV)/.installed-dev  ## Resolve the lock files anew (UPGRADE=--upgrade for newer packages)
	$(COMPILE) pyproject.toml -o requirements.lock
	$(COMPILE) --group dev $(EXTRAS:%=--extra %) pyproject.toml -o requirements-dev.lock

clean:  ## Remove .venv and every cache
	rm -rf $(VENV) .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist site benchmarks/.peers benchmarks/.results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "Hardwon needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 …" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
	    || { echo "Python has no venv module here; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@touch $@

$(VENV)/.installed: $(VENV)/.made requirements.lock pyproject.toml
	@echo "Installing into $(VENV) …"
	@$(INSTALL) --require-hashes -r requirements.lock
	@$(INSTALL) --no-deps --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.made requirements-dev.lock pyproject.toml
	@echo "Installing the development tools into $(VENV) …"
	@$(INSTALL) --require-hashes -r requirements-dev.lock
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@
