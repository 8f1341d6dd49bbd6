"""Data for training: datasets, samplers, and loaders that make batches in parallel.

Here: `DataLoader` makes batches of a `Dataset`, in this thread, in threads or in worker processes
(`get_worker_info`, `WorkerInfo`). Datasets are `TensorDataset`, `ConcatDataset`, `Subset`, what
`random_split` returns, and those of a program, which may be an `IterableDataset`. The order is that
of a `Sampler`: `SequentialSampler`, `RandomSampler`, `SubsetRandomSampler`,
`WeightedRandomSampler`, and `BatchSampler` over one of them. `default_collate` makes a batch of
examples. `batches` needs none of it: it goes through arrays in memory.

A loader's state_dict() tells which batch comes next, so training goes on in the middle of an epoch.
"""

from frazil.data.arrays import batches as batches
from frazil.data.collate import default_collate as default_collate
from frazil.data.dataset import ConcatDataset as ConcatDataset
from frazil.data.dataset import Dataset as Dataset
from frazil.data.dataset import IterableDataset as IterableDataset
from frazil.data.dataset import Subset as Subset
from frazil.data.dataset import TensorDataset as TensorDataset
from frazil.data.dataset import random_split as random_split
from frazil.data.loader import DataLoader as DataLoader
from frazil.data.sampler import BatchSampler as BatchSampler
from frazil.data.sampler import RandomSampler as RandomSampler
from frazil.data.sampler import Sampler as Sampler
from frazil.data.sampler import SequentialSampler as SequentialSampler
from frazil.data.sampler import SubsetRandomSampler as SubsetRandomSampler
from frazil.data.sampler import WeightedRandomSampler as WeightedRandomSampler
from frazil.data.worker import WorkerInfo as WorkerInfo
from frazil.data.worker import get_worker_info as get_worker_info

__all__ = [
    "BatchSampler",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "WorkerInfo",
    "batches",
    "default_collate",
    "get_worker_info",
    "random_split",
]
