"""What a study is: its file, read strictly, and the keys by which its runs are known again."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import shutil
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from daedal.limits import Limits
from daedal.objectives.spec import FileFunction
from daedal.problems import NK, write_nk
from daedal.searches.algorithm import Algorithm
from daedal.searches.presets import algorithms
from daedal.studies.spec import POPSIZES, Cell, Study, StudyAlgorithm

BASE: dict[str, Any] = {"problems": ["onemax:n=8"], "algorithms": ["umda"], "popsizes": [20], "runs": 4}

CODE = """
import daedal
from daedal.searches.algorithm import Algorithm
from daedal.searches.presets import EDAConfiguration

number = 3

def f(x):
    return x.sum(axis=1)

def g(row):
    return float(row.sum())

async def climber(f, *, n, rng, flips=1.0):
    raise NotImplementedError

async def walker(f, *, schedule=climber):
    raise NotImplementedError

async def SHORT(f):
    raise NotImplementedError

LONG = SHORT
PLAIN = EDAConfiguration(model=daedal.models.UMDA())
TIMED = Algorithm(name="timed", configuration=PLAIN, limits=daedal.Limits(max_seconds=3))
"""


def study(*, folder: Path | None = None, **changes: Any) -> Study:
    return Study.from_dict(BASE | changes, folder=folder)


def cell(*, folder: Path | None = None, **changes: Any) -> Cell:
    (only,) = study(folder=folder, **changes).cells()
    return only


def read(folder: Path, text: str) -> Study:
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return Study.from_file(path)


def keys(one: Study) -> list[str]:
    return [cell.key for cell in one.cells()]


def stored(one: Study) -> Study:
    """Give what comes back from a store, which keeps JSON."""
    return Study.restored(json.loads(json.dumps(one.as_dict())))


def toml(given: Any, *, top: bool = True) -> str:
    """Write TOML; the values of these tests are all it knows."""
    if isinstance(given, dict):
        lines = [f"{key} = {toml(value, top=False)}" for key, value in given.items()]
        return "\n".join(lines) if top else "{" + ", ".join(lines) + "}"
    if isinstance(given, list):
        return "[" + ", ".join(toml(one, top=False) for one in given) + "]"
    return json.dumps(given)


EXAMPLE = resources.files("daedal.studies").joinpath("example.toml").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with Python files and a landscape."""
    place = tmp_path / "place"
    place.mkdir()
    for name in ("score.py", "mine.py"):
        (place / name).write_text(CODE)
    write_nk(NK.random(6, 2, 3), place / "a.nk")
    return place


# What a study says


def test_the_example_is_what_it_says(folder: Path) -> None:
    example = read(folder, EXAMPLE)
    assert (example.runs, example.seed, example.shuffle) == (20, 0, True)
    named = {"trap:k=4,n=20": "trap:k=4,n=20", "a landscape": "nk:n=20,k=3,seed=1"}
    assert {one.name: one.problem for one in example.problems} == named
    boa, umda, slow = example.algorithms
    assert (boa.popsizes, umda.popsizes, slow.popsizes) == (*[(50, 100, 250, 500, 1000)] * 2, (100, 1000, 4000))
    assert [boa.algorithm, umda.algorithm] == [algorithms()["boa"], algorithms()["umda"]]
    assert (slow.name, slow.algorithm.name, slow.settings["learning_rate"]) == ("slow PBIL", "pbil", 0.01)
    assert example.limits == Limits(max_evaluations=200_000)
    # What it has in comments works, too.
    comments = [line for line in EXAMPLE.splitlines() if line.strip().startswith(("# {", "# max_", "# patience"))]
    assert len(comments) == 6
    text = EXAMPLE
    for line in comments:
        text = text.replace(line, line.replace("# ", "", 1))
    full = read(folder, text.replace("mine.py:NAME", "mine.py:climber"))
    assert full.limits == Limits(max_evaluations=200_000, max_generations=100, patience=20)
    mine, cost, program = full.problems[2:]
    assert (program.name, program.problem, program.n) == ("program", "cmd:python3 score.py", 40)
    assert (mine.name, mine.problem, mine.n, mine.target) == ("mine", f"{folder}/score.py:f", 40, 12.5)
    assert (cost.name, cost.target, cost.minimize, cost.by_row) == ("cost", 0.0, True, True)
    assert (mine.minimize, mine.by_row) == (False, False)
    assert (full.algorithms[3].name, full.algorithms[3].popsizes) == ("my own", (None,))


