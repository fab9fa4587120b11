"""The entry points for Python: one run (`runs`), what it left (`load`), or a study of many (`study`)."""

from daedal.optimize.runs import load, maximize, minimize, resume

__all__ = ["load", "maximize", "minimize", "resume"]
