"""Bundled files are found by one function, in a clone and in an installed package."""

from pathlib import Path

import pytest

from turnleaf.services import resources
from turnleaf.services.resources import resource

CLONE = Path(__file__).resolve().parents[2]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package with resources of its own."""
    made = tmp_path / "site-packages" / "turnleaf"
    (made / "resources" / "fonts").mkdir(parents=True)
    (made / "resources" / "fonts" / "a.otf").touch()
    monkeypatch.setattr(resources, "_PACKAGE", made)
    return made


def test_clone_serves_its_resources_folder() -> None:
    assert resource("fonts/Inter-Regular.otf") == CLONE / "resources/fonts/Inter-Regular.otf"
    assert resource("fonts").is_dir()


def test_installed_package_serves_its_own(package: Path) -> None:
    assert resource("fonts/a.otf") == package / "resources" / "fonts" / "a.otf"


def test_missing_file_is_named_with_its_place(package: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"fonts/none\.otf is missing from .*resources; install Turnleaf again"):
        resource("fonts/none.otf")


@pytest.mark.parametrize("name", ["../pyproject.toml", "fonts/../../x", "/etc/passwd", "fonts\\x", "a\0b"])
def test_name_that_leads_out_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="does not name a bundled file"):
        resource(name)
