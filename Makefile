# Everything runs in .venv, which each target makes by itself; only python3 (3.11+), venv and make have to be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TOOLS := $(VENV)/.tools
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

.PHONY: demo test docs commands studies pages library contracts attack bench reference reproduce clean

demo: $(STAMP)
	$(BIN)/daedal solve trap:k=5,n=50 --seed 1 --save demo.npz
	$(BIN)/daedal report demo.npz -o demo.html
	@echo "The page of this run: $(CURDIR)/demo.html"

test: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(MAKE) --no-print-directory docs
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target library contracts pages commands studies

# The documentation, into site/; a warning is an error.
docs: $(TOOLS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --clean

# The tests in five parts of about the same length, two of them side by side.
PAGES := $(wildcard tests/e2e/test_docs.py tests/e2e/test_examples.py tests/e2e/test_pa*.py tests/e2e/test_report*.py)
STUDIES := $(filter-out $(PAGES),$(wildcard tests/e2e/test_[p-z]*.py))
COMMANDS := $(filter-out $(PAGES) $(STUDIES),$(wildcard tests/e2e/test_*.py))
commands: $(TOOLS)
	$(BIN)/python -m pytest $(COMMANDS)
studies: $(TOOLS)
	$(BIN)/python -m pytest $(STUDIES)
pages: $(TOOLS)
	$(BIN)/python -m pytest $(PAGES)
library: $(TOOLS)
	$(BIN)/python -m pytest tests/unit
contracts: $(TOOLS)
	$(BIN)/python -m pytest tests/contract tests/statistical tests/attack

# All attacks, which take about an hour; `make test` has a quick part of them.
attack: $(TOOLS)
	$(BIN)/python tests/attack/run.py

bench: $(TOOLS)
	$(BIN)/python benchmarks/kernels.py
	$(BIN)/python benchmarks/models.py
	$(BIN)/python benchmarks/evaluation.py
	$(BIN)/python benchmarks/workers.py
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
