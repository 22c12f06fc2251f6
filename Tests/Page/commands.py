"""Commands that are copied are run: a shell takes them for the words that were meant, and for nothing else."""

import pathlib
import shutil
import subprocess
import tempfile

from playwright.sync_api import expect

import made_up
from look import PageTest

SHELLS = [name for name in ("dash", "bash", "busybox") if shutil.which(name)]
STRANGE = [
    "a'b", "$(touch gone)", "`touch gone`", "$HOME ${HOME}", "a\nb", "a\tb\x1b[31m\x07", "!!", "a!b\u202ec", "50% \\ %s %n\u200b", "-rf\u200b", "-x",
    "--all", "a;touch gone", "a&b|c>d<e", "*?[a]", "~", "#x", "", " ", "\\", "\\'", "''", '"', "\u05d0/\u05d1", "a\u2028b", "a\x00".rstrip("\x00"), "{a,b}",
]


class Commands(PageTest):
    def run_in(self, shell, text):
        """The arguments that each program of a command got."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("holdfast", "curl"):
                program = pathlib.Path(folder, name)
                program.write_text('#!/bin/sh\nfor word in "$@"; do printf \'%s\\0\' "$word"; done\n')
                program.chmod(0o755)
            words = [shell, "sh"] if shell == "busybox" else [shell]
            environment = {"PATH": f"{folder}:/usr/bin:/bin", "HOME": "/home", "HOLDFAST_TOKEN": "secret"}
            result = subprocess.run([*words, "-c", text], capture_output=True, cwd=folder, env=environment, check=False)
            self.assertEqual(b"", result.stderr, text)
            self.assertEqual(["curl", "holdfast"], sorted(each.name for each in pathlib.Path(folder).iterdir()), text)
            return result.stdout.decode().split("\0")[:-1]

    def test_every_text_is_one_word_for_every_shell(self):
        with self.look() as look:
            quoted = look.page.evaluate("async texts => { const { quoted } = await import('/page/copy.js'); return texts.map(quoted) }", STRANGE)
            for shell in SHELLS:
                for text, words in zip(STRANGE, quoted):
                    with self.subTest(shell=shell, text=text):
                        self.assertFalse(set(words) & set("\n\t\x1b\x07\u202e\u200b\u2028"), words)
                        self.assertEqual([text], self.run_in(shell, f"holdfast {words}"))

    def test_history_of_an_interactive_shell_is_not_asked(self):
        with self.look() as look:
            for text in ["a!b", "a!b\u200b", "it's !x"]:
                words = look.page.evaluate("async text => (await import('/page/copy.js')).quoted(text)", text)
                script = f"set -o history -o histexpand\n: x\nprintf '%s' {words}\n"
                done = subprocess.run(["bash", "--norc"], input=script, capture_output=True, text=True, check=False)
                self.assertEqual((text, ""), (done.stdout, done.stderr))

    def test_commands_of_a_hostile_response_do_what_they_say(self):
        with self.look("hostile") as look:
            for number, url in enumerate(made_up.HOSTILE):
                look.go(f"#/response/{number + 1:016x}")
                stored = made_up.response(number)["url"]
                look.page.get_by_role("button", name="Expire").click()
                dialog = look.page.get_by_role("dialog")
                expect(dialog).to_contain_text("Expires")
                dialog.get_by_label("Reason").fill("--all")
                dialog.get_by_role("button", name="Copy as command").click()
                command = look.page.evaluate("navigator.clipboard.readText()")
                look.page.keyboard.press("Escape")
                for shell in SHELLS:
                    with self.subTest(shell=shell, url=url):
                        expected = ["purge", stored, "--reason=--all", "--socket", "/run/holdfast/control.sock"]
                        self.assertEqual(expected, self.run_in(shell, command))

    def test_a_value_that_no_command_can_have_is_not_copied(self):
        with self.look(hash_="#/stored?prefix=https%3A%2F%2Fa.example%2Fx%0A") as look:
            look.page.evaluate("navigator.clipboard.writeText('before')")
            look.page.get_by_role("button", name="Remove all matches").click()
            dialog = look.page.get_by_role("dialog")
            expect(dialog).to_contain_text("Deletes")
            dialog.get_by_role("button", name="Copy as command").click()
            expect(look.page.locator("#notice")).to_contain_text("Nothing was copied. A value ends with a line break")
            self.assertEqual("before", look.page.evaluate("navigator.clipboard.readText()"))
            refused = look.page.evaluate("""async texts => { const { quoted } = await import('/page/copy.js');
                return texts.filter(text => { try { quoted(text); return false } catch { return true } }) }""", ["a\n", "\n", "-\n", "a\r\n", "a\nb"])
            self.assertEqual(["a\n", "\n", "-\n", "a\r\n"], refused)

    def test_a_tag_that_looks_like_an_option_is_none(self):
        with self.look(hash_="#/stored?tag=--all") as look:
            look.page.get_by_role("button", name="Expire all matches").click()
            dialog = look.page.get_by_role("dialog")
            expect(dialog).to_contain_text("Expires")
            dialog.get_by_role("button", name="Copy as command").click()
            command = look.page.evaluate("navigator.clipboard.readText()")
            self.assertEqual("purge", self.run_in("dash", command)[0])
            self.assertIn("--tag=--all", self.run_in("dash", command))

    def test_paths_with_queries_and_comparisons_are_commands(self):
        with self.look() as look:
            look.page.get_by_role("group", name="Copy curves").get_by_role("button", name="Copy as command").click()
            command = look.page.evaluate("navigator.clipboard.readText()")
            expected = ["-sG", "--unix-socket", "/run/holdfast/control.sock", "http://localhost/v1/history", "--data-urlencode", "window=hour"]
            self.assertEqual(expected, self.run_in("dash", command))
            look.show("response")
            look.page.get_by_role("button", name="Compare with the origin").click()
            table = look.page.locator(".comparison")
            table.get_by_role("button", name="Copy as command").click()
            words = self.run_in("dash", look.page.evaluate("navigator.clipboard.readText()"))
            self.assertEqual("http://localhost/v1/responses/0000000000000008/comparison", words[-1])
            self.assertEqual(["-s", "--json"], words[:2])
            self.assertRegex(words[2], r'^\{"entry":\d+\}$')

    def test_without_a_socket_a_command_has_a_token_and_the_address_of_the_page(self):
        with self.look() as look:
            self.world.without_socket = True
            self.world.set("origin")
            look.page.locator(".source-title.good").wait_for()
            look.show("outages")
            look.page.get_by_role("button", name="Copy as command").click()
            words = self.run_in("dash", look.page.evaluate("navigator.clipboard.readText()"))
            self.assertEqual(["-s", "-H", "Authorization: Bearer secret", f"{look.origin}/v1/outages"], words)
