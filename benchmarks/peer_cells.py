"""The functions in the tables of `peers`, and published results for them."""

from __future__ import annotations

OPTIMUM = (
    "trap:k=4,n=20",
    "trap:k=4,n=40",
    "trap:k=4,n=60",
    "trap:k=5,n=25",
    "trap:k=5,n=50",
    "trap:k=5,n=75",
    "trap:k=5,n=100",
    "hiff:n=64",
    "hiff:n=128",
    "nk_30_4.1",
    "s3v80c1000-1",
    "spin_64_0",
    "spin_64_1",
    "spin_100_0",
    "spin_100_1",
    "maxcut_dense_50",
    "maxcut_sparse_100",
    "onemax:n=100",
)

PUBLISHED = {  # P3, gomea 1.1.0, LTGA and hBOA, the latter two with a tuned population; other seeds than ours
    "trap:k=4,n=20": (777, 2_314, 1_401, 1_970),
    "trap:k=4,n=40": (2_133, 9_906, 6_838, 7_245),
    "trap:k=4,n=60": (3_681, 18_380, 7_694, 13_864),
    "trap:k=5,n=25": (1_798, 5_483, 3_999, 4_164),
    "trap:k=5,n=50": (5_144, 20_902, 12_581, 17_532),
    "trap:k=5,n=75": (9_323, 51_330, 19_669, 42_196),
    "trap:k=5,n=100": (13_039, 67_862, 26_613, 74_924),
    "hiff:n=64": (3_877, 11_062, 5_330, 9_584),
    "hiff:n=128": (11_998, 42_346, 17_835, 34_481),
    "nk_30_4.1": (6_011, 7_070, 10_559, 10_767),
    "s3v80c1000-1": (29_990, 41_346, 28_486, 55_988),
    "spin_64_0": (3_818, None, None, None),
    "spin_64_1": (6_806, None, None, None),
    "spin_100_0": (7_959, None, None, None),
    "spin_100_1": (16_606, None, None, None),
    "maxcut_dense_50": (11_042, None, None, None),
    "maxcut_sparse_100": (5_431, None, None, None),
    "onemax:n=100": (100, None, None, None),
    "uf50-01": (13_137, None, None, None),
    "nkring:n=100,k=4": (187_000, None, None, None),
}

ANYTIME = (
    "interact:n=60",
    "knapsack:n=60",
    "features:n=64",
    "qubo:n=60",
    "nk:n=60,k=3",
    "labs:n=40",
    "wsat:n=60",
)

FAMILIES = (
    "bimodal:k=6,n=60",
    "bimodal:k=10,n=100",
    "steptrap:k=5,n=50",
    "overlap:k=5,n=60",
    "leadingones:n=60",
    "nkring:n=100,k=4",
    "nkexact:n=34,k=4",
    "sat:n=60",
    "sat:n=100",
    "uf50-01",
)

NOISY = ("onemax:n=50,sd=2", "interact:n=60,sd=2")
"""At 3,000 calls."""

LARGE = ("onemax:n=1000", "trap:k=5,n=400")
"""CPU and memory of one run."""

COMMON = ("optuna", "nevergrad", "pymoo")
"""Packages that many people use, for the count of cells ahead."""
