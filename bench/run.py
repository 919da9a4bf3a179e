"""The benchmarks as a script: ``python bench/run.py`` is ``python -m bench``."""

import runpy
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parent.parent)
runpy.run_module("bench", run_name="__main__")
