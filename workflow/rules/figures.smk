from benchmark.plan import figure_axes

FIGURES = [
    f"figures/{name}.{kind}"
    for experiment in PLAN.experiments.values()
    for name in figure_axes(experiment)
    for kind in ("pdf", "png")
]


rule figures:
    input:
        "metrics.csv",
    output:
        FIGURES,
    log:
        "logs/figures.log",
    conda:
        "../../envs/benchmark.yaml"
    params:
        config=config,
        source=fingerprint(*(LIBRARY / name for name in ("figures.py", "styles.py", "plan.py", "paper/published.py"))),
    message:
        "Draw figures"
    script:
        "../scripts/figures.py"
