"""Differentiable causal discovery from interventional data."""
