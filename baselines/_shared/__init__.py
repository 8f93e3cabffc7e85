"""What several of the methods need: tests of independence, the linear Gaussian score, the bridge to R."""
