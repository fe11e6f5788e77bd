# Every target makes the virtual environment it needs; a stamp file in it makes the second time fast.
# PYTHON chooses the interpreter (3.11 or newer) that the environments are made from.

PYTHON ?= python3
JOBS ?= 2

VENV := .venv
ORACLE := .venv-oracle
PEERS := .venv-peers
BIN := $(VENV)/bin
ORACLE_BIN := $(ORACLE)/bin
BUILT_FROM := pyproject.toml setup.py $(wildcard native/*) src/taper/program/floats.h
PIP_FLAGS := --quiet --disable-pip-version-check

# One test process per core: threads inside each would only get in the others' way.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
CODE := src/taper tests benchmarks tools $(wildcard examples)

.PHONY: help demo test test-twins test-web test-sanitizers parity mutants
.PHONY: bench bench-data bench-peers bench-baseline bench-check performance
.PHONY: test-cuda bench-cuda
.PHONY: lint format docs pages site picture test-notebooks test-docs clean
.PHONY: wheels wheels-check test-packages test-libraries

help:
	@echo "make demo     see autograd at work (no PyTorch needed)"
	@echo "make test     all tests and doctests (no PyTorch needed)"
	@echo "make test-twins  the tests again without the native module (TAPER_NATIVE=0)"
	@echo "make test-web  the pages of taper.viz in a headless Chromium; screenshots in build/screenshots"
	@echo "make test-sanitizers  the native module under AddressSanitizer, UBSan and ThreadSanitizer"
	@echo "make test-cuda  the operator table and training on a GPU (needs one, and CuPy); CUDA_PYTHON chooses the interpreter"
	@echo "make bench-cuda  training steps on a GPU against PyTorch with CUDA, in the same interpreter"
	@echo "make parity   the same programs on taper and on PyTorch 2.13, compared"
	@echo "make test-libraries  libraries from PyPI on taper and on PyTorch, compared; writes docs/libraries.md (ONLY=name: one program)"
	@echo "make mutants  small wrong changes of autograd, optim and files that no test notices"
	@echo "make bench    speed, memory and size against PyTorch 2.13; writes docs/performance.md (QUICK=1: a short look, no page)"
	@echo "make bench-data  loading of data and files against PyTorch 2.13"
	@echo "make bench-peers  a training step beside JAX, tinygrad, MLX and torch.compile"
	@echo "make bench-check  fail if a ratio to PyTorch got 15 % worse than the stored baseline"
	@echo "make bench-baseline  store this machine's ratios as the baseline"
	@echo "make performance  write docs/performance.md again from what was measured last"
	@echo "make wheels   the source archive and the wheels, in dist"
	@echo "make wheels-check  build them again and compare the bytes"
	@echo "make test-packages  what make wheels wrote, installed in empty environments without a compiler"
	@echo "make lint     ruff and mypy"
	@echo "make format   let ruff rewrite the layout of the code"
	@echo "make docs     write the generated documents again, run the notebooks, build the site in build/site"
	@echo "make pages    only the generated documents"
	@echo "make site     only the site; open build/site/index.html"
	@echo "make picture  take README's picture again (needs Chromium)"
	@echo "make test-notebooks  run all notebooks"
	@echo "make test-docs  notebooks, site, its links and its search; screenshots in build/screenshots"
	@echo "make clean    remove environments, caches and build results"

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "taper needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.made $(BUILT_FROM)
	$(BIN)/python -m pip install $(PIP_FLAGS) -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.installed pyproject.toml
	$(BIN)/python -m pip install $(PIP_FLAGS) -e '.[dev,files,mpi,onednn,vision]'
	@touch $@

$(ORACLE)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "taper needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv $(ORACLE)
	@touch $@

$(ORACLE)/.installed: $(ORACLE)/.made $(BUILT_FROM)
	$(ORACLE_BIN)/python -m pip install $(PIP_FLAGS) -e '.[oracle,dev,files,onednn,vision]'
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/taper demo

# These need more than the tests of every day.
APART := $(addprefix --ignore=tests/,parity web packages documents)

test: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(JOBS) $(APART)

# Files that say little about arrays, and start many processes: `make test-twins ALL=1` runs them too.
AWAY_FROM_ARRAYS := $(if $(ALL),,$(addprefix --ignore=tests/,compat data distributed documents libraries onnx viz vision \
	program/test_captured_examples.py test_cli.py test_contributing.py test_doctests.py test_new.py test_pages.py test_project.py test_tour.py))

test-twins: $(VENV)/.dev
	TAPER_NATIVE=0 $(ONE_THREAD) $(BIN)/python -m pytest -q -n $(JOBS) $(APART) $(AWAY_FROM_ARRAYS)

# The browser comes from the system; playwright's own would be a download from elsewhere.
$(VENV)/.web: $(VENV)/.dev
	command -v chromium >/dev/null || command -v google-chrome >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium)
	$(BIN)/python -m pip install $(PIP_FLAGS) -e '.[web]'
	@touch $@

test-web: $(VENV)/.web
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(JOBS) tests/web

# A machine with a GPU has an interpreter of its own, with CuPy and PyTorch: nothing is installed.
CUDA_PYTHON ?= python3

test-cuda:
	PYTHONPATH=src:tests $(CUDA_PYTHON) -m pytest -q -p no:cacheprovider tests/cuda

bench-cuda:
	PYTHONPATH=src $(CUDA_PYTHON) benchmarks/on_cuda.py

test-sanitizers: $(VENV)/.dev
	tools/sanitizers.sh $(BIN)/python

$(VENV)/.packages: $(VENV)/.dev
	$(BIN)/python -m pip install $(PIP_FLAGS) -e '.[packages]'
	@touch $@

wheels: $(VENV)/.packages
	rm -rf dist
	$(BIN)/python tools/packages.py

wheels-check: $(VENV)/.packages
	$(BIN)/python tools/packages.py --check

test-packages: $(VENV)/.packages
	test -d dist || $(MAKE) wheels
	$(ONE_THREAD) $(BIN)/python -m pytest -q tests/packages

parity: $(ORACLE)/.installed
	$(ONE_THREAD) $(ORACLE_BIN)/python -m pytest -q -n $(JOBS) tests/parity

# Not in CI: the libraries are gigabytes from PyPI.
test-libraries:
	$(PYTHON) tools/libraries.py $(ONLY)

mutants: $(VENV)/.dev
	$(ONE_THREAD) tools/confined.sh .cache/mutants $(BIN)/python tools/mutate.py --jobs $(JOBS)

# Results of a short look are printed only.
BENCH_FLAGS := $(if $(QUICK),--quick,--save)
BENCH := $(ORACLE_BIN)/python benchmarks

bench: $(ORACLE)/.installed
	$(BENCH)/run.py --table models $(BENCH_FLAGS)
	$(BENCH)/run.py --table captured --rounds $(if $(QUICK),1,3) $(BENCH_FLAGS)
	$(BENCH)/run.py --table overhead --rounds $(if $(QUICK),1,3) $(BENCH_FLAGS)
	$(BENCH)/run.py --table operators --rounds 1 $(BENCH_FLAGS)
	$(BENCH)/run.py --table scaling --rounds $(if $(QUICK),1,2) $(BENCH_FLAGS)
	$(BENCH)/memory.py $(BENCH_FLAGS)
	$(BENCH)/first_step.py $(BENCH_FLAGS)
	$(BENCH)/import_time.py $(BENCH_FLAGS)
	$(BENCH)/install_size.py $(BENCH_FLAGS)
	$(BENCH)/busy.py $(BENCH_FLAGS)
	$(BENCH)/deep_chain.py
	$(BENCH)/anomaly_cost.py
	$(if $(QUICK),,$(BENCH)/report.py && $(ORACLE_BIN)/python tools/readme_numbers.py)

bench-data: $(ORACLE)/.installed
	$(BENCH)/data_loading.py $(if $(QUICK),--rounds 1)
	$(BENCH)/saving.py

bench-check: $(ORACLE)/.installed
	$(BENCH)/check.py

bench-baseline: $(ORACLE)/.installed
	$(BENCH)/check.py --write

performance: $(ORACLE)/.installed
	$(BENCH)/report.py
	$(ORACLE_BIN)/python tools/readme_numbers.py

# tinygrad compiles with a `clang` that it finds on the path: ziglang has one as a wheel.
$(PEERS)/.installed: $(BUILT_FROM)
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install $(PIP_FLAGS) -e . jax==0.10.2 tinygrad==0.14.0 ziglang==0.17.0 torch==2.13.0
	-$(PEERS)/bin/python -m pip install $(PIP_FLAGS) 'mlx[cpu]==0.32.4'
	printf '#!/bin/sh\nexec "$$(dirname "$$0")/python" -m ziglang clang "$$@"\n' > $(PEERS)/bin/clang
	chmod +x $(PEERS)/bin/clang
	@touch $@

bench-peers: $(PEERS)/.installed
	PATH="$(CURDIR)/$(PEERS)/bin:$$PATH" $(PEERS)/bin/python benchmarks/peers.py $(BENCH_FLAGS)
	$(if $(QUICK),,$(PEERS)/bin/python benchmarks/report.py)

lint: $(VENV)/.dev
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

docs: pages test-notebooks site

$(VENV)/.docs: $(VENV)/.dev
	$(BIN)/python -m pip install $(PIP_FLAGS) -e '.[docs]'
	@touch $@

site: $(VENV)/.docs
	$(BIN)/python tools/site

test-notebooks: $(VENV)/.docs
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(JOBS) tests/documents/notebooks

test-docs: test-notebooks site $(VENV)/.web
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(JOBS) --dist loadscope tests/documents/site

picture: $(VENV)/.web
	$(BIN)/python tools/picture.py

pages: $(VENV)/.installed
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
	$(BIN)/python tools/tour
	$(BIN)/python tools/readme_numbers.py

clean:
	rm -rf $(VENV) $(ORACLE) $(PEERS) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
