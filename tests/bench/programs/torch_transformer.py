"""The reference transformer in PyTorch, trained eagerly, for `tests/bench/bench_training.py`.

Reads one JSON object a line and answers each with one: `{"steps": 20}` trains so many steps and
answers with the seconds and the losses. Needs nothing but PyTorch; argument: a file of arrays that
the benchmark writes (`numpy.savez`), with the sizes, the weights in Keras' order and the batches.

Axes: B batch, T tokens, D features, N heads, H features of a head.
"""

import json
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional


class EncoderLayer(nn.Module):
    """Attention and feed-forward, each normalised first and added to its input."""

    def __init__(self, width: int, *, num_heads: int, mlp_ratio: int):
        super().__init__()
        self.num_heads = num_heads
        self.attention_norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.mlp_norm = nn.LayerNorm(width)
        self.mlp_in = nn.Linear(width, mlp_ratio * width)
        self.mlp_out = nn.Linear(mlp_ratio * width, width)

    def forward(self, x_BTD: torch.Tensor, mask_B11T: torch.Tensor) -> torch.Tensor:
        """Returns features of the same shape."""
        batch, tokens, width = x_BTD.shape
        heads = self.qkv(self.attention_norm(x_BTD)).view(batch, tokens, 3, self.num_heads, -1)
        query_BNTH, key_BNTH, value_BNTH = heads.permute(2, 0, 3, 1, 4)
        y_BNTH = functional.scaled_dot_product_attention(
            query_BNTH, key_BNTH, value_BNTH, attn_mask=mask_B11T
        )
        y_BTD = y_BNTH.transpose(1, 2).reshape(batch, tokens, width)
        x_BTD = x_BTD + self.output(y_BTD)
        return x_BTD + self.mlp_out(functional.gelu(self.mlp_in(self.mlp_norm(x_BTD))))


class Transformer(nn.Module):
    """An encoder with learned positions that classifies the mean over the tokens."""

    def __init__(self, sizes: dict[str, int]):
        super().__init__()
        width = sizes["width"]
        self.token_embedding = nn.Embedding(sizes["vocabulary_size"], width)
        self.position_embedding = nn.Embedding(sizes["max_tokens"], width)
        self.layers = nn.ModuleList(
            EncoderLayer(width, num_heads=sizes["num_heads"], mlp_ratio=sizes["mlp_ratio"])
            for _ in range(sizes["num_layers"])
        )
        self.final_norm = nn.LayerNorm(width)
        self.logits = nn.Linear(width, sizes["num_classes"])

    def forward(self, token_ids_BT: torch.Tensor) -> torch.Tensor:
        """Returns logits (B, K)."""
        is_token_BT = token_ids_BT != 0
        x_BTD = self.token_embedding(token_ids_BT)
        x_BTD = x_BTD + self.position_embedding.weight[: token_ids_BT.shape[1]]
        for layer in self.layers:
            x_BTD = layer(x_BTD, is_token_BT[:, None, None, :])
        weights_BT1 = is_token_BT.unsqueeze(-1).float()
        sums_BD = (self.final_norm(x_BTD) * weights_BT1).sum(1)
        return self.logits(sums_BD / weights_BT1.sum(1).clamp(min=1.0))

    def take_over(self, weights: list[np.ndarray]) -> None:
        """Copies Keras' weights, whose matrices lie the other way round and come in this order."""
        modules = [self.token_embedding, self.position_embedding]
        for layer in self.layers:
            modules += [layer.attention_norm, layer.qkv, layer.output]
            modules += [layer.mlp_norm, layer.mlp_in, layer.mlp_out]
        remaining = iter(weights)
        with torch.no_grad():
            for module in [*modules, self.final_norm, self.logits]:
                for parameter in module.parameters():
                    array = torch.from_numpy(next(remaining))
                    is_kernel = isinstance(module, nn.Linear) and parameter.dim() == 2
                    parameter.copy_(array.T if is_kernel else array)


def main() -> None:
    """Answers until its input ends."""
    print(json.dumps({"torch": torch.__version__, "threads": torch.get_num_threads()}), flush=True)
    arrays = np.load(sys.argv[1])
    sizes = json.loads(str(arrays["sizes"]))
    model = Transformer(sizes)
    model.take_over([arrays[f"weight{index}"] for index in range(sizes["num_weights"])])
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for p in model.parameters() if p.dim() > 1]},
            {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0},
        ],
        lr=sizes["learning_rate"],
        weight_decay=sizes["weight_decay"],
    )
    tokens_SBT = torch.from_numpy(arrays["tokens"]).long()
    labels_SB = torch.from_numpy(arrays["labels"]).long()
    taken = 0
    for line in sys.stdin:
        num_steps = json.loads(line)["steps"]
        losses = []
        started = time.perf_counter()
        for _ in range(num_steps):
            index = taken % len(tokens_SBT)
            loss = functional.cross_entropy(model(tokens_SBT[index]), labels_SB[index])
            # Keras adds epsilon before it corrects the second moment's bias, PyTorch after.
            epsilon = sizes["epsilon"] / (1 - 0.999 ** (taken + 1)) ** 0.5
            for group in optimizer.param_groups:
                group["eps"] = epsilon
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
            taken += 1
        seconds = time.perf_counter() - started
        print(json.dumps({"seconds": seconds, "losses": torch.stack(losses).tolist()}), flush=True)


if __name__ == "__main__":
    main()
