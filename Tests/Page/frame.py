"""The frame: the session, the keyboard, the stream that lives and ends, themes, errors."""

import re

from playwright.sync_api import expect

from look import CODE, PATIENCE, VIEWS, PageTest


class Session(PageTest):
    def test_the_code_leaves_the_address_at_once(self):
        with self.look() as look:
            self.assertEqual("", look.page.evaluate("location.hash"))
            self.assertNotIn(CODE, look.page.evaluate("history.state + document.URL + document.referrer"))

    def test_the_token_is_in_this_tab_alone_and_outlives_a_reload(self):
        with self.look() as look:
            self.assertEqual(0, look.page.evaluate("localStorage.length"))
            self.assertEqual("", look.page.evaluate("document.cookie"))
            look.page.reload()
            look.page.locator(".source").wait_for()
            other = look.context.new_page()
            other.goto(look.origin + "/")
            expect(other.get_by_role("heading")).to_have_text("Open this page with a session")

    def test_a_used_code_says_to_run_the_command_again(self):
        with self.look(expected=["status of 401"]) as look:
            other = look.context.new_page()
            other.goto(f"{look.origin}/#code={'a' * 32}")
            expect(other.get_by_role("alert")).to_contain_text("The code is wrong, already used, or older than 60 s.")
            expect(other.locator("pre")).to_have_text("holdfast inspect")

    def test_a_wrong_token_is_rejected_and_not_kept(self):
        with self.look(expected=["status of 401"]) as look:
            look.page.get_by_role("button", name="End session").click()
            self.assertIn(("DELETE", "/v1/sessions", {}), self.world.requests)
            look.axe()
            look.page.get_by_label("Or use a control-plane token").fill("wrong")
            look.page.get_by_role("button", name="Open").click()
            expect(look.page.get_by_role("alert")).to_contain_text("A token is required.")
            self.assertEqual(None, look.page.evaluate("sessionStorage.getItem('holdfast.token')"))

    def test_the_end_of_the_session_leads_to_the_beginning(self):
        with self.look(expected=["status of 401"]) as look:
            look.page.evaluate("sessionStorage.setItem('holdfast.token', 'wrong')")
            look.page.reload()
            expect(look.page.get_by_role("heading")).to_have_text("Open this page with a session")
            expect(look.page.locator("#views")).to_be_hidden()


class Keyboard(PageTest):
    def tab_to(self, look, name):
        """Presses Tab until the element with this name has the focus, which can always be seen."""
        for _ in range(120):
            look.page.keyboard.press("Tab")
            found = look.page.evaluate(
                """() => { const element = document.activeElement, label = element.labels?.[0];
                const isSeen = each => each && getComputedStyle(each).outlineStyle !== 'none' && getComputedStyle(each).opacity !== '0';
                return {name: (element.getAttribute('aria-label') ?? label?.textContent ?? element.textContent).trim(),
                isSeen: element === document.body || isSeen(element) || isSeen(label) || false} }"""
            )
            self.assertTrue(found["isSeen"], found)
            if re.search(name, found["name"]):
                return
        self.fail(f"The keyboard does not come to '{name}'.")

    def test_every_view_is_reached_and_its_name_is_heard(self):
        with self.look() as look:
            for name in ["Stored", "Origins", "Why not stored", "Outages", "Purges", "Nodes", "Rules", "Configuration"]:
                look.page.keyboard.press("Escape")
                look.page.locator("#skip").focus()
                self.tab_to(look, f"^{name}$")
                look.page.keyboard.press("Enter")
                heading = look.page.locator("main h1")
                expect(heading).to_have_text(name)
                expect(heading).to_be_focused()

    def test_a_response_is_found_and_expired_by_keys_alone(self):
        with self.look() as look:
            keys = look.page.keyboard
            self.tab_to(look, "^Stored$")
            keys.press("Enter")
            look.settle()
            self.tab_to(look, "^Tag$")
            keys.type("news")
            keys.press("Enter")
            look.settle()
            self.tab_to(look, "catalogue/10")
            keys.press("Enter")
            look.settle()
            self.tab_to(look, "^Expire$")
            keys.press("Enter")
            expect(look.page.get_by_role("dialog")).to_contain_text("Expires 412 responses")
            self.tab_to(look, "^Expire$")
            keys.press("Enter")
            expect(look.page.get_by_role("dialog")).to_contain_text("Expired 412 responses")
            expect(look.page.get_by_role("button", name="Close")).to_be_focused()
            keys.press("Enter")
            expect(look.page.get_by_role("dialog")).to_have_count(0)

    def test_the_first_stop_skips_to_the_content(self):
        with self.look() as look:
            look.page.evaluate("document.activeElement.blur()")
            self.tab_to(look, "^Skip to the content$")
            expect(look.page.locator("#skip")).to_be_in_viewport()
            look.page.keyboard.press("Enter")
            expect(look.page.locator("main")).to_be_focused()
            self.assertEqual("", look.page.evaluate("location.hash"))

    def test_the_focus_stays_while_figures_move(self):
        with self.look("store") as look:
            look.settle()
            look.page.get_by_role("link", name="The last reload was rejected").focus()
            self.world.set("hostile")
            expect(look.page.locator(".sentence")).to_contain_text("onerror")
            expect(look.page.get_by_role("link", name="The last reload was rejected")).to_be_focused()


