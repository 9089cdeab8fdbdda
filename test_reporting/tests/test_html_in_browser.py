"""The HTML report in Chromium: it opens, obeys the keyboard, fits a phone, prints what failed, runs nothing else."""
from __future__ import annotations

import base64
import re
import shutil
import tempfile
from pathlib import Path

import pytest

from test_reporting.pfc.cli import main
from test_reporting.tests.html_samples import HOSTILE, hostile_run, timeline
from test_reporting.tests.samples import RUN, parsed, started, verdict

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="Chromium and chromedriver are not both installed")
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
           "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
           "--window-size=1280,900")
PATIENCE = 60
"""Seconds, of which a machine with nothing else to do needs one."""
LATENCY_NS = {"priority 3 (test)": 1310771.552, "priority 0 (background)": 50, "priority 1 (background)": "unknown"}
SCREEN = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
PHONE = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}


class Browser:
    """Chromium, one tab."""

    def __init__(self, profile: str) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for option in (*OPTIONS, f"--user-data-dir={profile}"):
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
        self.driver.set_script_timeout(PATIENCE)

    def ask(self, script, *arguments):
        """What a JavaScript expression is."""
        return self.driver.execute_script(f"return ({script})", *arguments)

    def wait(self, script, *arguments):
        """Wait until an expression is true; the browser itself looks, at each of its frames."""
        done = self.driver.execute_async_script(
            "const [given, end, done] = [arguments, Date.now() + 50000, arguments[arguments.length - 1]];"
            f"const look = () => (function () {{ return {script}; }}).apply(null, given) ? done(true)"
            " : Date.now() > end ? done(false) : setTimeout(look, 20); look();", *arguments)
        assert done, f"{script} did not become true"

    def open(self, path, phone=False):
        """Show a page, and wait until it has drawn all that it draws by itself."""
        change = "set" if phone else "clear"
        self.driver.execute_cdp_cmd(f"Emulation.{change}DeviceMetricsOverride", PHONE if phone else {})
        self.driver.get("about:blank")
        self.driver.get(path.as_uri())
        self.wait("document.documentElement.dataset.ready === 'yes'")

    def press(self, *keys):
        """Press keys, one after the other, wherever the focus is."""
        self.driver.switch_to.active_element.send_keys(*keys)

    def open_cell(self, place):
        """Open a cell by its id; returns the text that it opens to."""
        self.driver.execute_script("location.hash = arguments[0]", place)
        self.wait("document.querySelector(`#o${arguments[0]} .pane[data-ready]`)", place)
        return self.ask("document.querySelector(`#o${arguments[0]}`).innerText", place)

    def problems(self):
        """What the console says: errors of the script, and all that the page's policy has refused."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


@pytest.fixture(scope="module")
def browser():
    with tempfile.TemporaryDirectory() as profile:
        found = Browser(profile)
        yield found
        found.driver.quit()


def with_storms():
    """A timeline with a second storm in the first."""
    drawn = timeline(50)
    return {**drawn, "storms": [*drawn["storms"], {"label": "PFC on priority 4", "begin_s": 0.6, "end_s": 0.9}]}


@pytest.fixture(scope="module")
def pages():
    """The report of a run with verdicts of all kinds, and of one with hostile texts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = f"sqlite:///{folder / 'pfc.db'}"
        expected = [["vtb-t0-01", "Ethernet99", "pfc.lossless"]]
        info = {"command": "pfc-qualify --testbed vtb-t0 --port Ethernet0", "priorities": {
            "lossless": [3, 4], "watched": [3, 4], "dscps": {"3": [3], "4": [4], "0": [*range(3), *range(5, 64)]},
            "dscp_map": "AZURE", "pool": "egress_lossless_pool", "pool_bytes": 15982720}}
        files = ["evidence/0001-session/vtb-t0-01-configuration-before-1.json", "evidence/0003-PFC-2/traffic-1.json",
                 "evidence/0003-PFC-2/vtb-t0-01-counters-1.txt"]
        writer = started(folder / "run", url, run={**RUN, "run_id": "run", "expected": expected, "info": info})
        writer.write(parsed(
            verdict(1, run_id="run"),
            verdict(2, "FAIL", run_id="run", plan_id="PFC-2",
                    evidence={"timeline": with_storms(), "files": files, "latency_ns": LATENCY_NS},
                    checks=[verdict(status="FAIL")["checks"][0], {**verdict()["checks"][0], "name": "a-good-check"}]),
            verdict(3, "ERROR", run_id="run", priority=4, checks=[], cause="the link is down"),
            *(verdict(10 + number, run_id="run", port_id=f"Ethernet{4 + number}", priority=number % 8,
                      evidence={} if number else {"timeline": timeline(0)}) for number in range(40)),
            *(verdict(100 + number, run_id="run", metric_name="pfc.lossy", priority=0, plan_id=f"PFC-{number}")
              for number in range(120))))
        writer.finish()
        hostile_run(folder / "hostile", url)
        assert [main(["--db", url, "html", run]) for run in ("run", "hostile")] == [0, 0]
        yield {run: folder / run / "report.html" for run in ("run", "hostile")}


