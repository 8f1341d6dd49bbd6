"""Whole models, written once over frazil's nn and PyTorch's: each function takes the module `nn`
and the function that joins tensors (arrays, axis), and gives a model. model_cases.py lists them.
"""


def zeros(first, *rest):
    """A nested list of this shape."""
    return [zeros(*rest) if rest else 0.0 for _ in range(first)]


def stack(nn, *layers):
    return nn.Sequential(*layers)


def mlp(nn, cat):
    return stack(nn, nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))


def mlp_norm(nn, cat):
    return stack(
        nn, nn.Linear(6, 8), nn.BatchNorm1d(8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2)
    )


def gated(nn, cat):
    return stack(nn, nn.Linear(6, 16), nn.GLU(), nn.PReLU(8), nn.Linear(8, 4), nn.SiLU())


def lenet(nn, cat):
    return stack(
        nn, nn.Conv2d(1, 3, 3), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(3, 4, 3), nn.Tanh(),
        nn.Flatten(), nn.Linear(4, 5),
    )  # fmt: skip


def vgg(nn, cat):
    layers = []
    for a, b in ((3, 4), (4, 6)):
        layers += [nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(), nn.MaxPool2d(2, 2)]
    return stack(nn, *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 4))


def _residual(nn):
    class Residual(nn.Module):
        def __init__(self, a, b, stride=1):
            super().__init__()
            self.conv1 = nn.Conv2d(a, b, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(b)
            self.conv2 = nn.Conv2d(b, b, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(b)
            self.relu = nn.ReLU()
            self.downsample = None
            if stride != 1 or a != b:
                self.downsample = nn.Sequential(
                    nn.Conv2d(a, b, 1, stride, bias=False), nn.BatchNorm2d(b)
                )

        def forward(self, x):
            y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            return self.relu(y + (x if self.downsample is None else self.downsample(x)))

    return Residual


def resnet(nn, cat):
    block = _residual(nn)
    return stack(
        nn, nn.Conv2d(3, 4, 3, padding=1), block(4, 4), block(4, 6, 2),
        nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(1), nn.Linear(6, 3),
    )  # fmt: skip


def densenet(nn, cat):
    class Dense(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(
                [
                    nn.Sequential(nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, 2, 3, padding=1))
                    for c in (3, 5, 7)
                ]
            )

        def forward(self, x):
            for layer in self.layers:
                x = cat([x, layer(x)], 1)
            return x

    return Dense()


def mobilenet(nn, cat):
    return stack(
        nn, nn.Conv2d(3, 6, 1), nn.BatchNorm2d(6), nn.ReLU6(),
        nn.Conv2d(6, 6, 3, stride=2, padding=1, groups=6), nn.BatchNorm2d(6), nn.Hardswish(),
        nn.Conv2d(6, 4, 1),
    )  # fmt: skip


def squeeze_excite(nn, cat):
    class Squeeze(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 8, 3, padding=1)
            self.gate = nn.Sequential(
                nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 2, 1), nn.ReLU(), nn.Conv2d(2, 8, 1),
                nn.Sigmoid(),
            )  # fmt: skip

        def forward(self, x):
            x = self.conv(x)
            return x * self.gate(x)

    return Squeeze()


def unet(nn, cat):
    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU())
            self.pool = nn.MaxPool2d(2)
            self.bottom = nn.Sequential(nn.Conv2d(4, 6, 3, padding=1), nn.ReLU())
            self.up = nn.ConvTranspose2d(6, 4, 2, stride=2)
            self.out = nn.Conv2d(8, 1, 1)

        def forward(self, x):
            x = self.down(x)
            return self.out(cat([x, self.up(self.bottom(self.pool(x)))], 1))

    return UNet()


def autoencoder(nn, cat):
    return stack(
        nn, nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.ELU(),
        nn.Conv2d(4, 2, 3, stride=2, padding=1),
        nn.ConvTranspose2d(2, 4, 3, stride=2, padding=1, output_padding=1), nn.ELU(),
        nn.ConvTranspose2d(4, 1, 3, stride=2, padding=1, output_padding=1), nn.Sigmoid(),
    )  # fmt: skip


