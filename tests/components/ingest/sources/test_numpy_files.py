import io

import numpy as np
import PIL.Image
import pytest
import soundfile

from components.ingest import example, ingest, resolve
from components.ingest.config import DataConfig
from components.ingest.errors import DataError
from components.ingest.sources import numpy_files
from components.ingest.sources.base import Reject

RANDOM = np.random.default_rng(0)
IMAGES = RANDOM.integers(0, 256, (6, 5, 4, 3), np.uint8)
MATRIX = RANDOM.normal(size=(6, 3)).astype(np.float32)
LABELS = np.array([0, 1, 2, 0, 1, 2])


def config(path, columns=None, source=None, **changes):
    kinds = columns or {f"x[{index}]": "number" for index in range(3)}
    values = {
        "source": {"kind": "numpy", "path": str(path), **(source or {})},
        "table": {"columns": {name: {"kind": kind} for name, kind in kinds.items()}},
        "label": {"source_name": "y", "class_names": ["ant", "bee", "cat"]},
        "splits": {"test_share": 0.1},
    }
    return DataConfig.from_dict({**values, **changes})


def image_config(path, source=None, **image):
    sizes = {"source_name": "x", "height_px": 5, "width_px": 4, "channels": 3, **image}
    return config(path, source=source, table=None, image=sizes)


def read(data):
    return [row for block in resolve.open_source(data, None).blocks() for row in block.rows()]


def numbers(rows, names=("x[0]", "x[1]", "x[2]")):
    found = [example.decode_example(row.example) for row in rows]
    return np.array([[row[name][0] for name in names] for row in found], np.float32)


def pixels(row):
    content = example.decode_example(row.example)["image"][0]
    return np.asarray(PIL.Image.open(io.BytesIO(content)))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_images_and_labels_are_arrays_of_one_file(tmp_path, save, monkeypatch):
    monkeypatch.setattr(numpy_files, "_BLOCK_BYTES", 200)
    save(tmp_path / "a.npz", x=IMAGES, y=LABELS, unused=np.array([{}]))
    rows = read(image_config(tmp_path / "a.npz"))
    np.testing.assert_array_equal([pixels(row) for row in rows], IMAGES)
    assert [row.label for row in rows] == LABELS.tolist()
    assert [row.key for row in rows] == [f"a.npz:{index}" for index in range(6)]


@pytest.mark.parametrize("images", [IMAGES[..., 0], IMAGES[..., :1]])
def test_grey_images_may_lack_the_last_axis(tmp_path, images):
    np.savez(tmp_path / "a.npz", x=images, y=LABELS)
    rows = read(image_config(tmp_path / "a.npz", channels=1))
    np.testing.assert_array_equal([pixels(row) for row in rows], IMAGES[..., 0])


def test_transparency_is_dropped(tmp_path):
    opaque = np.concatenate([IMAGES, IMAGES[..., :1]], axis=3)
    np.savez(tmp_path / "a.npz", x=opaque, y=LABELS)
    rows = read(image_config(tmp_path / "a.npz"))
    np.testing.assert_array_equal([pixels(row) for row in rows], IMAGES)


def test_labels_may_lie_in_files_of_their_own(tmp_path):
    for part in range(2):
        np.save(tmp_path / f"images-{part}.npy", IMAGES[3 * part : 3 * part + 3])
        np.save(tmp_path / f"labels-{part}.npy", LABELS[3 * part : 3 * part + 3])
    source = {"labels_path": str(tmp_path / "labels-*.npy")}
    rows = read(image_config(tmp_path / "images-*.npy", source))
    np.testing.assert_array_equal([pixels(row) for row in rows], IMAGES)
    assert [row.label for row in rows] == LABELS.tolist()


def test_arrays_named_by_split_as_keras_names_them_are_found(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, x_train=MATRIX, y_train=LABELS, x_test=-MATRIX[:3], y_test=LABELS[:3])
    data = config(path, source={"test_path": str(path)}, splits={})
    found = [
        (block.split, list(block.rows())) for block in resolve.open_source(data, None).blocks()
    ]
    assert [split for split, _ in found] == ["train", "test"]
    np.testing.assert_array_equal(numbers(found[0][1]), MATRIX)
    np.testing.assert_array_equal(numbers(found[1][1]), -MATRIX[:3])
    assert [rows[0].key for _, rows in found] == ["a.npz/train:0", "a.npz/test:0"]


