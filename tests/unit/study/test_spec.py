"""What a study is: its file, read strictly, and the keys by which its runs are known again."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.limits import Limits
from daedal.objectives.spec import FileFunction
from daedal.optimizers.presets import algorithms
from daedal.problems import NK, write_nk
from daedal.study.example import EXAMPLE
from daedal.study.spec import POPSIZES, Cell, Study

BASE: dict[str, Any] = {"problems": ["onemax:n=8"], "algorithms": ["umda"], "popsizes": [20], "runs": 4}

SCORE = """
def f(x):
    return x.sum(axis=1)

def g(row):
    return float(row.sum())

number = 3
"""


def study(**changes: Any) -> Study:
    return Study.from_dict(BASE | changes)


def cell(**changes: Any) -> Cell:
    (only,) = study(**changes).cells()
    return only


def of_problem(**table: Any) -> Cell:
    return cell(problems=[{"problem": "onemax:n=8"} | table])


def of_algorithm(**table: Any) -> Cell:
    return cell(algorithms=[{"algorithm": "pbil"} | table])


def read(folder: Path, text: str) -> Study:
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return Study.from_file(path)


def keys(one: Study) -> list[str]:
    return [cell.key for cell in one.cells()]


def stored(one: Study) -> Study:
    """Give what comes back from a store, which keeps JSON."""
    return Study.from_dict(json.loads(json.dumps(one.as_dict())), stored=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a Python file and a landscape."""
    place = tmp_path / "place"
    place.mkdir()
    (place / "score.py").write_text(SCORE)
    write_nk(NK.random(6, 2, 3), place / "a.nk")
    return place


# What a study says


def test_the_example_is_what_it_says(tmp_path: Path) -> None:
    example = read(tmp_path, EXAMPLE)
    assert (example.runs, example.seed, example.shuffle) == (20, 0, True)
    assert [(one.name, one.problem) for one in example.problems] == [
        ("trap:k=4,n=20", "trap:k=4,n=20"),
        ("a landscape", "nk:n=20,k=3,seed=1"),
    ]
    assert [(one.name, one.algorithm.name, one.popsizes) for one in example.algorithms] == [
        ("boa", "boa", (50, 100, 250, 500, 1000)),
        ("umda", "umda", (50, 100, 250, 500, 1000)),
        ("slow PBIL", "pbil", (100, 1000, 4000)),
    ]
    assert [one.algorithm.settings() for one in example.algorithms] == [
        algorithms()["boa"].settings(),
        algorithms()["umda"].settings(),
        algorithms()["pbil"].settings() | {"learning_rate": 0.01},
    ]
    assert example.limits == Limits(max_evaluations=200_000)
    assert len(example.cells()) == 2 * (5 + 5 + 3)


def test_what_the_example_has_in_comments_works_too(folder: Path) -> None:
    comments = [line for line in EXAMPLE.splitlines() if line.strip().startswith(("# {", "# max_", "# patience"))]
    assert len(comments) == 5
    text = EXAMPLE
    for line in comments:
        text = text.replace(line, line.replace("# ", "", 1))
    full = read(folder, text)
    assert full.limits == Limits(max_evaluations=200_000, max_generations=100, patience=20)
    mine, cost, program = full.problems[2:]
    assert (program.name, program.problem, program.n) == ("program", "cmd:python3 score.py", 40)
    assert (mine.name, mine.problem, mine.n, mine.target) == ("mine", f"{folder}/score.py:f", 40, 12.5)
    assert (mine.minimize, mine.by_row) == (False, False)
    assert (cost.name, cost.problem, cost.n, cost.target) == ("cost", f"{folder}/score.py:g", 40, 0.0)
    assert (cost.minimize, cost.by_row) == (True, True)


def test_what_a_study_does_not_say_is_as_in_the_paper() -> None:
    short = Study.from_dict({"problems": ["trap:k=4,n=8"], "algorithms": ["umda", "pbil"]})
    assert (short.runs, short.seed, short.shuffle, short.limits) == (20, 0, True, Limits())
    assert POPSIZES == (50, 100, 250, 500, 1000, 2000, 4000, 8000, 16_000)
    assert {one.popsizes for one in short.algorithms} == {POPSIZES}


