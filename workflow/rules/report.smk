PAGE = ROOT / "workflow" / "report"


rule report:
    input:
        metrics="metrics.csv",
        costs="costs.csv",
        comparison="reproduction.csv",
        published=PUBLISHED,
        tables=TABLES,
        graphs=GRAPHS,
        figures=[figure for figure in FIGURES if figure.endswith(".png")],
        template=str(PAGE / "report.html.j2"),
        captions=str(PAGE / "captions.yaml"),
        parts=[str(PAGE / "style.css"), str(PAGE / "script.js")],
    output:
        "report.html",
    log:
        "logs/report.log",
    conda:
        "../../envs/benchmark.yaml"
    params:
        config=config,
        source=f"{TABLE_SOURCE} {fingerprint(LIBRARY / 'report')}",
    message:
        "Write the report"
    script:
        "../scripts/report.py"


onsuccess:
    from benchmark.report.failures import failure_line

    if Path("costs.csv").exists():
        print(failure_line(Path.cwd()), file=sys.stderr)
