"""Settings of Sphinx for the site; tools/docs_site.py stages what it reads and calls it."""

project = "frazil"
author = "the authors of frazil"
extensions = ["myst_parser"]
myst_heading_anchors = 3
myst_enable_extensions = ["deflist", "fieldlist"]
suppress_warnings = [
    "misc.highlighting_failure",  # the languages of our own dumps
]
exclude_patterns = ["conf.py"]

html_theme = "alabaster"
html_theme_options = {
    "description": "tensor programs, recorded and fused",
    "fixed_sidebar": True,
    "page_width": "1200px",
    "sidebar_width": "260px",
    "sidebar_collapse": True,  # of other parts: the whole tree on each page takes long
    "show_powered_by": False,
    "font_family": "system-ui, sans-serif",
}
html_title = "frazil"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_permalinks_icon = "#"
html_use_index = True
html_show_search_summary = False  # is fetched, which pages opened as files cannot do
python_maximum_signature_line_length = 88
toc_object_entries = False  # hundreds of functions in the margin