def test_tables_of_tables_are_read_too(tmp_path: Path) -> None:
    text = '[[problems]]\nproblem = "onemax:n=8"\n[[algorithms]]\nalgorithm = "umda"\npopsizes = [20]\n'
    assert keys(read(tmp_path, text)) == keys(study())


def test_sizes_are_tried_from_small_to_large_and_each_once() -> None:
    assert study(popsizes=[100, 20, 50, 20]).algorithms[0].popsizes == (20, 50, 100)
    assert of_algorithm(popsizes=[70]).popsize == 70  # its own go before the study's


def test_seeds_are_the_same_for_all_and_those_that_confirm_are_others() -> None:
    one = study(seed=5, runs=3)
    assert list(one.seeds) == [5, 6, 7]
    large = study(seed=5, runs=100_000)
    assert set(one.seeds) < set(large.seeds)  # more runs keep those made
    assert set(one.fresh_seeds(10)) < set(large.fresh_seeds(100_000))
    assert not set(large.seeds) & set(large.fresh_seeds(100_000))
    assert list(one.fresh_seeds(0)) == []


def test_cells_are_every_problem_with_every_algorithm_and_each_of_its_sizes() -> None:
    grid = study(
        problems=["onemax:n=8", "trap:k=4,n=8"],
        algorithms=["umda", {"algorithm": "pbil", "popsizes": [30, 40]}],
    )
    assert [(one.problem.name, one.algorithm.name, one.popsize) for one in grid.cells()] == [
        ("onemax:n=8", "umda", 20),
        ("onemax:n=8", "pbil", 30),
        ("onemax:n=8", "pbil", 40),
        ("trap:k=4,n=8", "umda", 20),
        ("trap:k=4,n=8", "pbil", 30),
        ("trap:k=4,n=8", "pbil", 40),
    ]
    assert len(set(keys(grid))) == 6


def test_the_job_of_a_cell_is_what_the_study_says(folder: Path) -> None:
    given = {
        "problems": [
            {"problem": "onemax:n=8", "target": 7},
            {"name": "mine", "problem": "score.py:g", "n": 9, "by_row": True, "minimize": True},
        ],
        "algorithms": [{"algorithm": "pbil", "settings": {"learning_rate": 0.5}}],
        "popsizes": [20],
        "shuffle": False,
        "limits": {"patience": 3},
    }
    named, mine = Study.from_dict(given, folder=folder).cells()
    job = named.job(11)
    assert (job.objective, job.n, job.popsize, job.seed) == ("onemax:n=8", None, 20, 11)
    assert (job.shuffle, job.minimise, job.limits) == (False, False, Limits(patience=3, target=7.0))
    assert job.algorithm.settings()["learning_rate"] == 0.5
    job = mine.job(12)
    assert isinstance(job.objective, FileFunction)
    assert (job.objective.spec, job.vectorized) == (f"{folder}/score.py:g", False)
    assert (job.n, job.seed, job.minimise, job.limits) == (9, 12, True, Limits(patience=3))


