from benchmark.paper.pieces import table_pieces

PAPER_LIBRARY = fingerprint(
    LIBRARY / "paper", *(LIBRARY / f"{name}.py" for name in ("tables", "evaluation", "metrics"))
)
TABLE_PIECES = table_pieces(PLAN)
PAPER_TABLES = expand("paper/tab_{label}.{kind}", label=TABLE_PIECES, kind=["tex", "md", "csv"])


rule paper_table:
    input:
        lambda wildcards: data_and_fits(TABLE_PIECES[wildcards.label]),
        PUBLISHED,
    output:
        expand("paper/tab_{{label}}.{kind}", kind=["tex", "md", "csv"]),
    log:
        "logs/paper/tab_{label}.log",
    wildcard_constraints:
        label="|".join(TABLE_PIECES) or "none",
    conda:
        "../../envs/benchmark.yaml"
    params:
        rows=lambda wildcards: [
            (row.name, row.label, row.selection) for part in TABLE_PIECES[wildcards.label] for row in part.rows
        ],
        recorded=lambda wildcards: RECALL.fingerprint(TABLE_PIECES[wildcards.label]),
        source=PAPER_LIBRARY,
    message:
        "Write the paper's table {wildcards.label}"
    script:
        "../scripts/paper_table.py"
