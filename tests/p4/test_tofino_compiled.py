"""p4c's Tofino backend compiles p4src/tna for both chips, what it made fits, and bfas assembles it."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.p4.test_split_icrc import ICRC_P4, bits_of, fields, hashes, inputs, without_comments
from tests.p4.test_tofino import P4SRC, ROOT, compile_tna, load

BUILT = ROOT / "build" / "tofino"
"""Where `make p4-tofino` compiles to."""
PATIENCE_S = 5400
"""p4c takes fourteen minutes of a core for Tofino 2, where nothing else runs."""

HAS_COMPILER = shutil.which(compile_tna.COMPILER) is not None
WHY_NOT = "p4c-barefoot (p4c with its Tofino backend) is not on PATH"
needs_compiler = pytest.mark.skipif(not HAS_COMPILER, reason=WHY_NOT)


def is_of_these_sources(folder: Path) -> bool:
    """Has the program as it is now been compiled there?"""
    made_of = folder / compile_tna.SOURCES
    return made_of.is_file() and made_of.read_text() == compile_tna.source_digest()


@pytest.fixture(scope="module", params=sorted(compile_tna.TARGETS))
def compiled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, str]:
    """The target's name, its folder, and what the compiler said.

    What `make p4-tofino` left is taken if it is of these sources.
    """
    name: str = request.param
    if is_of_these_sources(BUILT / name):
        return name, BUILT / name, (BUILT / name / "compiler.log").read_text()
    if not HAS_COMPILER:
        pytest.skip(WHY_NOT)
    folder = tmp_path_factory.mktemp(name)
    return name, folder, compile_tna.compile_into(folder, compile_tna.TARGETS[name])


@pytest.mark.timeout(PATIENCE_S)
class TestCompiled:
    def test_without_errors(self, compiled: tuple[str, Path, str]) -> None:
        _, folder, said = compiled
        assert "error" not in said.lower().replace("0 errors", "")
        assert compile_tna.assembly(folder).stat().st_size > 0

    def test_the_chip_has_as_many_stages(self, compiled: tuple[str, Path, str]) -> None:
        name, folder, _ = compiled
        taken = compile_tna.check_fit(folder, compile_tna.TARGETS[name])
        assert taken.keys() >= {"ingress", "egress"}

    def test_it_takes_no_more_than_there_is(self, compiled: tuple[str, Path, str]) -> None:
        _, folder, _ = compiled
        taken = load("tofino_resources").used_and_there(folder)
        assert len(taken) >= 12 and taken["SRAM blocks"][0] > 0
        assert not {name: numbers for name, numbers in taken.items() if numbers[0] > numbers[1]}

    def test_its_parsers_choose(self, compiled: tuple[str, Path, str]) -> None:
        _, folder, _ = compiled
        assert compile_tna.check_parsers(folder) > 10
        # IPv4 and ARP, the two UDP ports, magic and version: on either side of the queue
        wanted = {"0x0800", "0x0806", "0x12b7", "0xc27f", "0xc5a1"}
        code = compile_tna.assembly(folder).read_text()
        for side in ("ingress", "egress"):
            parser = re.split(r"^(?:de)?parser ", code.split(f"\nparser {side}:")[1], flags=re.M)[0]
            assert wanted <= set(re.findall(r"^      (0x\w+):", parser, flags=re.M))

    def test_its_description_is_the_committed_one(self, compiled: tuple[str, Path, str]) -> None:
        name, folder, _ = compiled
        committed = compile_tna.ARTIFACTS / name / compile_tna.DESCRIPTION
        assert (folder / compile_tna.DESCRIPTION).read_text() == committed.read_text()

    def test_the_compiler_sees_the_crc_of_the_split_icrc_as_it_is_meant(
        self, compiled: tuple[str, Path, str]
    ) -> None:
        """What its hash adds whatever the packet holds: constants in the text, the CRC's start and end."""
        _, folder, _ = compiled
        program = without_comments(ICRC_P4.read_text())
        nothing = {name: "0" * len(value) for name, value in fields(bytes(84)).items()}
        wanted = hashes(program)["of_network"].of(
            "".join(bits_of(item, nothing) for item in inputs(program)["of_network"])
        )
        table = (
            compile_tna.assembly(folder).read_text().split("tbl_icrc_network_part ")[1].split("gateway:")[0]
        )
        seeds = [int(seed, 16) for seed in re.findall(r"seed: (0x[0-9a-f]+)", table)]
        # Each unit of 16 bits of the hash lies somewhere among the 52 bits of its group.
        units = [seed >> at & 0xFFFF for seed in seeds for at in (0, 16, 32)]
        assert sorted(filter(None, units)) == sorted([wanted & 0xFFFF, wanted >> 16])

    def test_it_assembles(self, compiled: tuple[str, Path, str], tmp_path: Path) -> None:
        name, folder, _ = compiled
        if shutil.which(compile_tna.ASSEMBLER) is None:
            pytest.skip("bfas (the assembler of p4c's Tofino backend) is not on PATH")
        copy = tmp_path / name
        shutil.copytree(folder, copy)
        compile_tna.assemble(copy, compile_tna.TARGETS[name])
        assert (copy / "pipe" / f"{name}.bin").stat().st_size > 0
        assert json.loads((copy / "pipe" / "context.json").read_text())["tables"]


