"""What the runner makes of each animal of the zoo: status and a part of the reason."""

from pathlib import Path

from benchmark.methods import Method, load_method_file

FOLDER = Path(__file__).resolve().parent

EXPECTED = {
    "good": ("ok", ""),
    "raises": ("error", "ValueError: the matrix is singular"),
    "raises_surrogates": ("error", r"a file called \udcff\ud800 and \x00"),
    "raises_a_novel": ("error", "(cut: 100,000,000 characters)"),
    "raises_unspeakable": ("error", "UnspeakableError"),
    "raises_stop_iteration": ("error", "StopIteration"),
    "raises_keyboard_interrupt": ("error", "KeyboardInterrupt"),
    "recurses": ("error", "RecursionError"),
    "refuses_memory": ("memory", "4 TiB"),
    "exits": ("error", "SystemExit: 2"),
    "exits_at_once": ("error", "exit code 0"),
    "exits_with_three": ("error", "exit code 3"),
    "terminates": ("error", "exit code -15"),
    "kills_itself": ("memory", "killed"),
    "segfaults": ("error", "exit code -11"),
    "aborts": ("error", "exit code -6"),
    "kills_parent": ("error", "ended"),
    "forks_many": ("error", "processes; the limit is"),
    "leaves_a_daemon": ("ok", ""),
    "leaves_a_daemon_and_dies": ("error", "exit code 3"),
    "leaves_a_thread": ("ok", ""),
    "uses_more_cores": ("ok", ""),  # its reason says so, where the machine had cores to spare
    "closes_descriptors": ("error", "exit code 1"),
    "writes_to_descriptors": ("error", "no result"),
    "closes_output": ("ok", ""),
    "writes_much": ("ok", ""),
    "changes_folder": ("ok", ""),
    "changes_data": ("error", "WRITEABLE"),
    "changes_memory": ("error", "exit code -11"),
    "returns_nothing": ("error", "NoneType"),
    "returns_a_matrix": ("error", "ndarray"),
    "returns_a_small_graph": ("error", "shape (3, 3)"),
    "returns_a_cycle": ("error", "acyclic"),
    "returns_a_cycle_unchecked": ("error", "acyclic"),
    "returns_no_class": ("error", "cpdag"),
    "returns_small_targets": ("error", "shape (2, 2); expected (5, 4)"),
    "returns_nan_targets": ("error", "between 0 and 1"),
    "returns_nan_score": ("ok", ""),
    "informs_of_a_function": ("ok", ""),
    "informs_of_itself": ("ok", ""),
    "informs_unpicklably": ("ok", ""),
    "informs_of_a_tensor": ("ok", ""),
    "informs_of_much": ("ok", ""),
    "informs_wrongly": ("error", "info is list"),
}
SLOW = {
    "sleeps": ("timeout", "limit is"),
    "ignores_signals": ("timeout", "limit is"),
    "stops_itself": ("timeout", "limit is"),
}
LARGE = {"eats_memory": ("memory", "MB; the limit is"), "eats_memory_in_a_child": ("memory", "MB; the limit is")}
# Needs a view of processes of its own; elsewhere it would end the tests, and refuses to.
DANGEROUS = {"kills_all": ("error", "ended")}


def load(name: str) -> Method:
    """Return a method of this folder."""
    return load_method_file(name, FOLDER / f"{name}.py")
