//! Glue of the functions: environment, telemetry, event decoding, deadline.
