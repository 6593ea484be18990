"""Headless Chromium, for the tests that look at pages as a person does."""

import importlib
import shutil
import tempfile
from contextlib import contextmanager

import pytest
from waiting import PATIENCE, wait_until


@contextmanager
def chromium():
    """A browser with a profile of its own; where there is none the tests skip and say how to get one."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("no browser found: install one with `apt-get install chromium chromium-driver`")
    webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium found: install it with pip")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync",
                     "disable-background-networking", "disable-component-update", "disable-dev-shm-usage",
                     f"user-data-dir={profile}", "window-size=1366,768"):  # fmt: skip
            options.add_argument(f"--{flag}")
        started = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        started.set_script_timeout(PATIENCE)
        started.set_page_load_timeout(PATIENCE)
        try:
            yield started
        finally:
            started.quit()


class Browser:
    """Somebody at a screen of some size, in the light or in the dark."""

    def __init__(self, driver):
        self.driver = driver

    def go(self, address, width=1366, height=768, scheme="light"):
        """Open an address."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        feature = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", feature)
        self.driver.get(address)

    def insist(self, what, find, act):
        """Find something and act on it; where it was drawn anew, is not ready, or the act says False, do it again."""
        passing = unready()

        def done():
            try:
                found = find()
                return bool(found) and act(found) is not False
            except passing:
                return False

        wait_until(done, lambda: f"{what}; the page says: {self.text()[:1500]}")

    def text(self):
        """What is to be read on the page."""
        return self.ask("return document.body.innerText")

    def ask(self, script, *arguments):
        """What a script returns in the page."""
        return self.driver.execute_script(script, *arguments)

    def complaints(self):
        """What the console has said since it was asked last."""
        return [entry for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def unready():
    """What a browser says of an element that was drawn anew, or that cannot be used yet."""
    said = importlib.import_module("selenium.common.exceptions")
    return (
        said.StaleElementReferenceException,
        said.ElementNotInteractableException,
        said.ElementClickInterceptedException,
        said.MoveTargetOutOfBoundsException,
        said.NoSuchElementException,
    )
