import gzip
import io
import tracemalloc
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from components.ingest import ingest
from components.ingest.errors import DataError
from components.ingest.sources import class_folder, encoded
from components.ingest.sources.base import Reject
from tests.components import data_factories

SPLITS = {"validation_share": 0.2, "test_share": 0.2}
ORIENTATION = 0x0112


def picture(mode: str = "RGB", size: tuple[int, int] = (4, 4), seed: int = 0) -> PIL.Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), np.uint8)
    return PIL.Image.fromarray(pixels).convert(mode)


def encode(image: PIL.Image.Image, image_format: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, image_format, **options)
    return buffer.getvalue()


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


@pytest.fixture
def folder(tmp_path):
    """30 pictures in each of three class folders."""
    for number in range(90):
        name = ("ant", "bee", "cat")[number % 3]
        write(tmp_path / "pictures" / name / f"{number}.png", encode(picture(seed=number)))
    return tmp_path / "pictures"


def config(folder: Path, *, resize: bool = False, labels_file: str | None = None, **changes):
    source = {"kind": "image_folder", "path": str(folder)}
    if labels_file is not None:
        source["labels_file"] = labels_file
    image = {"height_px": 4, "width_px": 4, "channels": 3, "resize": resize}
    return data_factories.data_config(
        **{"source": source, "image": image, "splits": SPLITS, **changes}
    )


def rows_of(data) -> list:
    source = class_folder.open_folder(data.source, data)
    return [row for block in source.blocks() for row in block.rows()]


def test_class_is_the_name_of_the_folder(folder):
    rows = rows_of(config(folder))
    assert len(rows) == 90
    assert all(row.label == row.key.split("/")[0] for row in rows)


def test_images_keep_their_bytes(folder):
    (row,) = [row for row in rows_of(config(folder)) if row.key == "bee/4.png"]
    assert row.features["image"] == (folder / "bee" / "4.png").read_bytes()


def test_folder_is_ingested_whole(folder, tmp_path):
    dataset = ingest.ingest(config(folder), seed=3, cache_dir=tmp_path / "cache")
    assert sum(split.num_rows for split in dataset.manifest.splits.values()) == 90


def test_new_file_gives_another_dataset(folder, tmp_path):
    first = ingest.ingest(config(folder), seed=3, cache_dir=tmp_path / "cache")
    write(folder / "ant" / "new.png", encode(picture(seed=1000)))
    second = ingest.ingest(config(folder), seed=3, cache_dir=tmp_path / "cache")
    assert first.digest != second.digest


def test_file_moved_to_another_class_gives_another_dataset(folder, tmp_path):
    first = ingest.ingest(config(folder), seed=3, cache_dir=tmp_path / "cache")
    (folder / "ant" / "0.png").rename(folder / "bee" / "0.png")
    second = ingest.ingest(config(folder), seed=3, cache_dir=tmp_path / "cache")
    assert first.digest != second.digest


def test_split_folders_are_taken_as_given(folder, tmp_path):
    for name in ("train", "test"):
        (tmp_path / "given").mkdir(exist_ok=True)
        if name == "train":
            folder.rename(tmp_path / "given" / name)
    for name in ("ant", "bee", "cat"):
        write(tmp_path / "given" / "test" / name / "1.png", encode(picture(seed=len(name))))
    data = config(tmp_path / "given", splits={"validation_share": 0.2})
    manifest = ingest.ingest(data, seed=3, cache_dir=tmp_path / "cache").manifest
    assert manifest.splits["test"].num_rows == 3


def test_files_in_deeper_folders_are_found_and_hidden_ones_are_not(tmp_path):
    write(tmp_path / "ant" / "deep" / "er" / "1.png", encode(picture()))
    write(tmp_path / "ant" / ".DS_Store", b"x")
    write(tmp_path / "ant" / "Thumbs.db", b"x")
    assert [row.key for row in rows_of(config(tmp_path))] == ["ant/deep/er/1.png"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"hello", "it is not an image that Pillow can read"),
        (encode(picture())[:-30], "the image is damaged"),
        (encode(picture(size=(64, 64)), "JPEG")[:-300], "the image is damaged"),
        (encode(picture(size=(5, 4))), "it has 4 x 5 px instead of 4 x 4"),
    ],
)
def test_file_that_cannot_be_used_is_rejected_with_the_reason(tmp_path, content, reason):
    write(tmp_path / "ant" / "bad.png", content)
    (row,) = rows_of(config(tmp_path, resize="px" not in reason))
    assert isinstance(row, Reject) and row.key == "ant/bad.png" and row.reason.startswith(reason)


