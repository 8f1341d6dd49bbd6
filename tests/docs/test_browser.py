"""Pages in a browser: of fn.show() and fz.profile, and the site, opened from files and clicked.

Chromium without a display (tools/apt-docs.txt), driven by Playwright. It has no network, and what a
page says to the console, fails at or asks for elsewhere fails its test.
"""

import contextlib
import os
import shutil

import pytest

import frazil as fz

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        missing = f"no browser is there: {', '.join(NAMES)}"
        if "CI" in os.environ:
            pytest.fail(missing)
        pytest.skip(f"{missing}; as root ./dev test docs installs one on Debian")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=found)
        yield started
        started.close()


@contextlib.contextmanager
def watched(browser):
    """A page without a network, and the list of what goes wrong in it."""
    context = browser.new_context(offline=True)
    context.set_default_timeout(120_000)
    opened, wrong = context.new_page(), []
    opened.on("console", lambda said: wrong.append(f"console: {said.text}"))
    opened.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    opened.on("requestfailed", lambda request: wrong.append(f"failed: {request.url}"))
    yield opened, wrong
    context.close()


@pytest.fixture
def page(browser):
    with watched(browser) as (opened, wrong):
        yield opened
    assert wrong == []


def is_open(details):
    return details.evaluate("e => e.open")


def in_view(element):
    return element.evaluate(
        "e => { const r = e.getBoundingClientRect(); return r.top < innerHeight && r.bottom > 0 }"
    )


def test_what_goes_wrong_is_seen(browser, tmp_path):
    """Without this, the other tests might never fail."""
    (tmp_path / "bad.html").write_text(
        "<img src='http://example.invalid/x.png'><script>console.log('said'); nothing()</script>"
    )
    with watched(browser) as (opened, wrong):
        opened.goto((tmp_path / "bad.html").as_uri())
    faults = "\n".join(wrong)
    for fault in ("console: said", "nothing is not defined", "failed: http://example.invalid"):
        assert fault in faults


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What fn.show() writes of a function from a file whose name links must quote."""
    names = {"fz": fz}
    source = "def soft(x, w):\n    y = fz.maximum(x @ w, 0)\n    return fz.exp(y) / fz.sum(y)\n"
    exec(compile(source, "/tmp/100% <soft>.py", "exec"), names)
    fn = fz.trace(names["soft"])
    for _ in range(4):
        fn(fz.ones((8, 6)), fz.ones((6, 4)))
    path = tmp_path_factory.mktemp("show") / "soft.html"
    fn.show(path)
    return path


def test_links_of_show_open_what_they_lead_to(page, shown):
    page.goto(shown.as_uri())
    kernel = page.locator("details[id^='p0-k']").first
    link = page.locator(f"a[href='#{kernel.get_attribute('id')}']").first
    assert not is_open(kernel)
    link.click()
    assert is_open(kernel) and in_view(kernel)
    kernel.locator("summary").click()
    assert not is_open(kernel) and not kernel.locator("pre").is_visible()
    link.click()  # the same address once more
    assert is_open(kernel) and kernel.locator("pre").is_visible()


def test_show_opens_at_a_kernel(page, shown):
    page.goto(f"{shown.as_uri()}#p0-k0")
    kernel = page.locator("#p0-k0")
    assert is_open(kernel) and in_view(kernel)


def test_show_marks_the_line_under_the_pointer(page, shown):
    page.goto(shown.as_uri())
    row = page.locator("tr[data-line]").first
    row.hover()
    lit = page.locator(".lit")
    assert lit.count() >= 2  # the row and its nodes
    assert set(lit.evaluate_all("all => all.map(e => e.dataset.line)")) == {
        row.get_attribute("data-line")
    }
    page.locator("h1").hover()
    assert lit.count() == 0


def test_show_goes_from_a_line_to_its_node_and_back(page, shown):
    page.goto(shown.as_uri())
    row = page.locator("tr[data-line]").first
    row.locator("a").first.click()
    node = page.locator("span:target")
    assert node.get_attribute("data-line") == row.get_attribute("data-line") and in_view(node)
    node.locator("a").click()
    assert page.locator("tr:target").get_attribute("data-line") == row.get_attribute("data-line")


def test_a_profile(page, tmp_path):
    step = fz.trace(lambda x: fz.tanh(x @ x) + 1)
    with fz.profile() as profile:
        for _ in range(6):
            step(fz.ones((30, 30)))
    profile.html(tmp_path / "profile.html")
    page.goto((tmp_path / "profile.html").as_uri())
    assert page.locator("svg").count() == 2 and page.locator("svg rect").count() > 6
    for chart in page.locator("svg").all():
        box = chart.bounding_box()
        assert box["width"] > 300 and box["height"] > 20
    link = page.locator("td a[href^='#kernel-']").first
    link.click()
    kernel = page.locator("details:target")
    assert is_open(kernel) and "kernel" in kernel.locator("pre").inner_text()
    page.locator("nav a", has_text="memory").click()
    assert in_view(page.locator("h2#memory"))


def test_the_site(page, html):
    page.goto((html / "index.html").as_uri())
    page.get_by_role("link", name="Questions").first.click()
    question = page.get_by_role("heading", name="How do I freeze a layer?")
    assert question.is_visible()
    page.get_by_role("link", name="Freeze a layer", exact=True).click()
    assert "requires_grad_" in page.locator("div.body").inner_text()
    # Pictures are there.
    page.goto((html / "gallery.html").as_uri())
    widths = page.locator("img").evaluate_all("all => all.map(e => e.naturalWidth)")
    assert widths and all(widths)


def test_the_site_is_searched(page, html):
    page.goto((html / "index.html").as_uri())
    page.locator("input[name=q]").first.fill("logsumexp")
    page.keyboard.press("Enter")
    found = page.locator("#search-results li a")
    found.first.wait_for()
    assert any("logsumexp" in text for text in found.all_inner_texts())
    target = found.filter(has_text="logsumexp").first
    target.click()
    assert "logsumexp" in page.locator("div.body").inner_text()
