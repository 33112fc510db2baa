"""Serves one model with llama.cpp: `python llama_server.py MODEL PORT CONTEXT`, until the process is ended."""

import sys
import threading

import xllamacpp  # type: ignore[import-not-found]

model, port, context = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = model
params.model_alias = ["smollm2"]
params.hostnames = ["127.0.0.1"]
params.port = int(port)
params.n_ctx = int(context)
params.n_parallel = 1
params.use_jinja = True  # without it a request with tools is refused
server = xllamacpp.Server(params)
threading.Event().wait()
