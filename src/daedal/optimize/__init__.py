"""The front door for Python: one run (`runs`), what it left (`load`), or a study of many (`study`)."""

from daedal.optimize.runs import maximize, minimize, resume
from daedal.run.reading import load_run as load

__all__ = ["load", "maximize", "minimize", "resume"]
