"""Settings of Sphinx for the site; tools/docs.py stages what it reads and calls it."""

project = "frazil"
author = "the authors of frazil"
extensions = ["myst_parser"]
myst_heading_anchors = 3
myst_enable_extensions = ["deflist", "fieldlist"]
suppress_warnings = [
    "misc.highlighting_failure",  # the languages of our own dumps
]
exclude_patterns = ["conf.py"]

html_theme = "furo"
html_title = "frazil"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_permalinks_icon = "#"
pygments_style = "friendly"
pygments_dark_style = "monokai"
python_maximum_signature_line_length = 88
toc_object_entries = False  # hundreds of functions in the margin
