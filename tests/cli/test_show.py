"""`sonnx-ort show`: records and certificates as pages."""

import hashlib
import json
import os
import re
import threading
from pathlib import Path

import onnx
import pytest

from support.command import command, refusal
from support.graphs import parse

MODEL = """(int32[n] x, int32[n] y, float[3] a, float[1] b) => (int32[n] z, float[3] c) {
    [divide] z = Div(x, y)
    [scale] c = Div(a, b)
}"""

WAIVER = """
[[waiver]]
rule = "Div.float.R1"
node = "scale"
reason = "B is <one> number"
who = "safety board"
until = 9999-12-31
"""


@pytest.fixture(autouse=True, scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("show")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        onnx.save(parse(MODEL), "m.onnx")
        Path("waivers.toml").write_text(WAIVER, encoding="utf-8")
        Path("use.toml").write_text("[inputs.a]\nrange = [0, 1]\n", encoding="utf-8")
        own = ["--operators", "Div,Sub", "--contract", "use.toml"]
        waived = [*own, "--waivers", "waivers.toml"]
        command("check", "m.onnx", *own, "--record", "check.json")
        command("check", "m.onnx", *waived, "--record", "waived.json")
        command("rewrite", "m.onnx", *waived, "-o", "e.onnx", "--record", "rewrite.json")
        command("certify", "m.onnx", *own, "-o", "c.json")
    return made


@pytest.fixture(autouse=True)
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def shown(file: str, *options: str) -> str:
    done = command("show", file, "-o", "page.html", *options)
    assert (done.returncode, done.stdout, done.stderr) == (0, "page.html: written\n", "")
    return Path("page.html").read_text(encoding="utf-8")


def heads(page: str) -> list[str]:
    found = re.findall(r"</svg> ([^<]*)<span class=\"remark\">(\w+ \w+)</span></h3>", page)
    return [f"{head}{count}" for head, count in found]


VERDICTS = {
    "check.json": ("Violated", "9 checks: 1 missed, 4 left to runs, 4 proved"),
    "waived.json": ("Violated, and waived", "9 checks: 1 waived, 4 left to runs, 4 proved"),
    "rewrite.json": (
        "Violated, and waived",
        "10 checks: 1 waived, 4 checked in each run, 5 proved",
    ),
}


@pytest.mark.parametrize("file", VERDICTS)
def test_page_of_a_record_counts_how_obligations_are_met(file: str) -> None:
    word, counts = VERDICTS[file]
    page = shown(file)
    assert f'<p class="word">{word}</p><p>{counts}.</p>' in page


def test_page_has_each_obligation_of_the_record_once() -> None:
    page = shown("rewrite.json")
    claims = json.loads(Path("rewrite.json").read_text(encoding="utf-8"))["declarations"]["claims"]
    assert page.count('class="place"') == len(claims) == 10
    rules = ("Div.int.R1", "Div.int.C1", "Div.int.C2", "Contract.range")
    in_runs = [f"checked in each run: {rule} 1 check" for rule in rules]
    assert heads(page)[:5] == ["waived: Div.float.R1 1 check", *in_runs]
    assert "waiver by safety board until 9999-12-31: B is &lt;one&gt; number" in page


def test_page_of_a_record_names_models_contract_and_the_file_itself() -> None:
    page = shown("rewrite.json")
    for name in ("m.onnx", "e.onnx"):
        digest = hashlib.sha256(Path(name).read_bytes()).hexdigest()
        assert f"<td><bdi>{name}</bdi></td><td><code>{digest}</code></td>" in page
    assert "<td><bdi>value &#x27;a&#x27;</bdi></td><td><bdi>0 to 1</bdi></td>" in page
    digest = hashlib.sha256(Path("rewrite.json").read_bytes()).hexdigest()
    assert f"<dt>SHA-256 of the record</dt><dd><bdi>{digest}</bdi></dd>" in page


def test_page_of_a_certificate_counts_obligations_by_rule() -> None:
    page = shown("c.json")
    content = json.loads(Path("c.json").read_text(encoding="utf-8"))
    count = len(content["obligations"])
    assert f'<p class="word">A certificate of {count} checks</p>' in page
    assert "<code>sonnx-ort certify MODEL --check c.json</code> follows the proofs." in page
    assert len(re.findall("<tr><td><code>Div", page)) == len({r for _, r in content["obligations"]})


@pytest.mark.parametrize("file", ["rewrite.json", "c.json"])
def test_who_ran_it_and_when_is_said_by_its_user_alone(file: str) -> None:
    plain = shown(file)
    assert shown(file) == plain
    assert "Run by" not in plain
    said = shown(file, "--author", "<A> team", "--date", "2026-11-29")
    who = "<div><dt>Run by</dt><dd><bdi>&lt;A&gt; team</bdi></dd></div>"
    when = "<div><dt>Date</dt><dd><bdi>2026-11-29</bdi></dd></div>"
    assert said.replace(who + when, "") == plain


@pytest.mark.parametrize("file", ["rewrite.json", "c.json"])
def test_page_loads_and_runs_nothing(file: str) -> None:
    page = shown(file)
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.parametrize(("line", "said"), [
    ("c.json -o c.json",
     "'c.json' cannot be written: it would replace the input 'c.json'; name another file"),
    ("c.json -o p.html --date today",
     "--date today: the form is YYYY-MM-DD, such as 2026-11-29"),
    ("m.onnx -o p.html", "'m.onnx' is not JSON: "),
    ("other.json -o p.html", "'other.json' is not a record of sonnx_ort"),
    ("cut.json -o p.html", "'cut.json' is no certificate: "),
])  # fmt: skip
def test_what_cannot_be_shown_is_told(line: str, said: str) -> None:
    Path("other.json").write_text("{}", encoding="utf-8")
    Path("cut.json").write_text('{"obligations": 1}', encoding="utf-8")
    assert refusal("show", *line.split()).startswith(f"sonnx-ort: {said}")
    assert not Path("p.html").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
@pytest.mark.parametrize("file", ["check.json", "c.json"])
def test_file_is_read_once(file: str, tmp_path: Path) -> None:
    """A pipe gives its content once."""
    pipe = tmp_path / file
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(Path(file).read_bytes(),))
    writer.start()
    page = shown(str(pipe))
    writer.join()
    assert page == shown(file)
