"""What a served process loads, loaded once for those that are forked from here (`warm.py`)."""

import importlib

from server.settings import prepare_environment, prepare_processes

prepare_environment()
prepare_processes(1)
for name in ("memory.inference.sentence_models", "server.app", "server.cli.serving"):
    importlib.import_module(name)
