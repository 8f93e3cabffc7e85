# The regressions of CAM with mgcv: smooth terms of at most `size` basis functions, smoothing by GCV.
# X holds the rows in which `node` is no target; nodes are counted from 1.

cam_versions <- function() {
  list(R = as.character(getRversion()), mgcv = as.character(packageVersion("mgcv")))
}

cam_model <- function(X, node, parents, size) {
  colnames(X) <- paste0("V", seq_len(ncol(X)))
  values <- vapply(parents, function(i) length(unique(X[, i])), 0L)
  # A smooth function needs three distinct values; two can only be told apart by a straight line.
  terms <- ifelse(values < 3, sprintf("V%d", parents), sprintf("s(V%d, k = %d)", parents, pmin(values, size)))
  formula <- reformulate(if (length(parents)) terms else "1", response = paste0("V", node), env = asNamespace("mgcv"))
  model <- mgcv::gam(formula, data = as.data.frame(X), method = "GCV.Cp")
  list(gam = model, smooth = values >= 3, variance = mean((X[, node] - fitted(model))^2))
}

log_variance <- function(X, node, model) {
  # An exact relation counts as one that leaves this share of the variance.
  centred <- X[, node] - mean(X[, node])
  log(max(model$variance, 1e-10 * mean(centred^2), 1e-300))
}

cam_gains <- function(X, node, parents, candidates, size) {
  now <- log_variance(X, node, cam_model(X, node, parents, size))
  after <- function(i) log_variance(X, node, cam_model(X, node, c(parents, i), size))
  list(gains = now - vapply(candidates, after, 0))
}

cam_p_values <- function(X, node, parents, size) {
  model <- cam_model(X, node, parents, size)
  overview <- summary(model$gam)
  p_values <- numeric(length(parents))
  p_values[model$smooth] <- overview$s.pv
  p_values[!model$smooth] <- overview$p.pv[-1]
  # There is no p-value where an exact relation leaves no residuals (its terms stay) or a term adds nothing new.
  p_values[is.na(p_values)] <- if (model$gam$sig2 > 0) 1 else 0
  list(p_values = p_values)
}

cam_heldout <- function(X, node, parents, size, X_heldout) {
  model <- cam_model(X, node, parents, size)
  colnames(X_heldout) <- paste0("V", seq_len(ncol(X_heldout)))
  errors <- 0
  if (nrow(X_heldout)) {
    errors <- sum((X_heldout[, node] - predict(model$gam, as.data.frame(X_heldout)))^2)
  }
  list(variance = model$variance, errors = errors)
}
