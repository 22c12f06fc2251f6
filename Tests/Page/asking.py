"""How the page asks the gateway: never in a storm, never silently old, and never twice for one change."""

import re
import time

from playwright.sync_api import expect

from look import PageTest


class Asking(PageTest):
    def streams(self):
        return sum(path == "/v1/events" for _, path, _ in self.world.requests)

    def test_streams_that_end_at_once_are_asked_for_ever_more_rarely(self):
        with self.look() as look:
            expect(look.page.locator("#live")).to_have_attribute("data-state", "live")
            look.page.evaluate(
                """() => { window.said = []; const place = document.getElementById('announcement');
                new MutationObserver(() => window.said.push(place.textContent)).observe(place, {childList: true}) }"""
            )
            # A gateway that drains ends each stream after its first event.
            self.world.short = True
            self.world.set("mixed")
            expect(look.page.locator("#live")).to_have_attribute("data-state", "broken")
            began, before = time.monotonic(), self.streams()
            look.page.wait_for_timeout(4000)
            # 0.5, 1, 2, 4 s … apart, each at least three quarters of it.
            self.assertLessEqual(self.streams() - before, 2 + (time.monotonic() - began) / 0.75)
            self.assertLessEqual(self.streams(), 12)
            # Readers of the screen hear it once.
            expect(look.page.locator("#announcement")).to_contain_text("Not connected")
            said = look.page.evaluate("window.said")
            self.assertEqual(1, sum("onnected" in text for text in said), said)

    def test_a_pause_that_the_gateway_asks_for_is_kept(self):
        with self.look("full", expected=["status of 503"]) as look:
            expect(look.page.locator("#live")).to_have_attribute("data-state", "polling")
            before = self.streams()
            # 'Retry-After' is 5 s.
            look.page.wait_for_timeout(3000)
            self.assertEqual(before, self.streams())

    def test_a_gateway_that_says_nothing_is_not_live(self):
        with self.look() as look:
            live = look.page.locator("#live")
            expect(live).to_have_attribute("data-state", "live")
            self.world.silent = True
            # Within the time for the next event, and some for a slow machine.
            expect(live).to_have_attribute("data-state", "broken")
            expect(live).to_have_text(re.compile(r"Not connected; data from \d\d:\d\d:\d\d"))
            expect(look.page).to_have_title(re.compile("^✕ Not connected"))
            expect(look.page.locator("#announcement")).to_contain_text("Not connected")
            look.fits()
            look.axe()
            self.world.silent = False
            self.world.set("mixed")
            expect(live).to_have_attribute("data-state", "live")
            expect(look.page).not_to_have_title(re.compile("Not connected"))

    def test_curves_that_fail_are_not_asked_for_each_second(self):
        with self.look(expected=["status of 500"]) as look:
            self.world.failing = "/v1/history"
            look.page.get_by_label("Day").check()
            look.page.locator(".curves .problem").wait_for()
            before = sum(path.startswith("/v1/history") for _, path, _ in self.world.requests)
            look.page.wait_for_timeout(3000)
            self.assertEqual(before, sum(path.startswith("/v1/history") for _, path, _ in self.world.requests))

    def test_no_session_asks_for_nothing(self):
        with self.look() as look:
            look.page.get_by_role("button", name="End session").click()
            look.page.locator(".login").wait_for()
            before = len(self.world.requests)
            look.hide(True)
            look.hide(False)
            look.page.wait_for_timeout(1500)
            self.assertEqual([], self.world.requests[before:])

    def test_the_end_of_a_session_closes_what_it_asked(self):
        with self.look(view="response", expected=["status of 401"]) as look:
            look.page.get_by_role("button", name="Expire").click()
            button = look.page.get_by_role("dialog").get_by_role("button", name="Expire")
            expect(button).to_be_enabled()
            self.world.has_ended = True
            button.click()
            look.page.locator(".login").wait_for()
            expect(look.page.get_by_role("dialog")).to_have_count(0)

    def test_the_first_second_of_a_gateway_is_shown(self):
        with self.look() as look:
            # The code that opened the page works once, so the session must have begun.
            expect(look.page.locator(".tile")).to_have_count(4)
            self.world.lacking = ("recent", "hour", "offlineAnswerable", "outage")
            look.page.reload()
            expect(look.page.locator(".tile").first).to_contain_text("–")
            look.show("nodes")
            look.show("overview")
            expect(look.page.locator(".tile")).to_have_count(4)