def test_what_a_study_does_not_say_is_as_in_the_paper(tmp_path: Path) -> None:
    short = read(tmp_path, '[[problems]]\nproblem = "onemax:n=8"\n[[algorithms]]\nalgorithm = "umda"\n')
    assert (short.runs, short.seed, short.shuffle, short.limits) == (20, 0, True, Limits())
    assert short.algorithms[0].popsizes == POPSIZES == (50, 100, 250, 500, 1000, 2000, 4000, 8000, 16_000)


def test_an_algorithm_that_finds_its_size_itself_has_one_cell_of_its_own() -> None:
    for table in ({"popsize": "auto"}, {"settings": {"popsize": "auto"}}):
        auto = {"name": "auto", "algorithm": "umda", **table}
        grid = study(algorithms=["umda", auto], limits={"max_evaluations": 200})
        assert [(one.algorithm.name, one.popsize) for one in grid.cells()] == [("umda", 20), ("auto", None)]
        assert len(set(keys(grid))) == 2
        result = grid.cells()[1].config(1).run()
        assert (result.settings["popsize"], result.stop is not None) == ("auto", True)
        assert keys(stored(grid)) == keys(grid)


def test_cells_are_every_problem_with_every_algorithm_and_each_of_its_sizes_once_from_small_to_large() -> None:
    problems, sized = ["onemax:n=8", "trap:k=4,n=8"], {"algorithm": "pbil", "popsizes": [40, 30, 40]}
    grid = study(problems=problems, algorithms=["umda", sized])
    expected = [(problem, *each) for problem in problems for each in (("umda", 20), ("pbil", 30), ("pbil", 40))]
    assert [(one.problem.name, one.algorithm.name, one.popsize) for one in grid.cells()] == expected
    assert len(set(keys(grid))) == 6


def test_seeds_are_the_same_for_all_and_those_that_confirm_are_others() -> None:
    one, large = study(seed=5, runs=3), study(seed=5, runs=100_000)
    assert list(one.seeds) == [5, 6, 7]
    assert set(one.seeds) < set(large.seeds)  # more runs keep those made
    assert set(one.fresh_seeds(10)) < set(large.fresh_seeds(100_000))
    assert not set(large.seeds) & set(large.fresh_seeds(100_000))
    assert list(one.fresh_seeds(0)) == []


def test_the_runs_of_a_cell_are_what_the_study_says(folder: Path) -> None:
    problems = [
        {"problem": "onemax:n=8", "target": 7},
        {"name": "mine", "problem": "score.py:g", "n": 9, "by_row": True, "minimize": True, "timeout": 2},
    ]
    pbil = {"algorithm": "pbil", "settings": {"learning_rate": 0.5}}
    of_study = study(problems=problems, algorithms=[pbil], shuffle=False, limits={"patience": 3}, folder=folder)
    named, mine = (cell.config(11) for cell in of_study.cells())
    assert (named.objective, named.n, named.seed, named.vectorized) == ("onemax:n=8", None, 11, True)
    assert (named.shuffle, named.minimize, named.limits) == (False, False, Limits(patience=3, target=7.0))
    assert named.algorithm.settings().items() >= {"learning_rate": 0.5, "popsize": 20}.items()
    assert isinstance(mine.objective, FileFunction)
    assert (mine.objective.spec, mine.vectorized, mine.n) == (f"{folder}/score.py:g", False, 9)
    assert (mine.minimize, mine.limits, mine.evaluation.timeout) == (True, Limits(patience=3), 2.0)


# What is refused


def refused(says: str, folder: Path | None = None, **changes: Any) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=says):
        study(folder=folder, **changes)


def problem(**given: Any) -> dict[str, Any]:
    return {"problems": [{"problem": "onemax:n=8"} | given]}


