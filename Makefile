# Everything runs in .venv, which each target creates if necessary. You need python3 (3.11 or later), venv and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TOOLS := $(VENV)/.tools
# Tests start many commands, each of which would otherwise compile all of daedal's modules again.
export PYTHONDONTWRITEBYTECODE :=
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable
PARTS := contracts quick-attack unit commands studies pages laws

.PHONY: demo test lint docs $(PARTS) attack bench reference reproduce clean

demo: $(STAMP)
	rm -f demo.db
	$(BIN)/daedal solve trap:k=5,n=50 --seed 1 --run demo.db
	$(BIN)/daedal report demo.db -o demo.html
	@echo "The page of this run: $(CURDIR)/demo.html"

# Two parts side by side, the long ones first.
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
quick-attack := tests/attack
unit := tests/unit
laws := tests/statistical
e2e = $(addprefix tests/e2e/test_,$(1))
studies := $(wildcard $(call e2e,study*.py budget*.py compare.py reproduce.py))
pages := $(wildcard $(call e2e,docs.py examples.py package.py pages.py report*.py))
commands := $(filter-out $(studies) $(pages),$(wildcard $(call e2e,*.py)))
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
	$(INSTALL) ".[plot,parallel]"
	touch $(STAMP)

$(TOOLS): $(STAMP)
	$(INSTALL) ".[dev]"
	touch $(TOOLS)

clean:
	rm -rf $(VENV) site dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