def test_rejected_file_stops_the_run_by_name(folder, tmp_path):
    write(folder / "cat" / "zero.png", b"")
    with pytest.raises(
        DataError, match=r"cat/zero.png: the file is empty\).*data.rejects.max_share"
    ):
        ingest.ingest(config(folder), seed=3, cache_dir=tmp_path / "cache")


def test_folder_that_cannot_be_listed_by_its_extension_is_read_by_its_content(tmp_path):
    write(tmp_path / "ant" / "actually_a_png.jpg", encode(picture()))
    (row,) = rows_of(config(tmp_path))
    assert row.features["image"] == encode(picture())


@pytest.mark.parametrize(
    "content",
    [
        encode(picture("P"), "GIF", save_all=True, append_images=[picture("P", seed=9)]),
        encode(picture(), "BMP"),
        encode(picture(), "TIFF"),
        encode(picture(), "WEBP", lossless=True),
        encode(picture("CMYK"), "JPEG"),
        encode(picture("1"), "BMP"),
    ],
)
def test_other_formats_become_png_with_the_same_pixels(content):
    data = config(Path("/none"))
    converted = PIL.Image.open(io.BytesIO(encoded.normalise_image(content, data.image)[0]))
    assert (converted.format, converted.mode) == ("PNG", "RGB")
    expected = PIL.Image.open(io.BytesIO(content)).convert("RGB")
    np.testing.assert_array_equal(np.asarray(converted), np.asarray(expected))


def test_photograph_that_lies_on_its_side_is_turned_upright():
    exif = PIL.Image.Exif()
    exif[ORIENTATION] = 6
    sideways = encode(picture(size=(4, 4)), "PNG", exif=exif)
    upright = PIL.Image.open(
        io.BytesIO(encoded.normalise_image(sideways, config(Path("/n")).image)[0])
    )
    np.testing.assert_array_equal(np.asarray(upright), np.rot90(np.asarray(picture()), k=-1))


@pytest.mark.parametrize("mode", ["I;16", "LA", "RGBA", "P", "1"])
def test_every_kind_of_png_is_kept_as_it_is(mode):
    image = PIL.Image.new(mode, (4, 4)) if mode == "I;16" else picture(mode)
    content = encode(image)
    assert encoded.normalise_image(content, config(Path("/none")).image)[0] == content


def write_labels(folder: Path, text: str, encoding: str = "utf-8") -> None:
    (folder / "labels.csv").write_bytes(text.encode(encoding))


def test_labels_come_from_a_csv_file(folder):
    write_labels(folder, "label,file\r\ncat,ant/0.png\r\nbee,ant/3.png\r\n")
    rows = rows_of(config(folder, labels_file="labels.csv"))
    assert [(row.key, row.label) for row in rows] == [("ant/0.png", "cat"), ("ant/3.png", "bee")]


def test_csv_file_with_mark_and_quoted_names_is_read(folder):
    (folder / "ant" / "0.png").rename(folder / "a, b.png")
    write_labels(folder, '\ufefffile,label\n"a, b.png",cat\n')
    (row,) = rows_of(config(folder, labels_file="labels.csv"))
    assert row.key == "a, b.png"


def test_csv_file_gives_the_splits(folder):
    lines = "file,label,split\nant/0.png,ant,test\nant/3.png,ant,train\n"
    write_labels(folder, lines)
    data = config(folder, labels_file="labels.csv")
    source = class_folder.open_folder(data.source, data)
    assert {block.split: block.files[0].name for block in source.blocks()} == {
        "train": "ant/3.png",
        "test": "ant/0.png",
    }


