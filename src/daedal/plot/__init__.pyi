from daedal.plot.figure import Figure as Figure
from daedal.plot.runs import convergence as convergence
from daedal.plot.runs import importance as importance
from daedal.plot.runs import linkage as linkage
from daedal.plot.runs import population as population
from daedal.plot.studies import anytime as anytime
from daedal.plot.studies import runtime as runtime
