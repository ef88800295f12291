"""The steps of a run, and the processes that take them."""
