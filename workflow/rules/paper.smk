from benchmark.paper.pieces import density_pieces, figure_pieces, one_fit_pieces, table_pieces, unseen_pieces
from benchmark.paper.unseen import score_path

PAPER_LIBRARY = fingerprint(
    LIBRARY / "paper", *(LIBRARY / f"{name}.py" for name in ("tables", "figures", "styles", "evaluation", "metrics"))
)
TABLE_PIECES = table_pieces(PLAN)
FIGURE_PIECES = figure_pieces(PLAN)
ONE_FIT_PIECES = one_fit_pieces(PLAN)
UNSEEN_PIECES = unseen_pieces(PLAN)
DENSITY_PIECES = density_pieces(PLAN)
# What shows more of a fit than its record has is fitted here; a run of records alone is without it.
FROM_FITS = [] if config["records"] == "only" else [*ONE_FIT_PIECES, *UNSEEN_PIECES, *DENSITY_PIECES]
PAPER_TABLES = expand("paper/tab_{label}.{kind}", label=TABLE_PIECES, kind=["tex", "md", "csv"])
PAPER_FIGURES = expand("paper/fig_{label}.{kind}", label=[*FIGURE_PIECES, *FROM_FITS], kind=["pdf", "png"])


localrules:
    paper_tables,
    paper_figures,


rule paper_tables:
    input:
        PAPER_TABLES,


rule paper_figures:
    input:
        PAPER_FIGURES,


rule paper_table:
    input:
        lambda wildcards: data_and_fits(TABLE_PIECES[wildcards.label]),
        PUBLISHED,
    output:
        expand("paper/tab_{{label}}.{kind}", kind=["tex", "md", "csv"]),
    log:
        "logs/paper/tab_{label}.log",
    wildcard_constraints:
        label="|".join(TABLE_PIECES) or "none",
    conda:
        "../../envs/benchmark.yaml"
    params:
        rows=lambda wildcards: [
            (row.name, row.label, row.selection) for part in TABLE_PIECES[wildcards.label] for row in part.rows
        ],
        recorded=lambda wildcards: RECALL.fingerprint(TABLE_PIECES[wildcards.label]),
        source=PAPER_LIBRARY,
    message:
        "Write the paper's table {wildcards.label}"
    script:
        "../scripts/paper_table.py"


rule paper_figure:
    input:
        lambda wildcards: data_and_fits(FIGURE_PIECES[wildcards.label]),
        PUBLISHED,
    output:
        expand("paper/fig_{{label}}.{kind}", kind=["pdf", "png"]),
    log:
        "logs/paper/fig_{label}.log",
    wildcard_constraints:
        label="|".join(FIGURE_PIECES) or "none",
    conda:
        "../../envs/benchmark.yaml"
    params:
        rows=lambda wildcards: [
            (row.name, row.label, row.selection) for part in FIGURE_PIECES[wildcards.label] for row in part.rows
        ],
        recorded=lambda wildcards: RECALL.fingerprint(FIGURE_PIECES[wildcards.label]),
        source=PAPER_LIBRARY,
    message:
        "Draw the paper's figure {wildcards.label}"
    script:
        "../scripts/paper_figure.py"


rule paper_one_fit:
    input:
        data=lambda wildcards: data_path(*cells_of(ONE_FIT_PIECES[wildcards.label])[0]),
        fit=lambda wildcards: fit_path(
            ONE_FIT_PIECES[wildcards.label].targets,
            *cells_of(ONE_FIT_PIECES[wildcards.label])[0],
            ONE_FIT_PIECES[wildcards.label].rows[0].name,
        ),
    output:
        expand("paper/fig_{{label}}.{kind}", kind=["pdf", "png"]),
    log:
        "logs/paper/fig_{label}.log",
    wildcard_constraints:
        label="|".join(ONE_FIT_PIECES) or "none",
    conda:
        "../../envs/benchmark.yaml"
    params:
        selection=lambda wildcards: ONE_FIT_PIECES[wildcards.label].rows[0].selection,
        source=PAPER_LIBRARY,
    message:
        "Draw the paper's figure {wildcards.label}"
    script:
        "../scripts/paper_one_fit.py"


