"""Pictures of every view, in both themes, on a desktop and on a phone: only with --screenshots."""

import os
import pathlib
import shutil
import subprocess
import unittest

from look import SIZES, VIEWS, PageTest

FOLDER = os.environ.get("SCREENSHOTS")
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs/images"
# The few that stand in the documentation: view, scenario, size, theme.
DOCUMENTED = {
    "inspector-overview": ("overview", "store", "desktop", "light"),
    "inspector-response": ("response", "mixed", "desktop", "dark"),
    "inspector-remove": ("remove", "mixed", "desktop", "light"),
    "inspector-phone": ("overview", "mixed", "phone", "dark"),
}
COLORS = "64"


def smaller(file):
    """A palette is enough for the page's few colors."""
    if shutil.which("pngquant"):
        subprocess.run(["pngquant", "--force", "--ext", ".png", "--speed", "1", COLORS, str(file)], check=True)


@unittest.skipUnless(FOLDER, "asked for by --screenshots")
class Screenshots(PageTest):
    def picture(self, look, view, file, size, is_whole):
        if view == "remove":
            look.go("#/stored?tag=news")
            look.page.get_by_role("button", name="Remove all matches").click()
            look.page.get_by_label("I know that").wait_for()
        else:
            look.show(view)
        file.parent.mkdir(parents=True, exist_ok=True)
        look.page.screenshot(path=str(file), full_page=is_whole and size == "phone")

    def test_every_view(self):
        for size in SIZES:
            for theme in ("light", "dark"):
                for scenario in ("origin", "mixed", "store", "new"):
                    with self.look(scenario, size=size, theme=theme) as look:
                        for view in VIEWS if scenario == "mixed" else ["overview"]:
                            self.picture(look, view, pathlib.Path(FOLDER) / f"{view}-{scenario}-{size}-{theme}.png", size, True)

    def test_documentation(self):
        for name, (view, scenario, size, theme) in DOCUMENTED.items():
            with self.look(scenario, size=size, theme=theme) as look:
                file = DOCS / f"{name}.png"
                self.picture(look, view, file, size, False)
                smaller(file)
