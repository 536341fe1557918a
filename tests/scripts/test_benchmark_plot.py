"""The picture of the figures."""

import json
from importlib.util import find_spec
from xml.etree import ElementTree as ET

import pytest
from benchmarks import plot_command, theme
from benchmarks.overhead import Line, NoFigures, Panel, read_panels
from benchmarks.record import record

from support.benchmarks import measurement

SVG = "{http://www.w3.org/2000/svg}"

MEASURED = [
    measurement(100, onnxruntime=[10], native=[12], session=[30], jit=[10], checkify=[20]),
    measurement(1, onnxruntime=[10], native=[14], plain=[500]),
    measurement(1, "int32", onnxruntime=[10], python=[25]),
    measurement(1, "int32", nodes=100, onnxruntime=[10], python=[2500]),
]

PANELS = [
    Panel(
        "float32",
        [
            Line("native", {1: 1.4, 100: 1.2}),
            Line("plain", {1: 50.0}),
            Line("checkify", {100: 2.0}),
        ],
    ),
    Panel("int32", [Line("python", {1: 2.5})]),
]

needs_matplotlib = pytest.mark.skipif(
    find_spec("matplotlib") is None, reason="matplotlib is not installed"
)


@pytest.fixture
def results(tmp_path):
    """A file of figures."""
    file = tmp_path / "results.json"
    file.write_text(json.dumps(record({}, "", MEASURED)))
    return file


def test_panels_hold_the_median_ratios_of_single_nodes_by_size(results):
    panels = read_panels(results)
    assert [panel.element_type for panel in panels] == ["float32", "int32"]
    assert [[line.subject for line in panel.lines] for panel in panels] == [
        ["native", "plain", "checkify"],
        ["python"],
    ]
    assert [[dict(line.points) for line in panel.lines] for panel in panels] == [
        [pytest.approx(line.points) for line in panel.lines] for panel in PANELS
    ]
    assert list(panels[0].lines[0].points) == [1, 100]


def test_panel_in_words():
    assert PANELS[0].sentence() == (
        "float32: native 1.40 at 1 to 1.20 at 100, plain @onnx_op 50.0 at 1 to 50.0 at 1, "
        "checkify / jit 2.00 at 100 to 2.00 at 100."
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[]", "does not hold the figures that 'operators --json' writes: TypeError("),
        ("no JSON", "does not hold the figures that 'operators --json' writes: JSONDecodeError("),
        ('{"models": []}', "does not hold the figures that 'operators --json' writes: KeyError("),
        ('{"figures": []}', "holds no figures of a single Div on one thread"),
    ],
)
def test_file_without_figures_is_refused(tmp_path, content, reason):
    file = tmp_path / "results.json"
    file.write_text(content)
    with pytest.raises(NoFigures) as refused:
        read_panels(file)
    assert str(refused.value).startswith(f"'{file}' {reason}")


def test_file_that_is_not_there_ends_with_status_2_and_a_sentence(tmp_path, capsys):
    missing = str(tmp_path / "missing.json")
    assert plot_command.run([missing, str(tmp_path / "picture.svg")]) == 2
    assert capsys.readouterr().out.startswith(f"'{missing}' does not hold the figures")


def test_missing_matplotlib_ends_with_status_2_and_a_sentence(results, tmp_path, capsys):
    picture = tmp_path / "picture.svg"
    assert plot_command.run([str(results), str(picture)], find=lambda _: None) == 2
    assert capsys.readouterr().out == (
        "The package matplotlib is not installed; to plot: pip install '.[benchmark]'\n"
    )
    assert not picture.exists()


def test_picture_has_to_be_an_svg(results, tmp_path, capsys):
    with pytest.raises(SystemExit):
        plot_command.run([str(results), str(tmp_path / "picture.png")])
    assert "picture.png' is no SVG; name a file that ends in .svg" in capsys.readouterr().err


PLAIN_PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg"><metadata>made by</metadata>'
    '<rect style="fill: #ffffff; stroke: #24292f" /></svg>'
)


def parse(picture):
    return ET.fromstring(picture)  # noqa: S314 - our own


def accessible():
    return parse(theme.make_accessible(PLAIN_PICTURE, "A title", "A < B & more."))


def test_title_and_description_come_first_and_are_referred_to():
    root = accessible()
    assert root.get("role") == "img"
    assert [(e.tag, e.get("id"), e.text) for e in root[:2]] == [
        (f"{SVG}title", "title", "A title"),
        (f"{SVG}desc", "description", "A < B & more."),
    ]
    assert root.get("aria-labelledby") == "title description"


def test_metadata_of_the_program_that_drew_is_left_out():
    assert accessible().find(f"{SVG}metadata") is None


@pytest.mark.parametrize(("light", "dark"), theme.DARK.items())
def test_every_colour_has_another_one_in_the_dark(light, dark):
    style = accessible().findtext(f"{SVG}style")
    in_the_dark = style.partition("@media (prefers-color-scheme: dark) {")[2]
    for purpose in ("fill", "stroke"):
        assert f'[style*="{purpose}: {light}"] {{ {purpose}: {dark} !important }}' in in_the_dark


def luminance(color):
    channels = (int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    darker, lighter = sorted([luminance(one), luminance(other)])
    return (lighter + 0.05) / (darker + 0.05)


LINES = (theme.BLUE, theme.ORANGE, theme.RED, theme.PURPLE, theme.GREEN)


@pytest.mark.parametrize(
    ("color", "least"), [(theme.INK, 7), *((color, 4.5) for color in LINES), (theme.RULE, 3)]
)
def test_colours_stand_out_from_the_paper_in_light_and_dark(color, least):
    assert contrast(color, theme.PAPER) >= least
    assert contrast(theme.DARK[color], theme.DARK[theme.PAPER]) >= least


@pytest.fixture
def picture(results, tmp_path):
    """What the command draws."""
    file = tmp_path / "picture.svg"
    assert plot_command.run([str(results), str(file)]) == 0
    return file.read_text(encoding="utf-8")


@needs_matplotlib
def test_picture_names_every_panel_and_line_as_text(picture):
    texts = {element.text for element in parse(picture).iter(f"{SVG}text")}
    assert {"float32", "int32", "native", "python", "plain @onnx_op", "checkify / jit"} <= texts


@needs_matplotlib
def test_picture_uses_no_colour_without_another_in_the_dark(picture):
    body = picture.rpartition("</style>")[2]
    used = {word.strip('";') for word in body.split() if word.startswith("#") and len(word) > 6}
    assert {color for color in used if len(color) == 7} <= set(theme.DARK)


@needs_matplotlib
def test_picture_of_the_same_figures_is_the_same_text(results, tmp_path, picture):
    again = tmp_path / "again.svg"
    plot_command.run([str(results), str(again)])
    assert again.read_text(encoding="utf-8") == picture