rule unseen:
    input:
        whole=lambda wildcards: data_path(PLAN.conditions[wildcards.condition].base.name, wildcards.index),
        seen="data/{condition}/{index}.npz",
        fit="fits/{targets}/{condition}/{index}/{row}.json",
    output:
        "unseen/{targets}/{condition}/{index}/{row}.json",
    log:
        "logs/unseen/{targets}/{condition}/{index}/{row}.log",
    wildcard_constraints:
        condition="|".join(map(re.escape, PARTS)) or "none",
        targets="known|unknown",
        index=r"\d+",
        row="|".join(PLAN.rows),
    conda:
        "../../envs/dcdi.yaml"
    threads: 1
    params:
        selection=lambda wildcards: row_of(wildcards).selection,
        seed=lambda wildcards: PLAN.fit_seed("flow", wildcards.targets, wildcards.condition, wildcards.index),
        source=fingerprint(ROOT / "dcdi", LIBRARY / "leave_out.py", LIBRARY / "selection.py"),
    message:
        "Score {wildcards.row} on the setting left out of {wildcards.condition}, data set {wildcards.index}"
    script:
        "../scripts/unseen.py"


rule paper_unseen:
    input:
        lambda wildcards: [
            score_path(UNSEEN_PIECES[wildcards.label].targets, *cell, row.name)
            for cell in cells_of(UNSEEN_PIECES[wildcards.label])
            for row in UNSEEN_PIECES[wildcards.label].rows
            if not row.method.is_control
        ],
    output:
        expand("paper/fig_{{label}}.{kind}", kind=["pdf", "png"]),
    log:
        "logs/paper/fig_{label}.log",
    wildcard_constraints:
        label="|".join(UNSEEN_PIECES) or "none",
    conda:
        "../../envs/benchmark.yaml"
    params:
        source=PAPER_LIBRARY,
    message:
        "Draw the paper's figure {wildcards.label}"
    script:
        "../scripts/paper_unseen.py"


rule fitted_density:
    input:
        data="data/{condition}/00.npz",
        fit="fits/known/{condition}/00/{row}.json",
    output:
        "densities/{condition}/00/{row}.npz",
    log:
        "logs/densities/{condition}/00/{row}.log",
    wildcard_constraints:
        row="|".join(PLAN.rows),
    conda:
        "../../envs/dcdi.yaml"
    threads: 1
    params:
        method=lambda wildcards: PLAN.rows[wildcards.row].method.name,
        selection=lambda wildcards: PLAN.rows[wildcards.row].selection,
        seed=lambda wildcards: PLAN.fit_seed(wildcards.row, "known", wildcards.condition, "00"),
        source=fingerprint(ROOT / "dcdi", LIBRARY / "selection.py"),
    message:
        "Densities of {wildcards.row} on {wildcards.condition}"
    script:
        "../scripts/fitted_density.py"


rule paper_density:
    input:
        data=lambda wildcards: [
            data_path(condition.name, "00") for condition in DENSITY_PIECES[wildcards.label].conditions
        ],
        models=lambda wildcards: [
            f"densities/{condition.name}/00/{DENSITY_PIECES[wildcards.label].rows[0].name}.npz"
            for condition in DENSITY_PIECES[wildcards.label].conditions
        ],
    output:
        expand("paper/fig_{{label}}.{kind}", kind=["pdf", "png"]),
    log:
        "logs/paper/fig_{label}.log",
    wildcard_constraints:
        label="|".join(DENSITY_PIECES) or "none",
    conda:
        "../../envs/dcdi.yaml"
    params:
        mechanisms=lambda wildcards: [
            condition.simulation["mechanism"] for condition in DENSITY_PIECES[wildcards.label].conditions
        ],
        source=PAPER_LIBRARY,
    message:
        "Draw the paper's figure {wildcards.label}"
    script:
        "../scripts/paper_density.py"
