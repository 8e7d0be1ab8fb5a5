from __future__ import annotations

from pathlib import Path

from tests.programs.desk.picture import pixel

from postroom.programs.desk.window.picture import png


def test_a_picture_is_a_png_with_every_pixel_in_its_place(tmp_path: Path) -> None:
    file = tmp_path / "picture.png"
    file.write_bytes(png(2, 2, bytes.fromhex("ff0000 00ff00 0000ff 123456")))
    assert file.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert [pixel(file, x, y) for y in (0, 1) for x in (0, 1)] == ["#ff0000", "#00ff00", "#0000ff", "#123456"]
