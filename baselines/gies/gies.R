# GIES by the R package pcalg, with its default phases: forward, backward, turning, until nothing improves.
#
# X [n x d]; targets [sets x d] 0/1 with distinct rows; target_index [n], the row of targets of each row of X, from 1;
# penalty is lambda. Returns essential_graph [d x d], in which an undirected edge has both entries 1.
fit_gies <- function(X, targets, target_index, penalty) {
  # Attached, because the coercions of pcalg's classes are not exported by name.
  suppressPackageStartupMessages(library(pcalg))
  colnames(X) <- paste0("V", seq_len(ncol(X)))
  score <- new(
    "GaussL0penIntScore",
    data = X,
    targets = lapply(seq_len(nrow(targets)), function(k) which(targets[k, ] == 1)),
    target.index = as.integer(target_index),
    lambda = as.numeric(penalty)
  )
  list(essential_graph = 1 * as(gies(score)$essgraph, "matrix"))
}
