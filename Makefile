# make run: set up and start.  make test: set up and run every test, real kernels included where QEMU is.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

.PHONY: run test check format bench screenshots lab lock clean

run: $(STAMP)
	$(BIN)/probewright $(ARGS)

test: $(STAMP)
	$(BIN)/python -m pytest $(ARGS)

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -m "not real" -q $(ARGS)

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)
	$(BIN)/python -m tests.bench $(ARGS)

screenshots: $(STAMP)
	$(BIN)/python -m screenshots $(ARGS)

lab: $(STAMP)
	$(BIN)/probewright lab $(ARGS)

lock: $(STAMP)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url \
	    --extra dev --python-version 3.11 --output-file requirements.lock pyproject.toml

$(STAMP): pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info
