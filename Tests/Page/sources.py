"""The sources of the page: nothing parses HTML, nothing comes from elsewhere, and it is small."""

import pathlib
import re
import unittest

from stub import ASSETS

FORBIDDEN = {
    r"\b(innerHTML|outerHTML|insertAdjacentHTML|setHTML\w*|DOMParser|createContextualFragment|srcdoc\s*=)": "HTML is never parsed: use textContent",
    r"\bdocument\.write|\beval\(|\bnew Function\b|\bsetTimeout\(\s*[\"'`]|\bimport\(": "code is never made of text",
    r"\.style\b|setAttribute\(\s*[\"']style": "the policy forbids styles: use a class or an attribute",
    r"https?://(?!www\.w3\.org/2000/svg|api\.example\.com|localhost)": "no resource is elsewhere",
    r"\blocalStorage\b(?!.*holdfast\.theme|\.(?:get|set)Item\(key)": "only the theme is kept",
    r"\bwindow\.open\b|\bdocument\.cookie\b|\bpostMessage\b": "not needed",
}


class Sources(unittest.TestCase):
    def files(self):
        return sorted(ASSETS.iterdir())

    def test_nothing_parses_html_and_nothing_is_elsewhere(self):
        found = []
        for file in self.files():
            for number, line in enumerate(file.read_text().split("\n"), 1):
                for pattern, why in FORBIDDEN.items():
                    if re.search(pattern, line):
                        found.append(f"{file.name}:{number}: {why}")
        self.assertEqual([], found)

    def test_the_frame_has_no_script_and_no_style_of_its_own(self):
        text = (ASSETS / "index.html").read_text()
        self.assertEqual([], re.findall(r"<script(?![^>]*\bsrc=)[^>]*>|<style|\son\w+=|\sstyle=|javascript:", text))
        self.assertEqual([], [each for each in re.findall(r"(?:src|href)=\"([^\"]+)\"", text) if not each.startswith(("/page/", "#"))])

    def test_names_are_those_that_the_gateway_serves(self):
        self.assertEqual([], [file.name for file in self.files() if not re.fullmatch(r"[a-z0-9-]+\.(html|css|js)", file.name)])
        imported = {name for file in self.files() for name in re.findall(r"from \"\./([^\"]+)\"", file.read_text())}
        self.assertEqual(set(), imported - {file.name for file in self.files()})

    def test_the_page_is_below_150_kb(self):
        size = sum(file.stat().st_size for file in self.files())
        print(f"{size} bytes", end=" ")
        self.assertLess(size, 150_000)

    def test_files_are_short(self):
        here = pathlib.Path(__file__).parent
        files = [*self.files(), *here.glob("*.py")]
        self.assertEqual([], [file.name for file in files if len(file.read_text().split("\n")) > 400])
