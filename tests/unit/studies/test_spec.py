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
    return Study.from_dict(json.loads(json.dumps(one.as_dict())), stored=True)


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
        back = Study.from_dict(json.loads(json.dumps(grid.as_dict())), stored=True)
        assert keys(back) == keys(grid)
        refused("got both", algorithms=[auto | {"popsizes": [20]}])


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


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"run": 20}, r"'run', did you mean 'runs'\? Known: algorithms, budgets, limits"),
        ({"popsize": [20]}, "'popsize', did you mean 'popsizes'"),
        ({"problem": []}, "'problem', did you mean 'problems'"),
        ({"limits": {"max_evaluation": 5}}, "key of limits 'max_evaluation', did you mean 'max_evaluations'"),
        ({"limits": {"target": 5}}, "key of limits 'target'"),
        ({"problems": [{"problem": "onemax", "minimise": True}]}, "key of a problem 'minimise', .* 'minimize'"),
        ({"problems": [{"problem": "onemax", "identity": "x"}]}, "key of a problem 'identity'"),
        ({"algorithms": [{"algorithm": "umda", "setting": {}}]}, "key of an algorithm 'setting', .* 'settings"),
        ({"algorithms": [{"algorithm": "umda", "kind": "x"}]}, "key of an algorithm 'kind'"),
        ({"algorithms": [{"algorithm": "pbil", "settings": {"learning_rates": 1}}]}, "'learning_rates', did .*_rate'"),
        ({"algorithms": ["pbli"]}, r"algorithm 'pbli', did you mean 'pbil'\? Known: auto, boa"),
        ({"problems": ["tarp:k=4,n=20"]}, "problem 'tarp', did you mean 'trap'"),
        ({"problems": ["trap:j=4"]}, "setting of trap 'j'"),
        ({"problems": ["trap:k=4,n=21"]}, "n=21"),
        ({"problems": ["nk:n=30,k=4"]}, "seed"),
    ],
)
def test_what_is_not_known_names_the_nearest_that_is(tmp_path: Path, given: dict[str, Any], says: str) -> None:
    refused(says, **given)
    with pytest.raises(ValueError, match=f"study.toml: .*{says}"):
        read(tmp_path, toml(BASE | given))


@pytest.mark.parametrize(
    ("key", "values", "says"),
    [
        ("runs", [0, -1, 2.5, "20", True, [], None], "runs to be a whole number of at least 1, got runs="),
        ("runs", [1_000_001], "1000000 runs"),
        ("seed", [-1, 1.5, "0", True, []], "seed that is a whole number of at least 0, .*got seed="),
        ("seed", [2**62, 2**80], r"below 2\^62"),
        ("shuffle", [0, 1, "true", []], "shuffle to be true or false, got shuffle="),
        ("popsizes", [[], 50, "50", {}, None], "popsizes to be a list of at least one size, got popsizes="),
        ("popsizes", [[1], [0], [-5], [50.0], ["50"], [True], [[]]], "population size to be a whole number"),
        ("popsizes", [[10**20]], str(10**20)),
        ("limits", [[], "none", 5, True], "limits to be a table of keys and values, got "),
        ("problems", [[], "onemax", {}, {"a": 1}, 3, None], "problems to be a list of at least one, got pro"),
        ("problems", [[3], [["onemax"]], [True]], "a problem to be a table of keys and values, got "),
        ("problems", [[""], [{}], [{"name": "x"}], [{"problem": 3}]], "problem to be the name of a problem"),
        ("algorithms", [[], "umda", {}, 3, None], "algorithms to be a list of at least one, got algorithms="),
        ("algorithms", [[3], [["umda"]]], "an algorithm to be a table of keys and values, got "),
        ("algorithms", [[""], [{}], [{"algorithm": 3}]], "algorithm to be the name of an algorithm"),
        ("problems", [["onemax", {"name": "onemax", "problem": "trap:k=4,n=8"}]], "'onemax' twice"),
        ("algorithms", [["pbil", "umda", {"algorithm": "umda", "popsizes": [50]}]], "'umda' twice"),
    ],
)
def test_values_that_make_no_study(key: str, values: list[object], says: str) -> None:
    for value in values:
        refused(says, **{key: value})
        if key == "popsizes":  # also where every algorithm has its own, and among an algorithm's own
            refused(says, popsizes=value, algorithms=[{"algorithm": "umda", "popsizes": [20]}])
            refused(says, algorithms=[{"algorithm": "umda", "popsizes": value}])


