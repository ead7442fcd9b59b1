"""Encoder layers of the BERT family with their weights laid out for the processor.

The library multiplies by weights as they lie in the file and so lays them out anew in every pass,
which for a short text costs as much as the product. A packed layer does it once, joins the three
projections of attention and applies the activation within the product. The weights are moved, not
copied. On two cores of an EPYC a text of 33 tokens takes 11.9 instead of 20.7 ms of processor time,
64 of them 532 instead of 737 ms. Reached only through `sentence_models`, as it needs torch.
"""

import time
from collections.abc import Callable
from typing import Any, cast

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn
from torch.nn import functional
from transformers.models.bert.modeling_bert import BertLayer

SAME = 0.99999
"""The least cosine at which two vectors of a text count as the same."""

ROUNDS = 7
"""Passes timed of each; the least counts, so that other work beside does not decide."""


class PackedProduct(nn.Module):
    """x W' + b with W packed, and what follows within the product: "none" or "gelu"."""

    def __init__(self, weight: Tensor, bias: Tensor, then: str = "none") -> None:
        super().__init__()
        # What the library's own compiler makes of a linear layer; not part of its public surface,
        # so whatever goes wrong here leaves the model as it was (see `pack`).
        packed = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), None)  # noqa: SLF001 - as said above
        self._arguments = (packed, bias, then, [], "none" if then == "gelu" else "")

    def forward(self, x: Tensor) -> Tensor:
        product = torch.ops.mkldnn._linear_pointwise  # noqa: SLF001 - as above
        return cast("Tensor", product(x, *self._arguments))


class PackedLayer(nn.Module):
    """What a layer of BERT computes when it is not being trained."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        attention, output = layer.attention.self, layer.attention.output
        parts = (attention.query, attention.key, attention.value)
        self.heads: int = attention.num_attention_heads
        self.projections = PackedProduct(
            torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts])
        )
        self.attended = PackedProduct(output.dense.weight, output.dense.bias)
        self.attended_norm: nn.LayerNorm = output.LayerNorm
        widening, narrowing = layer.intermediate.dense, layer.output.dense
        self.widening = PackedProduct(widening.weight, widening.bias, "gelu")
        self.narrowing = PackedProduct(narrowing.weight, narrowing.bias)
        self.output_norm: nn.LayerNorm = layer.output.LayerNorm

    def forward(
        self, x: Tensor, attention_mask: Tensor | None = None, *_: Any, **__: Any
    ) -> Tensor:
        """From (texts, tokens, width) to the same shape; the mask is that of torch's attention."""
        texts, tokens, width = x.shape
        parts = self.projections(x).view(texts, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        query, key, value = parts
        found = functional.scaled_dot_product_attention(query, key, value, attn_mask=attention_mask)
        x = self.attended_norm(
            x + self.attended(found.transpose(1, 2).reshape(texts, tokens, width))
        )
        return self.output_norm(x + self.narrowing(self.widening(x)))


def pack(
    model: SentenceTransformer, several: Callable[[], Tensor], single: Callable[[], Tensor]
) -> str:
    """Pack the layers of `model` where that gives the same vectors sooner; whether it did, as words
    for an operator.

    `several` embeds sentences of several lengths, `single` one short text; both pass through the
    model. A model that is not of this family, or is not in float32 on a processor, stays as it is.
    """
    layers = _layers(model)
    if layers is None:
        return "library"
    original, expected, before = list(layers), several(), seconds(single)
    try:
        for place, layer in enumerate(original):
            layers[place] = PackedLayer(layer)
        same = float(functional.cosine_similarity(several(), expected).min())
        faster = before / seconds(single)
    except (RuntimeError, AttributeError, TypeError) as fault:
        same, faster = 0.0, 0.0
        reason = f"packed layers do not run here: {type(fault).__name__}"
    else:
        reason = f"packed layers: {faster:.1f} times as fast, cosine {same:.6f}"
    if same >= SAME and faster > 1:
        return f"packed, {faster:.1f} times as fast as the library"
    for place, layer in enumerate(original):
        layers[place] = layer
    return f"library ({reason})"


def _layers(model: SentenceTransformer) -> Any:
    """The layers that can be packed, or None."""
    inner = getattr(model[0], "model", None)
    encoder = getattr(inner, "encoder", None)
    layers = getattr(encoder, "layer", None)
    if layers is None or not all(isinstance(layer, BertLayer) for layer in layers):
        return None
    config = cast("Any", inner).config
    usual = config.hidden_act == "gelu" and not config.is_decoder
    plain = config._attn_implementation == "sdpa"  # noqa: SLF001 - nothing public says it
    here = model.device.type == "cpu" and model.dtype == torch.float32
    return layers if usual and plain and here else None


def seconds(compute: Callable[[], object]) -> float:
    """How long it takes, the least of `ROUNDS` times."""
    times: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        compute()
        times.append(time.perf_counter() - began)
    return min(times)
