from benchmark.tables import table_layouts

TABLES = [
    f"tables/{name}.{kind}"
    for experiment in PLAN.experiments.values()
    for name in table_layouts(experiment)
    for kind in ("csv", "md", "tex")
]
PUBLISHED = str(ROOT / "resources" / "paper" / "results.csv")
TABLE_SOURCE = fingerprint(*(LIBRARY / f"{name}.py" for name in ("tables", "paper/reproduction", "paper/published")))


rule tables:
    input:
        metrics="metrics.csv",
        published=PUBLISHED,
    output:
        TABLES,
    log:
        "logs/tables.log",
    conda:
        "../../envs/benchmark.yaml"
    params:
        config=config,
        source=TABLE_SOURCE,
    message:
        "Write tables"
    script:
        "../scripts/tables.py"


rule reproduction:
    input:
        metrics="metrics.csv",
        published=PUBLISHED,
    output:
        csv="reproduction.csv",
        md="reproduction.md",
        tex="reproduction.tex",
        differences="differences.csv",
    log:
        "logs/reproduction.log",
    conda:
        "../../envs/benchmark.yaml"
    params:
        config=config,
        source=TABLE_SOURCE,
    message:
        "Compare with the published figures"
    script:
        "../scripts/reproduction.py"