def test_it_opens_and_the_matrix_is_right(browser, pages):
    browser.open(pages["run"])
    rows = browser.ask("[...document.querySelectorAll('.matrix tr[data-port]')].map("
                       "row => [...row.children].map(one => one.textContent))")
    none = "–"
    assert rows[0] == ["Ethernet0", "FAIL", "PASS", "PASS 120", none, none, "FAIL 1/2", "ERROR 1/1", none, none, none]
    assert rows[1] == ["Ethernet99", "ERROR: not measured", *[none] * 9]
    assert rows[2][:4] == ["Ethernet4", "PASS", none, "PASS 1"] and len(rows) == 42
    shown = "[...document.querySelectorAll('.matrix tr[data-port]')].filter(row => row.checkVisibility()).length"
    assert browser.ask(shown) == 2, "what is PASS is folded"
    assert browser.ask("document.querySelector('h1').innerText").startswith("FAIL")
    assert browser.problems() == []


def test_the_keyboard_is_enough(browser, pages):
    keys = webdriver.Keys
    browser.open(pages["run"])
    browser.ask("document.querySelector('.device > summary').focus()")
    browser.press(keys.TAB)
    focus = "document.activeElement.id"
    assert browser.ask(focus) == "c0-m0"
    seen = []
    for key in (keys.ARROW_DOWN, keys.END, keys.ARROW_UP, keys.HOME, "n", "n", "N", keys.PAGE_DOWN, keys.ARROW_UP):
        browser.press(key)
        seen.append(browser.ask(focus))
    assert seen == ["c41-m0", "c41-p7", "c0-p7", "c0-m0", "c0-p3", "c0-p4", "c0-p3", "c41-p3", "c0-p3"]
    browser.press(keys.ENTER)
    browser.wait("document.querySelector('#oc0-p3 .pane[data-ready]')")
    text = browser.ask("document.querySelector('#oc0-p3').innerText")
    assert "blocked-while-paused" in text and "0 frames" in text and "2 records" in text
    assert browser.ask("document.getElementById('c0-p3').getAttribute('aria-expanded')") == "true"
    browser.press(keys.ESCAPE)
    assert browser.ask("document.getElementById('oc0-p3')") is None and browser.ask(focus) == "c0-p3"
    assert browser.problems() == []


def test_a_plot_shows_rates_storms_and_counters(browser, pages):
    browser.open(pages["run"])
    drawn = browser.ask("document.querySelector('.example svg').getAttribute('aria-label')")
    assert "priority 3 (test): at most 1,000 frames/s, received in the storm at most 100" in drawn
    assert "Ethernet0 priority 3: PFC received: 900 frames" in drawn and "PFC on priority 3 from 0.5 to 1.5 s" in drawn
    assert browser.ask("['rx', 'tx', 'storm'].map("
                       "name => document.querySelectorAll(`.example svg .${name}`).length)") == [5, 1, 2]
    left, right = browser.ask("['storm', 'axis'].map(name => document.querySelector(`.example .${name}`).getBBox())")
    assert left["width"] == pytest.approx(right["width"] / 2)


def test_latency_is_shown_where_a_record_has_it(browser, pages):
    browser.open(pages["run"])
    shown = browser.open_cell("c0-p3")
    assert "average latency" in shown and "priority 3 (test): 1310.8 µs" in shown, shown
    assert "priority 0 (background): 50.0 ns" in shown and "unknown" not in shown, "what is no number is left out"
    assert "average latency" not in browser.open_cell("c2-p0"), "nothing where there is none"
    assert browser.problems() == []


def test_no_heading_of_a_lane_is_cut_on_a_phone(browser, pages):
    browser.open(pages["run"], phone=True)
    browser.open_cell("c0-p3")
    lanes = browser.ask("[...document.querySelectorAll('#oc0-p3 svg text:not(.quiet)')].map(one => [one.textContent, "
                        "one.getBBox().x + one.getBBox().width, one.ownerSVGElement.viewBox.baseVal.width])")
    assert len(lanes) > 4 and not [one for one in lanes if one[1] > one[2]], lanes
    assert any("priority 3 (test): 1 k/s, in storm 100" == text for text, *_ in lanes), lanes