class Questions(PageTest):
    def test_what_has_grown_is_asked_again(self):
        with self.look(view="response") as look:
            look.page.get_by_role("button", name="Remove").click()
            dialog = look.page.get_by_role("dialog")
            dialog.get_by_label(re.compile("I know that 37 of 412")).check()
            self.world.matched = {"responses": 500, "onlyOfflineCopies": 90}
            dialog.get_by_role("button", name="Remove").click()
            expect(dialog).to_contain_text("More responses match than when you were asked. Nothing was changed yet.")
            self.assertEqual([], self.changes())
            expect(dialog.get_by_role("button", name="Remove")).to_be_disabled()
            dialog.get_by_label(re.compile("I know that 90 of 500")).check()
            dialog.get_by_role("button", name="Remove").click()
            expect(dialog).to_contain_text("Removed 500 responses")
            self.assertEqual(1, len(self.changes()))

    def test_what_has_shrunk_is_not(self):
        with self.look(view="response") as look:
            look.page.get_by_role("button", name="Expire").click()
            dialog = look.page.get_by_role("dialog")
            expect(dialog).to_contain_text("Expires 412")
            self.world.matched = {"responses": 3, "onlyOfflineCopies": 1}
            dialog.get_by_role("button", name="Expire").click()
            expect(dialog).to_contain_text("Expired 3 responses")

    def test_what_answers_only_while_fresh_is_said(self):
        with self.look(view="response") as look:
            self.world.matched = {"onlyWhileFresh": 12}
            look.page.get_by_role("button", name="Expire").click()
            expect(look.page.get_by_role("dialog")).to_contain_text("12 of 412 may be served only while they are fresh")

    def test_a_change_that_is_sent_again_has_the_same_key(self):
        with self.look(view="response", expected=["status of 500"]) as look:
            self.world.failing = "/v1/purges"
            look.page.get_by_role("button", name="Expire").click()
            dialog = look.page.get_by_role("dialog")
            expect(dialog.get_by_role("alert")).to_be_visible()
            self.world.failing = None
            dialog.get_by_role("button", name="Count again").click()
            button = dialog.get_by_role("button", name="Expire")
            expect(button).to_be_enabled()
            self.world.failing_changes = True
            button.click()
            expect(dialog.get_by_role("alert")).to_be_visible()
            button.dblclick()
            expect(button).to_be_enabled()
            self.world.failing_changes = False
            dialog.get_by_label("Reason").fill("other")
            button.click()
            expect(dialog).to_contain_text("Expired 412 responses")
            keys = self.world.keys
            self.assertEqual(1, len(set(keys[:-1])), keys)
            self.assertNotEqual(keys[0], keys[-1])

    def test_the_focus_finds_what_took_the_place_of_the_button(self):
        with self.look(view="response") as look:
            look.page.get_by_role("button", name="Expire").click()
            dialog = look.page.get_by_role("dialog")
            dialog.get_by_role("button", name="Expire").click()
            expect(dialog).to_contain_text("Expired")
            dialog.get_by_role("button", name="Close").click()
            look.settle()
            expect(look.page.locator(".response-head").get_by_role("button", name="Expire")).to_be_focused()
            # Removed, the response and its buttons are gone.
            look.page.get_by_role("button", name="Remove").click()
            dialog.get_by_role("checkbox").check()
            dialog.get_by_role("button", name="Remove").click()
            expect(dialog).to_contain_text("Removed")
            dialog.get_by_role("button", name="Close").click()
            expect(look.page.locator("main h1")).to_be_focused()

    def test_the_newest_purges_are_asked_for(self):
        with self.look(view="purges"):
            self.assertIn("/v1/purges?last=100", [path for _, path, _ in self.world.requests])
