import pytest

from pipeline import config_errors, toml_file


def test_fault_in_the_text_names_its_place():
    with pytest.raises(config_errors.ConfigError, match="file x: Not valid TOML at line 2, column"):
        toml_file.parse("a = 1\nb = = 2\n", "file x")


def test_missing_file_is_told_with_the_cure(tmp_path):
    with pytest.raises(config_errors.ConfigError, match="There is no such file. Make one."):
        toml_file.read_text(tmp_path / "none.toml", "file x", cure="Make one.")


def test_folder_cannot_be_read(tmp_path):
    with pytest.raises(config_errors.ConfigError, match="cannot be read: Is a directory."):
        toml_file.read_text(tmp_path, "file x", cure="")


def test_file_in_another_encoding_is_refused_with_the_place(tmp_path):
    (tmp_path / "a.toml").write_bytes(b'a = "\xff"')
    with pytest.raises(config_errors.ConfigError, match="not UTF-8 text, at byte 5"):
        toml_file.read_text(tmp_path / "a.toml", "file x", cure="")
