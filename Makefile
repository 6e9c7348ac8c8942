# make run: set up and start.  make test: set up and run every test, real kernels included where QEMU is.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

.PHONY: run test check format bench screenshots lab recording lock clean

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

# The recording that comes with the application: a real kernel of the lab with its workload.
recording: $(STAMP)
	rm -f tui/default.pwr
	$(BIN)/probewright record --target lab:7.2 --for 8 -o tui/default.pwr \
	    'f vfs_read%return file->f_pos count $$retval' \
	    'f do_sys_openat2%both dfd filename:ustring how->flags $$retval' \
	    'f vfs_write%both pos[0] count $$retval' \
	    'f bprm_execve bprm->filename:string'

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
