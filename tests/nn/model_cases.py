"""Cases of model_cases.npz: whole models of PyTorch (models.py), whose state dicts load by name."""

from case import Case

_IMAGES = "x(2, 3, 8, 8)"
_MODELS = {
    "mlp": "x(4, 6)", "mlp_norm": "x(4, 6)", "gated": "x(4, 6)", "lenet": "x(2, 1, 8, 8)",
    "vgg": _IMAGES, "resnet": _IMAGES, "densenet": "x(2, 3, 5, 5)", "mobilenet": _IMAGES,
    "squeeze_excite": "x(2, 3, 5, 5)", "unet": "x(1, 1, 8, 8)", "autoencoder": "x(1, 1, 8, 8)",
    "super_resolution": "x(1, 1, 5, 5)", "upsampled": "x(1, 2, 5, 5)", "grouped": "x(2, 2, 7, 7)",
    "video": "x(1, 1, 4, 4, 4)", "wavenet": "x(2, 1, 9)", "text_cnn": "i(2, 7, 12)",
    "bag": "i(3, 4, 10)", "lstm_tagger": "i(2, 5, 9)", "gru_classifier": "x(6, 2, 3)",
    "rnn_net": "x(5, 2, 3)", "cells": "x(3, 2, 3)", "bert": "i(2, 5, 11)", "gpt": "i(2, 6, 11)",
    "seq2seq": "x(2, 5, 8); x(2, 3, 8)", "vit": "x(2, 3, 6, 6)", "mixer": "x(2, 4, 6)",
    "convnext": "x(1, 4, 5, 5)", "cross_attention": "x(2, 3, 8); x(2, 4, 5); x(2, 4, 6)",
    "llama": "x(2, 3, 8)", "bilinear_scorer": "x(3, 4); x(3, 4)", "weight_normed": "x(3, 4)",
    "tied": "i(2, 5, 7)", "actor_critic": "x(3, 6)",
}  # fmt: skip
CASES = [
    Case(f"models.{name}(nn, cat)", tuple(inputs.split("; ")), evaluated=True)
    for name, inputs in _MODELS.items()
]
