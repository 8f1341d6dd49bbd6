"""Layers: modules that hold parameters, and the functions they call.

Names, arguments, defaults and the names of parameters are PyTorch's, so that state dicts load by
name. Layers of images take (n, channels, ...), or (n, ..., channels) with channels_last=True.

Here: `Module`, the base; `Parameter`, a tensor that modules train; containers `ModuleDict`,
`ModuleList`, `ParameterDict`, `ParameterList`, `Sequential`; `Bilinear`, `Embedding`,
`EmbeddingBag`, `Flatten`, `Identity`, `Linear`, `Unflatten`; convolutions `Conv1d`, `Conv2d`,
`Conv3d`, `ConvTranspose1d`, `ConvTranspose2d`, `ConvTranspose3d`; pooling `AdaptiveAvgPool1d`,
`AdaptiveAvgPool2d`, `AdaptiveAvgPool3d`, `AdaptiveMaxPool1d`, `AdaptiveMaxPool2d`,
`AdaptiveMaxPool3d`, `AvgPool1d`, `AvgPool2d`, `AvgPool3d`, `LPPool1d`, `LPPool2d`, `LPPool3d`,
`MaxPool1d`, `MaxPool2d`, `MaxPool3d`; normalisation `BatchNorm1d`, `BatchNorm2d`, `BatchNorm3d`,
`GroupNorm`, `InstanceNorm1d`, `InstanceNorm2d`, `InstanceNorm3d`, `LayerNorm`, `LocalResponseNorm`,
`RMSNorm`;
dropout `AlphaDropout`, `Dropout`, `Dropout1d`, `Dropout2d`, `Dropout3d`, `FeatureAlphaDropout`;
unpooling `MaxUnpool1d`, `MaxUnpool2d`, `MaxUnpool3d`; windows as columns `Fold`, `Unfold`; layers
that learn the extents of their inputs from the first one, `LazyBatchNorm1d`, `LazyBatchNorm2d`,
`LazyBatchNorm3d`, `LazyConv1d`, `LazyConv2d`, `LazyConv3d`, `LazyConvTranspose1d`,
`LazyConvTranspose2d`, `LazyConvTranspose3d`, `LazyInstanceNorm1d`, `LazyInstanceNorm2d`,
`LazyInstanceNorm3d`, `LazyLinear`;
recurrent `GRU`, `GRUCell`, `LSTM`, `LSTMCell`, `RNN`, `RNNCell`; `summary`, a `Summary` of
`SummaryRow`s; the modules `init`, `utils`;
padding `CircularPad1d`, `CircularPad2d`, `CircularPad3d`, `ConstantPad1d`, `ConstantPad2d`,
`ConstantPad3d`, `ReflectionPad1d`, `ReflectionPad2d`, `ReflectionPad3d`, `ReplicationPad1d`,
`ReplicationPad2d`, `ReplicationPad3d`, `ZeroPad1d`, `ZeroPad2d`, `ZeroPad3d`; other extents
`ChannelShuffle`, `PixelShuffle`, `PixelUnshuffle`, `Upsample`, `UpsamplingBilinear2d`,
`UpsamplingNearest2d`; activations `CELU`, `ELU`, `GELU`, `GLU`, `Hardshrink`, `Hardsigmoid`,
`Hardswish`, `Hardtanh`, `LeakyReLU`, `LogSigmoid`, `LogSoftmax`, `Mish`, `PReLU`, `RReLU`, `ReLU`,
`ReLU6`, `SELU`, `SiLU`, `Sigmoid`, `Softmax`, `Softmax2d`, `Softmin`, `Softplus`, `Softshrink`,
`Softsign`, `Tanh`, `Tanhshrink`, `Threshold`; losses `BCELoss`, `BCEWithLogitsLoss`, `CTCLoss`,
`CosineEmbeddingLoss`, `CosineSimilarity`, `CrossEntropyLoss`, `GaussianNLLLoss`,
`HingeEmbeddingLoss`, `HuberLoss`, `KLDivLoss`, `L1Loss`, `MSELoss`, `MarginRankingLoss`,
`MultiLabelMarginLoss`, `MultiLabelSoftMarginLoss`, `MultiMarginLoss`, `NLLLoss`,
`PairwiseDistance`, `PoissonNLLLoss`, `SmoothL1Loss`, `SoftMarginLoss`, `TripletMarginLoss`,
`TripletMarginWithDistanceLoss`; attention `KVCache`, `MultiheadAttention`, `RotaryEmbedding`,
`Transformer`, `TransformerDecoder`, `TransformerDecoderLayer`, `TransformerEncoder`,
`TransformerEncoderLayer`; fewer bits `quantize`, `QuantizationReport`, `QuantizedConv2d`,
`QuantizedEmbedding`, `QuantizedLinear`, `QuantizedRow`; the module `functional`; and functions of
arrays such as `tanh`, `relu`, `sigmoid`, `gelu`, `softmax`, `layer_norm`, `attention`, `conv2d`,
`cross_entropy`, `mse_loss`. The list at the end of help(frazil.nn) is whole.

>>> import frazil as fz
>>> model = Sequential(Linear(2, 3), ReLU(), Linear(3, 1))
>>> [name for name, _ in model.named_parameters()]
['0.weight', '0.bias', '2.weight', '2.bias']
>>> model(fz.ones((5, 2))).shape
(5, 1)
"""

