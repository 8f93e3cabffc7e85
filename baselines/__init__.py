"""The competing methods and the controls, a file or a folder each (see ``benchmark.methods``)."""
