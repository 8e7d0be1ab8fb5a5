"""The household that is shipped: one folder per butler."""
