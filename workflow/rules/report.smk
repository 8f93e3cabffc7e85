rule report:
    input:
        metrics="metrics.csv",
        costs="costs.csv",
        comparison="reproduction.csv",
        published=PUBLISHED,
        tables=TABLES,
        figures=[figure for figure in FIGURES if figure.endswith(".png")],
        template=str(ROOT / "workflow" / "report" / "report.html.j2"),
        captions=str(ROOT / "workflow" / "report" / "captions.yaml"),
    output:
        "report.html",
    log:
        "logs/report.log",
    conda:
        "../../envs/benchmark.yaml"
    params:
        config=config,
        source=f"{TABLE_SOURCE} {fingerprint(LIBRARY / 'report.py')}",
    message:
        "Write the report"
    script:
        "../scripts/report.py"
