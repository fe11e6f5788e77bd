# Every target makes the virtual environment it needs; a stamp file in it makes the second time fast.
# PYTHON chooses the interpreter (3.11 or newer) that the environments are made from.

PYTHON ?= python3
JOBS ?= 2

VENV := .venv
ORACLE := .venv-oracle
BIN := $(VENV)/bin
ORACLE_BIN := $(ORACLE)/bin
BUILT_FROM := pyproject.toml setup.py $(wildcard native/*)
PIP_FLAGS := --quiet --disable-pip-version-check

# One test process per core: threads inside each would only get in the others' way.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
CODE := src/taper tests benchmarks tools $(wildcard examples)

.PHONY: help demo test test-twins test-sanitizers parity mutants bench lint format docs clean

help:
	@echo "make demo     see autograd at work (no PyTorch needed)"
	@echo "make test     all tests and doctests (no PyTorch needed)"
	@echo "make test-twins  the tests again without the native module (TAPER_NATIVE=0)"
	@echo "make test-sanitizers  the native module under AddressSanitizer, UBSan and ThreadSanitizer"
	@echo "make parity   the same programs on taper and on PyTorch 2.13, compared"
	@echo "make mutants  small wrong changes of autograd, optim and files that no test notices"
	@echo "make bench    speed against PyTorch 2.13, one table (QUICK=1 for a short look)"
	@echo "make lint     ruff and mypy"
	@echo "make format   let ruff rewrite the layout of the code"
	@echo "make docs     write the generated documents again"
	@echo "make clean    remove environments, caches and build results"

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "taper needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.made $(BUILT_FROM)
	$(BIN)/python -m pip install $(PIP_FLAGS) -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.installed pyproject.toml
	$(BIN)/python -m pip install $(PIP_FLAGS) -e '.[dev,viz,cli,files,onednn,vision]'
	@touch $@

$(ORACLE)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "taper needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv $(ORACLE)
	@touch $@

$(ORACLE)/.installed: $(ORACLE)/.made $(BUILT_FROM)
	$(ORACLE_BIN)/python -m pip install $(PIP_FLAGS) -e '.[oracle,dev,viz,cli,files,onednn,vision]'
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/taper demo

test: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(JOBS) --ignore=tests/parity

test-twins: $(VENV)/.dev
	TAPER_NATIVE=0 $(ONE_THREAD) $(BIN)/python -m pytest -q -n $(JOBS) --ignore=tests/parity

test-sanitizers: $(VENV)/.dev
	tools/sanitizers.sh $(BIN)/python

parity: $(ORACLE)/.installed
	$(ONE_THREAD) $(ORACLE_BIN)/python -m pytest -q -n $(JOBS) tests/parity

mutants: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/python tools/mutate.py --jobs $(JOBS)

bench: $(ORACLE)/.installed
	$(ORACLE_BIN)/python benchmarks/run.py $(if $(QUICK),--quick)
	$(ORACLE_BIN)/python benchmarks/import_time.py
	$(ORACLE_BIN)/python benchmarks/deep_chain.py
	$(ORACLE_BIN)/python benchmarks/anomaly_cost.py
	$(ORACLE_BIN)/python benchmarks/memory.py
	$(ORACLE_BIN)/python benchmarks/data_loading.py $(if $(QUICK),--rounds 1)
	$(ORACLE_BIN)/python benchmarks/files.py
	$(ORACLE_BIN)/python benchmarks/run.py --table operators --rounds 1 $(if $(QUICK),--only 1e3)

lint: $(VENV)/.dev
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

docs: $(VENV)/.installed
	$(BIN)/python tools/operator_names.py > src/taper/ops/provided.py.new
	mv src/taper/ops/provided.py.new src/taper/ops/provided.py
	$(BIN)/python -m taper.opdef --docs > docs/derivatives.md.new
	mv docs/derivatives.md.new docs/derivatives.md
	$(BIN)/python tools/behaviours.py > docs/behaviours.md.new
	mv docs/behaviours.md.new docs/behaviours.md
	$(BIN)/python tools/coverage.py > docs/coverage.md.new
	mv docs/coverage.md.new docs/coverage.md
	$(BIN)/python tools/proxy_names.py > src/taper/compat/names.txt.new
	mv src/taper/compat/names.txt.new src/taper/compat/names.txt
	$(BIN)/python tools/stubs.py

clean:
	rm -rf $(VENV) $(ORACLE) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