# What is refused


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"run": 20}, "unknown key of a study 'run', did you mean 'runs'\\? Known: algorithms, limits, popsizes,"),
        ({"popsize": [20]}, "unknown key of a study 'popsize', did you mean 'popsizes'"),
        ({"problem": []}, "unknown key of a study 'problem', did you mean 'problems'"),
        ({"limits": {"max_evaluation": 5}}, "unknown key of limits 'max_evaluation', did you mean 'max_evaluations'"),
        ({"limits": {"target": 5}}, "unknown key of limits 'target'. Known: max_evaluations, max_generations, pati"),
        ({"problems": [{"problem": "onemax", "minimise": True}]}, "key of a problem 'minimise', did you mean 'minimi"),
        ({"problems": [{"problem": "onemax", "identity": "x"}]}, "unknown key of a problem 'identity'"),
        (
            {"algorithms": [{"algorithm": "umda", "setting": {}}]},
            "key of an algorithm 'setting', did you mean 'settings",
        ),
        ({"algorithms": [{"algorithm": "umda", "runs": 3}]}, "unknown key of an algorithm 'runs'"),
        (
            {"algorithms": [{"algorithm": "pbil", "settings": {"learning_rates": 0.1}}]},
            "unknown setting of pbil 'learning_rates', did you mean 'learning_rate'",
        ),
        ({"algorithms": ["pbli"]}, "unknown algorithm 'pbli', did you mean 'pbil'\\? Known: boa, dae"),
        ({"algorithms": [{"algorithm": "zz"}]}, "unknown algorithm 'zz'. Known: boa, dae"),
        ({"problems": ["tarp:k=4,n=20"]}, "unknown problem 'tarp', did you mean 'trap'\\? Known: hiff, nk"),
        ({"problems": ["trap:j=4"]}, "unknown setting of trap 'j'"),
        ({"problems": ["trap:k=4,n=21"]}, "multiple of k=4, got n=21"),
        ({"problems": ["nk:n=30,k=4"]}, "expected nk to be given seed"),
    ],
)
def test_what_is_not_known_names_the_nearest_that_is(tmp_path: Path, given: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        study(**given)
    path = tmp_path / "study.toml"
    path.write_text(toml(BASE | given), encoding="utf-8")
    with pytest.raises(ValueError, match=f"study.toml: .*{says}"):
        Study.from_file(path)


def toml(given: Any, *, top: bool = True) -> str:
    """Write TOML; the values of these tests are all it knows."""
    if isinstance(given, dict):
        lines = [f"{key} = {toml(value, top=False)}" for key, value in given.items()]
        return "\n".join(lines) if top else "{" + ", ".join(lines) + "}"
    if isinstance(given, list):
        return "[" + ", ".join(toml(one, top=False) for one in given) + "]"
    return json.dumps(given)


@pytest.mark.parametrize(
    ("key", "values", "says"),
    [
        ("runs", [0, -1, 2.5, "20", True, [], None], "expected runs to be a whole number of at least 1, got runs="),
        ("seed", [-1, 1.5, "0", True, []], "expected a seed that is a whole number of at least 0, .*got seed="),
        ("seed", [2**62, 2**80], "expected a seed below 2\\^62"),
        ("shuffle", [0, 1, "true", []], "expected shuffle to be true or false, got shuffle="),
        ("popsizes", [[], 50, "50", {}, None], "expected popsizes to be a list of at least one size, got popsizes="),
        ("popsizes", [[1], [0], [-5], [50.0], ["50"], [True], [[]]], "expected a population size to be a whole number"),
        ("limits", [[], "none", 5, True], "expected limits to be a table of keys and values, got "),
        ("problems", [[], "onemax", {}, {"a": 1}, 3, None], "expected problems to be a list of at least one, got pro"),
        ("problems", [[3], [["onemax"]], [True]], "expected a problem to be a table of keys and values, got "),
        ("problems", [[""], [{}], [{"name": "x"}], [{"problem": 3}]], "expected problem to be the name of a problem"),
        ("algorithms", [[], "umda", {}, 3, None], "expected algorithms to be a list of at least one, got algorithms="),
        ("algorithms", [[3], [["umda"]]], "expected an algorithm to be a table of keys and values, got "),
        ("algorithms", [[""], [{}], [{"algorithm": 3}]], "expected algorithm to be the name of an algorithm"),
    ],
)
def test_values_that_make_no_study(key: str, values: list[object], says: str) -> None:
    for value in values:
        with pytest.raises(ValueError, match=says):
            study(**{key: value})


@pytest.mark.parametrize("key", ["problems", "algorithms"])
def test_a_study_without_problems_or_algorithms(key: str) -> None:
    with pytest.raises(ValueError, match=f"expected {key} to be a list of at least one, got {key}=None"):
        Study.from_dict({other: value for other, value in BASE.items() if other != key})


@pytest.mark.parametrize(
    ("key", "values", "says"),
    [
        ("max_evaluations", [0, -1, 1.5, "5", True, []], "expected max_evaluations to be a whole number of at least 1"),
        ("max_generations", [-1, 1.5, "5", True], "expected max_generations to be a whole number of at least 0"),
        ("patience", [0, 1.5, "5", False], "expected patience to be a whole number of at least 1"),
    ],
)
def test_limits_that_make_no_sense(key: str, values: list[object], says: str) -> None:
    for value in values:
        with pytest.raises(ValueError, match=says):
            study(limits={key: value})


@pytest.mark.parametrize(
    ("key", "values", "says"),
    [
        ("name", [3, "", [], True], "expected name to be text, got name="),
        ("n", [0, -3, "8", 2.5, True], "expected n to be a whole number of at least 1, got n="),
        ("by_row", [0, 1, "no"], "expected by_row to be true or false, got by_row="),
        ("minimize", [0, 1, "no"], "expected minimize to be true or false, got minimize="),
        ("target", ["high", [], math.nan, True], "expected target to be a number, got target="),
    ],
)
def test_problems_that_make_no_sense(key: str, values: list[object], says: str) -> None:
    for value in values:
        with pytest.raises(ValueError, match=says):
            of_problem(**{key: value})


def test_an_n_that_is_not_the_problems_own() -> None:
    assert of_problem(n=8).problem.n == 8
    with pytest.raises(ValueError, match="expected n=8, which the problem has, or no n, got n=9"):
        of_problem(n=9)


@pytest.mark.parametrize(
    ("key", "values", "says"),
    [
        ("name", [3, ""], "expected name to be text, got name="),
        ("popsizes", [[], 50, None], "expected popsizes to be a list of at least one size, got popsizes="),
        ("popsizes", [[1], [50.5]], "expected a population size to be a whole number of at least 2"),
        ("settings", [[], "fast", 3], "expected settings to be a table of keys and values, got "),
        (
            "settings",
            [{"learning_rate": "fast"}, {"learning_rate": True}, {"learning_rate": []}],
            "expected learning_rate of pbil to be a number, got learning_rate=",
        ),
        ("settings", [{"learning_rate": 7}, {"learning_rate": -0.1}], "expected learning_rate between 0 and 1"),
        ("settings", [{"best": 1.5}, {"best": False}], "expected best of pbil to be a whole number"),
        ("settings", [{"selection": "roulette"}], "expected selection of pbil to be tournament or truncation"),
    ],
)
def test_algorithms_that_make_no_sense(key: str, values: list[object], says: str) -> None:
    for value in values:
        with pytest.raises(ValueError, match=says):
            of_algorithm(**{key: value})


def test_population_sizes_are_checked_though_every_algorithm_has_its_own() -> None:
    own = [{"algorithm": "umda", "popsizes": [20]}]
    for wrong in ([], "many", [1]):
        with pytest.raises(ValueError, match=r"popsizes|population size"):
            study(algorithms=own, popsizes=wrong)


def test_names_come_once() -> None:
    twice = ["onemax:n=8", {"name": "onemax:n=8", "problem": "trap:k=4,n=8"}]
    with pytest.raises(ValueError, match="expected each of problems once, got 'onemax:n=8' twice; give one of them"):
        study(problems=twice)
    with pytest.raises(ValueError, match="expected each of algorithms once, got 'umda' twice"):
        study(algorithms=["pbil", "umda", {"algorithm": "umda", "popsizes": [50]}])
    same = study(algorithms=["umda", {"name": "again", "algorithm": "umda"}])
    assert len(set(keys(same))) == 1  # two names for one thing are two rows of a table, and run once


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"runs = = 3", "expected a study as TOML in .*study.toml, but it cannot be read: .*line 1"),
        (b"runs = 3\nruns = 4", "as TOML in .*study.toml, but it cannot be read: Cannot overwrite a value"),
        (b"problems = ['onemax'", "as TOML in .*study.toml, but it cannot be read"),
        (b"\xff\xfe\x00", "as TOML in .*study.toml, but it cannot be read: .*utf-8"),
        (b"SQLite format 3\x00", "as TOML in .*study.toml, but it cannot be read"),
        (b"", "study.toml: expected problems to be a list of at least one, got problems=None"),
    ],
)
def test_files_that_are_no_study(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=says):
        Study.from_file(path)


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    for path in (tmp_path / "gone.toml", tmp_path, tmp_path / "nul\0.toml"):
        with pytest.raises(ValueError, match=r"expected a study in .*, but it cannot be opened"):
            Study.from_file(path)


