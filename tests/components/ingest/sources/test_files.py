import json

import pytest

from components.ingest import digest
from components.ingest.errors import DataError
from components.ingest.sources import files


@pytest.fixture
def folder(tmp_path):
    for name in ("a/1.csv", "a/2.csv", "b/1.csv", "b/deep/3.csv", "b/notes.txt"):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "data"


@pytest.mark.parametrize("scheme", ["", "file://"])
@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        (["a/1.csv"], ["1.csv"]),
        (["a/*.csv"], ["1.csv", "2.csv"]),
        (["*/1.csv"], ["a/1.csv", "b/1.csv"]),
        (["**/*.csv"], ["a/1.csv", "a/2.csv", "b/1.csv", "b/deep/3.csv"]),
        (["b/[a-n]*.txt", "a/2.csv", "a/*"], ["a/1.csv", "a/2.csv", "b/notes.txt"]),
    ],
)
def test_wildcards_name_the_same_files_on_every_file_system(folder, scheme, patterns, names):
    found = files.list_files([f"{scheme}{folder}/{pattern}" for pattern in patterns])
    assert [file.name for file in found] == names
    assert all(
        file.open_stream().read().decode().endswith(file.name.split("/")[-1]) for file in found
    )


def test_a_files_name_does_not_depend_on_which_others_there_are(folder):
    pattern = [f"{folder}/*/1.csv"]
    before = files.list_files(pattern)[0].name
    (folder / "b" / "1.csv").unlink()
    assert files.list_files(pattern)[0].name == before


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_file_that_changes_has_another_stamp_and_digest(folder, scheme, tmp_path):
    (file,) = files.list_files([f"{scheme}{folder}/a/1.csv"])
    digests = []
    for text in ("one", "three"):
        (folder / "a" / "1.csv").write_text(text)
        digests.append((file.stamp(), digest.files_digest({"1": file}, tmp_path)))
    assert digests[0][0] != digests[1][0] and digests[0][1] != digests[1][1]


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        (["a/3.csv"], r'which names none. Did you mean "2.csv" or "1.csv"\?'),
        (["a"], r'which is a folder. Name the files in it with a wildcard, such as ".*/a/\*.csv"'),
        (["c/*"], r"which names none. Correct the path"),
        (
            ["a**.csv"],
            r"Expected \*\* in data.source.path to stand alone .* Received: .*/a\*\*.csv",
        ),
        (
            ["a" * 300],
            r"Expected to look for .*, but: File name too long. Correct data.source.path",
        ),
    ],
)
def test_a_path_that_names_nothing_is_told(folder, patterns, message):
    with pytest.raises(DataError, match=message):
        files.list_files([f"{folder}/{pattern}" for pattern in patterns])


def test_the_home_of_nobody_is_told():
    with pytest.raises(DataError, match=r"home folder of somebody .* Received: ~no-such-user/a"):
        files.list_files(["~no-such-user/a.csv"])


def test_files_of_two_file_systems_are_refused(folder):
    with pytest.raises(DataError, match=r"to be on one file system"):
        files.list_files([f"{folder}/a/1.csv", f"file://{folder}/a/2.csv"])


def test_a_file_that_is_gone_is_told(folder):
    (file,) = files.list_files([f"{folder}/a/1.csv"])
    (folder / "a" / "1.csv").unlink()
    with pytest.raises(DataError, match=r"Expected to read .*1.csv, but: .*Restore the file"):
        file.open_stream()


def test_a_file_of_an_installed_package_is_found_without_importing_it():
    (found,) = files.list_files(["package://json/__init__.py"])
    assert found.name == "__init__.py"
    assert found.uri == json.__file__


@pytest.mark.parametrize("package", ["no_such_package", "os", "a-b"])
def test_a_package_that_is_not_there_is_named(package):
    with pytest.raises(DataError, match=f"Expected {package} to be an installed package. Received"):
        files.list_files([f"package://{package}/data.csv"])
