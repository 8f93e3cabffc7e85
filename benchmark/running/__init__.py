"""Fits in processes of their own, within limits, kept as they end: from a method and a data set to a record file."""
