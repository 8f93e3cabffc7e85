rule evaluate:
    input:
        lambda wildcards: data_and_fits([asked_for(wildcards)]),
    output:
        metrics="metrics/{experiment}.csv",
        costs="metrics/{experiment}.costs.csv",
        edges="graphs/{experiment}.csv",
    log:
        "logs/metrics/{experiment}.log",
    wildcard_constraints:
        experiment="|".join(PLAN.experiments),
        condition="|".join(map(re.escape, PLAN.conditions)),
    conda:
        "../../envs/benchmark.yaml"
    params:
        rows=lambda wildcards: [(row.name, row.label, row.selection) for row in asked_for(wildcards).rows],
        recorded=lambda wildcards: RECALL.fingerprint([asked_for(wildcards)]),
        source=fingerprint(
            *(LIBRARY / f"{name}.py" for name in ("evaluation", "recorded/recall", "selection", "metrics", "graphs"))
        ),
    message:
        "Select hyperparameters and measure: {wildcards.experiment}"
    script:
        "../scripts/evaluate.py"


# A condition of a long experiment by itself; nothing else needs these files.
use rule evaluate as evaluate_condition with:
    output:
        metrics="metrics/{experiment}/{condition}.csv",
        costs="metrics/{experiment}/{condition}.costs.csv",
        edges="graphs/{experiment}/{condition}.csv",
    log:
        "logs/metrics/{experiment}/{condition}.log",
    message:
        "Select hyperparameters and measure: {wildcards.experiment} on {wildcards.condition}"


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