def algorithm(**given: Any) -> dict[str, Any]:
    return {"algorithms": [{"algorithm": "pbil"} | given]}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"run": 20}, r"key of a study 'run', did you mean 'runs'\? Known: algorithms, budgets, limits"),
        ({"budget": [10]}, "'budget', did you mean 'budgets'"),
        ({"limits": {"max_evaluation": 5}}, "key of limits 'max_evaluation', did you mean 'max_evaluations'"),
        ({"limits": {"target": 5}}, "key of limits 'target'"),
        ({"limits": "none"}, "limits must be a table of keys and values, got 'none'"),
        ({"limits": {"patience": 0}}, "patience"),
        *(({"runs": value}, "runs") for value in (0, 2.5, True, [], 1_000_001)),
        *(({"seed": value}, "seed") for value in (-1, 1.5, [], 2**62)),
        *(({"shuffle": value}, "shuffle of a study to be true or false") for value in (2, [])),
        *(({"popsizes": value}, "popsizes must be a list of at least one") for value in ([], 50, {}, None)),
        *(({"popsizes": [value]}, "popsizes to be a whole number of at least 2") for value in (1, 50.0, "50")),
        ({"popsizes": [1], "algorithms": [{"algorithm": "umda", "popsizes": [20]}]}, "popsizes to be"),
        ({"popsizes": [10**20]}, str(10**20)),
        *(({"problems": value}, "problems must be a list of at least one") for value in ([], "onemax", {}, None)),
        ({"problems": [3]}, "a problem must be a table of keys and values, got 3"),
        *(({"problems": [value]}, "needs the key problem") for value in ("", {}, {"name": "x"})),
        (problem(problem=3), "problem of a problem to be text"),
        (problem(minimizes=True), "key of a problem 'minimizes', .* 'minimize'"),
        (problem(identity="x"), "key of a problem 'identity'"),
        (problem(name=3), "name of a problem to be text"),
        *((problem(n=value), "n") for value in (0, 2.5, True)),
        (problem(n=9), "onemax:n=8 has n=8; remove n=9"),
        (problem(by_row=2), "by_row of a problem to be true or false"),
        *((problem(target=value), "target") for value in ("high", math.nan, True, 10**400)),
        *((problem(timeout=value), "timeout") for value in (0, -1.5, math.nan, "5 s", 10**400)),
        ({"problems": ["tarp:k=4,n=20"]}, "problem 'tarp', did you mean 'trap'"),
        ({"problems": ["trap:k=4,n=21"]}, "n=21"),
        ({"problems": ["nk:n=30,k=4"]}, "seed"),
        ({"problems": ["onemax", {"name": "onemax", "problem": "trap:k=4,n=8"}]}, "two problems are called 'onemax'"),
        ({"algorithms": []}, "algorithms must be a list of at least one"),
        ({"algorithms": [{}]}, "an algorithm needs a text"),
        ({"algorithms": ["pbli"]}, r"algorithm 'pbli', did you mean 'pbil'\? Known: auto, boa"),
        ({"algorithms": ["umda", {"algorithm": "umda", "popsizes": [50]}]}, "two algorithms are called 'umda'"),
        (algorithm(setting={}), "key of an algorithm 'setting', .* 'settings"),
        (algorithm(settings="fast"), "settings must be a table"),
        (algorithm(settings={"learning_rates": 1}), "'learning_rates', did .*_rate'"),
        (algorithm(settings={"learning_rate": 7}), "learning_rate between 0 and 1"),
        (algorithm(settings={"popsize": 50}), "popsizes"),
        (algorithm(popsize=50), "popsizes"),
        (algorithm(popsize="auto", popsizes=[20]), 'has popsize = "auto"'),
        (algorithm(popsizes=[1]), "popsizes to be"),
        *(({"budgets": value}, "budgets must be a list of at least one") for value in ([], 5)),
        *(({"budgets": [value]}, "budgets to be a whole number of at least 1") for value in (0, 1.5, True)),
        ({"budgets": [10], "limits": {"max_evaluations": 5}}, "budgets and max_evaluations cannot be combined"),
        ({"budgets": [10], "popsizes": [20, 50]}, r"looks for no population size; .* got popsizes=\[20, 50\]"),
        ({"budgets": [10]} | algorithm(popsizes=[20, 50]), "looks for no population size"),
    ],
)
def test_what_makes_no_study_is_one_sentence(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says) as raised:
        study(**given)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"runs = = 3", "study.toml is not a study in TOML: .*line 1"),
        (b"\xff\xfe\x00", "study.toml is not text .*utf-8"),
        (b"problems = " + b"[" * 2000, "study.toml is not a study in TOML"),
        (b"", "study.toml: problems must be a list"),
        (b"problems = ['onemux:n=8']", "study.toml: .*did you mean 'onemax'"),
    ],
)
def test_files_that_are_no_study(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=says):
        Study.from_file(path)
    for unreadable in (tmp_path / "gone.toml", tmp_path):
        with pytest.raises((ValueError, FileNotFoundError), match=re.escape(str(unreadable))):
            Study.from_file(unreadable)


