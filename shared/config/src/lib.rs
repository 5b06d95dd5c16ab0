//! The extensions config: schema, validation, masking, merging and sealing: pure.
