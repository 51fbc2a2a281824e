# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What Sphinx is told; scripts/site sets the environment."""

import os
import pathlib

_here = pathlib.Path(__file__).resolve().parent
_stage = pathlib.Path(os.environ["TANDEM_SITE_STAGE"])

project = "tandem"
author = "The tandem authors"
project_copyright = "2026 The tandem authors"
extensions = ["myst_parser", "sphinx_copybutton"]
root_doc = "index"
exclude_patterns = ["copied"]

html_theme = "furo"
html_title = "tandem"
html_static_path = [str(_here / "look")]
html_css_files = ["site.css"]
html_extra_path = [str(_stage / "copied")]
html_copy_source = False
html_show_sphinx = False

myst_heading_anchors = 4
highlight_language = "none"
smartquotes = False
copybutton_exclude = ".linenos, .gp, .go"