def test_counters_of_the_port_itself_come_first(browser, pages):
    browser.open(pages["run"])
    browser.open_cell("c1-p0")
    drawn = browser.ask("document.querySelector('#oc1-p0 svg').getAttribute('aria-label')")
    places = [drawn.index(label) for label in ("priority 3 (test):", "Ethernet4 priority 3: PFC sent",
                                               "Ethernet0 priority 3: PFC received")]
    assert places == sorted(places), drawn


def test_a_link_opens_its_cell_and_many_records_are_paged(browser, pages):
    browser.open(pages["run"])
    browser.ask("document.querySelector('#failures a').click()")
    browser.wait("document.querySelector('#oc0-p3 .pane[data-ready]')")
    assert "120 records" in browser.open_cell("c0-p0")
    count = "document.querySelectorAll('#oc0-p0 .rec').length"
    assert browser.ask(count) == 100
    browser.ask("document.querySelector('#oc0-p0 .more').click()")
    assert browser.ask(count) == 120
    assert "nothing was measured" in browser.open_cell("c41-m0")
    assert "No verdict" in browser.open_cell("c41-p3")


def test_the_first_screen_answers_a_vendor(browser, pages):
    """Which port, which class, since when, how do I see it myself, what was configured: without scrolling."""
    browser.open(pages["run"])
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", SCREEN)
    browser.wait("innerHeight === arguments[0]", SCREEN["height"])
    shown = browser.ask("[...document.querySelectorAll('h1, .headline, .proof figcaption, .provenance div')]"
                        ".filter(one => one.getBoundingClientRect().bottom <= innerHeight)"
                        ".map(one => one.innerText).join(' | ')")
    for words in ("FAIL", "vtb-t0-01", "SONiC.20260101", "Ethernet0 priority 3", "blocked-while-paused", "in the storm",
                  "FAIL in ", "PFC on priorities 3 and 4", "AZURE", "configuration-before-1.json", "traffic-1.json",
                  "vtb-t0-01-counters-1.txt", "show queue counters Ethernet0", "pfc-qualify --testbed vtb-t0"):
        assert words in shown, words


def test_labels_of_storms_do_not_touch(browser, pages):
    browser.open(pages["run"])
    boxes = browser.ask("[...document.querySelectorAll('.example svg')].map(one => [...one.querySelectorAll('.storms')]"
                        ".map(text => { const box = text.getBBox(); return [box.x, box.y, box.width, box.height]; }))")
    assert any(len(one) > 1 for one in boxes), "a plot has several storms"
    for one in boxes:
        for place, (x, y, width, height) in enumerate(one):
            assert all(x + width <= left or left + wide <= x or y + height <= top + 1 or top + high <= y + 1
                       for left, top, wide, high in one[place + 1:])


def test_a_cell_opens_to_what_failed(browser, pages):
    browser.open(pages["run"])
    text = browser.open_cell("c0-p3")
    assert "0 frames" in text and "1 more checks that are PASS" in text and "a-good-check" not in text
    browser.ask("document.querySelector('#oc0-p3 .rec details > summary').click()")
    browser.wait("document.querySelector('#oc0-p3').innerText.includes('a-good-check')")
    assert "show 1 more of 2 that are PASS" in text


def test_filters(browser, pages):
    browser.open(pages["run"])
    browser.driver.execute_script(
        "const choice = document.getElementById('case'); choice.value = [...choice.options].find("
        "one => one.text.startsWith('PFC-2 ')).value; choice.dispatchEvent(new Event('change'))")
    browser.wait("document.getElementById('filtered').textContent === 'verdicts: 1 PASS, 1 FAIL, 0 ERROR'")
    assert browser.ask("['c0-p0', 'c0-p3', 'c0-p4'].map(id => document.getElementById(id).textContent)") == [
        "PASS 1", "FAIL 1/1", "–"]
    browser.ask("document.getElementById('bad').click()")
    lets_through(browser, 42)  # no other port has a verdict of that test case


def lets_through(browser, ports):
    """Wait until the filters, applied anew, let so many ports through. (What Chromium computes for a row may be what it
    was before for a while, where a folded part around it has just been opened.)"""
    browser.driver.execute_async_script(
        "const done = arguments[0], said = document.getElementById('filtered'); said.textContent = '';"
        "new MutationObserver((_, one) => { one.disconnect(); done(); }).observe(said, { childList: true });"
        "document.getElementById('case').dispatchEvent(new Event('change'))")
    browser.wait("[...document.querySelectorAll('.matrix tr[data-port]')]"
                 ".filter(row => row.checkVisibility()).length === arguments[0]", ports)