# Algorithms of files


def test_an_algorithm_of_a_file_has_its_name_and_a_population_only_where_it_has_that_setting(folder: Path) -> None:
    texts = ["mine.py:climber", {"algorithm": "mine.py:PLAIN", "popsizes": [30, 40]}]
    climber, plain = study(folder=folder, algorithms=texts).algorithms
    assert (climber.name, climber.settings, climber.popsizes) == ("climber", {"flips": 1.0}, (None,))
    assert (plain.name, plain.popsizes) == ("PLAIN", (30, 40))
    only = cell(folder=folder, algorithms=[{"algorithm": "mine.py:climber", "settings": {"flips": 0.5}}])
    assert (only.popsize, only.content["popsize"]) == (None, None)
    assert only.config(3).algorithm.settings() == {"flips": 0.5}


@pytest.mark.parametrize(
    ("key", "given", "says"),
    [
        ("problems", {"problem": "gone.py:f", "n": 5}, "place/gone.py"),
        ("problems", {"problem": "score.py:h", "n": 5}, "'h' in .*score.py"),
        ("problems", {"problem": "score.py:number", "n": 5}, "'number' in .*score.py, but it is not a function"),
        ("problems", {"problem": "score.py:f"}, "number of its variables, got '.*score.py:f'"),
        ("problems", "score.py", "score.py:f"),
        ("problems", {"problem": "broken.py:f", "n": 5}, "broken.py could not be run: SyntaxError"),
        ("problems", "nk:gone.nk", "NK file: found nothing at .*place/gone.nk"),
        ("algorithms", {"algorithm": "mine.py:climber", "popsizes": [20]}, "climber has no setting popsize"),
        ("algorithms", {"algorithm": "mine.py:climber", "settings": {"flops": 1}}, "'flops', did you mean 'flips'"),
        ("algorithms", {"algorithm": "mine.py:climber", "settings": {"flips": [1]}}, "flips"),
        ("algorithms", {"algorithm": "mine.py:PLAIN", "settings": {"popsize": 20}}, "popsizes"),
        ("algorithms", "mine.py:walker", "schedule=<function"),  # which has no text that is the same tomorrow
        ("algorithms", "mine.py:TIMED", "max_seconds"),
        ("algorithms", "mine.py:gone", "'gone' in .*place/mine.py"),
        ("algorithms", "gone.py:climber", "place/gone.py"),
    ],
)
def test_files_that_are_no_problem_and_no_algorithm_for_a_study(
    folder: Path, key: str, given: object, says: str
) -> None:
    (folder / "broken.py").write_text("def f(x:\n")
    refused(says, folder, **{key: [given]})


# Keys