@pytest.mark.parametrize(
    "matrix",
    [
        MATRIX,
        np.asfortranarray(MATRIX),
        MATRIX.astype(">f8"),
        MATRIX.astype(np.float16).astype(np.longdouble),
        MATRIX.round().astype(np.int8),
        MATRIX > 0,
    ],
)
def test_a_matrix_of_any_order_and_type_gives_its_columns_by_number(tmp_path, matrix, monkeypatch):
    monkeypatch.setattr(numpy_files, "_BLOCK_BYTES", 2 * matrix[0].nbytes + 16)
    np.savez(tmp_path / "a.npz", x=matrix, y=LABELS)
    rows = read(config(tmp_path / "a.npz"))
    np.testing.assert_array_equal(numbers(rows), matrix.astype(np.float32))


def test_fields_of_a_structured_array_are_columns_by_name(tmp_path):
    fields = [("size", "<f4"), ("colour", "U5"), ("code", "S3"), ("when", "M8[s]"), ("y", "U3")]
    table = np.zeros(2, fields)
    table["size"], table["colour"], table["code"] = [1.5, np.nan], ["größe", ""], [b"a", b"bc"]
    table["when"], table["y"] = np.datetime64("2026-01-01T12"), ["bee", "cat"]
    np.save(tmp_path / "a.npy", table)
    kinds = {"size": "number", "colour": "category", "code": "category"}
    splits = {"by": "time", "key": "when", "test_share": 0.1}
    rows = read(config(tmp_path / "a.npy", kinds, splits=splits))
    found = [example.decode_example(row.example) for row in rows]
    assert [(row["size"], row["colour"], row["code"], row["label"]) for row in found] == [
        ([1.5], ["größe".encode()], [b"a"], [1]),
        ([], [], [b"bc"], [2]),
    ]
    assert {row.time for row in rows} == {1767268800}


@pytest.mark.parametrize("kind", [np.float32, np.int16])
def test_rows_of_samples_become_recordings(tmp_path, kind):
    wave = np.sin(np.arange(800) / 9)
    wave = wave.astype(kind) if kind is np.float32 else np.round(wave * 32767).astype(kind)
    np.savez(tmp_path / "a.npz", x=np.stack([wave, wave]), y=LABELS[:2])
    audio = {"source_name": "x", "sample_rate_hz": 8000, "max_seconds": 0.1}
    rows = read(config(tmp_path / "a.npz", table=None, audio=audio))
    content = example.decode_example(rows[1].example)["audio"][0]
    found, rate_hz = soundfile.read(io.BytesIO(content), dtype="int16")
    expected = wave if kind is np.int16 else wave * 32768
    assert rate_hz == 8000
    np.testing.assert_allclose(found, np.clip(expected, -32768, 32767), atol=1)


def test_values_that_cannot_be_used_are_told_by_file_and_row(tmp_path):
    matrix = np.array([[1.0, 2.0, np.inf], [1.0, 1e300, 3.0], [np.nan, 2.0, 3.0]])
    np.savez(tmp_path / "a.npz", x=matrix, y=[0, 1, 9])
    found = [row for row in read(config(tmp_path / "a.npz")) if isinstance(row, Reject)]
    assert [reject.key for reject in found] == ["a.npz:0", "a.npz:1", "a.npz:2"]
    assert "its x[2] is inf, which is infinite" in found[0].reason
    assert "its x[1] is 1e+300, which is infinite or beyond 32-bit floats" in found[1].reason
    assert "its label 9 is outside data.label.class_names (0 to 2)" in found[2].reason


class Danger:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return io.open, (str(self.path), "w")


def test_objects_are_refused_with_the_reason_and_nothing_is_unpickled(tmp_path):
    trap = tmp_path / "trap"
    for name, save in (("a.npy", np.save), ("a.npz", lambda path, x: np.savez(path, x=x))):
        save(tmp_path / name, np.array([Danger(trap)] * 3))
        with pytest.raises(DataError, match=r"Python objects, which only unpickling .* runs what"):
            read(config(tmp_path / name))
    assert not trap.exists()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": MATRIX[:5], "y": LABELS}, r"as many rows .* Received: 5 of x, 6 of y"),
        ({"x": MATRIX[:0], "y": LABELS[:0]}, "at least one. Received: 0 of x, 0 of y"),
        ({"x": MATRIX[:, :2], "y": LABELS}, r'"x\[2\]" to be a column .* shape \(6, 2\)'),
        ({"x": MATRIX, "z": LABELS}, r'Expected an array "y" in .* Received: x, z'),
        ({"x": MATRIX, "y": MATRIX}, r'"y" in .* one value a row. Received: shape \(6, 3\)'),
        ({"x": MATRIX * 1j, "y": LABELS}, "numbers, texts or times. Received: complex64"),
        ({"x": np.float32(3), "y": LABELS}, "Received: a single value"),
    ],
)
def test_arrays_that_do_not_fit_the_recipe_are_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError, match=message):
        read(config(tmp_path / "a.npz"))


