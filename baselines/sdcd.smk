# SDCD (Nazaret, Hong, Azizi and Blei, ICML 2024): its package pins older versions than the project's, so that it runs
# in an environment of its own, by `make env-sdcd` or --use-conda.
LABEL = "SDCD"
SUPPORTS = ("perfect",)
SPACE = {
    "stage1_alpha": [0.01],
    "stage1_beta": [0.0002],
    "stage2_alpha": [0.0005],
    "stage2_beta": [0.005],
    "threshold": [0.1],
    "epochs": [2000],
}
SELECTION = {}  # one combination: that of the authors' experiments


rule sdcd:
    input:
        data="data/{condition}/{index}.npz",
        program=str(ROOT / "baselines" / "sdcd" / "run.py"),
    output:
        "fits/{targets}/{condition}/{index}/{row}.json",
    log:
        "logs/fits/{targets}/{condition}/{index}/{row}.log",
    wildcard_constraints:
        row=rows_of("sdcd"),
    conda:
        "../envs/sdcd.yaml"
    threads: 1
    resources:
        limits=program_limits,
    params:
        job=program_job,
        python=python_of("sdcd"),
    message:
        "Fit {wildcards.row} to {wildcards.condition}, data set {wildcards.index}"
    shell:
        "{WRAPPER} --job {params.job:q} --data {input.data} --output {output} {resources.limits}"
        " -- {params.python} {input.program} > {log} 2>&1"