@pytest.mark.parametrize(
    ("owner", "key", "values", "says"),
    [
        ("limits", "max_evaluations", [0, -1, 1.5, "5", True, []], "max_evaluations to be a whole number of at le"),
        ("limits", "max_generations", [-1, 1.5, "5", True], "max_generations to be a whole number of at least 0"),
        ("limits", "patience", [0, 1.5, "5", False], "patience to be a whole number of at least 1"),
        ("problem", "name", [3, "", [], True], "name to be text, got name="),
        ("problem", "n", [0, -3, "8", 2.5, True], "n to be a whole number of at least 1, got n="),
        ("problem", "n", [9], "n=8, which the problem has, or no n, got n=9"),
        ("problem", "by_row", [0, 1, "no"], "by_row to be true or false, got by_row="),
        ("problem", "minimize", [0, 1, "no"], "minimize to be true or false, got minimize="),
        ("problem", "target", ["high", [], math.nan, True, 10**400], "target=.* is not a number"),
        ("problem", "version", ["", 2, None], "version to be text, got version="),
        ("problem", "timeout", [0, -1.5, math.nan, math.inf, True, "5 s", [1], 10**400], "above 0, got timeout="),
        ("algorithm", "name", [3, ""], "name to be text, got name="),
        ("algorithm", "settings", [[], "fast", 3], "settings to be a table of keys and values, got "),
        ("settings", "learning_rate", ["fast", True, [], 10**400], "learning_rate of pbil to be a number"),
        ("settings", "learning_rate", [7, -0.1], "learning_rate between 0 and 1"),
        ("settings", "best", [1.5, False], "best of pbil to be a whole number"),
        ("settings", "selection", ["roulette"], "tournament or truncation"),
        ("settings", "popsize", [50, "many"], "popsizes"),
        ("algorithm", "popsize", [50, "many", None], "popsizes"),
    ],
)
def test_parts_that_make_no_sense(owner: str, key: str, values: list[object], says: str) -> None:
    for value in values:
        given: dict[str, Any] = {
            "limits": {"limits": {key: value}},
            "problem": {"problems": [{"problem": "onemax:n=8", key: value}]},
            "algorithm": {"algorithms": [{"algorithm": "pbil", key: value}]},
            "settings": {"algorithms": [{"algorithm": "pbil", "settings": {key: value}}]},
        }
        refused(says, **given[owner])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"runs = = 3", "study as TOML in .*study.toml, .*line 1"),
        (b"runs = 3\nruns = 4", "as TOML in .*study.toml, .*overwrite"),
        (b"problems = ['onemax'", "as TOML in .*study.toml"),
        (b"\xff\xfe\x00", "as TOML: .*study.toml is not text .*utf-8"),
        (b"problems = " + b"[" * 2000, "study.toml, but it is nested too deeply"),
        (b"", "study.toml: expected problems"),
    ],
)
def test_files_that_are_no_study(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=says):
        Study.from_file(path)
    for unreadable in (tmp_path / "gone.toml", tmp_path, tmp_path / "nul\0.toml"):
        with pytest.raises(
            (ValueError, FileNotFoundError), match=f"cannot read a study .*{re.escape(str(unreadable))}"
        ):
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
            assert (back, keys(back)) == (one, keys(one))
            assert back.as_dict() == one.as_dict()  # so that a store keeps it once
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


