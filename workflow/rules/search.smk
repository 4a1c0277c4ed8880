# Policies of a few numbers, found in the simulator: a rule a family.

SEARCHED = {name: searched_in(params) for name, params in SCENARIOS.items()}
FAMILIES = dict.fromkeys(family for params in SCENARIOS.values() for family in params.search.families)


for FAMILY in FAMILIES:

    rule:
        name:
            f"search_run_{FAMILY}"
        input:
            params="<results>/params/search.json",
            trace="<results>/traces/trace.parquet",
            workloads="<results>/traces/workloads.parquet",
            tuned="<results>/heuristics/tuned.json",
            code=code_of(f"search_run_{FAMILY}"),
        output:
            policy=f"<results>/search/{FAMILY}.json",
            text=report(
                f"<results>/search/{FAMILY}.txt",
                caption="../report/search.rst",
                category="Rules",
                labels={"student": FAMILY.replace("_", " "), **LABELS},
            ),
            curve=f"<results>/search/{FAMILY}_curve.parquet",
        log:
            f"<logs>/search_run_{FAMILY}.log",
        benchmark:
            f"<benchmarks>/search_run_{FAMILY}.tsv"
        priority: 3
        group:
            "search"
        threads: THREADS
        resources:
            mem_mb=1000,
            runtime=60,
        params:
            family=FAMILY,
            folder=lambda wildcards, output: Path(output.policy).parent,
        message:
            "search for {params.family}"
        shell:
            "clearsched search run {params.family} --params {input.params:q} --trace {input.trace:q}"
            " --workloads {input.workloads:q} --tuned {input.tuned:q} --out {params.folder:q} > {log:q} 2>&1"