# In each row, ways to say one thing; in different rows, different things.
PBIL = {"algorithm": "pbil"}
WAYS: dict[str, list[list[Any]]] = {
    "problem": [
        ["onemax:n=8", "onemax: n = 8 ", "onemax:n=08"],
        ["trap:k=4,n=20", "trap:n=20,k=4", "trap: n = 20, k = 4 "],
        ["trap:k=5,n=20", "trap:n=20"],
        ["onemax", "onemax:", "onemax:n=100"],
        ["nk:n=8,k=2,seed=1", "nk:seed=1,k=2,n=8"],
        ["nk:n=8,k=2,seed=2"],
    ],
    "algorithm": [
        [{"algorithm": "umda"}, {"algorithm": "umda", "settings": {"selection": "tournament"}}],
        [{"algorithm": "umda", "settings": {"selection": "truncation"}}],
        [{"algorithm": "boa"}],
        [{"algorithm": "hboa"}, {"algorithm": "hboa", "settings": {"replacement": "rtr"}}],
        [PBIL, PBIL | {"settings": {"learning_rate": 0.02}}],
        [PBIL | {"settings": {"learning_rate": rate}} for rate in (1, 1.0)],
        [PBIL | {"settings": {"learning_rate": 1, "best": 2}}],
    ],
    "limits": [
        [{}, {"max_generations": 100}, {"patience": 20}],  # the algorithm's own
        *([one] for one in ({"max_evaluations": 7}, {"max_generations": 7}, {"patience": 7})),
        [{"patience": 7, "max_generations": 7}],
    ],
    "target": [[None], [3, 3.0], [4], [math.inf], [-math.inf]],
    "minimize": [[False], [True]],
    "shuffle": [[True], [False]],
    "popsizes": [[[20]], [[50]]],
    "version": [[None], ["2"], ["3"]],
    "timeout": [[None, 2, 0.5]],  # results do not depend on it
    "name": [["a", "b"]],
    "runs": [[4, 5]],
    "seed": [[0, 7]],
}


def said(**words: Any) -> Study:
    """Make a study of one cell."""
    of_problem = {"minimize", "target", "version", "timeout", "name"}
    problem = {key: words[key] for key in of_problem & words.keys() if words[key] is not None}
    return study(
        problems=[{"problem": words.get("problem", "onemax:n=8")} | problem],
        algorithms=[words.get("algorithm", {"algorithm": "umda"})],
        **{key: words[key] for key in BASE.keys() | {"limits", "shuffle", "seed"} if key in words},
    )


@pytest.mark.parametrize("thing", WAYS)
def test_keys_are_the_same_exactly_where_the_runs_are_also_from_a_store(thing: str) -> None:
    found = []
    for ways in WAYS[thing]:
        studies = [said(**{thing: way}) for way in ways]
        assert len({keys(one)[0] for one in studies}) == 1
        found += keys(studies[0])
        for one in studies:
            back = stored(one)
            assert keys(back) == keys(back.runnable()) == keys(one)
            assert json.dumps(back.as_dict()) == json.dumps(one.as_dict())  # so that a store keeps it once
    assert len(set(found)) == len(WAYS[thing])
    assert found[0] == cell().key


def test_neither_order_nor_company_changes_a_key() -> None:
    two = study(problems=["onemax:n=8", "trap:k=4,n=8"], algorithms=["umda", "pbil"], popsizes=[20, 50])
    turned = study(problems=["trap:k=4,n=8", "onemax:n=8"], algorithms=["pbil", "umda"], popsizes=[50, 20, 100])
    assert len(set(keys(two))) == 8
    assert set(keys(two)) < set(keys(turned))
    assert cell().key in keys(two)


OF_FILES: list[dict[str, Any]] = [
    {"problems": ["nk:a.nk"]},
    {"problems": [{"problem": "score.py:f", "n": 6}]},
    {"algorithms": ["mine.py:climber"]},
    {"algorithms": ["mine.py:PLAIN"]},
]


