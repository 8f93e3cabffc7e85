from benchmark.graph_files import folder_path, shown_one_by_one

GRAPHS = [
    folder_path(experiment.name, condition.name, index)
    for experiment in PLAN.experiments.values()
    for condition, index in shown_one_by_one(experiment)
    if config["records"] != "only"  # a run that shows what is recorded makes no data sets
]


rule graphs:
    input:
        data=lambda wildcards: data_path(wildcards.condition, wildcards.index),
        fits=fits_of_data_set,
    output:
        directory("graphs/{experiment}/{condition}/{index}"),
    log:
        "logs/graphs/{experiment}/{condition}/{index}.log",
    wildcard_constraints:
        experiment="|".join(PLAN.experiments),
        condition="|".join(map(re.escape, PLAN.conditions)),
        index=r"\d+",
    conda:
        "../../envs/benchmark.yaml"
    params:
        rows=lambda wildcards: [
            (row.name, row.label, row.selection) for row in PLAN.experiments[wildcards.experiment].rows
        ],
        recorded=lambda wildcards: RECALL.fingerprint([PLAN.experiments[wildcards.experiment]]),
        source=fingerprint(
            *(LIBRARY / f"{name}.py" for name in ("graph_files", "learned_graphs", "drawing", "layout", "selection"))
        ),
    message:
        "Draw the graphs of {wildcards.condition}, data set {wildcards.index}, in {wildcards.experiment}"
    script:
        "../scripts/graphs.py"
