# make book   build the site            make test   lint, types, tests, notebooks, browser checks
# make serve  open it on localhost      make bench  timings
# TORCH_INDEX=ADDRESS takes torch alone from that package index: a CPU build without CUDA libraries, for example
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
FRESH ?= $(if $(CI),1)
PORT ?= 8000
SOURCES := lib tests tools

.PHONY: setup book serve test check notebooks picture bench clean
.DEFAULT_GOAL := book

setup: $(READY)

$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Python 3.11 or newer is needed (make PYTHON=python3.11 ...)"'
	@$(PYTHON) -m venv $(VENV) || { echo "No venv module: on Debian, apt install python3-venv; then run make again."; exit 1; }
	@TORCH_INDEX="$(TORCH_INDEX)" $(BIN)/python tools/build/set_up.py
	@touch $(READY)

book: $(READY)
	$(BIN)/python tools/build/site_build.py $(if $(filter-out 0,$(FRESH)),--fresh)

serve: book
	@$(BIN)/python tools/build/serve.py $(PORT)

notebooks: $(READY)
	PYTHONPATH=tools/build $(BIN)/python tools/notebooks.py

picture: book
	$(BIN)/python tools/build/picture.py

check: $(READY)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff check --select F notebooks
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/python tools/notebooks/cells.py check
	$(BIN)/mypy
	$(BIN)/codespell README.md book lib tests tools

test: check
	FRESH=$(filter-out 0,$(FRESH)) $(BIN)/python -m pytest

bench: $(READY)
	@for file in tests/bench_*.py; do echo "== $$file"; OMP_NUM_THREADS=1 $(BIN)/python $$file || exit 1; done

clean:
	rm -rf _build
