"""The front door for Python: one run (`runs`), or a study of many (`study`)."""

from daedal.optimize.runs import maximize, minimize, resume

__all__ = ["maximize", "minimize", "resume"]
