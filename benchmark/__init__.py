"""What all methods share: data sets, simulation, metrics, runner, selection, tables and figures."""
