# Requires python3 (3.11 or newer, with venv and pip) and make. Everything else is installed into $(VENV), pinned by constraints.txt.
# Another Python: make PYTHON=python3.12 ...

PYTHON ?= python3
VENV ?= .venv
SAMPLES ?= 10000
WORKERS ?= 8
# Of the tests, which wait for files, servers and processes a sixth of the time of two cores.
PROCESSES ?= 3
PYTEST ?=
SECTION ?= all
DIST ?= dist

BIN = $(VENV)/bin
# Python compiles modules when they are first imported; pip would compile all of them, most of which are never used.
INSTALL = $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --no-build-isolation
# Files that are not those of the lock are refused. torch and what only torch needs have other files for each kind of GPU, so they
# are not in the locks: of these, constraints.txt pins the versions alone.
INSTALL_LOCKED = $(INSTALL) --require-hashes --no-deps -r
TORCH = torch triton setuptools cuda-bindings cuda-pathfinder cuda-toolkit $(addprefix nvidia-,cublas cuda-cccl cuda-cupti cuda-nvrtc cuda-runtime \
  cudnn-cu13 cufft cufile curand cusolver cusparse cusparselt-cu13 nccl-cu13 nvjitlink nvshmem-cu13 nvtx)
LOCK = uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make locks" \
  -c constraints.txt $(addprefix --no-emit-package ,$(TORCH))
COMPILED = $(CURDIR)/.cache/wheel
RUN_TESTS = $(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal

# Every process of the tests would compile the sources again, and pytest rewrite its assertions.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help dataset test test-all judge usefulness bench lint types wheel docs locks clean
.DEFAULT_GOAL := help

help:
	@echo "make dataset     set up $(VENV) and generate the default dataset ($(SAMPLES) samples) into data/"
	@echo "make test        set up $(VENV) and run the tests, except slow ones"
	@echo "make test-all    run all tests"
	@echo "make lint        ruff (rules and format) and import contracts"
	@echo "make types       mypy"
	@echo "make bench       guards: ratios that must not get worse"
	@echo "make judge       all measurements at full size, or SECTION=generate; results go to benchmarks/results/"
	@echo "make usefulness  the measurements of docs/usefulness.md (needs POSEGEN_REFERENCE)"
	@echo "make wheel       a wheel with compiled kernels, for this version of Python, into dist/"
	@echo "make docs        the reference pages in docs/, and the documentation site, into site/"
	@echo "make locks       hashes of the packages of constraints.txt, into locks/ (needs uv)"
	@echo "make clean       remove $(VENV) and caches; datasets stay"

dataset: $(VENV)/ready-to-run
	$(BIN)/posegen generate --samples $(SAMPLES) --workers $(WORKERS)

test: $(VENV)/ready-to-test
	$(RUN_TESTS) -m "not slow" $(PYTEST)

test-all: $(VENV)/ready-to-test
	$(RUN_TESTS) $(PYTEST)

judge: $(VENV)/ready-to-test
	$(BIN)/python -m benchmarks.judge $(SECTION)

usefulness: $(VENV)/ready-to-test
	$(BIN)/python -m benchmarks.usefulness

bench: $(VENV)/ready-to-test
	$(BIN)/python -m pytest benchmarks -s -p no:xdist $(PYTEST)

lint: $(VENV)/ready-to-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/ready-to-test
	$(BIN)/mypy

# The commands compile the kernels of generation, evaluation and exports, for any x86-64 processor with AVX2.
wheel: $(VENV)/ready-to-run
	rm -rf $(COMPILED) && mkdir -p $(COMPILED)
	export POSEGEN_PORTABLE_KERNELS=1 POSEGEN_KERNEL_CACHE=$(COMPILED)/kernels && cd $(COMPILED) && \
	  for command in "generate --samples 2 --out one" "generate --config crowd --samples 2 --out two" "evaluate one" \
	    "export one --to humanml3d -o features" "export one --to bvh -o numbers" "derive one --add rotation"; do \
	    $(abspath $(BIN))/posegen $$command --quiet || exit 1; done
	POSEGEN_WHEEL_KERNELS=$(COMPILED)/kernels $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps \
	  --no-build-isolation . -w $(DIST)

docs: $(VENV)/ready-to-test
	$(BIN)/python docs/reference.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

# Needs uv. Run it after a change of constraints.txt or of a dependency.
locks:
	@mkdir -p locks
	@printf 'hatchling\neditables\n' | $(LOCK) --extra view pyproject.toml - -o locks/run.txt
	@printf 'hatchling\neditables\n' | $(LOCK) --extra dev pyproject.toml - -o locks/test.txt
	@printf 'hatchling\neditables\n' | $(LOCK) --extra view --extra embed --extra train pyproject.toml - -o locks/train.txt

clean:
	rm -rf $(VENV) .cache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

# A changed dependency recreates the environment. The stamps are written last: an interrupted installation is repeated.
$(VENV)/ready-to-run: pyproject.toml constraints.txt locks/run.txt locks/test.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "posegen needs Python 3.11 or newer, and $(PYTHON) is older; choose another: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
	  { echo "posegen needs Python's venv and pip; on Debian: apt install python3-venv" >&2; exit 1; }
	@echo "setting up $(VENV) ..."
	@$(PYTHON) -m venv --clear $(VENV)
	@$(INSTALL_LOCKED) locks/run.txt
	@$(INSTALL) --no-deps -e .
	@touch $@

# Collecting once writes the byte code of tests and packages, which each process of the tests would do otherwise.
$(VENV)/ready-to-test: $(VENV)/ready-to-run
	@echo "installing test dependencies into $(VENV), and compiling kernels for the tests ..."
	@$(BIN)/python -m tests.compiled & compiling=$$!; \
	  $(INSTALL_LOCKED) locks/test.txt && $(INSTALL) -c constraints.txt -e '.[dev]' && \
	  { $(BIN)/python -m pytest --collect-only -q -m "not slow" >/dev/null || true; } && wait $$compiling
	@touch $@