@pytest.mark.parametrize("choice, metric, shown", [
    ("PFC-1 ", "-1", 2),  # Ethernet0 has an ERROR, Ethernet99 no verdict
    ("PFC-1 ", "pfc.lossless", 2),
    ("all", "pfc.lossless", 2),
    ("all", "pfc.lossy", 41),  # all but Ethernet0 were never measured
])
def test_what_was_not_measured_is_not_pass_whatever_the_filter(browser, pages, choice, metric, shown):
    browser.open(pages["run"])
    browser.driver.execute_script(
        "['case', 'metric'].forEach((id, place) => { const choice = document.getElementById(id); choice.value = "
        "([...choice.options].find(one => one.text.startsWith(arguments[place])) || choice.options[0]).value; });"
        "document.getElementById('bad').checked = true", choice, metric)
    lets_through(browser, shown)
    assert browser.ask("document.querySelector('tr[data-port=\"41\"]').checkVisibility()"), "Ethernet99"


@pytest.mark.parametrize("name", ["run", "hostile"])
def test_a_phone_needs_no_sideways_scroll(browser, pages, name):
    browser.open(pages[name], phone=True)
    for place in ("c0-p3", "c5-p3", "c0-m0"):
        browser.open_cell(place)
    browser.driver.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert browser.ask("[document.documentElement.scrollWidth, innerWidth]") == [360, 360]


def test_a_phone_needs_less_than_ten_screens(browser, pages):
    browser.open(pages["run"], phone=True)
    assert browser.ask("document.documentElement.scrollHeight") < 10 * PHONE["height"]
    shown = browser.ask("[...document.querySelectorAll('.cover svg')].map(one => one.checkVisibility())")
    assert shown == [False, True], "the narrow plot"


def test_in_print_there_is_a_cover_to_sign_and_more_pages(browser, pages):
    browser.open(pages["run"])
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    style = "getComputedStyle(document.querySelector(arguments[0]))"
    found = [browser.ask(f"{style}.display", ".signature"), browser.ask(f"{style}.breakAfter", ".cover"),
             browser.ask(f"{style}.display", "nav")]
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert found == ["flex", "page", "none"]
    printed = base64.b64decode(browser.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"])
    assert printed.startswith(b"%PDF") and len(re.findall(rb"/Type /Page\b", printed)) > 1


@pytest.mark.parametrize("width", [360, 900, 1100, 1600])
def test_every_column_can_be_reached(browser, pages, width):
    browser.open(pages["hostile"])
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**PHONE, "width": width, "mobile": False})
    browser.wait("innerWidth === arguments[0]", width)
    browser.wait("[...document.querySelectorAll('.box.wide')].every(one => one.scrollWidth <= one.clientWidth"
                 " || getComputedStyle(one).overflowX === 'auto')")
    assert browser.ask("document.documentElement.scrollWidth") <= width


def test_in_print_what_failed_is_open(browser, pages):
    browser.open(pages["run"])
    browser.driver.execute_script("document.querySelectorAll('details').forEach(one => { one.open = false; })")
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    browser.driver.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    shown = browser.ask("document.body.innerText")
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert "vtb-t0-01 Ethernet0 priority 3" in shown and "FAIL 1/2" in shown
    assert "PFC-119" in shown and "OS version" in shown, "what is folded on a screen cannot be opened on paper"
    assert not [one for one in ("only ports that are not PASS", "It opens to", "What this page holds") if one in shown]


def test_hostile_texts_run_nothing(browser, pages):
    browser.open(pages["hostile"])
    for number in range(len(HOSTILE) - 1):
        browser.open_cell(f"c{number}-p3")
    browser.driver.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    browser.wait("document.querySelectorAll('.rec pre').length >= arguments[0]", len(HOSTILE) - 1)
    assert browser.ask("typeof window.harmed") == "undefined"
    shown = browser.ask("document.body.innerText")
    assert all(text in shown for text in HOSTILE if text.isascii() and text.isprintable())
    assert "\\u202e\u05e9\u05dc\u05d5\u05dd" in shown and "\u202e" not in shown
    assert browser.ask("document.querySelectorAll('img, main script').length") == 0 and browser.problems() == []


def test_a_script_that_got_in_would_not_run(browser, pages):
    browser.open(pages["run"])
    browser.driver.execute_script("const added = document.createElement('script');"
                                  "added.textContent = 'window.harmed = 1'; document.body.append(added)")
    browser.driver.execute_script("const added = document.createElement('div'); document.body.append(added);"
                                  "added.innerHTML = '<img src=x onerror=\"window.harmed = 1\">'")
    assert browser.ask("typeof window.harmed") == "undefined"
    assert any("Content Security Policy" in message for message in browser.problems())
