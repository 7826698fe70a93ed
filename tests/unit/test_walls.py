"""The walls of the house: sizes, top-level names, layers' names, and that lock, README and configuration agree."""

import ast
import importlib.metadata
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import doc_processing_toolkit
import turnleaf

CLONE = Path(__file__).resolve().parents[2]
MODULE_LINES = 400
FUNCTION_LINES = 50
TOP_LEVEL = {"pyproject.toml", "app", "resources", "tests", "packaging", "README.md", "LICENSE"}
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "manager", "common", "misc"}
MODULES = sorted(CLONE.glob("app/**/*.py"))
PROJECT = tomllib.loads((CLONE / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def functions_of(module: Path) -> Iterator[tuple[str, int]]:
    """Yield each function of a module and its length in lines, from its first decorator to its end."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield node.name, (node.end_lineno or first) - first + 1


def requirements() -> list[Requirement]:
    """Return every dependency of the project, the extra `test` included."""
    lines = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]
    return [Requirement(line) for line in lines]


def locked() -> dict[str, list[tuple[str, bool]]]:
    """Return what the lock holds: name -> its versions, and whether the project itself asks for it."""
    pins: dict[str, list[tuple[str, bool]]] = {}
    text = (CLONE / "packaging/requirements.lock").read_text(encoding="utf-8")
    for entry in re.split(r"\n(?=[A-Za-z0-9])", text):
        match = re.match(r"([A-Za-z0-9._-]+)==([^\s;\\]+)", entry)
        if match:
            asked = re.search(r"^    #.*\bturnleaf\b", entry, re.MULTILINE) is not None
            pins.setdefault(canonicalize_name(match[1]), []).append((match[2], asked))
    return pins


def test_no_module_of_the_app_is_longer_than_400_lines() -> None:
    long = [
        f"{path.relative_to(CLONE)}: {n}"
        for path in MODULES
        if (n := path.read_text("utf-8").count("\n")) > MODULE_LINES
    ]
    assert long == []


def test_no_function_of_the_app_is_longer_than_50_lines() -> None:
    assert len(MODULES) > 20
    long = [
        f"{path.relative_to(CLONE)}: {name}: {lines}"
        for path in MODULES
        for name, lines in functions_of(path)
        if lines > FUNCTION_LINES
    ]
    assert long == []


def test_every_module_says_what_it_owns() -> None:
    silent = [str(path.relative_to(CLONE)) for path in MODULES if _is_silent(path)]
    assert silent == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    empty = [str(path.relative_to(CLONE)) for path in CLONE.glob("app/**/*") if path.stem in EMPTY_NAMES]
    assert empty == []


def test_G10_top_level_has_the_agreed_names_only() -> None:
    assert _top_level_names() == TOP_LEVEL


@pytest.mark.parametrize("folder", ["app", "packaging"])
def test_source_root_and_packaging_are_no_packages(folder: str) -> None:
    """`packaging/__init__.py` would stand in for the library of that name."""
    assert not (CLONE / folder / "__init__.py").exists()


def test_every_folder_of_code_is_a_package() -> None:
    folders = {path.parent for path in MODULES if path.parent != CLONE / "app"}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_lock_holds_exactly_what_the_project_asks_for() -> None:
    asked = {name for name, pins in locked().items() if any(by_project for _, by_project in pins)}
    assert asked == {canonicalize_name(requirement.name) for requirement in requirements()}


def test_locked_versions_satisfy_the_project() -> None:
    pins = locked()
    for requirement in requirements():
        versions = [version for version, _ in pins[canonicalize_name(requirement.name)]]
        assert any(requirement.specifier.contains(version, prereleases=True) for version in versions), requirement


def test_every_locked_package_has_hashes_and_no_index_of_one_machine() -> None:
    text = (CLONE / "packaging/requirements.lock").read_text(encoding="utf-8")
    entries = [entry for entry in re.split(r"\n(?=[A-Za-z0-9])", text) if "==" in entry]
    assert all("--hash=sha256:" in entry for entry in entries)
    assert not re.search(
        r"^\s*(--index-url|--extra-index-url|--find-links|--trusted-host)|://|file:", text, re.MULTILINE
    )


def test_readme_gives_the_reason_for_every_dependency() -> None:
    readme = (CLONE / "README.md").read_text(encoding="utf-8")
    decisions = readme.split("## Decisions", 1)[1]
    unexplained = {r.name for r in requirements() if f"`{r.name.lower()}`" not in decisions.lower()}
    assert unexplained == set()


def test_app_toolkit_and_project_have_one_version() -> None:
    assert {PROJECT["version"], turnleaf.__version__, doc_processing_toolkit.__version__} == {PROJECT["version"]}


def test_no_installed_package_is_under_the_gpl_or_agpl_alone() -> None:
    bound = {}
    for name in locked():
        try:
            metadata = importlib.metadata.metadata(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # for another Python or system
        told = [metadata.get("License-Expression") or "", (metadata.get("License") or "").split("\n")[0]]
        told += [text for text in metadata.get_all("Classifier") or [] if text.startswith("License ::")]
        if re.search(r"\bA?GPL|GNU (Affero )?General", " ".join(told)) and "LGPL" not in " ".join(told):
            bound[name] = told
    assert bound == {}


def test_bundled_fonts_are_at_most_six_and_carry_their_licences() -> None:
    fonts = CLONE / "resources/fonts"
    faces = [path.name for path in fonts.iterdir() if path.suffix in {".otf", ".ttf"}]
    licences = {path.name.removesuffix("-OFL.txt") for path in fonts.glob("*-OFL.txt")}
    assert 0 < len(faces) <= 6
    assert {name.split("-")[0] for name in faces} == licences


def _is_silent(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    return bool(text.strip()) and ast.get_docstring(ast.parse(text)) is None


def _top_level_names() -> set[str]:
    if (CLONE / ".git").exists() and shutil.which("git"):
        line = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(line, cwd=CLONE, capture_output=True, text=True, check=False)
        if listed.returncode == 0:
            names = {name.split("/")[0] for name in listed.stdout.split("\0") if name}
            return {name for name in names if not name.startswith(".")}
    return {path.name for path in CLONE.iterdir() if not path.name.startswith(".")}
