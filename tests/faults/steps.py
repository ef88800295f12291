"""The steps of a commit at which tests make the process die."""

STEPS = (
    "file_written",
    "encoded",
    "receipt_removed",
    "file_placed",
    "files_durable",
    "receipt_written",
    "receipt_placed",
)
