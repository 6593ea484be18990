"""How methods degrade: a quick run is told from its files, and shows what each condition is about."""

from test_ablations import outcome_of, texts  # noqa: F401


def test_loss_costs_rounds_and_memory_brings_back_what_compression_takes(tmp_path):
    """Cut messages never reach the target without memory; stragglers leave rounds alone and take longer."""
    runs = outcome_of("degradation", tmp_path)["runs"]
    cost = {(row["condition"], row["method"], row["seed"]): row for row in runs}
    for method in ("DREAM", "GT-GDA"):
        for seed in (0, 1):
            ideal, late = cost["ideal", method, seed], cost["gradients lognormal", method, seed]
            assert late["rounds"] == ideal["rounds"] and late["sim_seconds"] > ideal["sim_seconds"]
            assert cost["top-0.3, memory", method, seed]["least"] < cost["top-0.3", method, seed]["least"]
