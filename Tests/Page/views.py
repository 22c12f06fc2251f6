"""Every view, in both themes, on a desktop and on a phone."""

import re

from playwright.sync_api import expect

from look import SIZES, TITLES, VIEWS, PageTest


class Views(PageTest):
    def test_every_view_has_its_parts_fits_and_is_accessible(self):
        for size in SIZES:
            for theme in ("light", "dark"):
                with self.look(size=size, theme=theme) as look:
                    for view in VIEWS:
                        with self.subTest(view=view, size=size, theme=theme):
                            look.show(view)
                            self.assertIn(TITLES[view], look.page.title())
                            look.fits()
                            look.axe()

    def test_empty_views_say_so_and_are_accessible(self):
        with self.look("new") as look:
            for view in VIEWS:
                if view == "response":
                    continue
                with self.subTest(view=view):
                    look.show(view)
                    if view not in ("overview", "configuration", "nodes"):
                        expect(look.page.locator(".empty").first).to_be_visible()
                    look.axe()

    def test_first_sentence_says_on_what_it_stands(self):
        titles = {"origin": "Serving normally", "mixed": "Serving partly from the store", "store": "Serving from the store"}
        with self.look("origin") as look:
            for scenario, title in titles.items():
                with self.subTest(scenario=scenario):
                    self.world.set(scenario)
                    expect(look.page.locator(".source-title")).to_have_text(title)
                    self.assertIn(title, look.page.title())
            # It is a change of the state, so readers of the screen hear it.
            expect(look.page.locator("#announcement")).to_contain_text("Serving from the store.")

    def test_first_screen_has_every_figure_above_the_fold(self):
        with self.look("store") as look:
            text = look.page.locator("main").inner_text()
            for words in ["unreachable", "Hit ratio", "p50", "p99", "Available without origins", "for 1 h", "for 1 d", "offline", "ends", "next probe", "Store", "Memory", "Requests per second"]:
                self.assertIn(words, text)
            for part in [".source", ".tiles", ".origins", ".budget >> nth=1", ".chart >> nth=3"]:
                box = look.page.locator(part).first.bounding_box()
                self.assertLessEqual(box["y"] + box["height"], 900, part)

    def test_curves_are_read_with_pointer_and_keys(self):
        with self.look() as look:
            look.settle()
            chart = look.page.get_by_role("slider", name="Requests per second")
            chart.focus()
            last = chart.get_attribute("aria-valuetext")
            chart.press("Home")
            expect(chart).to_have_attribute("aria-valuenow", "0")
            self.assertNotEqual(last, chart.get_attribute("aria-valuetext"))
            self.assertRegex(chart.get_attribute("aria-valuetext"), r"all .+, to origins .+, stale .+, rejected ")
            chart.press("ArrowRight")
            expect(chart).to_have_attribute("aria-valuenow", "1")
            chart.hover()
            expect(look.page.locator(".chart-panel .cross").first).to_have_attribute("visibility", "visible")

    def test_curves_of_a_young_gateway_fill_their_frame(self):
        with self.look("new") as look:
            expect(look.page.get_by_role("slider", name="Store")).to_have_attribute("aria-valuemax", "29")
            self.assertGreater(look.page.locator(".chart").first.locator("text.axis").count(), 4)

    def test_curves_of_the_day_replace_those_of_the_hour(self):
        with self.look() as look:
            look.settle()
            look.page.get_by_label("Day", exact=True).check(force=True)
            chart = look.page.get_by_role("slider", name="Store")
            expect(chart).to_have_attribute("aria-valuemax", "287")
            self.assertIn(("GET", "/v1/history?window=day", {}), self.world.requests)

    def test_stored_responses_are_searched_sorted_and_paged_by_the_gateway(self):
        with self.look(view="stored") as look:
            page = look.page
            expect(page.locator("tbody tr")).to_have_count(50)
            page.get_by_role("columnheader", name="Size").get_by_role("link").click()
            look.settle()
            expect(page.get_by_role("columnheader", name="Size")).to_have_attribute("aria-sort", "descending")
            page.get_by_role("link", name="Next page").click()
            expect(page.locator(".pages")).to_contain_text("Page 2")
            self.assertTrue(any("order=-size" in path and "after=50" in path for _, path, _ in self.world.requests))
            page.get_by_role("button", name="Previous").click()
            expect(page.locator(".pages")).to_contain_text("Page 1")
            page.get_by_label("URL begins with").fill("https://api.example.com/v1/catalogue/99")
            page.get_by_label("State").select_option("fresh")
            look.settle()
            expect(page.locator(".pages")).to_contain_text("this is the last page")
            page.get_by_role("link", name="Clear").click()
            look.settle()
            page.get_by_label("Tag").fill("none")
            page.get_by_role("button", name="Search").click()
            expect(page.locator(".empty")).to_have_text("No stored response matches this search.")

    def test_a_response_shows_its_life_its_variants_and_what_would_happen(self):
        with self.look(view="response") as look:
            page = look.page
            expect(page.locator(".timeline")).to_have_attribute("aria-label", re.compile(r"Stored .+; fresh until .+; usable offline until .+; not usable offline\. Now it is fresh\."))
            expect(page.get_by_role("table", name="Variants").locator("tbody tr")).to_have_count(3)
            expect(page.get_by_role("table", name="What happens if …")).to_contain_text("the origin is unreachable")
            page.get_by_role("link", name="accept-language: de").click()
            look.settle()
            expect(page.get_by_role("link", name="accept-language: de")).to_have_attribute("aria-current", "true")
            page.get_by_role("link", name="news").click()
            look.settle()
            expect(page.get_by_label("Tag")).to_have_value("news")

    def test_tables_sort_by_their_heads(self):
        with self.look(view="outages") as look:
            head = look.page.get_by_role("columnheader", name="From the store")
            head.get_by_role("button").click()
            expect(head).to_have_attribute("aria-sort", "descending")
            expect(look.page.locator("tbody tr").first).to_contain_text("3,410")
            head.get_by_role("button").press("Enter")
            expect(head).to_have_attribute("aria-sort", "ascending")
            expect(look.page.locator("tbody tr").first).to_contain_text("120")

    def test_servers_of_an_origin_are_shown_in_their_order(self):
        with self.look(view="origins") as look:
            servers = look.page.get_by_role("list", name="Servers of https://packages.example.org:8443").get_by_role("listitem")
            expect(servers).to_have_count(3)
            expect(servers.nth(0)).to_contain_text("set aside")
            expect(servers.nth(0)).to_contain_text("10.0.0.7:8443, 3 failures")
            expect(servers.nth(0)).to_contain_text("refused: ")
            expect(servers.nth(1)).to_contain_text("in use")
            expect(servers.nth(1)).to_contain_text("https://mirror.example.net/packages")
            expect(servers.nth(2)).to_contain_text("drained")
            expect(servers.nth(2)).to_contain_text("by uid 1000: kernel update")

    def test_every_table_is_copied_as_a_command_and_as_json(self):
        with self.look() as look:
            for view in VIEWS:
                with self.subTest(view=view):
                    look.show(view)
                    commands = look.page.get_by_role("button", name="Copy as command")
                    values = look.page.get_by_role("button", name="as JSON")
                    tables = look.page.locator("main table").count()
                    self.assertGreaterEqual(commands.count(), tables)
                    self.assertEqual(commands.count(), values.count())
                    for index in range(commands.count()):
                        commands.nth(index).click()
                        expect(look.page.locator("#notice")).to_contain_text("Copied the command")
                        self.assertRegex(look.page.evaluate("navigator.clipboard.readText()"), r"^(holdfast [a-z]+|curl -s)")
                        values.nth(index).click()
                        expect(look.page.locator("#notice")).to_contain_text("Copied JSON")
                        look.page.evaluate("navigator.clipboard.readText().then(JSON.parse)")

    def test_no_button_does_nothing(self):
        for size in SIZES:
            with self.look(size=size) as look:
                for view in VIEWS:
                    look.show(view)
                    count = look.page.locator("main button").count()
                    for index in range(count):
                        button = look.page.locator("main button").nth(index)
                        name = button.inner_text()
                        with self.subTest(view=view, button=name, size=size):
                            if not button.is_visible():
                                continue
                            self.clicked(look, button, view)
                            # Its view is as before for the next button.
                            look.page.evaluate("document.querySelector('dialog')?.close()")
                            if name in ("Refresh list", "Try again", "Compare with the origin", "Preview"):
                                look.settle()

    def clicked(self, look, button, view):
        """Clicks, and waits until something has happened. The figures of the overview move by themselves."""
        look.page.evaluate(
            """live => { window.happened = new Promise(done => { new MutationObserver(done).observe(document.getElementById('notice'), {subtree: true, childList: true, attributes: true, characterData: true});
            new MutationObserver(list => list.some(each => [...each.addedNodes].some(node => node.nodeName === 'DIALOG')) && done()).observe(document.body, {childList: true});
            if (!live) new MutationObserver(done).observe(document.querySelector('main'), {subtree: true, childList: true, attributes: true});
            document.addEventListener('invalid', done, true); }) }""",
            view in ("overview", "origins"),
        )
        sorts = button.locator("xpath=ancestor::th").count() > 0
        button.click()
        if not sorts:
            look.page.evaluate("window.happened.then(() => true)")
        else:
            self.assertIn(button.locator("xpath=ancestor::th").get_attribute("aria-sort"), ("ascending", "descending"))
