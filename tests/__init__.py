"""The tests mirror the package; end-to-end tests are in `e2e`."""
