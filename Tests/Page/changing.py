"""What changes something asks first, says what is lost, and changes nothing when it is cancelled."""

from playwright.sync_api import expect

from look import PageTest


class Changes(PageTest):
    def dialog(self, look):
        dialog = look.page.get_by_role("dialog")
        expect(dialog).to_be_visible()
        return dialog

    def test_removing_says_what_is_lost_and_needs_consent(self):
        with self.look(view="response") as look:
            look.page.get_by_role("button", name="Remove").click()
            dialog = self.dialog(look)
            expect(dialog).to_contain_text("Deletes 412 responses, 85.9 MiB.")
            expect(dialog).to_contain_text("37 of 412 are the only offline copies (9.0 %).")
            look.axe()
            remove = dialog.get_by_role("button", name="Remove")
            expect(remove).to_be_disabled()
            dialog.get_by_label("I know that 37 of 412 are the only offline copies, and that they are lost.").check()
            dialog.get_by_label("Reason").fill("wrong price")
            self.assertEqual([], self.changes())
            remove.click()
            expect(dialog).to_contain_text("Removed 412 responses, 85.9 MiB. Sequence 8126.")
            body = {"select": {"urls": ["https://api.example.com/v1/catalogue/7?page=0"]}, "action": "remove", "reason": "wrong price"}
            self.assertEqual([("POST", "/v1/purges", body)], self.changes())
            dialog.get_by_role("button", name="Close").click()
            expect(look.page.locator(".empty")).to_contain_text("Nothing is stored under this key")

    def test_expiring_says_that_nothing_is_lost(self):
        with self.look(view="response") as look:
            look.page.get_by_role("button", name="Expire").click()
            dialog = self.dialog(look)
            expect(dialog).to_contain_text("Offline copies stay")
            dialog.get_by_role("button", name="Expire").click()
            expect(dialog).to_contain_text("Expired 412 responses")
            self.assertEqual("expire", self.changes()[0][2]["action"])

    def test_fetching_again_expires_and_refreshes(self):
        with self.look(view="response") as look:
            look.page.get_by_role("button", name="Fetch again").click()
            dialog = self.dialog(look)
            dialog.get_by_role("button", name="Fetch again").click()
            expect(dialog).to_contain_text("Fetching 412 responses again.")
            self.assertEqual({"perSecond": 20, "atMost": 5000}, self.changes()[0][2]["refresh"])

    def test_pinning_says_how_much_all_pins_take(self):
        with self.look(view="response") as look:
            look.page.get_by_role("button", name="Pin", exact=True).click()
            dialog = self.dialog(look)
            expect(dialog).to_contain_text("All pins use 800 KiB of the 512 MiB limit")
            dialog.get_by_role("button", name="Pin", exact=True).click()
            expect(dialog).to_contain_text("Changed 1 response.")
            self.assertEqual(True, self.changes()[0][2]["pinned"])

    def test_a_search_is_pinned_expired_or_removed_as_a_whole(self):
        with self.look(hash_="#/stored?tag=news") as look:
            for button, path in [("Pin all matches", "/v1/pins"), ("Expire all matches", "/v1/purges"), ("Remove all matches", "/v1/purges")]:
                with self.subTest(button=button):
                    look.page.get_by_role("button", name=button).click()
                    expect(self.dialog(look)).to_contain_text("Tag news")
                    self.assertEqual({"tags": ["news"]}, [body for _, asked, body in self.world.requests if asked == path][-1]["select"])
                    look.page.keyboard.press("Escape")
            look.go("#/stored?tag=news&state=stale")
            # A purge cannot select a state, so it would be more than the table shows.
            expect(look.page.get_by_role("button", name="Expire all matches")).to_have_count(0)
            self.assertEqual([], self.changes())

    def test_every_kind_of_purge_is_asked_for_from_the_form(self):
        with self.look(view="purges") as look:
            page = look.page
            cases = [
                ("URLs", "https://a.example/1\nhttps://a.example/2\n", {"urls": ["https://a.example/1", "https://a.example/2"]}),
                ("URLs that begin with", "https://a.example/v1/", {"prefixes": ["https://a.example/v1/"]}),
                ("Tags", "news", {"tags": ["news"]}), ("Hosts", "a.example", {"hosts": ["a.example"]}), ("Everything", None, {"all": True}),
            ]
            for kind, values, select in cases:
                with self.subTest(kind=kind):
                    page.get_by_label("Select").select_option(kind)
                    if values:
                        page.get_by_label("Values").fill(values)
                    page.get_by_role("button", name="Preview").click()
                    dialog = self.dialog(look)
                    dialog.get_by_role("button", name="Expire").click()
                    expect(dialog).to_contain_text("Expired")
                    self.assertEqual(select, self.changes()[-1][2]["select"])
                    dialog.get_by_role("button", name="Close").click()

    def test_cancelling_changes_nothing_and_gives_the_focus_back(self):
        with self.look(view="response") as look:
            for end in ("Escape", "Cancel"):
                button = look.page.get_by_role("button", name="Remove")
                button.click()
                dialog = self.dialog(look)
                if end == "Escape":
                    look.page.keyboard.press("Escape")
                else:
                    dialog.get_by_role("button", name="Cancel").click()
                expect(look.page.get_by_role("dialog")).to_have_count(0)
                expect(button).to_be_focused()
            self.assertEqual([], self.changes())

    def test_a_command_is_copied_from_the_question(self):
        with self.look(view="response") as look:
            look.page.get_by_role("button", name="Remove").click()
            dialog = self.dialog(look)
            dialog.get_by_label("Reason").fill("it's wrong")
            dialog.get_by_role("button", name="Copy as command").click()
            text = look.page.evaluate("navigator.clipboard.readText()")
            self.assertEqual("holdfast purge 'https://api.example.com/v1/catalogue/7?page=0' --remove --reason 'it'\\''s wrong' --socket /run/holdfast/control.sock", text)

    def test_a_mode_has_an_end(self):
        with self.look() as look:
            look.page.get_by_role("button", name="Change mode").click()
            dialog = self.dialog(look)
            expect(dialog).to_contain_text("99.1 % of the last hour's requests could be served without origins.")
            dialog.get_by_label("Mode").select_option("offline")
            expect(dialog).to_contain_text("Requests that the store cannot serve get 504.")
            dialog.get_by_label("Ends after").select_option("1h")
            look.axe()
            dialog.get_by_role("button", name="Change", exact=True).click()
            expect(dialog).to_contain_text("The mode is offline, until")
            self.assertEqual([("PUT", "/v1/mode", {"mode": "offline", "for": "1h"})], self.changes())
            dialog.get_by_role("button", name="Close").click()
            expect(look.page.locator(".source-mode")).to_contain_text("then automatic")

    def test_the_file_is_read_again(self):
        with self.look(view="configuration") as look:
            look.page.get_by_role("button", name="Reload").click()
            dialog = self.dialog(look)
            dialog.get_by_role("button", name="Reload").click()
            expect(dialog).to_contain_text("mode automatic → online")

    def test_a_failed_change_says_why_and_can_be_tried_again(self):
        with self.look(view="response", expected=["status of 503"]) as look:
            look.page.get_by_role("button", name="Expire").click()
            dialog = self.dialog(look)
            button = dialog.get_by_role("button", name="Expire")
            expect(button).to_be_enabled()
            self.world.set("broken")
            button.click()
            expect(dialog.get_by_role("alert")).to_contain_text("The store cannot be read: the disk is gone.")
            self.world.set("mixed")
            button.click()
            expect(dialog).to_contain_text("Expired 412 responses")

    def test_a_scope_shows_only_what_it_opens(self):
        for scope, buttons in [("read", []), ("purge", ["Fetch again", "Expire", "Remove"])]:
            with self.subTest(scope=scope), self.look() as look:
                self.world.scope = scope
                look.page.get_by_role("button", name="End session").click()
                look.page.get_by_label("Or use a control-plane token").fill("t" * 64)
                look.page.get_by_role("button", name="Open").click()
                look.page.locator(".source").wait_for()
                expect(look.page.get_by_role("button", name="Change mode")).to_have_count(0)
                look.show("response")
                self.assertEqual(buttons, look.page.locator(".response-head button").all_inner_texts())
                look.show("configuration")
                expect(look.page.get_by_role("button", name="Reload")).to_have_count(0)

    def test_a_response_is_compared_with_its_origin(self):
        with self.look(view="response") as look:
            look.page.get_by_role("button", name="Compare with the origin").click()
            table = look.page.get_by_role("table", name="Compared with the origin")
            expect(table.locator("tbody tr")).to_have_count(2)
            expect(look.page.locator(".comparison")).to_contain_text("Status 200 stored, 200 from the origin. The body differs: 77.1 KiB stored, 79.1 KiB from the origin.")
            look.axe()