def super_resolution(nn, cat):
    return stack(
        nn, nn.Conv2d(1, 4, 3, padding=1), nn.PixelShuffle(2), nn.Conv2d(1, 2, 3, padding=1)
    )


def upsampled(nn, cat):
    return stack(
        nn, nn.ReflectionPad2d(1), nn.Conv2d(2, 3, 3), nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.InstanceNorm2d(3, affine=True), nn.LeakyReLU(0.2), nn.Conv2d(3, 1, 3),
    )  # fmt: skip


def grouped(nn, cat):
    return stack(
        nn, nn.Conv2d(2, 8, 3), nn.GroupNorm(4, 8), nn.Mish(), nn.Conv2d(8, 4, 3, groups=2)
    )


def video(nn, cat):
    return stack(
        nn, nn.Conv3d(1, 3, 3, padding=1), nn.BatchNorm3d(3), nn.ReLU(), nn.MaxPool3d(2),
        nn.Flatten(), nn.Linear(24, 2),
    )  # fmt: skip


def wavenet(nn, cat):
    class Layer(nn.Module):
        def __init__(self, dilation):
            super().__init__()
            self.filter = nn.Conv1d(4, 4, 2, dilation=dilation, padding=dilation)
            self.gate = nn.Conv1d(4, 4, 2, dilation=dilation, padding=dilation)
            self.tanh, self.sigmoid = nn.Tanh(), nn.Sigmoid()

        def forward(self, x):
            n = x.shape[-1]
            return x + (self.tanh(self.filter(x)) * self.sigmoid(self.gate(x)))[..., :n]

    return stack(nn, nn.Conv1d(1, 4, 1), Layer(1), Layer(2), Layer(4), nn.Conv1d(4, 2, 1))


def text_cnn(nn, cat):
    class Text(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(12, 5, padding_idx=0)
            self.convs = nn.ModuleList([nn.Conv1d(5, 3, k) for k in (2, 3)])
            self.pool = nn.AdaptiveMaxPool1d(1)
            self.fc = nn.Linear(6, 2)

        def forward(self, text):
            x = self.embedding(text).permute(0, 2, 1)
            return self.fc(cat([self.pool(conv(x))[..., 0] for conv in self.convs], 1))

    return Text()


def bag(nn, cat):
    return stack(nn, nn.EmbeddingBag(10, 6), nn.Linear(6, 3))


def lstm_tagger(nn, cat):
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(9, 4)
            self.lstm = nn.LSTM(4, 5, num_layers=2, bidirectional=True, batch_first=True)
            self.head = nn.Linear(10, 3)

        def forward(self, text):
            return self.head(self.lstm(self.embedding(text))[0])

    return Tagger()


def gru_classifier(nn, cat):
    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.GRU(3, 5)
            self.head = nn.Linear(5, 2)

        def forward(self, x):
            return self.head(self.rnn(x)[1][0])

    return Classifier()


def rnn_net(nn, cat):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.RNN(3, 4, nonlinearity="relu", num_layers=2)

        def forward(self, x):
            return self.rnn(x)[0]

    return Net()


def cells(nn, cat):
    class Cells(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.gru = nn.LSTMCell(3, 4), nn.GRUCell(4, 4)

        def forward(self, x):
            h, c = self.lstm(x[0])
            for t in range(1, 3):
                h, c = self.lstm(x[t], (h, c))
            return self.gru(h, c)

    return Cells()


def bert(nn, cat):
    class Bert(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.positions = nn.Embedding(11, 8), nn.Embedding(6, 8)
            self.norm = nn.LayerNorm(8, eps=1e-12)
            layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2)
            self.pooler = nn.Linear(8, 8)

        def forward(self, text):
            x = self.norm(self.words(text) + self.positions.weight[: text.shape[1]])
            return self.pooler(self.encoder(x)[:, 0])

    return Bert()


def gpt(nn, cat):
    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(11, 8), nn.Embedding(6, 8)
            layer = nn.TransformerEncoderLayer(
                8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True
            )
            self.blocks = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8))
            self.head = nn.Linear(8, 11, bias=False)

        def forward(self, text):
            x = self.wte(text) + self.wpe.weight[: text.shape[1]]
            mask = nn.Transformer.generate_square_subsequent_mask(text.shape[1], dtype=x.dtype)
            return self.head(self.blocks(x, mask=mask, is_causal=True))

    return GPT()


