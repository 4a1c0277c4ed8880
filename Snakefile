# From job traces to a scheduler that a person can read: `snakemake --cores 2`, `snakemake -n`.
# Every choice is in params.yaml (docs/params.md); a rule calls the command of its name, teacher_train `clearsched
# teacher train`, and writes below results/<scenario>/. Several scenarios at once: docs/workflow.md.


include: "workflow/rules/common.smk"


configfile: "params.yaml"


include: "workflow/rules/params.smk"
include: "workflow/rules/traces.smk"
include: "workflow/rules/heuristics.smk"
include: "workflow/rules/search.smk"
include: "workflow/rules/teacher.smk"
include: "workflow/rules/decisions.smk"
include: "workflow/rules/students.smk"
include: "workflow/rules/evaluation.smk"
include: "workflow/rules/edge_cases.smk"
include: "workflow/rules/students_pareto.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/report.smk"


if PAPER:

    include: "workflow/rules/paper.smk"


if SPARK:

    include: "workflow/rules/spark.smk"


report: "workflow/report/workflow.rst"


rule all:
    default_target: True
    input:
        RESULTS,
        PAGE,


for LISTED, FILES in CODE.items():
    or_exit(keep_code, Path(LISTED), FILES)
