# PC with context variables by the R package pcalg.
#
# pcalg's pc() cannot be told that contexts are exogenous. Its parts can: skeleton() with gaps fixed between contexts,
# udag2pdagRelaxed() once for the colliders and, when contexts are made causes, once more for Meek's rules; pdag2dag()
# for a DAG of the class. It is told as in orient() of pc.py.
#
# correlation [p x p] of n rows; context [p] 0/1. Returns adjacent, pdag and dag [p x p], of which entry [i, j] alone
# means i -> j, and whether the class has a DAG (extendable); where it has none, dag means nothing.
fit_pc <- function(correlation, n, context, alpha) {
  # Attached, because the coercions of its classes are not exported by name.
  suppressPackageStartupMessages(library(pcalg))
  stopifnot("pcalg needs two variables or more, contexts included" = length(context) > 1)
  context <- as.vector(context) == 1
  contexts <- outer(context, context, "&")
  found <- skeleton(
    list(C = correlation, n = n), gaussCItest, alpha,
    labels = as.character(seq_along(context)), fixedGaps = contexts
  )
  adjacent <- as(found@graph, "matrix")

  # All contexts are adjacent, and what is in every separating set is no collider.
  found@graph <- as_graph(adjacent + (contexts & !diag(length(context))))
  found@sepset <- lapply(found@sepset, function(sets) lapply(sets, union, which(context)))
  colliders <- udag2pdagRelaxed(found, rules = rep(FALSE, 3))
  directed <- as(colliders@graph, "matrix")
  directed[!context, context] <- 0
  colliders@graph <- as_graph(directed)
  pdag <- udag2pdagRelaxed(colliders, orientCollider = FALSE)@graph
  extension <- pdag2dag(pdag)
  list(
    adjacent = adjacent,
    pdag = as(pdag, "matrix"),
    dag = as(extension$graph, "matrix"),
    extendable = extension$success
  )
}

as_graph <- function(matrix) as(matrix, "graphNEL")
