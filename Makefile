# Every target makes what it needs: on a fresh machine `make demo` and `make test` just work.

TORCH := torch==2.13.0
VENV := .venv
PYTHON = $(VENV)/bin/python
STAMP := $(VENV)/.installed
TYPESCRIPT := clients/typescript
NODE_STAMP := $(TYPESCRIPT)/node_modules/.installed
ADAPTERS := .venv-adapters
ADAPTERS_STAMP := $(ADAPTERS)/.installed
PEERS := .venv-peers
PEERS_STAMP := $(PEERS)/.installed
RAY := .venv-ray
RAY_STAMP := $(RAY)/.installed
CODE := memory server clients benchmarks tests migrations deploy .ci
# Two workers by file; those that take long come first. WORKERS=0 runs all in one process.
WORKERS ?= 2
PYTEST = $(PYTHON) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
PARTED ?= tests/storage tests/services tests/api
SUITE ?= loop
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help install format lint test test-partitions check check-fast nightly migrate serve bench soak docs demo screenshots lock sbom openapi client-models \
	install-adapters test-adapters install-peers install-ray test-ray install-typescript test-typescript

help:     ## Show this list
	@grep -hE '^[a-z-]+: .*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 20

install: $(STAMP)  ## Install the project and its tools

# A virtual environment of the first Python that is new enough.
define NEW_VENV
	@found=; for python in python3.11 python3.12 python3.13 python3; do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then echo "MemLift needs Python 3.11 or newer; none was found on the PATH" >&2; exit 1; fi; \
	test -x $(1)/bin/python || $$found -m venv $(1)
endef

# torch comes first and by version alone: which build fits depends on the machine and its index.
# Everything else is locked by hash.
$(STAMP): requirements-dev.lock requirements-llm.lock pyproject.toml $(wildcard clients/python/pyproject.toml)
	$(call NEW_VENV,$(VENV))
	$(PYTHON) -m pip install --quiet $(TORCH)
	$(PYTHON) -m pip install --quiet --require-hashes --no-deps -r requirements-dev.lock
	$(PYTHON) -m pip install --quiet --require-hashes --no-deps -r requirements-llm.lock
	$(PYTHON) -m pip install --quiet --no-deps --no-build-isolation -e . $(if $(wildcard clients/python/pyproject.toml),-e clients/python)
	@touch $@

install-adapters: $(ADAPTERS_STAMP)  ## Install the frameworks that clients/agents plugs into, in an environment of their own

$(ADAPTERS_STAMP): requirements-adapters.lock clients/python/pyproject.toml clients/agents/pyproject.toml
	$(call NEW_VENV,$(ADAPTERS))
	$(ADAPTERS)/bin/python -m pip install --quiet --require-hashes --no-deps -r requirements-adapters.lock
	$(ADAPTERS)/bin/python -m pip install --quiet --no-deps --no-build-isolation -e clients/python -e clients/agents
	@touch $@

install-peers: $(PEERS_STAMP)  ## Install the memories that benchmarks stand beside, in an environment of their own

