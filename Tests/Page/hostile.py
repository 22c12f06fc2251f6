"""Stored content of strangers is text: nothing runs, nothing loads, and no part changes its place."""

from playwright.sync_api import expect

import made_up
from look import SIZES, VIEWS, PageTest


HIDDEN = """() => { const hidden = /[\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f]/u;
    const texts = [document.title, ...[...document.body.querySelectorAll('*')].flatMap(each => [...each.attributes].filter(({name}) => name !== 'href').map(({value}) => value))];
    for (const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); walker.nextNode();) texts.push(walker.currentNode.nodeValue);
    return texts.filter(text => hidden.test(text)) }"""


class Hostile(PageTest):
    def test_every_view_shows_it_as_text(self):
        for size in SIZES:
            with self.look("hostile", size=size) as look:
                for view in VIEWS:
                    with self.subTest(view=view, size=size):
                        look.show(view)
                        look.fits()
                        # No character that is hidden, or turns the direction, is left: not in titles and labels either.
                        self.assertEqual([], look.page.evaluate(HIDDEN))
                        strange = look.page.evaluate("document.querySelectorAll('main script, main img, main iframe, main style, main base, main object, main embed, main foreignObject').length")
                        self.assertEqual(0, strange)

    def test_every_stored_response_shows_it_as_text(self):
        with self.look("hostile") as look:
            for number, text in enumerate(made_up.HOSTILE):
                with self.subTest(number=number):
                    look.go(f"#/response/{number + 1:016x}")
                    shown = look.page.locator(".response-url").inner_text()
                    self.assertFalse(set(shown) & set("\u202e\u2066\u2069\u200b\u0007"), shown)
                    if text.isascii():
                        self.assertIn(text, shown)
                    look.fits()

    def test_a_long_value_is_folded_and_unfolds_in_a_box(self):
        with self.look("hostile", hash_="#/response/0000000000000001") as look:
            row = look.page.locator("tr", has_text="x-long")
            self.assertLess(len(row.inner_text()), 1000)
            row.get_by_role("button").click()
            box = look.page.get_by_role("region", name="The whole value")
            expect(box).to_be_focused()
            whole = made_up.HOSTILE[0] * (65536 // len(made_up.HOSTILE[0]))
            self.assertEqual(whole, box.inner_text())
            self.assertLess(box.bounding_box()["height"], 300)
            look.axe()

    def test_hidden_characters_are_named(self):
        with self.look("hostile", hash_="#/response/0000000000000006") as look:
            marks = look.page.locator(".response-url .mark").all_inner_texts()
            self.assertEqual(["U+202E", "U+0007", "U+200B", "U+2066", "U+2069"], marks)

    def test_letters_of_another_direction_keep_the_parts_of_a_url_in_order(self):
        with self.look("hostile", hash_="#/response/0000000000000009") as look:
            # Each part begins to the right of the one before.
            places = look.page.evaluate(
                """() => [...document.querySelectorAll('.response-url .url bdi')].map(part => {
                const range = document.createRange(); range.selectNodeContents(part); return range.getBoundingClientRect().left })"""
            )
            self.assertGreater(len(places), 6)
            self.assertEqual(sorted(places), places)
            self.assertEqual(made_up.response(8)["url"], look.page.locator(".response-url .url").inner_text())