def seq2seq(nn, cat):
    return nn.Transformer(8, 2, 1, 1, 12, 0.0, batch_first=True)


def vit(nn, cat):
    class ViT(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv_proj = nn.Conv2d(3, 8, 2, stride=2)
            layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 1)
            self.heads = nn.Linear(8, 3)

        def forward(self, x):
            x = self.conv_proj(x).reshape(x.shape[0], 8, -1).permute(0, 2, 1)
            return self.heads(self.encoder(x).mean(1))

    return ViT()


def mixer(nn, cat):
    class Mixer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(6), nn.LayerNorm(6)
            self.tokens = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))
            self.channels = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 6))

        def forward(self, x):
            x = x + self.tokens(self.norm1(x).permute(0, 2, 1)).permute(0, 2, 1)
            return x + self.channels(self.norm2(x))

    return Mixer()


def convnext(nn, cat):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.dwconv = nn.Conv2d(4, 4, 3, padding=1, groups=4)
            self.norm = nn.LayerNorm(4)
            self.pwconv1, self.act, self.pwconv2 = nn.Linear(4, 12), nn.GELU(), nn.Linear(12, 4)
            self.gamma = nn.Parameter(self.norm.weight.detach() * 0.5)

        def forward(self, x):
            y = self.norm(self.dwconv(x).permute(0, 2, 3, 1))
            y = self.gamma * self.pwconv2(self.act(self.pwconv1(y)))
            return x + y.permute(0, 3, 1, 2)

    return Block()


def cross_attention(nn, cat):
    class Cross(nn.Module):
        def __init__(self):
            super().__init__()
            self.attn = nn.MultiheadAttention(8, 2, kdim=5, vdim=6, batch_first=True)
            self.norm = nn.LayerNorm(8)

        def forward(self, x, k, v):
            return self.norm(x + self.attn(x, k, v)[0])

    return Cross()


def llama(nn, cat):
    class Llama(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.RMSNorm(8, eps=1e-6)
            self.gate_proj, self.up_proj, self.down_proj = (
                nn.Linear(8, 12, bias=False), nn.Linear(8, 12, bias=False),
                nn.Linear(12, 8, bias=False),
            )  # fmt: skip
            self.act = nn.SiLU()

        def forward(self, x):
            y = self.norm(x)
            return x + self.down_proj(self.act(self.gate_proj(y)) * self.up_proj(y))

    return Llama()


def bilinear_scorer(nn, cat):
    class Scorer(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode = nn.Linear(4, 5)
            self.score = nn.Bilinear(5, 5, 2)
            self.near = nn.CosineSimilarity(-1)

        def forward(self, a, b):
            a, b = self.encode(a), self.encode(b)
            return self.score(a, b) + self.near(a, b)[:, None]

    return Scorer()


def weight_normed(nn, cat):
    norm = nn.utils.parametrizations.weight_norm
    return stack(nn, norm(nn.Linear(4, 5)), nn.Softplus(), norm(nn.Linear(5, 2), dim=1))


def tied(nn, cat):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(7, 6)
            self.decoder = nn.Linear(6, 7, bias=False)
            self.decoder.weight = self.embedding.weight

        def forward(self, text):
            return self.decoder(self.embedding(text))

    return Tied()


def actor_critic(nn, cat):
    class ActorCritic(nn.Module):
        def __init__(self):
            super().__init__()
            self.nets = nn.ModuleDict({"actor": mlp(nn, cat), "critic": gated(nn, cat)})
            self.log_std = nn.Parameter(self.nets["actor"][3].bias.detach() * 0.1)

        def forward(self, x):
            return self.nets["actor"](x) * self.log_std, self.nets["critic"](x)

    return ActorCritic()
