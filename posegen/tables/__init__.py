"""Models of a column of a user's own table, by scikit-learn: ``posegen train TABLE --label COLUMN``."""
