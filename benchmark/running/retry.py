"""Run failed fits of a preset again: ``python -m benchmark.running.retry results/<preset>``, then the usual command."""

import argparse
from pathlib import Path

from benchmark.running.kept import forget_failures


def main(arguments: list[str] | None = None) -> None:
    """Forget the failures below a folder of results, and say how many there were."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.running.retry", description=str(__doc__))
    parser.add_argument("results", type=Path, help="such as results/quick")
    results = parser.parse_args(arguments).results
    if not (results / "fits").is_dir():
        parser.error(f"{results}: there are no fits; expected a folder such as results/quick")
    count = forget_failures(results)
    if count:
        # Snakemake makes a missing file again only where something that needs it is missing, too.
        for table in (results / "metrics.csv", results / "costs.csv", *(results / "metrics").glob("*.csv")):
            table.unlink(missing_ok=True)
    print(f"{results}: {count} failed {'fit' if count == 1 else 'fits'} will run again; the others are kept")


if __name__ == "__main__":
    main()
