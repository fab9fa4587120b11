# Everything runs in .venv, which each target makes by itself; only python3 (3.11+), venv and make have to be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TOOLS := $(VENV)/.tools
# Tests start hundreds of commands, each of which would otherwise compile all of daedal's modules again.
export PYTHONDONTWRITEBYTECODE :=
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable
PARTS := contracts library pages commands studies laws rooms quick-attack

.PHONY: demo test lint docs $(PARTS) attack bench reference reproduce clean

demo: $(STAMP)
	rm -f demo.db
	$(BIN)/daedal solve trap:k=5,n=50 --seed 1 --run demo.db
	$(BIN)/daedal report demo.db -o demo.html
	@echo "The page of this run: $(CURDIR)/demo.html"

# Two parts side by side: first those that compile the kernels, last those that are short.
test: $(TOOLS)
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint docs $(PARTS)

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The documentation, into site/; a warning is an error.
docs: $(TOOLS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --clean

contracts := tests/contract
library := $(wildcard tests/unit/[e-o]*)
rooms := $(filter-out $(library),$(wildcard tests/unit/[a-z]*))
pages := $(wildcard tests/e2e/test_docs.py tests/e2e/test_examples.py tests/e2e/test_pa*.py tests/e2e/test_report*.py)
studies := $(filter-out $(pages),$(wildcard tests/e2e/test_[p-z]*.py))
commands := $(filter-out $(pages) $(studies),$(wildcard tests/e2e/test_*.py))
laws := tests/statistical
quick-attack := tests/attack
$(PARTS): $(TOOLS)
	$(BIN)/python -m pytest $($@)

# All attacks, which take about an hour; `make test` has a quick part of them.
attack: $(TOOLS)
	$(BIN)/python tests/attack/run.py

bench: $(TOOLS)
	$(BIN)/python benchmarks/first.py
	$(BIN)/python benchmarks/models.py
	$(BIN)/python benchmarks/store.py

reproduce: $(STAMP)
	$(BIN)/daedal reproduce table1 --store repro.db
	$(BIN)/daedal reproduce figures --store repro-figures.db

reference: $(STAMP)
	$(BIN)/python benchmarks/reference.py

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) ".[plot,parallel,report]"
	touch $(STAMP)

$(TOOLS): $(STAMP)
	$(INSTALL) ".[dev]"
	touch $(TOOLS)

clean:
	rm -rf $(VENV) site dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