@pytest.mark.parametrize("given", OF_FILES)
def test_a_file_is_known_by_what_is_in_it(
    folder: Path, tmp_path: Path, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = cell(folder=folder, **given).key
    elsewhere = shutil.copytree(folder, tmp_path / "elsewhere")
    assert cell(folder=elsewhere, **given).key == here
    text = json.dumps(given)
    for name, other in (("a.nk", "b.txt"), ("score.py", "other.py"), ("mine.py", "ours.py")):
        shutil.copy(folder / name, folder / other)
        text = text.replace(name, other)
    assert cell(folder=folder, **json.loads(text)).key == here
    # Paths are seen from the study file, and its text in a store is the same whatever way leads there.
    (folder / "study.toml").write_text(toml(BASE | given))
    monkeypatch.chdir(folder.parent)  # where none of them is
    ways = [folder, Path(folder.name), Path(folder.name) / ".." / folder.name]
    assert {keys(Study.from_file(way / "study.toml"))[0] for way in ways} == {here}
    assert len({json.dumps(Study.from_file(way / "study.toml").as_dict()) for way in ways}) == 1
    write_nk(NK.random(6, 2, 4), folder / "a.nk")
    for name in ("score.py", "mine.py"):
        with (folder / name).open("a") as file:
            file.write("# one more line\n")
    assert cell(folder=folder, **given).key != here


def test_a_study_comes_back_though_its_files_are_gone_or_could_not_be_loaded(folder: Path) -> None:
    problems = ["nk:a.nk", {"name": "mine", "problem": "score.py:f", "n": 5, "target": 3, "by_row": True}]
    own = {"algorithm": "mine.py:climber", "name": "own", "settings": {"flips": 0.25}}
    one = study(folder=folder, problems=problems, algorithms=["umda", own, "mine.py:PLAIN"])
    expected, kept = keys(one), json.dumps(one.as_dict())
    shutil.rmtree(folder)
    back = Study.restored(json.loads(kept))
    assert keys(back) == expected
    assert [problem.content for problem in back.problems] == [problem.content for problem in one.problems]
    assert [(one.name, *one.popsizes) for one in back.algorithms] == [("umda", 20), ("own", None), ("PLAIN", 20)]
    assert json.dumps(back.as_dict()) == kept
    with pytest.raises(ValueError, match="climber' itself"):
        back.runnable()


def test_an_algorithm_that_is_no_longer_what_the_store_says_is_not_run() -> None:
    ours = Algorithm(name="umda", configuration=algorithms()["umda"].configuration, limits=Limits(patience=3))
    one = dataclasses.replace(study(), algorithms=(StudyAlgorithm(name="a", algorithm=ours, popsizes=(20,)),))
    assert keys(stored(one).runnable()) == keys(one) != keys(study())
    kept = json.loads(json.dumps(one.as_dict()))
    kept["algorithms"][0]["kind"] = "PBIL"
    with pytest.raises(ValueError, match="'umda' itself"):
        Study.restored(kept).runnable()
    kept["algorithms"][0]["algorithm"] = "/tmp/evil.py:NAME"  # which would run code
    with pytest.raises(ValueError, match=r"evil\.py:NAME' itself"):
        Study.restored(kept).runnable()


# Budgets


def test_a_study_with_budgets_has_cells_for_each_of_them_and_looks_for_no_size(folder: Path) -> None:
    given = {name: value for name, value in BASE.items() if name != "popsizes"}
    sized = {"algorithm": "pbil", "popsizes": [40]}
    text = toml(given | {"algorithms": ["umda", sized, "mine.py:climber"], "budgets": [1000, 300, 1000]})
    one = read(folder, text)
    assert one.budgets == (300, 1000)
    expected = [("umda", None), ("pbil", 40), ("climber", None)]
    assert [(cell.algorithm.name, cell.popsize, cell.budget) for cell in one.cells()] == [
        (*each, budget) for each in expected for budget in (300, 1000)
    ]
    assert len(set(keys(one))) == 6
    assert [cell.config(3).limits.max_evaluations for cell in one.cells()] == [300, 1000] * 3
    umda, _, pbil, *_ = (cell.config(3).algorithm.settings()["popsize"] for cell in one.cells()[:4])
    assert (umda, pbil) == (None, 40)  # None: what the algorithm chooses
    assert stored(one).cells()[0].budget == 300
    assert keys(stored(one)) == keys(one)
    fixed = study(popsizes=[30], algorithms=["umda", sized], budgets=[10])
    assert [cell.popsize for cell in fixed.cells()] == [30, 40]


def test_runs_of_a_budget_are_not_taken_for_others() -> None:
    budgeted, limited = cell(budgets=[500]), cell(limits={"max_evaluations": 500})
    assert budgeted.key != limited.key
    assert budgeted.config(1) == limited.config(1)
