# Two commands for a new machine: `make run` and `make test`. Each sets up .venv by itself.
PYTHON ?= python3
BIN := .venv/bin
SYSTEM := strace tmux faketime
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run test check fix bench soak system clean

run: .venv/compiled
	@$(BIN)/overt $(if $(TASK),run) $(ARGS) $(if $(TASK),-- '$(subst ','\'',$(TASK))')

test: .venv/compiled system
	$(BIN)/pytest

check: .venv/ready
	$(BIN)/ruff format --check src tests bench
	$(BIN)/ruff check src tests bench
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 0 tests/test_architecture.py

fix: .venv/ready
	$(BIN)/ruff check --fix src tests bench
	$(BIN)/ruff format src tests bench

bench: .venv/compiled
	$(BIN)/python -m bench

# The long repetitions: the same tests with their full numbers.
soak: .venv/ready system
	$(BIN)/pytest -m soak --timeout 1800

# pip comes first: an old one writes a launcher that costs start-up time.
.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Overt needs Python 3.11 or newer; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip install --quiet --editable '.[dev]' --constraint constraints.txt
	@touch $@

# Where writing bytecode is switched off, every start would compile the program anew.
.venv/compiled: .venv/ready $(shell find src -name '*.py')
	@$(BIN)/python -m compileall -q src
	@touch $@

# Tests that inject faults need these; without them they are skipped and say so.
system:
	@missing=; for tool in $(SYSTEM); do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install -y -qq $$missing >/dev/null; \
	else echo "For all tests install:$$missing (Debian: sudo apt-get install$$missing)"; fi

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