# Files of problems


def test_paths_are_seen_from_the_study_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)  # where none of them is
    text = toml(BASE | {"problems": ["nk:a.nk", {"problem": "score.py:f", "n": 5}]})
    landscape, mine = read(folder, text).problems
    assert (landscape.name, landscape.problem) == ("nk:a.nk", f"nk:{folder}/a.nk")
    assert (mine.name, mine.problem) == ("score.py:f", f"{folder}/score.py:f")
    relative = Study.from_file(Path("place/study.toml"))
    assert keys(relative) == keys(read(folder, text))
    below = folder / "below"
    below.mkdir()
    up = read(below, text.replace("a.nk", "../a.nk").replace("score.py", "../score.py"))
    assert keys(up) == keys(relative)
    absolute = text.replace("a.nk", str(folder / "a.nk")).replace("score.py", str(folder / "score.py"))
    assert keys(read(below, absolute)) == keys(relative)


@pytest.mark.parametrize(
    ("problem", "says"),
    [
        ({"problem": "gone.py:f", "n": 5}, "expected a Python file at .*place/gone.py, found none"),
        ({"problem": "score.py:h", "n": 5}, "expected a function 'h' in .*score.py, but it is not there"),
        (
            {"problem": "score.py:number", "n": 5},
            "expected a function 'number' in .*score.py, but it is not a function",
        ),
        ({"problem": "score.py:f"}, "n, the number of variables, for a function in a Python file, got '.*score.py:f'"),
        ("score.py", "expected the function to maximise behind the file, as in .*score.py:f"),
        ({"problem": "broken.py:f", "n": 5}, "broken.py could not be run: SyntaxError"),
        ("nk:gone.nk", "expected an NK file at .*place/gone.nk, found nothing there"),
    ],
)
def test_files_that_are_no_problem(folder: Path, problem: object, says: str) -> None:
    (folder / "broken.py").write_text("def f(x:\n")
    with pytest.raises((ValueError, FileNotFoundError), match=says):
        read(folder, toml(BASE | {"problems": [problem]}))