@pytest.mark.parametrize(
    ("images", "sizes", "message"),
    [
        (IMAGES / 255.0, {}, r"uint8 in \[0, 255\] .* Received: float64, .* \(255 \* images\)"),
        (IMAGES[0], {}, "Expected images of 5 x 4 px with 3 channels"),
        (IMAGES[..., :2], {}, r"1, 3 or 4 channels. Received: uint8, shape \(6, 5, 4, 2\)"),
        (IMAGES, {"height_px": 8}, "of 8 x 4 px with 3 channels.* Received: 5 x 4 px with 3 chan"),
    ],
)
def test_images_of_another_shape_or_type_are_refused_before_any_is_read(
    tmp_path, images, sizes, message
):
    np.savez(tmp_path / "a.npz", x=images, y=LABELS)
    with pytest.raises(DataError, match=message):
        read(image_config(tmp_path / "a.npz", **sizes))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "to be a NumPy file"),
        (b"a,b\n1,2\n", "to be a NumPy file"),
        (b"PK nothing" * 9, "to be a whole NumPy file, but: File is not a zip file"),
        (b"PK", "to be a whole NumPy file"),
        (b"\x93NUMPY\x01\x00\x76\x00{'descr'", "to be a NumPy file"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path, content, message):
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read(config(tmp_path / "a.npy"))


@pytest.mark.parametrize("extra", [-8, 8])
def test_an_array_that_is_cut_short_or_goes_on_is_named(tmp_path, extra):
    np.save(tmp_path / "x.npy", MATRIX)
    np.save(tmp_path / "y.npy", LABELS)
    content = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(content[:extra] if extra < 0 else content + b"\0" * extra)
    message = "the file ends after 64" if extra < 0 else "to end after its last row; more follows"
    with pytest.raises(DataError, match=message):
        read(config(tmp_path / "x.npy", source={"labels_path": str(tmp_path / "y.npy")}))


def test_damage_within_an_archive_is_found_by_its_checksum(tmp_path):
    np.savez(tmp_path / "a.npz", x=MATRIX, y=LABELS)
    content = (tmp_path / "a.npz").read_bytes()
    value = MATRIX[2].tobytes()
    (tmp_path / "a.npz").write_bytes(content.replace(value, bytes(len(value))))
    with pytest.raises(DataError, match="to be a whole NumPy file, but: Bad CRC-32 for file"):
        read(config(tmp_path / "a.npz"))


def test_files_of_labels_must_match_the_files_of_rows(tmp_path):
    np.save(tmp_path / "x0.npy", MATRIX)
    np.save(tmp_path / "x1.npy", MATRIX)
    np.save(tmp_path / "y0.npy", LABELS)
    source = {"labels_path": str(tmp_path / "y0.npy")}
    with pytest.raises(DataError, match="Received: 2 files of rows and 1 of labels"):
        read(config(tmp_path / "x?.npy", source=source))
    with pytest.raises(ValueError, match="labels of train; splits train, test"):
        config(tmp_path / "x0.npy", source={**source, "test_path": str(tmp_path / "x1.npy")})


def test_a_matrix_without_labels_says_where_to_name_them(tmp_path):
    np.save(tmp_path / "x.npy", MATRIX)
    with pytest.raises(DataError, match="Or name files of labels in data.source.labels_path"):
        read(config(tmp_path / "x.npy"))


def test_other_labels_give_another_dataset(tmp_path):
    matrix = RANDOM.normal(size=(300, 3))
    np.save(tmp_path / "x.npy", matrix)
    data = config(tmp_path / "x.npy", source={"labels_path": str(tmp_path / "y.npy")})
    digests = set()
    for step in (1, 2):
        np.save(tmp_path / "y.npy", np.arange(0, 300 * step, step) % 3)
        digests.add(ingest.ingest(data, seed=1, cache_dir=tmp_path / "cache").digest)
    assert len(digests) == 2
