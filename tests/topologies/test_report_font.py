"""The font of a report's PDFs: cut where that serves, whole where it does not."""

from __future__ import annotations

import pytest
from csaud_topologies.report import drawing, font
from csaud_topologies.report.drawing import Drawn, new_figure
from fontTools.ttLib import TTCollection, TTFont
from matplotlib.font_manager import FontProperties, findfont


@pytest.mark.parametrize(("label", "is_cut"), [("Übertragen, µs", True), ("λ, Mbit/s", False)])
def test_a_pdf_is_drawn_in_the_cut_font_where_that_has_all_its_letters(monkeypatch, label, is_cut):
    def size_of_pdf() -> int:
        figure, axes = new_figure()
        axes.set_xlabel(label)
        return len(Drawn(figure, {}).pdf())

    size = size_of_pdf()
    monkeypatch.setattr(drawing, "pdf_font", lambda texts: {})
    assert (size < 0.8 * size_of_pdf()) == is_cut


@pytest.fixture
def no_font_yet():
    font._cut_font.cache_clear()
    yield
    font._cut_font.cache_clear()


@pytest.mark.usefixtures("no_font_yet")
def test_without_room_for_the_cut_font_pdfs_have_the_whole(monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    assert font.pdf_font("step") == {}
    monkeypatch.undo()
    assert font.pdf_font("step") != {}


@pytest.mark.usefixtures("no_font_yet")
def test_a_font_that_cannot_be_cut_is_left_whole(monkeypatch, tmp_path):
    fonts = TTCollection()
    fonts.fonts = [TTFont(findfont(FontProperties()))] * 2
    fonts.save(tmp_path / "both.ttc")
    monkeypatch.setattr(font, "findfont", lambda asked: str(tmp_path / "both.ttc"))
    assert font.pdf_font("step") == {}
