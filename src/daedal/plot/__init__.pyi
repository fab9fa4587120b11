from daedal.plot.result_plots import convergence as convergence
from daedal.plot.result_plots import importance as importance
from daedal.plot.result_plots import linkage as linkage
from daedal.plot.result_plots import population as population
from daedal.plot.store_plots import anytime as anytime
from daedal.plot.store_plots import runtime as runtime