# ruff: noqa: F403, F405 -- names of the files that __all__ lists
from frazil._frazil import nn as _functions
from frazil._frazil import tanh as tanh
from frazil._frazil.nn import *
from frazil._parameters import Parameter as Parameter
from frazil.nn import functional as functional
from frazil.nn import init as init
from frazil.nn import utils as utils
from frazil.nn.activation_layers import *
from frazil.nn.attention_layers import *
from frazil.nn.containers import *
from frazil.nn.convolution_layers import *
from frazil.nn.decoding import *
from frazil.nn.dropout import *
from frazil.nn.folding import Fold as Fold
from frazil.nn.folding import Unfold as Unfold
from frazil.nn.lazy import *
from frazil.nn.linear import *
from frazil.nn.loss_layers import *
from frazil.nn.module import *
from frazil.nn.normalization import *
from frazil.nn.padding import *
from frazil.nn.pooling_layers import *
from frazil.nn.quantized import *
from frazil.nn.recurrent import *
from frazil.nn.recurrent_layers import *
from frazil.nn.summaries import *
from frazil.nn.transformer import *
from frazil.nn.unpooling import *
from frazil.nn.upsampling import *

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AlphaDropout", "AvgPool1d", "AvgPool2d", "AvgPool3d",
    "BCELoss", "BCEWithLogitsLoss", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Bilinear", "CELU",
    "CTCLoss", "ChannelShuffle", "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d",
    "ConstantPad2d", "ConstantPad3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d",
    "ConvTranspose2d", "ConvTranspose3d", "CosineEmbeddingLoss", "CosineSimilarity",
    "CrossEntropyLoss", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "ELU", "Embedding",
    "EmbeddingBag", "FeatureAlphaDropout", "Flatten", "GELU", "GLU", "GRU", "GRUCell",
    "GaussianNLLLoss", "GroupNorm", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "HingeEmbeddingLoss", "HuberLoss", "Identity", "InstanceNorm1d", "InstanceNorm2d",
    "InstanceNorm3d", "KLDivLoss", "KVCache", "L1Loss", "LPPool1d", "LPPool2d", "LSTM", "LSTMCell",
    "LayerNorm", "LeakyReLU", "Linear", "LocalResponseNorm", "LogSigmoid", "LogSoftmax", "MSELoss",
    "MarginRankingLoss", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d",
    "MaxUnpool3d", "Mish", "Module", "ModuleDict", "ModuleList", "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "MultiheadAttention", "NLLLoss", "PReLU",
    "PairwiseDistance", "Parameter", "ParameterDict", "ParameterList", "PixelShuffle",
    "PixelUnshuffle", "PoissonNLLLoss", "QuantizationReport", "QuantizedConv2d",
    "QuantizedEmbedding", "QuantizedLinear", "QuantizedRow", "RMSNorm", "RNN", "RNNCell", "RReLU",
    "ReLU", "ReLU6",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
    "ReplicationPad3d", "RotaryEmbedding", "SELU", "Sequential", "SiLU", "Sigmoid", "SmoothL1Loss",
    "SoftMarginLoss", "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign",
    "Summary", "SummaryRow", "Tanh", "Tanhshrink", "Threshold", "Transformer", "TransformerDecoder",
    "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer", "TripletMarginLoss",
    "TripletMarginWithDistanceLoss", "Unflatten", "Upsample", "UpsamplingBilinear2d",
    "UpsamplingNearest2d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d", "functional", "init", "quantize",
    "summary",
    "tanh", "utils",
    "Fold", "LPPool3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d",
    "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
    "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear", "Unfold",
]  # fmt: skip
__all__ += _functions.__all__
