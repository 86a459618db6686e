//! Whole definitions of every dialect.
