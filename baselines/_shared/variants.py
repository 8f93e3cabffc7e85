"""Methods are sound by default; ``variant="published"`` is what the paper's authors ran where that is something else.

With it the published figures can be regenerated, and the effect of the difference be seen. What each method does then
is told in the module ``published`` of its folder.
"""

from typing import Final, Literal

from benchmark.dataset import Dataset

Variant = Literal["sound", "published"]
SOUND: Final = "sound"
PUBLISHED: Final = "published"


def is_published(variant: str) -> bool:
    """Say which variant a name stands for; refuse other names."""
    if variant not in (SOUND, PUBLISHED):
        raise ValueError(f"variant is {variant!r}; expected {SOUND!r} or {PUBLISHED!r}")
    return variant == PUBLISHED


def training_rows(dataset: Dataset) -> Dataset:
    """Return the data set without its held-out rows.

    The paper says that methods without a score use all rows (Appendix C.3); its figures come from the training rows.
    """
    rows = dataset.training
    return Dataset(dataset.X[rows], dataset.setting[rows], dataset.targets, names=dataset.names)
