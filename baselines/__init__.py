"""The competing methods and the controls, one file each (see ``benchmark.methods``)."""