@pytest.mark.parametrize(
    ("text", "encoding", "message"),
    [
        ("files,label\n", "utf-8", r'columns file and label.*without file. Did you mean "files"'),
        ("file,label\na.png\n", "utf-8", r"as many values as columns in .*, line 2. Received: "),
        ("file,label\na.png,ant,bee\n", "utf-8", r"as many values as columns in .*, line 2"),
        (
            "file,label,split\na.png,ant,trian\n",
            "utf-8",
            r'line 2, .* "trian". Did you mean "train"',
        ),
        ("file,label\nä.png,ant\n", "latin-1", r"labels.csv to be a CSV file in UTF-8, but"),
        ('file,label\n"a.png,ant\n', "utf-8", r"labels.csv to be a CSV file in UTF-8, but"),
        (
            "file,label\na.png,ant\nb.png,ant\na.png,bee\n",
            "utf-8",
            r"each file once in .* Received: a.png in line 2 and again in line 4",
        ),
        ("", "utf-8", r"to have the columns file and label. Received: \[\]"),
        ("file,label\n", "utf-8", r"to list files of the train split. Received: none"),
    ],
)
def test_csv_file_that_cannot_be_used_is_explained(folder, text, encoding, message):
    write_labels(folder, text, encoding)
    with pytest.raises(DataError, match=message):
        rows_of(config(folder, labels_file="labels.csv"))


def test_csv_file_may_be_compressed(folder):
    content = gzip.compress(b"\xef\xbb\xbffile,label\nant/0.png,bee\n")
    (folder / "labels.csv.gz").write_bytes(content)
    (row,) = rows_of(config(folder, labels_file="labels.csv.gz"))
    assert (row.key, row.label) == ("ant/0.png", "bee")
    (folder / "labels.csv.gz").write_bytes(content[:-9])
    with pytest.raises(DataError, match=r"labels.csv.gz, but: Compressed file ended before"):
        rows_of(config(folder, labels_file="labels.csv.gz"))


def test_a_tree_of_many_files_takes_little_memory_for_each(tmp_path):
    write(tmp_path / "image.png", encode(picture()))
    num_files = 6000
    for number in range(num_files):
        path = tmp_path / "tree" / ("ant", "bee", "cat")[number % 3] / f"{number % 50:03d}"
        path.mkdir(parents=True, exist_ok=True)
        (path / f"{number:07d}.png").hardlink_to(tmp_path / "image.png")
    data = config(tmp_path / "tree")
    tracemalloc.start()
    source = class_folder.open_folder(data.source, data)
    num_blocks = sum(1 for _ in source.blocks())
    names = [name for name, path in source.files().items() if path.name == name[-11:]]
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (len(names), num_blocks) == (num_files, -(-num_files // 32))
    assert peak_bytes / num_files < 600


def test_missing_csv_file_is_named(folder):
    with pytest.raises(DataError, match=r"Expected to read .*labels.csv, but: No such file"):
        rows_of(config(folder, labels_file="labels.csv"))


def test_listed_file_that_is_missing_is_named(folder, tmp_path):
    write_labels(folder, "file,label\nant/none.png,ant\n")
    with pytest.raises(DataError, match=r"Expected to read .*ant/none.png, but: No such file"):
        ingest.ingest(config(folder, labels_file="labels.csv"), seed=1, cache_dir=tmp_path)


def test_class_folder_that_is_not_a_class_is_refused_with_the_nearest(folder):
    (folder / "cats").mkdir()
    with pytest.raises(DataError, match=r'class_names. Received: "cats". Did you mean "cat"\?'):
        rows_of(config(folder))


def test_folder_without_classes_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"to hold one folder of files per class. Received: none"):
        rows_of(config(tmp_path))


def test_missing_folder_is_named(tmp_path):
    with pytest.raises(DataError, match=r"to be a folder. Received: .*nowhere, which is not"):
        rows_of(config(tmp_path / "nowhere"))


def test_relative_path_is_refused():
    with pytest.raises(ValueError, match=r'path must begin with / or ~.* Received: "photos"'):
        config(Path("photos"))