@needs_compiler
@pytest.mark.timeout(PATIENCE_S)
def test_a_mistake_in_the_program_is_an_error_that_names_its_place(tmp_path: Path) -> None:
    shutil.copytree(P4SRC, tmp_path / "p4src")
    route = tmp_path / "p4src" / "tna" / "route.p4"
    line = next(n for n, text in enumerate(route.read_text().splitlines(), 1) if "hdr.ipv4.ttl - 1" in text)
    route.write_text(route.read_text().replace("hdr.ipv4.ttl - 1", "hdr.ipv4.hops - 1"))
    with pytest.raises(compile_tna.subprocess.CalledProcessError) as failed:
        compile_tna.compile_into(tmp_path / "out", compile_tna.TARGETS["tofino"], tmp_path / "p4src")
    assert re.search(rf"route\.p4\({line}\).*error", failed.value.output)


@pytest.mark.parametrize(("stages", "fits"), [(12, True), (13, False)])
def test_more_stages_than_the_chip_has_are_noticed(tmp_path: Path, stages: int, fits: bool) -> None:
    code = compile_tna.assembly(tmp_path)
    code.parent.mkdir()
    code.write_text("".join(f"stage {n} ingress:\n  exact_match t:\n" for n in range(stages)))
    if fits:
        assert compile_tna.check_fit(tmp_path, compile_tna.TARGETS["tofino"]) == {"ingress": stages}
    else:
        with pytest.raises(compile_tna.DoesNotFit, match=r"tofino has 12 stages.*13"):
            compile_tna.check_fit(tmp_path, compile_tna.TARGETS["tofino"])


STATE = """\
parser ingress:
  start: start
  states:
    start:
      *:
        load: {{ half : 12..13 }}
        next: split
    split:
{ways}
deparser ingress:
  dictionary: {{}}
"""
CHOOSES = """\
      match: [ half ]
      0x0800:
        next: ipv4
      0x****:
        next: end"""
LOST = """\
      *:
        next: ipv4
      *:
        next: end"""
ONE_LEFT = """\
      *:
        next: ipv4"""


@pytest.mark.parametrize(
    ("ways", "error"),
    [(CHOOSES, ""), (LOST, r"state split .* two ways for \*"), (ONE_LEFT, "no state")],
    ids=["chooses", "lost", "one left"],
)
def test_a_compiler_that_loses_what_the_parser_chooses_by_is_noticed(
    tmp_path: Path, ways: str, error: str
) -> None:
    code = compile_tna.assembly(tmp_path)
    code.parent.mkdir()
    code.write_text(STATE.format(ways=ways))
    if error:
        with pytest.raises(compile_tna.LostSelect, match=error):
            compile_tna.check_parsers(tmp_path)
    else:
        assert compile_tna.check_parsers(tmp_path) == 1
