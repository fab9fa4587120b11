"""Studies: many runs, kept in a store, with the tables and figures that read it."""
