# Presupposes python3 (3.11 or newer, with venv and pip) and make; everything else goes into $(VENV), pinned by constraints.txt.
# Another Python: make PYTHON=python3.12 ...

PYTHON ?= python3
VENV ?= .venv
SAMPLES ?= 10000
WORKERS ?= 8
PROCESSES ?= 2
PYTEST ?=
SECTION ?= all

BIN = $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -c constraints.txt

.PHONY: help dataset test judge usefulness bench lint types clean
.DEFAULT_GOAL := help

help:
	@echo "make dataset   set everything up and generate the default dataset ($(SAMPLES) samples) into data/"
	@echo "make test      set everything up and run the tests"
	@echo "make lint      ruff, rules and format            make types   mypy"
	@echo "make bench     benchmarks and their guards       make judge   the measures of benchmarks/results (SECTION=generate)"
	@echo "make usefulness  docs/usefulness.md: what generated motion gives those who have few real clips (POSEGEN_REFERENCE)"
	@echo "make clean     remove $(VENV) and caches; datasets stay"

dataset: $(VENV)/ready-to-run
	$(BIN)/posegen generate --samples $(SAMPLES) --workers $(WORKERS)

test: $(VENV)/ready-to-test
	$(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal $(PYTEST)

judge: $(VENV)/ready-to-test
	$(BIN)/python -m benchmarks.judge $(SECTION)

usefulness: $(VENV)/ready-to-test
	$(BIN)/python -m benchmarks.usefulness

bench: $(VENV)/ready-to-test
	$(BIN)/python -m pytest benchmarks -s -p no:xdist $(PYTEST)

lint: $(VENV)/ready-to-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/ready-to-test
	$(BIN)/mypy

clean:
	rm -rf $(VENV) .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis

# A change of what is installed makes the environment anew. The stamps are written last: an interrupted install is repeated.
$(VENV)/ready-to-run: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "posegen needs Python 3.11 or newer, and $(PYTHON) is not; name one: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
	  { echo "posegen needs Python's venv and pip; on Debian: apt install python3-venv" >&2; exit 1; }
	@echo "setting up $(VENV) ..."
	@$(PYTHON) -m venv --clear $(VENV)
	@$(INSTALL) hatchling editables
	@$(INSTALL) -e '.[view]'
	@touch $@

$(VENV)/ready-to-test: $(VENV)/ready-to-run
	@echo "adding what the tests need to $(VENV) ..."
	@$(INSTALL) -e '.[dev]'
	@touch $@