def test_what_one_file_defines_has_keys_of_its_own(folder: Path) -> None:
    variants = [{}, {"n": 7}, {"problem": "score.py:g"}, {"by_row": True}, {"minimize": True}, {"target": 1}]
    variants += [{"version": "2"}, {"version": "3"}]
    problems = [{"problem": "score.py:f", "n": 6, "name": str(i)} | changes for i, changes in enumerate(variants)]
    names = ("climber", "PLAIN", "SHORT", "LONG")  # the last two of the same kind, without settings
    one = study(folder=folder, problems=problems, algorithms=["umda", *(f"mine.py:{name}" for name in names)])
    assert len(set(keys(one))) == len(variants) * 5


def test_a_study_comes_back_though_its_files_are_gone_or_could_not_be_loaded(folder: Path) -> None:
    problems = ["nk:a.nk", {"name": "mine", "problem": "score.py:f", "n": 5, "target": 3, "by_row": True}]
    own = {"algorithm": "mine.py:climber", "name": "own", "settings": {"flips": 0.25}}
    one = study(folder=folder, problems=problems, algorithms=["umda", own, "mine.py:PLAIN"])
    expected, kept = keys(one), json.dumps(one.as_dict())
    shutil.rmtree(folder)
    back = Study.from_dict(json.loads(kept), stored=True)
    assert keys(back) == expected
    assert [problem.content for problem in back.problems] == [problem.content for problem in one.problems]
    assert [(one.name, *one.popsizes) for one in back.algorithms] == [("umda", 20), ("own", None), ("PLAIN", 20)]
    assert json.dumps(back.as_dict()) == kept
    with pytest.raises(ValueError, match=r"score\.py"):
        back.cells()[3].config(0).run()  # it can be shown, not run
    for one, name in zip(back.cells()[1:3], ("climber", "PLAIN"), strict=True):
        with pytest.raises(ValueError, match=f"{name}' itself"):
            one.config(0).algorithm.configuration.search(None, Limits())  # type: ignore[arg-type]


def test_what_is_not_daedals_own_is_told_in_full() -> None:
    """Whoever reads the store may not have the package that it comes from."""
    ours = Algorithm(name="umda", configuration=algorithms()["umda"].configuration, limits=Limits(patience=3))
    one = dataclasses.replace(study(), algorithms=(StudyAlgorithm(name="a", algorithm=ours, popsizes=(20,)),))
    (told,) = one.as_dict()["algorithms"]
    assert (told["algorithm"], told["kind"], told["limits"]["patience"]) == ("umda", "UMDA", 3)
    assert keys(stored(one)) == keys(one) != keys(study())


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


def test_runs_of_a_budget_are_not_taken_for_others_and_studies_without_budgets_are_what_they_were() -> None:
    budgeted, limited = cell(budgets=[500]), cell(limits={"max_evaluations": 500})
    assert budgeted.key != limited.key
    assert dataclasses.replace(budgeted.config(1)) == limited.config(1)
    assert "budgets" not in study().as_dict()
    assert "budget" not in limited.content


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        *(
            ({"budgets": value}, "budgets to be a list of at least one number of evaluations, got")
            for value in ([], 5, "5")
        ),
        *(
            ({"budgets": [value]}, "a budget to be a whole number of at least 1, got")
            for value in (0, -1, 1.5, "5", True)
        ),
        ({"budgets": [10**20]}, str(10**20)),
        ({"budgets": [10], "limits": {"max_evaluations": 5}}, "budgets or max_evaluations .* got both"),
        ({"budgets": [10], "popsizes": [20, 50]}, r"looks for no population size: .* got popsizes=\[20, 50\]"),
        (
            {"budgets": [10], "algorithms": [{"algorithm": "umda", "popsizes": [20, 50]}]},
            "looks for no population size",
        ),
        (
            {"budgets": [10], "algorithms": [{"algorithm": "umda", "settings": {"popsize": 5}}]},
            "instead of the setting",
        ),
        ({"budget": [10]}, "'budget', did you mean 'budgets'"),
    ],
)
def test_budgets_that_make_no_study(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    refused(says, **changes)
    with pytest.raises(ValueError, match=f"study.toml: .*{says}") as raised:
        read(tmp_path, toml(BASE | changes))
    assert "\n" not in str(raised.value)
