"""The model in PyTorch, written as in the paper: the reference for the cpu engine, and the way to a GPU.

All functions take a leading axis G of members, so that a whole grid of hyperparameters is trained as one batch.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional

from dcdi.model import LEAKY_SLOPE, Model

CLIP = 1e-6
SOFTPLUS_SHIFT = 1e-6
BASE_LOG_VARIANCE = 1.0


def straight_through(logits: Tensor, uniform: Tensor) -> Tensor:
    """Bernoulli samples in the forward pass, Gumbel-sigmoid gradients in the backward pass (Appendix B.3)."""
    soft = torch.sigmoid(logits + torch.log(uniform) - torch.log1p(-uniform))
    return (soft > 0.5).to(soft.dtype) + soft - soft.detach()


def network_outputs(model: Model, weights: Tensor, x: Tensor, masks: Tensor, chosen: Tensor) -> Tensor:
    """Evaluate networks: weights [G, network, size], x [G, B, d], masks [G, B, parent, child], chosen [G, B, child].

    Returns [G, B, child, outputs].
    """
    members = torch.arange(len(weights), device=weights.device)[:, None, None]
    value = masks.transpose(2, 3) * x[:, :, None, :]
    start = 0
    sizes = model.layer_sizes
    for layer, (inputs, outputs) in enumerate(sizes):
        matrix = weights[:, :, start : start + inputs * outputs].unflatten(2, (inputs, outputs))
        bias = weights[:, :, start + inputs * outputs : start + (inputs + 1) * outputs]
        start += (inputs + 1) * outputs
        value = torch.einsum("gbti,gbtio->gbto", value, matrix[members, chosen]) + bias[members, chosen]
        if layer < len(sizes) - 1:
            value = functional.leaky_relu(value, LEAKY_SLOPE)
    return value


def log_density(model: Model, outputs: Tensor, log_sd: Tensor, x: Tensor) -> Tensor:
    """Return the log-density of each variable [G, B, d] given the outputs of its network."""
    if model.density == "gaussian":
        residual = (x - outputs[..., 0]) * torch.exp(-log_sd)[:, None, :]
        return -0.5 * residual**2 - log_sd[:, None, :] - 0.5 * math.log(2 * math.pi)
    units = model.flow_units
    log_jacobian = torch.zeros_like(x)
    for layer in outputs.unflatten(-1, (model.flow_layers, 3, units)).unbind(-3):
        a, b, w = layer.unbind(-2)
        a = functional.softplus(a) + SOFTPLUS_SHIFT
        log_w = functional.log_softmax(w, dim=-1)
        p = a * x[..., None] + b
        log_in, log_out = functional.logsigmoid(p), functional.logsigmoid(-p)
        inside = torch.logsumexp(log_w + log_in, dim=-1).exp() * (1 - CLIP) + CLIP / 2
        outside = torch.logsumexp(log_w + log_out, dim=-1).exp() * (1 - CLIP) + CLIP / 2
        slope = torch.logsumexp(log_w + log_in + log_out + torch.log(a), dim=-1)
        log_jacobian = log_jacobian + slope + math.log(1 - CLIP) - torch.log(inside) - torch.log(outside)
        x = torch.log(inside) - torch.log(outside)
    base = -0.5 * (math.log(2 * math.pi) + BASE_LOG_VARIANCE + x**2 * math.exp(-BASE_LOG_VARIANCE))
    return base + log_jacobian


def negative_log_likelihood(
    model: Model,
    parameters: dict[str, Tensor],
    x: Tensor,
    setting: Tensor,
    masks: Tensor,
    free: Tensor,
) -> Tensor:
    """Return the loss of each variable [G, B, d] (paper Equation 5, Appendix A.3, Section 3.3).

    ``free`` [G, B, d] is 1 where a variable is not targeted: known, or drawn by :func:`straight_through`.
    """
    base = torch.arange(model.nodes, device=x.device).expand(x.shape)

    def loss(chosen: Tensor, inputs: Tensor) -> Tensor:
        outputs = network_outputs(model, parameters["weights"], x, inputs, chosen)
        return -log_density(model, outputs, parameters["log_sd"], x)

    if not model.has_own_networks:
        return loss(base, masks) * free
    own = torch.as_tensor(model.network, device=x.device)[setting]
    own = torch.where(own >= 0, own, base)
    if model.learns_targets and model.intervention == "imperfect":
        return free * loss(base, masks) + (1 - free) * loss(own, masks)
    chosen = torch.where(free.detach() > 0.5, base, own)
    if model.learns_targets:
        # A perfect intervention cuts all inputs; the gradient reaches the targets through this mask.
        masks = masks * free[:, :, None, :]
    return loss(chosen, masks)
