# Everything runs in .venv, which each target makes by itself; only python3 (3.11+), venv and make have to be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test bench reference clean

demo: $(STAMP)
	$(BIN)/daedal solve trap:k=5,n=50 --seed 1

test: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

bench: $(STAMP)
	$(BIN)/python benchmarks/kernels.py
	$(BIN)/python benchmarks/models.py

reference: $(STAMP)
	$(BIN)/python benchmarks/reference.py

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $(STAMP)

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
