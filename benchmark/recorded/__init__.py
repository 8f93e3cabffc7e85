"""What was measured and is kept in ``records/``: the store, reuse, costs, and whether a fit comes out again."""
