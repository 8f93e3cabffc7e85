rule evaluate:
    input:
        lambda wildcards: data_and_fits([PLAN.experiments[wildcards.experiment]]),
    output:
        metrics="metrics/{experiment}.csv",
        costs="metrics/{experiment}.costs.csv",
        edges="graphs/{experiment}.csv",
    log:
        "logs/metrics/{experiment}.log",
    wildcard_constraints:
        experiment="|".join(PLAN.experiments),
    conda:
        "../../envs/benchmark.yaml"
    params:
        rows=lambda wildcards: [
            (row.name, row.label, row.selection) for row in PLAN.experiments[wildcards.experiment].rows
        ],
        recorded=lambda wildcards: RECALL.fingerprint([PLAN.experiments[wildcards.experiment]]),
        source=fingerprint(
            *(LIBRARY / f"{name}.py" for name in ("evaluation", "recorded/recall", "selection", "metrics", "graphs"))
        ),
    message:
        "Select hyperparameters and measure: {wildcards.experiment}"
    script:
        "../scripts/evaluate.py"


localrules:
    gather,


rule gather:
    input:
        metrics=expand("metrics/{experiment}.csv", experiment=PLAN.experiments),
        costs=expand("metrics/{experiment}.costs.csv", experiment=PLAN.experiments),
    output:
        metrics="metrics.csv",
        costs="costs.csv",
    log:
        "logs/gather.log",
    conda:
        "../../envs/benchmark.yaml"
    message:
        "Gather all metrics"
    script:
        "../scripts/gather.py"