# Keys


def test_the_key_is_the_digest_of_all_that_a_run_depends_on() -> None:
    # Written out, because a key that changes with a new daedal makes every store forget its runs.
    content = {
        "problem": "onemax:n=8",
        "n": None,
        "by_row": False,
        "minimize": False,
        "target": None,
        "model": "UMDA",
        "settings": {"selection": "tournament", "replacement": "parents"},
        "limits": {"max_evaluations": None, "max_generations": 100, "patience": 20},
        "shuffle": True,
        "popsize": 20,
    }
    assert cell().content == content
    assert cell().key == hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


# In each row, ways to say one thing; in different rows, different things.
PROBLEMS = [
    ["trap:k=4,n=20", "trap:n=20,k=4", "trap: n = 20, k = 4 ", "trap:k=04,n=20"],
    ["trap:k=5,n=20", "trap:n=20"],
    ["trap:k=4,n=24"],
    ["onemax", "onemax:", "onemax:n=100"],
    ["nk:n=8,k=2,seed=1", "nk:seed=1,k=2,n=8"],
    ["nk:n=8,k=2,seed=2"],
]
ALGORITHMS = [
    [{"algorithm": "umda"}, {"algorithm": "umda", "settings": {"selection": "tournament"}}],
    [{"algorithm": "umda", "settings": {"selection": "truncation"}}],
    [{"algorithm": "boa"}],
    [{"algorithm": "hboa"}, {"algorithm": "hboa", "settings": {"replacement": "rtr"}}],
    [{"algorithm": "pbil"}, {"algorithm": "pbil", "settings": {"learning_rate": 0.02}}],
    [
        {"algorithm": "pbil", "settings": {"learning_rate": 1}},
        {"algorithm": "pbil", "settings": {"learning_rate": 1.0}},
    ],
    [{"algorithm": "pbil", "settings": {"learning_rate": 1, "best": 2}}],
]
LIMITS = [
    [{}],
    [{"max_evaluations": 7}],
    [{"max_generations": 7}],
    [{"patience": 7}],
    [{"patience": 7, "max_generations": 7}],
]
TARGETS = [[None], [3, 3.0], [4], [math.inf], [-math.inf]]
THINGS: dict[str, list[list[Any]]] = {
    "problem": PROBLEMS,
    "algorithm": ALGORITHMS,
    "limits": LIMITS,
    "target": TARGETS,
    "minimize": [[False], [True]],
    "shuffle": [[True], [False]],
    "popsize": [[20], [50]],
}

meanings = st.fixed_dictionaries({thing: st.integers(0, len(rows) - 1) for thing, rows in THINGS.items()})


