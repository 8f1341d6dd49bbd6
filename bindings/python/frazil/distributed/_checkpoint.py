"""Checkpoints of several ranks: Checkpoint.

A step is a folder: a file of tensors of each rank, and a manifest that says which of them make the
checkpoint. Tensors that all ranks have with the same bits are in one file alone, divided among the
ranks; what differs is in the file of each. Invariants: a step without a manifest is none, rank 0
writes that when all files are on the disk, and nothing of a valid step is ever written again, since
each save() has file names of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import re
import shutil
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil import _seeding, training
from frazil._safetensors import write as _write_tensors
from frazil.data import BatchSampler, DataLoader
from frazil.distributed._sampler import DistributedSampler
from frazil.distributed._texts import gather, together
from frazil.distributed._world import rank as _rank
from frazil.distributed._world import size as _size
from frazil.distributed._zero import ZeroRedundancyOptimizer
from frazil.io import _describe, _read

if TYPE_CHECKING:
    from os import PathLike

    from frazil._frazil import Tensor
    from frazil.distributed._world import Group

_FOLDER = re.compile(r"step-(\d+)")
_MANIFEST = "manifest.json"
_ALL = "all"  # in a manifest in place of a rank


class Checkpoint(training.Checkpoint):
    """`training.Checkpoint` of several ranks: each writes a part, any number of them restores it.

    save() and restore() are called by all ranks. What they all have alike, such as the parameters
    of DataParallel, is divided among their files; a ZeroRedundancyOptimizer's state is written by
    those who have it, and is that of the optimizer of all parameters. A manifest with the sizes and
    digests of the files, written when all are on the disk, makes a step valid: whatever kills a
    rank, the last one that was complete is there. All ranks see the folder.

    As many ranks get all that was theirs. Another number gets what all had alike, each its part of
    a ZeroRedundancyOptimizer's state, and of what differed that of rank 0; random streams of ranks
    that are more begin anew. Where a DataLoader with a DistributedSampler was is counted in
    examples of all ranks, so that the batches may be divided otherwise.

    Parameters
    ----------
    folder : path
    keep, random_state, **parts
        As of training.Checkpoint.
    group
        All ranks by default.

    Raises
    ------
    FileNotFoundError, ValueError
        By restore() on all ranks, with the name of a file that is missing or damaged.

    >>> import tempfile
    >>> import frazil as fz
    >>> model = fz.distributed.DataParallel(fz.nn.Linear(2, 1))
    >>> checkpoint = fz.distributed.Checkpoint(tempfile.mkdtemp(), model=model)
    >>> checkpoint.save(7, loss=0.5)
    >>> checkpoint.restore()
    {'loss': 0.5, 'step': 7}
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        *,
        keep: int | None = 3,
        random_state: bool = True,
        group: Group | None = None,
        **parts: Any,
    ) -> None:
        self.group = group
        self._is_new = False  # a rank that the checkpoint has no random streams of
        super().__init__(folder, keep=keep, random_state=random_state, **parts)

    def path(self, step: int) -> str:
        """The folder of a step."""
        return os.path.join(self.folder, f"step-{step:08d}")

    def all_steps(self) -> list[int]:
        """The steps that are complete, in order."""
        found = map(_FOLDER.fullmatch, os.listdir(self.folder))
        steps = sorted(int(match[1]) for match in found if match)
        return [s for s in steps if os.path.exists(os.path.join(self.path(s), _MANIFEST))]

    def restore(self, step: int | None = None) -> dict[str, Any] | None:
        """Puts all parts and random streams where they were when a step was saved, on all ranks.

        As training.Checkpoint.restore.
        """
        if step is None:
            step = gather(self.latest_step(), self.group)[0]  # one who sees it decides for all
        if step is None:
            return None
        found = super().restore(step)
        if self._is_new:
            _seeding.seed_all(_seeding.derive(random.getrandbits(63), "rank", _rank(self.group)))
        return found

    # -- parts

    def _state(self, part: Any) -> Any:
        state = part.state_dict()
        if not isinstance(part, DataLoader) or not _is_distributed(part):
            return state
        out = {k: v for k, v in state.items() if k not in ("batch", "batch_size")}
        return {**out, "examples": state["batch"] * _batch_of_all(part)}

    def _give(self, name: str, part: Any, state: Any) -> None:
        if isinstance(part, DataLoader) and "examples" in state:
            if not _is_distributed(part):
                raise ValueError(
                    f"[Checkpoint.restore] {name} was saved with a DistributedSampler: give it "
                    "one, of any number of ranks."
                )
            done, batch = state["examples"], _batch_of_all(part)
            number, rest = divmod(done, batch)
            if done >= state.get("length", done):
                number = len(part)
            elif rest:
                raise ValueError(
                    f"[Checkpoint.restore] {name} had given {done} examples of its epoch, which "
                    f"are no whole number of batches of {batch} on all ranks: choose a batch_size "
                    "with which they are."
                )
            out = {k: v for k, v in state.items() if k != "examples"}
            state = {**out, "batch": number, "batch_size": part.batch_size}
        part.load_state_dict(state)

    def _sections(self, tree):
        """(path, nest) of what is compared and placed as a whole."""
        for name, state in tree["parts"].items():
            if not isinstance(self.parts[name], ZeroRedundancyOptimizer):
                yield ["parts", name], state
                continue
            everything = list(range(self.parts[name]._count))
            yield ["parts", name, "state"], {}
            for number, own in state["state"].items():
                yield ["parts", name, "state", number], own
            if state["param_groups"]:
                groups = [{**g, "params": everything} for g in state["param_groups"]]
                yield ["parts", name, "param_groups"], groups
        yield ["values"], tree["values"]
        yield ["random"], tree["random"]

    # -- writing

    def _store(self, step: int, tree: dict[str, Any]) -> None:
        me, ranks, folder = _rank(self.group), _size(self.group), self.path(step)
        own: dict[str, Tensor] = {}

        def describe() -> dict[str, Any]:
            sections = [
                [at, _describe(nest, ".".join(map(str, at)), own)]
                for at, nest in self._sections(tree)
            ]
            tensors = {name: [t.nbytes, _digest_of(t)] for name, t in own.items()}
            return {"step": step, "save": os.urandom(4).hex(), "sections": sections,
                    "tensors": tensors}  # fmt: skip

        told = together(self.group, describe)
        if any(other["step"] != step for other in told):
            steps = [other["step"] for other in told]
            raise ValueError(f"[Checkpoint.save] step must be the same on all ranks, got {steps}.")
        places = _places([other["tensors"] for other in told])

        def write() -> dict[str, Any]:
            os.makedirs(folder, exist_ok=True)
            name = f"part-{me}-of-{ranks}.{told[0]['save']}.safetensors"
            path = os.path.join(folder, name)
            mine = {name: t for name, t in own.items() if me in places[name].values()}
            _write_tensors("Checkpoint.save", path, mine, {"format": "frazil"})
            return {"name": name, "bytes": os.path.getsize(path), "sha256": _digest_of_file(path)}

        files = together(self.group, write)

        def finish() -> None:
            if me == 0:
                _write_manifest(folder, {
                    "format": 1, "step": step, "ranks": ranks, "files": files, "tensors": places,
                    "sections": _merged([other["sections"] for other in told]),
                })  # fmt: skip
                self._clean(step, [file["name"] for file in files])

        together(self.group, finish)

    def _clean(self, step, names):
        """Removes steps that are too many, and what was left by ranks that were killed."""
        for old in self._too_many(step):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.path(old), _MANIFEST))
        valid = set(self.all_steps())
        for name in os.listdir(self.folder):
            match = _FOLDER.fullmatch(name)
            if match and int(match[1]) not in valid:
                shutil.rmtree(os.path.join(self.folder, name), ignore_errors=True)
        for name in os.listdir(self.path(step)):
            if name not in (_MANIFEST, *names):
                os.unlink(os.path.join(self.path(step), name))

    # -- reading

    def _tree(self, path):
        me, ranks = _rank(self.group), _size(self.group)
        manifest = {}

        def check() -> None:
            manifest.update(_read_manifest(path))
            for i, file in enumerate(manifest["files"]):
                _check_file(os.path.join(path, file["name"]), file, i % ranks == me)

        together(self.group, check)
        saved, places = manifest["ranks"], manifest["tensors"]
        files = [
            _fz.runtime.load_tensors("Checkpoint.restore", os.path.join(path, file["name"]))[0]
            for file in manifest["files"]
        ]
        tree = {"parts": {}}
        for at, trees in manifest["sections"]:
            who = me if saved == ranks else 0
            if at == ["random"]:
                who = me % saved
            elif saved != ranks and len(trees) == saved:
                _check_alike(path, at, trees, ranks)
            holder = _ALL if _ALL in trees else str(who) if str(who) in trees else min(trees)
            tensors = {}
            for name in json.loads(trees[holder]["names"]):
                place = places[name]
                number = str(who) if holder == _ALL else holder
                tensors[name] = files[place[_ALL] if _ALL in place else place[number]][name]
                if at == ["random"]:
                    self._is_new = self._is_new or (me >= saved and _ALL not in place)
            node = tree
            for key in at[:-1]:
                node = node.setdefault(key, {})
            node[at[-1]] = _read("Checkpoint.restore", path, tensors, trees[holder])
        return tree