# What is not here is found in .venv: the model, torch, and the web server.
$(PEERS_STAMP): requirements-peers.lock $(STAMP)
	$(call NEW_VENV,$(PEERS))
	$(PEERS)/bin/python -m pip install --quiet --require-hashes --no-deps -r requirements-peers.lock
	$(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
	  "$$($(PEERS)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/beside.pth"
	@touch $@

install-ray: $(RAY_STAMP)  ## Install Ray beside the project, in an environment of its own

# What the project has is taken from its environment; the lock holds what Ray adds.
$(RAY_STAMP): $(STAMP) requirements-ray.lock
	$(call NEW_VENV,$(RAY))
	$(RAY)/bin/python -m pip install --quiet --require-hashes --no-deps -r requirements-ray.lock
	$(PYTHON) -c 'import site; print(site.getsitepackages()[0])' > "$$($(RAY)/bin/python -c 'import site; print(site.getsitepackages()[0])')/project.pth"
	@touch $@

format: $(STAMP)  ## Rewrite what can be rewritten
	$(PYTHON) -m ruff format $(CODE)
	$(PYTHON) -m ruff check --fix $(CODE)

lint: $(STAMP)  ## ruff, import contracts, types
	$(PYTHON) -m ruff format --check $(CODE)
	$(PYTHON) -m ruff check $(CODE)
	$(VENV)/bin/lint-imports
	$(PYTHON) -m basedpyright

test: $(STAMP)  ## All tests but the nightly ones, on an embedded database or at TEST_DATABASE_URL
	$(PYTEST) $(ARGS)

test-partitions: $(STAMP)  ## Tests of storage, services and api over 8 hash partitions; less by PARTED="tests/storage"
	TEST_PARTITIONS=8 $(PYTEST) $(PARTED) $(ARGS)

test-adapters: $(STAMP) $(ADAPTERS_STAMP)  ## The adapters of clients/agents, each on its real framework and a served process
	$(PYTHON) -m basedpyright -p clients/agents/pyproject.toml --pythonpath $(ADAPTERS)/bin/python
	$(ADAPTERS)/bin/python -m pytest -c clients/agents/pyproject.toml clients/agents/tests $(ARGS)

test-ray: $(RAY_STAMP)  ## The models on two nodes of Ray, on this machine
	$(RAY)/bin/python -m pytest -n 0 tests/ray $(ARGS)

check: lint test  ## lint + test

check-fast: lint  ## lint + unit tests: within two minutes
	$(PYTEST) tests/unit $(ARGS)

install-typescript: $(NODE_STAMP)  ## Install what the TypeScript client is built and tested with; needs Node 20

$(NODE_STAMP): $(TYPESCRIPT)/package.json $(TYPESCRIPT)/package-lock.json
	npm ci --prefix $(TYPESCRIPT) --no-audit --no-fund
	@touch $@

test-typescript: $(STAMP) $(NODE_STAMP)  ## Build the TypeScript client and test it against a server of its own
	$(PYTHON) -m tests.acceptance.with_server npm test --prefix $(TYPESCRIPT)

nightly: $(STAMP)  ## All tests, the long ones too, with ten times the examples; then `make test` without resident copies
	$(PYTEST) -m "" --hypothesis-profile=nightly $(ARGS)
	TEST_RESIDENT_BYTES=0 $(PYTEST) $(ARGS)

migrate: $(STAMP)  ## Bring the database to head
	$(VENV)/bin/memlift migrate $(ARGS)

serve: $(STAMP)  ## Start the server on loopback
	$(VENV)/bin/memlift serve $(ARGS)

demo: $(STAMP)  ## Watch an agent find out which of its notes are wrong
	$(PYTHON) -m clients.demo $(ARGS)

screenshots: $(STAMP)  ## Draw every page of the dashboard over real data into docs/images
	$(PYTHON) -m clients.demo.screenshots
	STORY_PICTURES=docs/images/stories $(PYTHON) -m pytest -n 0 -q tests/browser/test_stories_*.py

bench: $(STAMP)  ## Run a suite: make bench SUITE=loop
	$(PYTHON) -m benchmarks run $(SUITE) --out out/$(SUITE) $(ARGS)

soak: $(STAMP)  ## 100,000 mixed operations over two processes with faults, and a verdict
	$(PYTHON) -m benchmarks.soak $(ARGS)

docs: $(STAMP)  ## Write the generated pages, fail on a broken link
	$(PYTHON) -m server.settings_page > docs/reference/settings.md
	$(PYTHON) -m server.cli.page > docs/reference/command-line.md
	$(PYTHON) -m pytest -q tests/unit/test_documentation.py

openapi: $(STAMP)  ## Write the published contract
	$(PYTHON) -m server.openapi > docs/reference/openapi.json

client-models: $(STAMP)  ## Write the client's models and operations from the published contract
	$(PYTHON) -m clients.generation

lock: $(STAMP)  ## Pin all packages anew, by hash
	$(PYTHON) .ci/lock.py
	$(MAKE) sbom

sbom: $(STAMP)  ## Write the bill of materials of the server (CycloneDX) into deploy/sbom.json
	$(PYTHON) .ci/sbom.py