@st.composite
def alike(draw: st.DrawFn) -> tuple[dict[str, int], dict[str, int]]:
    """Draw two meanings that are the same, or nearly so."""
    one = draw(meanings)
    changed = draw(st.sets(st.sampled_from(sorted(THINGS)), max_size=2))
    other = draw(meanings)
    return one, {thing: other[thing] if thing in changed else meaning for thing, meaning in one.items()}


def said(draw: Callable[[Any], Any], meaning: dict[str, int]) -> dict[str, Any]:
    """Put a meaning into words, with names as one likes."""
    words = {thing: draw(st.sampled_from(THINGS[thing][index])) for thing, index in meaning.items()}
    problem = {"problem": words["problem"], "minimize": words["minimize"], "name": draw(st.sampled_from("ab"))}
    if words["target"] is not None:
        problem["target"] = words["target"]
    return {
        "problems": [problem],
        "algorithms": [words["algorithm"] | {"name": draw(st.sampled_from("cd"))}],
        "popsizes": [words["popsize"]],
        "limits": words["limits"],
        "shuffle": words["shuffle"],
        "runs": draw(st.integers(1, 30)),
        "seed": draw(st.integers(0, 5)),
    }


@settings(max_examples=150, deadline=None)
@given(alike(), st.data())
def test_keys_are_the_same_exactly_where_the_runs_are(two: tuple[dict[str, int], dict[str, int]], data: Any) -> None:
    (one,), (other,) = (Study.from_dict(said(data.draw, meaning)).cells() for meaning in two)
    assert (one.key == other.key) is (two[0] == two[1])


@settings(max_examples=100, deadline=None)
@given(meanings, st.data())
def test_a_study_comes_back_from_a_store_as_it_was(meaning: dict[str, int], data: Any) -> None:
    one = Study.from_dict(said(data.draw, meaning))
    back = stored(one)
    assert keys(back) == keys(one)
    assert [problem.content for problem in back.problems] == [problem.content for problem in one.problems]
    assert (back.runs, back.seed, back.limits, back.shuffle) == (one.runs, one.seed, one.limits, one.shuffle)
    assert back.algorithms == one.algorithms
    for thing in ("name", "problem", "n", "by_row", "minimize", "target"):
        assert [getattr(each, thing) for each in back.problems] == [getattr(each, thing) for each in one.problems]
    assert back.as_dict() == one.as_dict()  # so that a store keeps it once


def test_limits_that_say_what_the_algorithm_says_anyway_change_nothing() -> None:
    assert cell(limits={"max_generations": 100, "patience": 20}).key == cell().key
    assert of_algorithm().key == cell(algorithms=["pbil"], limits={"max_generations": 2000, "patience": 400}).key


def test_neither_order_nor_company_changes_a_key() -> None:
    two = study(problems=["onemax:n=8", "trap:k=4,n=8"], algorithms=["umda", "pbil"], popsizes=[20, 50])
    turned = study(problems=["trap:k=4,n=8", "onemax:n=8"], algorithms=["pbil", "umda"], popsizes=[50, 20, 100])
    assert len(set(keys(two))) == 8
    assert set(keys(two)) < set(keys(turned))
    assert cell().key in keys(two)


@pytest.mark.parametrize("problem", [{"problem": "nk:a.nk"}, {"problem": "score.py:f", "n": 6}])
def test_a_file_is_known_by_what_is_in_it(folder: Path, tmp_path: Path, problem: dict[str, Any]) -> None:
    def key(place: Path, **changes: Any) -> str:
        (only,) = keys(Study.from_dict(BASE | {"problems": [problem | changes]}, folder=place))
        return only

    here = key(folder)
    elsewhere = shutil.copytree(folder, tmp_path / "elsewhere")
    assert key(elsewhere) == here
    shutil.copy(folder / "a.nk", folder / "b.txt")
    shutil.copy(folder / "score.py", folder / "other.py")
    renamed = problem["problem"].replace("a.nk", "b.txt").replace("score.py", "other.py")
    assert key(folder, problem=renamed) == here
    third = shutil.copytree(folder, tmp_path / "third")
    write_nk(NK.random(6, 2, 4), third / "a.nk")
    with (third / "score.py").open("a") as file:
        file.write("# one more line\n")
    assert key(third) != here


