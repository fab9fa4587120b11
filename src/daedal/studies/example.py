"""The study file that `daedal study init` writes."""

EXAMPLE = """\
# A study: every algorithm on every problem, with the same seeds.
#
#   daedal study run THIS_FILE --store results.db --workers 2
#   daedal study table --store results.db
#
# For each problem and algorithm it looks for the smallest population size that solves 50 % and 90 % of the runs. Runs
# are kept in the store and never made twice: add a problem, or more runs, and run it again.

runs = 20                                # runs of each problem, algorithm and population size
seed = 0                                 # their seeds are 0, 1, 2, ...
popsizes = [50, 100, 250, 500, 1000]     # tried from small to large, as far as it takes
# budgets = [300, 1000, 3000]            # instead of popsizes and max_evaluations: what do so many calls find?

# A problem is a name, as `daedal list` shows them, or a table. `name` is what the results call it. Paths are seen from
# this file, those in a command from the current folder.
problems = [
    "trap:k=4,n=20",
    { name = "a landscape", problem = "nk:n=20,k=3,seed=1" },
    # { name = "mine", problem = "score.py:f", n = 40, target = 12.5 },         # a function of a batch of rows
    # { name = "cost", problem = "score.py:g", n = 40, minimize = true, by_row = true, target = 0 },
    # { name = "program", problem = "cmd:python3 score.py", n = 40, target = 12.5 }, # any command
]

# An algorithm is a name, or a table with settings and population sizes of its own. One that has no setting popsize
# has no population sizes either.
algorithms = [
    "boa",
    "umda",
    { name = "slow PBIL", algorithm = "pbil", settings = { learning_rate = 0.01 }, popsizes = [100, 1000, 4000] },
    # { name = "my own", algorithm = "mine.py:NAME" },                          # what a Python file defines
]

# What ends a run, beside its target or a problem's own optimum. Without these, each algorithm's own limits count.
[limits]
max_evaluations = 200_000
# max_generations = 100
# patience = 20
"""
