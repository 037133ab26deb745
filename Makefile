# `make help` lists what there is. Everything runs in .venv, made here on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help demo test chromium lint docs images bench torture lock clean

help:  ## List the commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

demo: $(VENV)/.installed  ## Install into .venv and show the main job in the terminal
	@$(BIN)/python examples/demo.py

test: lint chromium  ## Install what the tests need, then ruff, mypy and pytest
	$(BIN)/python -m pytest -q --numprocesses 2 --dist loadfile

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

docs: $(VENV)/.installed-dev  ## Write docs/cli.md anew from the commands
	$(BIN)/python docs/generate_cli.py

images: $(VENV)/.installed-dev chromium  ## Take the dashboard's pictures in docs/images anew
	$(BIN)/python docs/make_screenshots.py

bench: $(VENV)/.installed-dev  ## Measure speed and memory against bare SQLite
	$(BIN)/python benchmarks/write.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/export.py
	$(BIN)/python benchmarks/fold.py
	$(BIN)/python benchmarks/recall.py
	$(BIN)/python benchmarks/staleness.py
	$(BIN)/python benchmarks/tree.py
	$(BIN)/python benchmarks/episodes.py
	$(BIN)/python benchmarks/fixes.py
	$(BIN)/python benchmarks/serve.py
	$(BIN)/python benchmarks/dashboard.py
	$(BIN)/python benchmarks/postgres.py

torture: $(VENV)/.installed-dev  ## The long crash and contention runs (about half an hour)
	HARDWON_TORTURE=1 $(BIN)/python -m pytest -q -s tests/test_crash.py tests/test_contention.py \
	    tests/test_tree.py tests/test_training_memory_file.py tests/test_tidying.py tests/test_fix_adoption.py \
	    tests/test_postgres_many.py tests/test_postgres_crash.py
	$(BIN)/python torture/power_loss.py --states 50000
	$(BIN)/python torture/fuzz.py --runs 5000

lock: $(VENV)/.installed-dev  ## Resolve the lock files anew
	$(BIN)/python -m uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
	    --no-emit-index-url --no-emit-find-links --no-annotate --upgrade pyproject.toml -o requirements.lock
	$(BIN)/python -m uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
	    --no-emit-index-url --no-emit-find-links --no-annotate --upgrade --extra dev pyproject.toml -o requirements-dev.lock

clean:  ## Remove .venv and every cache
	rm -rf $(VENV) .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "Hardwon needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 …" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
	    || { echo "Python has no venv module here; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@touch $@

$(VENV)/.installed: $(VENV)/.made requirements.lock pyproject.toml
	@echo "Installing into $(VENV) …"
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.made requirements-dev.lock pyproject.toml
	@echo "Installing the development tools into $(VENV) …"
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@