def _is_distributed(loader):
    return isinstance(_sampler_of(loader)[0], DistributedSampler)


def _sampler_of(loader):
    """(the sampler of examples, how many make a batch)."""
    batches = loader.batch_sampler
    if isinstance(batches, BatchSampler):
        return batches.sampler, batches.batch_size
    return loader.sampler, 1


def _batch_of_all(loader):
    """Examples in a batch of all ranks together."""
    sampler, batch = _sampler_of(loader)
    return batch * sampler.num_replicas


def _places(told):
    """Of each tensor {rank or "all": number of the file}, from {name: [bytes, digest]} by rank."""
    holders = {}
    for number, tensors in enumerate(told):
        for name, about in tensors.items():
            holders.setdefault(name, {})[number] = about
    loads = [0] * len(told)
    out, shared = {}, []
    for name, held in holders.items():
        if len(held) == len(told) and len({digest for _, digest in held.values()}) == 1:
            shared.append((held[0][0], name))
            continue
        out[name] = {str(number): number for number in held}
        for number, (size, _) in held.items():
            loads[number] += size
    for size, name in sorted(shared, key=lambda pair: -pair[0]):
        owner = loads.index(min(loads))
        loads[owner] += size
        out[name] = {_ALL: owner}
    return out


def _merged(told):
    """[path, {rank or "all": how the nest is put together}], from the ranks' sections."""
    found = {}
    for number, sections in enumerate(told):
        for at, about in sections:
            found.setdefault(tuple(at), {})[str(number)] = about
    out = []
    for at, trees in found.items():
        first = next(iter(trees.values()))
        same = len(trees) == len(told) and all(other == first for other in trees.values())
        out.append([list(at), {_ALL: first} if same else trees])
    return out