@pytest.mark.parametrize("problem", [{"problem": "nk:a.nk"}, {"problem": "score.py:f", "n": 6}])
def test_a_file_that_changes_in_its_place_has_another_key(folder: Path, problem: dict[str, Any]) -> None:
    given = BASE | {"problems": [problem]}
    before = keys(Study.from_dict(given, folder=folder))
    write_nk(NK.random(6, 2, 4), folder / "a.nk")
    with (folder / "score.py").open("a") as file:
        file.write("# one more line\n")
    assert keys(Study.from_dict(given, folder=folder)) != before


def test_functions_of_one_file_have_keys_of_their_own(folder: Path) -> None:
    variants = [
        {"problem": "score.py:f", "n": 6},
        {"problem": "score.py:f", "n": 7},
        {"problem": "score.py:g", "n": 6},
        {"problem": "score.py:g", "n": 6, "by_row": True},
        {"problem": "score.py:f", "n": 6, "minimize": True},
        {"problem": "score.py:f", "n": 6, "target": 1},
    ]
    problems = [{"name": str(index)} | variant for index, variant in enumerate(variants)]
    assert len(set(keys(Study.from_dict(BASE | {"problems": problems}, folder=folder)))) == len(variants)


def test_a_study_comes_back_though_its_files_are_gone(folder: Path) -> None:
    problems = ["nk:a.nk", {"name": "mine", "problem": "score.py:f", "n": 5, "target": 3, "by_row": True}]
    one = Study.from_dict(BASE | {"problems": problems}, folder=folder)
    expected, kept = keys(one), json.dumps(one.as_dict())
    contents = [problem.content for problem in one.problems]
    shutil.rmtree(folder)
    back = Study.from_dict(json.loads(kept), stored=True)
    assert [problem.content for problem in back.problems] == contents
    assert keys(back) == expected
    assert [problem.name for problem in back.problems] == ["nk:a.nk", "mine"]
    assert json.dumps(back.as_dict()) == kept
    with pytest.raises(ValueError, match=r"expected a Python file at .*score.py, found none"):
        back.cells()[1].job(0).run()  # it can be shown, not run


def test_another_version_has_runs_of_its_own() -> None:
    def key(**more: object) -> str:
        given = {"problems": [{"problem": "onemax:n=8", **more}], "algorithms": ["umda"], "popsizes": [20]}
        study = Study.from_dict(given)
        assert Study.from_dict(study.as_dict(), stored=True) == study
        assert ("version" in study.problems[0].content) == ("version" in more)  # or old stores would be worth nothing
        return study.cells()[0].key

    assert len({key(), key(version="2"), key(version="3")}) == 3
    for wrong in ("", 2, None):
        with pytest.raises(ValueError, match="expected version to be text, got version="):
            key(version=wrong)


@pytest.mark.parametrize("wrong", [0, -1.5, math.nan, math.inf, True, "5 s", [1], 10**400])
def test_a_timeout_is_a_number_of_seconds(wrong: object) -> None:
    given = {"problems": [{"problem": "onemax:n=8", "timeout": wrong}], "algorithms": ["umda"]}
    with pytest.raises(ValueError, match="expected timeout to be a number of seconds above 0, got timeout="):
        Study.from_dict(given)


def test_a_timeout_makes_no_other_runs() -> None:
    studies = [
        Study.from_dict({"problems": [{"problem": "onemax:n=8"} | more], "algorithms": ["umda"], "popsizes": [20]})
        for more in ({}, {"timeout": 2}, {"timeout": 0.5})
    ]
    assert len({study.cells()[0].key for study in studies}) == 1
    assert [study.cells()[0].job(1).timeout for study in studies] == [None, 2.0, 0.5]
    assert all(Study.from_dict(study.as_dict(), stored=True) == study for study in studies)


def test_a_study_is_the_same_from_any_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are known by what is in them, so a store has one study, not one for each way to name it."""
    (folder / "study.toml").write_text(
        'algorithms = ["umda"]\nproblems = [{ problem = "score.py:f", n = 6, target = 6 }]\n', encoding="utf-8"
    )
    monkeypatch.chdir(folder.parent)
    ways = [
        folder / "study.toml",
        Path(folder.name) / "study.toml",
        Path(folder.name) / ".." / folder.name / "study.toml",
    ]
    texts = {json.dumps(Study.from_file(way).as_dict(), sort_keys=True) for way in ways}
    assert len(texts) == 1
