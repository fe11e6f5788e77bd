"""Products of matrices, and linear algebra."""
