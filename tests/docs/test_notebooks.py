"""Notebooks run, each in a kernel of Jupyter, and are kept without what they show."""

from pathlib import Path

import nbclient
import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def run(notebook, folder):
    nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": folder}}
    ).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_run(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = run(notebook, tmp_path)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))


def test_a_cell_that_raises_fails(tmp_path):
    cells = [nbformat.v4.new_code_cell("import frazil as fz"), nbformat.v4.new_code_cell("fz.gone")]
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="AttributeError.*gone"):
        run(nbformat.v4.new_notebook(cells=cells), tmp_path)


def test_tensors_modules_and_traces_show_as_html(tmp_path):
    code = [
        "import frazil as fz",
        "fz.ones((2, 3))",
        "fz.nn.Sequential(fz.nn.Linear(3, 4))",
        "f = fz.trace(lambda x: x + 1); f(fz.ones(2)); f",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in code])
    shown = [cell.outputs[0].data.get("text/html") for cell in run(notebook, tmp_path)[1:]]
    assert all(shown), shown


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_stripped(path):
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None


def test_there_are_some():
    assert len(NOTEBOOKS) >= 3
