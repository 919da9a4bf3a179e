# make demo    get an embedding model (91 MB, once), index these documents and a few skills, then search them
# make quick   the fast tests, in about a minute on two cores: whatever is not marked `slow`
# make test    every test          make lint    style and types
# make bench   the benchmarks      make clean   remove what these made
# make gate    is it good enough to ship? our own questions, with a report in qrels/
#
# Each target prepares .venv by itself. PYTHON=… chooses the interpreter (3.11 or newer).

PYTHON ?= python3
VENV = .venv
BIN = $(VENV)/bin
WORKERS ?= auto
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

.PHONY: demo quick test lint bench gate clean

demo: $(VENV)/.demo
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

quick: $(VENV)/.dev
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow"

test: $(VENV)/.dev
	$(BIN)/python -m tests.steady -n $(WORKERS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32

bench: $(VENV)/.dev
	$(BIN)/python -m bench

gate: $(VENV)/.dev
	$(BIN)/python -m qrels.gate --embedder box --report qrels/gate-box.md --plot qrels/gate-box.png

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests examples -name __pycache__ -type d -prune -exec rm -rf {} +

# The newest of the usual names that is recent enough; an old `python3` alone is no reason to fail.
$(VENV)/.made:
	@for python in $(PYTHON) python3.11 python3.12 python3.13 python3.14; do \
	  if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo 'make: installing into $(VENV), once; this takes a minute' >&2; \
	    "$$python" -m venv $(VENV) && touch $@ && exit 0; \
	  fi; \
	done; \
	echo 'make: no Python 3.11 or newer was found; name one with: make PYTHON=/path/to/python' >&2; exit 1

# The demo wants what runs an embedding model; where that cannot be installed it goes without.
$(VENV)/.demo: $(VENV)/.made pyproject.toml
	@$(INSTALL) '.[onnx]' 2>$(VENV)/onnx.log || \
	{ echo 'make: onnxruntime cannot be installed here, so the demo runs without an embedding model.' >&2; $(INSTALL) .; }
	@touch $@

$(VENV)/.dev: $(VENV)/.made pyproject.toml
	$(INSTALL) '.[dev]'
	@touch $@ $(VENV)/.demo
