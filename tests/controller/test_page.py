"""The page in a real browser, with what a large fabric says: no switch runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from csaud_controller import service
from csaud_controller.inventory import Fabric, fat_tree, leaf_spine
from csaud_controller.service import view

pytestmark = pytest.mark.browser

FOLDER = Path(service.__file__).with_name("page")
URL = "http://csaud.test"
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


def answers(fabric: Fabric) -> dict[str, str]:
    """What the service says, by path; nothing but the first link has lost packets."""
    topology = view.topology(fabric)
    idle = {"load": 0.0, "bit_s": 0.0, "marked": 0, "paths": [0] * 16}
    idle |= {"trimmed": 0, "bounced": 0, "congestion_dropped": 0, "injected": 0}
    links = [{"up": True, "drained": False, "out": [], "ends": [idle, idle]} for _ in topology["links"]]
    links[0]["ends"] = [{**idle, "trimmed": 7}, idle]
    moment = {
        "time": 0, "missing": [], "revision": 0, "drains": [], "links": links, "events": [],
        "policy": {"spray": "host", "loss_signal": "trim"},
        "switches": {name: {"connected": True, "alive": True, "error": ""} for name in fabric.switches},
    }  # fmt: skip
    return {
        "/v1/whoami": json.dumps({"name": "ann", "role": "viewer"}),
        "/v1/topology": json.dumps(topology),
        "/v1/stream": f"data: {json.dumps(moment)}\n\n",
        "/v1/changes": json.dumps({"changes": []}),
        "/v1/paths/history": json.dumps({"history": []}),
    }


def renamed(fabric: Fabric, names: dict[str, str]) -> Fabric:
    text = json.dumps(fabric.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    for old, new in names.items():
        text = text.replace(f'"{old}"', f'"{new}"')
    return Fabric.model_validate_json(text)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        yield made
        made.close()


def opened(browser: Any, fabric: Fabric, size: dict[str, int], scheme: str = "light") -> Any:
    """The page of `fabric`, drawn."""
    from playwright.sync_api import expect

    said = answers(fabric)

    def answer(route: Any) -> None:
        path = route.request.url.removeprefix(URL).partition("?")[0]
        if path in said:
            route.fulfill(body=said[path], content_type="application/json")
        elif path == "/" or path.startswith("/page/"):
            route.fulfill(path=FOLDER / (path.removeprefix("/page/").strip("/") or "index.html"))
        else:
            route.fulfill(status=404, body="{}")

    page = browser.new_page(viewport=size, color_scheme=scheme)
    page.route("**/*", answer)
    page.goto(URL)
    expect(page.locator("#summary")).to_contain_text("switches in hand")
    return page


def boxes(page: Any, of: str) -> list[dict[str, float]]:
    """Where they are on the screen, sorted by row and place in it."""
    found = page.evaluate(
        "of => [...document.querySelectorAll(of)].map(each => each.getBoundingClientRect().toJSON())", of
    )
    return sorted(found, key=lambda box: (round(box["y"]), box["x"]))


def apart(found: list[dict[str, float]]) -> bool:
    """Those of a row do not cover each other, but for a pixel."""
    return all(a["right"] <= b["left"] + 1 for a, b in pairwise(found) if abs(a["y"] - b["y"]) < 5)


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("fabric", [fat_tree(8), leaf_spine(96, 4)], ids=["80", "100"])
def test_names_of_many_switches_can_be_read(browser: Any, fabric: Fabric, size: dict[str, int]) -> None:
    page = opened(browser, fabric, size)
    assert page.locator("#fabric rect").count() == len(fabric.switches)
    assert page.locator("#fabric circle").count() == len(fabric.hosts)
    for shapes in ("#fabric rect", "#fabric circle", "#fabric text:not(.upright)"):
        assert apart(boxes(page, shapes)), shapes
    assert apart(sorted(boxes(page, "#fabric text.upright"), key=lambda box: box["x"]))
    assert min(box["height"] for box in boxes(page, "#fabric text:not(.upright)")) >= 8
    assert min(box["width"] for box in boxes(page, "#fabric text.upright")) >= 7
    wide, window = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide == window, "the picture may be scrolled, the page not"
    page.close()


def test_a_link_that_loses_lies_above_all_others(browser: Any) -> None:
    page = opened(browser, leaf_spine(96, 4), DESK)
    lines = page.locator("#fabric line")
    assert lines.count() == 96 * 4 + 192
    assert lines.last.get_attribute("class") == "loses"
    page.close()


def test_a_wide_fabric_stands_above_and_a_small_one_beside_what_is_told_of_it(browser: Any) -> None:
    def beside(fabric: Fabric) -> bool:
        page = opened(browser, fabric, DESK)
        picture, told = boxes(page, "#picture")[0], boxes(page, "aside")[0]
        page.close()
        return bool(told["left"] >= picture["right"])

    assert beside(fat_tree(4))
    assert not beside(fat_tree(8))


def test_long_names_have_room_or_are_cut_and_told_in_full(browser: Any) -> None:
    long = "leaf-0001-of-pod-3.row-7.datacenter-north-2.example"
    page = opened(
        browser, renamed(fat_tree(4), {"e1": long, "e2": "rack-02-tor", "h1": "gpu-0001.pod3"}), DESK
    )
    assert apart(boxes(page, "#fabric rect"))
    names = page.locator("#fabric text").all_text_contents()
    assert "leaf-000…2.example" in names and "rack-02-tor" in names
    assert page.locator(f'[data-node="{long}"] title').text_content() == long
    page.close()


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_what_is_told_of_a_link_or_switch_has_room(browser: Any, size: dict[str, int]) -> None:
    long = "leaf-0001-of-pod-3.row-7.datacenter-north-2.example"
    page = opened(browser, renamed(fat_tree(4), {"e1": long}), size)
    for of in ("#fabric line >> nth=0", f'[data-node="{long}"]', '[data-node="h2"]'):
        page.locator(of).dispatch_event("click")
        assert page.locator("#chosen-name").is_visible()
        assert page.locator("#fabric .chosen").count() == 1
        wide, window = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide == window, of
    page.locator("#fabric line.loses").dispatch_event("click")
    told = [row.all_text_contents() for row in (r.locator("td") for r in page.locator("#ends tr").all())]
    assert ["trimmed", "7", "0"] in told
    page.close()


def test_in_the_dark_the_controls_are_dark(browser: Any) -> None:
    page = opened(browser, fat_tree(4), DESK, "dark")
    colour = page.evaluate("getComputedStyle(document.getElementById('token')).backgroundColor")
    assert max(int(each) for each in colour.strip("rgba()").split(",")[:3]) < 128
    page.close()
