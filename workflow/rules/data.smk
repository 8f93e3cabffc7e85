SIMULATED = [name for name, condition in PLAN.conditions.items() if condition.source == "simulated"]
PUBLISHED_DATA = [name for name, condition in PLAN.conditions.items() if condition.source == "published"]
PARTS = [name for name, condition in PLAN.conditions.items() if condition.source == "part"]
FILES = {name: condition.file for name, condition in PLAN.conditions.items() if condition.source == "file"}


rule simulate:
    output:
        "data/{condition}/{index}{twin}.npz",
    log:
        "logs/data/{condition}/{index}{twin}.log",
    wildcard_constraints:
        condition="|".join(SIMULATED) or "none",
        index=r"\d+",
        twin="(-twin)?",
    group:
        "data"
    conda:
        "../../envs/benchmark.yaml"
    resources:
        runtime=lambda wildcards, attempt: 5 * attempt,
    params:
        simulation=lambda wildcards: PLAN.conditions[wildcards.condition].simulation,
        seed=lambda wildcards: PLAN.data_seed(wildcards.condition, wildcards.index),
        twin=lambda wildcards: bool(wildcards.twin),
        source=fingerprint(*(LIBRARY / name for name in SIMULATED_BY)),
    message:
        "Simulate {wildcards.condition}, data set {wildcards.index}{wildcards.twin}"
    script:
        "../scripts/simulate.py"


rule published_data:
    output:
        "data/published.txt",
    log:
        "logs/data/published.log",
    conda:
        "../../envs/benchmark.yaml"
    message:
        "Bring in the paper's own data sets"
    script:
        "../scripts/published_data.py"


rule published:
    input:
        # When the data were brought in says nothing of what they are.
        ancient("data/published.txt"),
    output:
        "data/{condition}/{index}{twin}.npz",
    log:
        "logs/data/{condition}/{index}{twin}.log",
    wildcard_constraints:
        condition="|".join(PUBLISHED_DATA) or "none",
        index=r"\d+",
        twin="(-twin)?",
    group:
        "data"
    conda:
        "../../envs/benchmark.yaml"
    resources:
        runtime=lambda wildcards, attempt: 5 * attempt,
    params:
        simulation=lambda wildcards: PLAN.conditions[wildcards.condition].simulation,
        twin=lambda wildcards: bool(wildcards.twin),
    message:
        "Take {wildcards.condition}, data set {wildcards.index}{wildcards.twin}, from the paper's own"
    script:
        "../scripts/published.py"


rule sachs:
    output:
        "data/sachs/00.npz",
    log:
        "logs/data/sachs/00.log",
    conda:
        "../../envs/sachs.yaml"
    params:
        heldout=config["heldout"],
        seed=PLAN.data_seed("sachs", "00"),
        source=fingerprint(LIBRARY / "sachs.py"),
    message:
        "Prepare the Sachs data"
    script:
        "../scripts/sachs.py"


rule own_file:
    input:
        data=lambda wildcards: FILES[wildcards.condition],
        truth=lambda wildcards: (PLAN.conditions[wildcards.condition].table or {}).get("truth", []),
    output:
        "data/{condition}/00.npz",
    log:
        "logs/data/{condition}/00.log",
    wildcard_constraints:
        condition="|".join(map(re.escape, FILES)) or "none",
    conda:
        "../../envs/benchmark.yaml"
    params:
        heldout=config["heldout"],
        seed=lambda wildcards: PLAN.data_seed(wildcards.condition, "00"),
        table=lambda wildcards: PLAN.conditions[wildcards.condition].table,
        source=fingerprint(LIBRARY / "own_data.py", LIBRARY / "frames.py"),
    message:
        "Check and copy {input.data}"
    script:
        "../scripts/own_file.py"


rule leave_out:
    input:
        lambda wildcards: data_path(PLAN.conditions[wildcards.condition].base.name, wildcards.index),
    output:
        "data/{condition}/{index}.npz",
    log:
        "logs/data/{condition}/{index}.log",
    wildcard_constraints:
        condition="|".join(map(re.escape, PARTS)) or "none",
        index=r"\d+",
    group:
        "data"
    conda:
        "../../envs/benchmark.yaml"
    resources:
        runtime=lambda wildcards, attempt: 5 * attempt,
    params:
        which=lambda wildcards: PLAN.conditions[wildcards.condition].leave_out,
        seed=lambda wildcards: PLAN.data_seed(wildcards.condition, wildcards.index),
        source=fingerprint(LIBRARY / "leave_out.py"),
    message:
        "Leave {params.which} out of {input}"
    script:
        "../scripts/leave_out.py"