def _check_alike(path, at, trees, ranks):
    """Of what every rank has, the tensors must be the same ones if there are now more or less."""
    if len({about["names"] for about in trees.values()}) > 1:
        raise ValueError(
            f"[Checkpoint.restore] '{path}' has other tensors of {'.'.join(map(str, at))} on each "
            f"of its {len(trees)} ranks, and there are {ranks}: restore it on as many."
        )


def _digest_of(t):
    """Of dtype, shape and bits."""
    out = hashlib.sha256(f"{t.dtype}{t.shape}".encode())
    if t.size:
        out.update(memoryview(t.detach().to_device("cpu").reshape(-1).view("uint8")))
    return out.hexdigest()


def _digest_of_file(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_manifest(folder, manifest):
    text = json.dumps(manifest)
    manifest["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    path = os.path.join(folder, _MANIFEST)
    with open(f"{path}.tmp", "w", encoding="utf-8") as file:
        json.dump(manifest, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.tmp", path)
    for place in (folder, os.path.dirname(folder)):
        descriptor = os.open(place, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def _read_manifest(folder):
    path = os.path.join(folder, _MANIFEST)
    try:
        with open(path, encoding="utf-8") as file:
            manifest = json.load(file)
        digest = manifest.pop("sha256")
    except (ValueError, AttributeError, TypeError, KeyError):
        manifest, digest = None, ""
    if digest != hashlib.sha256(json.dumps(manifest).encode()).hexdigest():
        raise ValueError(
            f"[Checkpoint.restore] '{path}' is damaged or no manifest of a checkpoint: restore "
            "another step."
        )
    if manifest["format"] != 1:
        raise ValueError(
            f"[Checkpoint.restore] '{path}' is of format {manifest['format']}, this frazil reads 1."
        )
    return manifest


def _check_file(path, told, whole):
    """Against the manifest; `whole`: all of its bytes, too."""
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"[Checkpoint.restore] '{path}' is missing, a part of this step: restore another one."
        )
    size = os.path.getsize(path)
    if size != told["bytes"]:
        raise ValueError(
            f"[Checkpoint.restore] '{path}' is damaged: it has {size} bytes, and was written with "
            f"{told['bytes']}; restore another step."
        )
    if whole and _digest_of_file(path) != told["sha256"]:
        raise ValueError(
            f"[Checkpoint.restore] '{path}' is damaged: its bytes are not those that were written; "
            "restore another step."
        )
