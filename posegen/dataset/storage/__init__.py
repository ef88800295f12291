"""Files of datasets in a folder of this machine or in a bucket: one interface, an implementation for each."""