class Live(PageTest):
    def test_the_stream_ends_when_the_page_is_hidden_and_begins_again(self):
        with self.look() as look:
            live = look.page.locator("#live")
            expect(live).to_have_attribute("data-state", "live")
            look.hide(True)
            expect(live).to_have_attribute("data-state", "hidden")
            # The gateway sees it too: its next event finds no reader.
            with self.world.changed:
                self.assertTrue(self.world.changed.wait_for(lambda: self.world.streams == 0, PATIENCE / 1000))
            look.hide(False)
            expect(live).to_have_attribute("data-state", "live")
            self.assertEqual(2, sum(path == "/v1/events" for _, path, _ in self.world.requests))

    def test_a_stream_that_ends_is_followed_by_the_next(self):
        with self.look() as look:
            expect(look.page.locator("#live")).to_have_attribute("data-state", "live")
            look.page.evaluate(
                """() => { window.states = []; const live = document.getElementById('live');
                new MutationObserver(() => window.states.push(live.dataset.state)).observe(live, {attributes: true}) }"""
            )
            with look.page.expect_request(lambda request: request.url.endswith("/v1/events")), self.world.changed:
                self.world.cut = True
                self.world.changed.notify_all()
            self.assertEqual([], look.page.evaluate("window.states"))

    def test_the_end_of_the_gateway_is_shown_and_its_return_too(self):
        with self.look(expected=["ERR_", "status of 503"]) as look:
            expect(look.page.locator("#live")).to_have_attribute("data-state", "live")
            self.world.set("broken")
            self.world.ended = True
            expect(look.page.locator("#live-words")).to_contain_text("Not connected")
            self.world.ended = False
            self.world.set("mixed")
            expect(look.page.locator("#live-words")).to_have_text("Live")

    def test_without_a_place_in_the_stream_the_overview_is_asked_for(self):
        with self.look(expected=["status of 503"]) as look:
            self.world.set("full")
            self.world.ended = True
            expect(look.page.locator("#live-words")).to_have_text("Every 5 s")
            expect(look.page.locator(".source-title")).to_be_visible()


class Frame(PageTest):
    def test_a_chosen_theme_stays(self):
        with self.look() as look:
            color = "getComputedStyle(document.body).backgroundColor"
            light = look.page.evaluate(color)
            look.page.get_by_label("Theme").select_option("dark")
            dark = look.page.evaluate(color)
            self.assertNotEqual(light, dark)
            look.page.reload()
            self.assertEqual(dark, look.page.evaluate(color))
            look.page.get_by_label("Theme").select_option("system")
            self.assertEqual(light, look.page.evaluate(color))

    def test_an_error_says_what_it_is_and_can_be_tried_again(self):
        with self.look(expected=["status of 503"]) as look:
            self.world.set("broken")
            for view in VIEWS:
                if view == "overview":
                    continue
                with self.subTest(view=view):
                    look.page.evaluate("hash => { location.hash = hash }", VIEWS[view])
                    expect(look.page.get_by_role("alert").first).to_contain_text("The store cannot be read: the disk is gone.")
            look.axe()
            self.world.set("mixed")
            look.page.get_by_role("button", name="Try again").click()
            expect(look.page.get_by_role("table", name="Settings")).to_be_visible()

    def test_a_module_that_does_not_come_is_said(self):
        with self.look(expected=["ERR_FAILED"]) as look:
            look.page.route("**/page/format.js", lambda route: route.abort())
            look.page.reload()
            expect(look.page.get_by_role("alert")).to_have_text("Part of the page could not be loaded. Reload the page.")

    def test_a_view_that_waits_says_so(self):
        with self.look() as look:
            self.world.set("slow")
            look.page.evaluate("location.hash = '#/origins'")
            expect(look.page.locator(".loading")).to_have_text("Loading")
            look.axe()
            self.world.set("mixed")
            expect(look.page.get_by_role("table")).to_be_visible()

    def test_an_unknown_address_and_an_unknown_response_say_so(self):
        with self.look(expected=["status of 404"]) as look:
            look.go("#/no-such-view")
            expect(look.page.locator(".source")).to_be_visible()
            for id_ in ("ffffffffffffffff", "%E0%A4%A"):
                look.go(f"#/response/{id_}")
                expect(look.page.locator(".empty")).to_contain_text("Nothing is stored under this key")

    def test_nothing_moves_for_those_who_want_no_motion(self):
        with self.look() as look:
            moving = look.page.evaluate("[...document.querySelectorAll('*')].filter(e => getComputedStyle(e).transitionDuration !== '0s' || getComputedStyle(e).animationName !== 'none').length")
            self.assertEqual(0, moving)

    def test_the_first_paint_comes_within_300_ms(self):
        times = []
        with self.look() as look:
            for _ in range(5):
                look.page.reload()
                look.page.locator(".source").wait_for()
                times.append(look.page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
        print(f"first contentful paint: {sorted(round(each) for each in times)} ms", end=" ")
        # The limit is the claim, so it stays. A busy machine slows some of the five, hardly the fastest.
        self.assertLess(min(times), 300)
