from math import ceil

EXTERNAL_RULES = sorted({str(row.method.file) for row in PLAN.rows.values() if row.method.fit is None})
PYTHON_ROWS = [name for name, row in PLAN.rows.items() if row.method.fit is not None]

# A cell that cannot take longer than this shares a job of a cluster with others.
SHORT_MINUTES = 60


rule fit:
    input:
        lambda wildcards: data_path(wildcards.condition, wildcards.index, row_of(wildcards).method.data),
    output:
        "fits/{targets}/{condition}/{index}/{row}.json",
    log:
        "logs/fits/{targets}/{condition}/{index}/{row}.log",
    wildcard_constraints:
        targets="known|unknown",
        index=r"\d+",
        row="|".join(PYTHON_ROWS) or "none",
    group:
        lambda wildcards: "short" if minutes_of(wildcards) <= SHORT_MINUTES else None
    conda:
        lambda wildcards: str(ROOT / "envs" / f"{row_of(wildcards).environment}.yaml")
    threads: 1
    resources:
        # What one fit may use; not a parameter, so that raising a limit runs nothing finished again.
        fit_seconds=lambda wildcards: ceil(row_of(wildcards).seconds),
        fit_memory_mb=lambda wildcards: ceil(row_of(wildcards).memory_mb),
        start_seconds=lambda wildcards: ceil(row_of(wildcards).start_seconds),
        # What a scheduler sets aside: the fit, and the processes that look after it.
        mem_mb=lambda wildcards, attempt: ceil(row_of(wildcards).memory_mb) + RUNNER_MB * attempt,
        runtime=lambda wildcards, attempt: minutes_of(wildcards) * attempt,
    params:
        method=lambda wildcards: row_of(wildcards).method.name,
        packages=lambda wildcards: list(row_of(wildcards).method.packages),
        r_engines=lambda wildcards: list(row_of(wildcards).method.r_engines),
        problem=lambda wildcards: row_of(wildcards).method.problem,
        # A recorded cell that is asked for by its path is fitted as a whole.
        grid=lambda wildcards: (
            RECALL.to_fit(wildcards.targets, wildcards.condition, wildcards.index, wildcards.row)
            or PLAN.grid(wildcards.row, wildcards.targets, wildcards.condition, wildcards.index)
        ),
        seed=lambda wildcards: PLAN.fit_seed(wildcards.row, wildcards.targets, wildcards.condition, wildcards.index),
        source=lambda wildcards: source_of(row_of(wildcards).method.file),
    message:
        "Fit {wildcards.row} to {wildcards.condition}, data set {wildcards.index}, targets {wildcards.targets}"
    script:
        "../scripts/fit.py"
