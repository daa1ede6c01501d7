# make book   build the site            make test   lint, types, tests, notebooks, browser checks
# make fast   lint, types, every test that needs no site nor minutes; ROOM=depth for one room
# make serve  open it on localhost      make bench  times the engines for book/performance.md; make timings prints more
# make pdf    the whole book as one file
# make publish-check   what keeps the site from being published      make publish   put it on the branch gh-pages
# TORCH_INDEX=ADDRESS takes torch alone from that package index: a CPU build without CUDA libraries, for example
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
FRESH ?= $(if $(CI),1)
PORT ?= 8000
SOURCES := lib tests tools

.PHONY: setup book serve test fast check notebooks picture pdf publish-check publish bench timings clean
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
	$(BIN)/python tools/notebooks/notebooks.py

pdf: book
	$(BIN)/python tools/build/pdf.py

publish-check: $(READY)
	$(BIN)/python tools/build/publish_check.py

publish: $(READY)
	$(BIN)/python tools/build/publish_check.py --push

picture: book
	$(BIN)/python tools/build/picture.py

check: $(READY)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/python tools/notebooks/cells.py check
	$(BIN)/mypy
	$(BIN)/codespell README.md CONTRIBUTING.md CHANGELOG.md book lib tests tools

# Two workers share the tests; each keeps to one thread, so that two cores do twice the work.
PYTEST := $(BIN)/python -m pytest -n 2

test: check
	$(PYTEST) --dist worksteal -m "not site"
	$(BIN)/python tools/build/site_build.py $(if $(filter-out 0,$(FRESH)),--fresh)
	BUILT=1 $(PYTEST) --dist loadfile -m site

fast: $(if $(ROOM),$(READY),check)
ifdef ROOM
	@test -d tests/$(ROOM) && test -d lib/lrtransfer/$(ROOM) || { \
	    echo "ROOM=$(ROOM) is no room: it must be one of $$(cd lib/lrtransfer && ls -d */ | tr -d / | grep -v __ | tr '\n' ' ')"; exit 1; }
	$(BIN)/ruff check lib/lrtransfer/$(ROOM) tests/$(ROOM)
	$(BIN)/ruff format --check lib/lrtransfer/$(ROOM) tests/$(ROOM)
	$(BIN)/mypy lib/lrtransfer/$(ROOM)
	$(PYTEST) --dist worksteal -m "not site and not slow" tests/$(ROOM)
else
	$(PYTEST) --dist worksteal -m "not site and not slow"
endif

# Parts that are done are kept until the record is written: after a stop the same command goes on.
bench: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/lrtransfer record performance --device cpu
	rm -rf runs/performance

timings: $(READY)
	@for file in tests/bench_*.py; do echo "== $$file"; OMP_NUM_THREADS=1 $(BIN)/python $$file || exit 1; done

clean:
	rm -rf _build
