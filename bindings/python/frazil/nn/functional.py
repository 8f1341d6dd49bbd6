"""Functions of layers, under the names, arguments and defaults of PyTorch's nn.functional.

Here: activations `celu`, `elu`, `gelu`, `glu`, `gumbel_softmax`, `hardshrink`, `hardsigmoid`,
`hardswish`, `hardtanh`, `leaky_relu`, `log_softmax`, `logsigmoid`, `mish`, `normalize`, `prelu`,
`relu`, `relu6`, `rrelu`, `selu`, `sigmoid`, `silu`, `softmax`, `softmin`, `softplus`, `softshrink`,
`softsign`, `tanh`, `tanhshrink`, `threshold`; dropout `alpha_dropout`, `dropout`, `dropout1d`,
`dropout2d`, `dropout3d`, `feature_alpha_dropout`; products `bilinear`, `embedding`,
`embedding_bag`, `linear`; normalisation `batch_norm`, `group_norm`, `instance_norm`, `layer_norm`,
`local_response_norm`, `rms_norm`; convolutions `conv1d`, `conv2d`, `conv3d`, `conv_transpose1d`,
`conv_transpose2d`, `conv_transpose3d`; pooling `adaptive_avg_pool1d`, `adaptive_avg_pool2d`,
`adaptive_avg_pool3d`, `adaptive_max_pool1d`, `adaptive_max_pool2d`, `adaptive_max_pool3d`,
`avg_pool1d`, `avg_pool2d`, `avg_pool3d`, `lp_pool1d`, `lp_pool2d`, `lp_pool3d`, `max_pool1d`,
`max_pool2d`, `max_pool3d`, `max_unpool1d`, `max_unpool2d`, `max_unpool3d`; places `pad`,
`affine_grid`, `channel_shuffle`, `fold`, `grid_sample`, `interpolate`, `one_hot`, `pixel_shuffle`,
`pixel_unshuffle`, `unfold`; losses `binary_cross_entropy`, `binary_cross_entropy_with_logits`,
`cosine_embedding_loss`, `cosine_similarity`, `cross_entropy`, `gaussian_nll_loss`,
`hinge_embedding_loss`, `huber_loss`, `kl_div`, `l1_loss`, `margin_ranking_loss`, `mse_loss`,
`multi_margin_loss`, `multilabel_margin_loss`, `multilabel_soft_margin_loss`, `nll_loss`,
`pairwise_distance`, `pdist`, `poisson_nll_loss`, `smooth_l1_loss`, `soft_margin_loss`,
`triplet_margin_loss`, `triplet_margin_with_distance_loss`, `ctc_loss`; attention `apply_rotary`,
`scaled_dot_product_attention`.

>>> import frazil as fz
>>> softmax(fz.zeros((1, 4)), dim=1).tolist()
[[0.25, 0.25, 0.25, 0.25]]
"""

# ruff: noqa: F403, F405 -- names of the files that __all__ lists
from frazil.nn.activation import *
from frazil.nn.attention_layers import (
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from frazil.nn.convolution import *
from frazil.nn.ctc import *
from frazil.nn.decoding import apply_rotary as apply_rotary
from frazil.nn.dropout import alpha_dropout as alpha_dropout
from frazil.nn.dropout import dropout as dropout
from frazil.nn.dropout import dropout1d as dropout1d
from frazil.nn.dropout import dropout2d as dropout2d
from frazil.nn.dropout import dropout3d as dropout3d
from frazil.nn.dropout import feature_alpha_dropout as feature_alpha_dropout
from frazil.nn.folding import affine_grid as affine_grid
from frazil.nn.folding import fold as fold
from frazil.nn.folding import grid_sample as grid_sample
from frazil.nn.folding import pdist as pdist
from frazil.nn.folding import unfold as unfold
from frazil.nn.linear import bilinear as bilinear
from frazil.nn.linear import embedding as embedding
from frazil.nn.linear import embedding_bag as embedding_bag
from frazil.nn.linear import linear as linear
from frazil.nn.losses import *
from frazil.nn.normalization import batch_norm as batch_norm
from frazil.nn.normalization import group_norm as group_norm
from frazil.nn.normalization import instance_norm as instance_norm
from frazil.nn.normalization import layer_norm as layer_norm
from frazil.nn.normalization import local_response_norm as local_response_norm
from frazil.nn.normalization import rms_norm as rms_norm
from frazil.nn.padding import pad as pad
from frazil.nn.pooling import *
from frazil.nn.unpooling import max_unpool1d as max_unpool1d
from frazil.nn.unpooling import max_unpool2d as max_unpool2d
from frazil.nn.unpooling import max_unpool3d as max_unpool3d
from frazil.nn.upsampling import channel_shuffle as channel_shuffle
from frazil.nn.upsampling import interpolate as interpolate
from frazil.nn.upsampling import one_hot as one_hot
from frazil.nn.upsampling import pixel_shuffle as pixel_shuffle
from frazil.nn.upsampling import pixel_unshuffle as pixel_unshuffle

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "alpha_dropout", "apply_rotary", "avg_pool1d",
    "avg_pool2d", "avg_pool3d", "batch_norm", "bilinear", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "celu", "channel_shuffle", "conv1d", "conv2d", "conv3d",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss",
    "cosine_similarity", "cross_entropy", "ctc_loss", "dropout", "dropout1d", "dropout2d",
    "dropout3d", "elu", "embedding", "embedding_bag", "feature_alpha_dropout", "gaussian_nll_loss",
    "gelu", "glu", "group_norm", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish",
    "hardtanh", "hinge_embedding_loss", "huber_loss", "instance_norm", "interpolate", "kl_div",
    "l1_loss", "layer_norm", "leaky_relu", "linear", "local_response_norm", "log_softmax",
    "logsigmoid", "lp_pool1d", "lp_pool2d", "margin_ranking_loss", "max_pool1d", "max_pool2d",
    "max_pool3d", "mish", "mse_loss", "multi_margin_loss", "multilabel_margin_loss",
    "multilabel_soft_margin_loss", "nll_loss", "normalize", "one_hot", "pad", "pairwise_distance",
    "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss", "prelu", "relu", "relu6", "rms_norm",
    "rrelu", "scaled_dot_product_attention", "selu", "sigmoid", "silu", "smooth_l1_loss",
    "soft_margin_loss", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh",
    "tanhshrink", "threshold", "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip
__all__ += ["max_unpool1d", "max_unpool2d", "max_unpool3d"]
__all__ += ["affine_grid", "fold", "grid_sample", "lp_pool3d", "pdist", "unfold"]
